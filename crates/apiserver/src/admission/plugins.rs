//! The admission plugins that a server brings along, as a list of small functions.

use serde_json::Value;

use super::Attributes;
use crate::rest::service::Server;
use crate::status::Result;

mod escalation;

/// May change the object that is about to be written; a deletion has none.
pub type Mutate = fn(&Server, &Attributes<'_>, Option<&mut Value>, Option<&Value>) -> Result<()>;
/// May refuse the object that would be stored, given the one that stands there.
pub type Validate = fn(&Server, &Attributes<'_>, Option<&Value>, Option<&Value>) -> Result<()>;

/// One plugin.
#[derive(Debug)]
pub struct Plugin {
    /// Whether it has anything to do with such a write; cheap, because every write asks.
    pub applies: fn(&Attributes<'_>) -> bool,
    /// Before mutating webhooks.
    pub mutate: Option<Mutate>,
    /// Before policies and validating webhooks.
    pub validate: Option<Validate>,
    /// After everybody else, because it counts what is used.
    pub account: Option<Validate>,
}

/// All of them, in the order in which a real server asks.
pub static PLUGINS: &[Plugin] = &[escalation::PLUGIN];
