//! Who owns what of new objects. The next one of a kind mostly has the fields of the last one, and the same writer: then
//! both share what was made of them.

use std::sync::{Mutex, OnceLock};

use super::entries::{Entry, Manager, Managers};
use super::set::FieldSet;
use super::{Intent, NOT_OWNED, nothing, typed};
use crate::json::Value;
use crate::schema::Schema;

/// What was made of the last new object of a kind.
#[derive(Debug, Default)]
pub struct Recent {
    /// An object with nothing in it.
    nothing: OnceLock<Value>,
    made: Mutex<Option<Made>>,
}

#[derive(Debug)]
struct Made {
    /// All fields that the object had.
    fields: FieldSet,
    intent: Intent,
    managers: Managers,
}

impl Recent {
    pub fn managers(&self, schema: &Schema, new: &Value, intent: &Intent) -> Managers {
        let nothing = self.nothing.get_or_init(|| nothing(schema));
        let mut made = self.made.lock().expect("nobody panics while comparing objects");
        let fields = match &*made {
            Some(last) if typed::is_changed_by(schema, nothing, new, &last.fields) => {
                if last.intent == *intent {
                    return last.managers.clone();
                }
                last.fields.clone()
            }
            _ => typed::compare(schema, nothing, new).changed,
        };
        let managers = owned_by(&fields, intent);
        *made = Some(Made { fields, intent: intent.clone(), managers: managers.clone() });
        managers
    }
}

/// One manager owns all that can be owned.
fn owned_by(fields: &FieldSet, intent: &Intent) -> Managers {
    let mut set = fields.clone();
    set.subtract_below(intent.resets);
    set.subtract(&NOT_OWNED);
    let mut managers = Managers::default();
    if !set.is_empty() {
        let manager = Manager::of(&intent.manager, true, &intent.api_version, &intent.subresource);
        let time = Some(intent.time.to_string().into());
        managers.insert(Entry { manager, set, time, api_version: intent.api_version.as_str().into() });
    }
    managers
}
