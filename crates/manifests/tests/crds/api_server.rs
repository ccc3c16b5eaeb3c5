//! What the API server does with an object, as far as our CustomResourceDefinitions decide it.

use std::cell::OnceCell;

use kube_cel::{CompiledSchema, Validator};
use kueue_manifests::crd::GROUP;
use kueue_manifests::crds;
use serde_json::Value;

use crate::structural;

/// Our kinds in all their versions, as an API server has them.
pub struct ApiServer {
    kinds: Vec<ServedKind>,
}

struct ServedKind {
    api_version: String,
    kind: &'static str,
    schema: Value,
    /// Compiled when they are first needed: that takes a while.
    rules: OnceCell<CompiledSchema>,
}

impl ApiServer {
    pub fn new() -> Self {
        let mut kinds = Vec::new();
        for kind in crds::kinds() {
            for version in kind.versions {
                let api_version = format!("{GROUP}/{}", version.name());
                let schema = kind.full_schema(*version);
                kinds.push(ServedKind { api_version, kind: kind.name, schema, rules: OnceCell::new() });
            }
        }
        Self { kinds }
    }

    /// Everything that is wrong with a new object, or with a change when there is an old one, as `field: reason`.
    ///
    /// As in the API server: defaults first, then the schema. The rules are tried only on what has the right shape.
    pub fn problems(&self, old: Option<&Value>, new: &Value) -> Vec<String> {
        let served =
            self.kinds.iter().find(|served| new["apiVersion"] == served.api_version && new["kind"] == served.kind);
        let served = served.unwrap_or_else(|| panic!("{} {} is not served", new["apiVersion"], new["kind"]));
        let new = with_defaults(&served.schema, new);
        let old = old.map(|old| with_defaults(&served.schema, old));
        let problems = structural::problems(&served.schema, &new);
        if !problems.is_empty() {
            return problems;
        }
        match Validator::new().validate_compiled(served.rules(), &new, old.as_ref()) {
            Ok(()) => Vec::new(),
            Err(errors) => {
                let text = |error: kube_cel::ValidationError| error.to_string().trim_start_matches('.').to_owned();
                errors.into_vec().into_iter().map(text).collect()
            }
        }
    }
}

impl ServedKind {
    fn rules(&self) -> &CompiledSchema {
        self.rules.get_or_init(|| {
            let rules = kube_cel::compile_schema(&self.schema);
            let errors = rules.compilation_errors();
            assert!(errors.is_empty(), "{} {}: {errors:?}", self.api_version, self.kind);
            rules
        })
    }
}

/// Fills in defaults, and the defaults inside of defaults, which the library leaves for the next time.
fn with_defaults(schema: &Value, object: &Value) -> Value {
    let filled = kube_cel::apply_defaults(schema, object);
    if filled == *object { filled } else { with_defaults(schema, &filled) }
}
