//! One rule of a role: what it allows, and what other rules it covers.

use serde::Deserialize;

use crate::auth::attributes::{Attributes, Wanted};
use crate::json::{Map, Value, json};

/// Verbs on resources or on paths. `*` is everything of its list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Rule {
    pub verbs: Vec<String>,
    pub api_groups: Vec<String>,
    pub resources: Vec<String>,
    pub resource_names: Vec<String>,
    #[serde(rename = "nonResourceURLs")]
    pub urls: Vec<String>,
}

fn has(list: &[String], one: &str) -> bool {
    list.iter().any(|known| known == one)
}

fn has_or_all(list: &[String], one: &str) -> bool {
    list.iter().any(|known| known == "*" || known == one)
}

/// Whether a path is one that a rule names; `/x/*` is everything below `/x/`.
fn covers_path(pattern: &str, path: &str) -> bool {
    pattern == path || pattern.ends_with('*') && path.starts_with(pattern.trim_end_matches('*'))
}

/// Whether a resource, or a part of one, is what a rule names: `pods`, `pods/status`, `*/status`, `*`.
fn covers_resource(pattern: &str, resource: &str, sub: &str) -> bool {
    let whole = match sub {
        "" => Some(pattern),
        sub => pattern.strip_suffix(sub).and_then(|pattern| pattern.strip_suffix('/')),
    };
    pattern == "*" || whole.is_some_and(|whole| whole == resource || whole == "*")
}

impl Rule {
    /// The rules of a role; what is no rule grants nothing.
    pub fn list(rules: &Value) -> Vec<Self> {
        let rules = rules.as_array().into_iter().flatten();
        rules.map(|rule| crate::json::read::<Self>(rule).unwrap_or_default()).collect()
    }

    /// Everything there is.
    pub fn all() -> Vec<Self> {
        let all = || vec!["*".to_owned()];
        let resources = Self { verbs: all(), api_groups: all(), resources: all(), ..Self::default() };
        vec![resources, Self { verbs: all(), urls: all(), ..Self::default() }]
    }

    pub fn allows(&self, wanted: &Attributes) -> bool {
        if !has_or_all(&self.verbs, &wanted.verb) {
            return false;
        }
        match &wanted.what {
            Wanted::Path(path) => self.urls.iter().any(|pattern| covers_path(pattern, path)),
            Wanted::Resource(place) => {
                let is_named = self.resource_names.is_empty() || has(&self.resource_names, &place.name);
                is_named
                    && has_or_all(&self.api_groups, &place.group)
                    && self
                        .resources
                        .iter()
                        .any(|pattern| covers_resource(pattern, &place.resource, &place.subresource))
            }
        }
    }

    /// Rules that together allow the same, each with one verb and one resource or path.
    pub fn broken_down(&self) -> Vec<Self> {
        let one = |text: &String| vec![text.clone()];
        let mut parts = Vec::new();
        for group in &self.api_groups {
            for resource in &self.resources {
                for verb in &self.verbs {
                    let part =
                        Self { verbs: one(verb), api_groups: one(group), resources: one(resource), ..Self::default() };
                    if self.resource_names.is_empty() {
                        parts.push(part);
                    } else {
                        let named = |name| Self { resource_names: one(name), ..part.clone() };
                        parts.extend(self.resource_names.iter().map(named));
                    }
                }
            }
        }
        for url in &self.urls {
            parts.extend(self.verbs.iter().map(|verb| Self { verbs: one(verb), urls: one(url), ..Self::default() }));
        }
        parts
    }

    /// Whether this rule allows all that a broken down one does.
    pub fn covers(&self, part: &Self) -> bool {
        let all = |list: &[String], wanted: &[String]| wanted.iter().all(|one| has_or_all(list, one));
        let covers_resource = |wanted: &String| {
            has_or_all(&self.resources, wanted)
                || wanted.split_once('/').is_some_and(|(_, sub)| has(&self.resources, &format!("*/{sub}")))
        };
        let covers_names = self.resource_names.is_empty()
            || !part.resource_names.is_empty()
                && part.resource_names.iter().all(|name| has(&self.resource_names, name));
        let covers_url = |wanted: &String| self.urls.iter().any(|pattern| covers_path(pattern, wanted));
        all(&self.verbs, &part.verbs)
            && all(&self.api_groups, &part.api_groups)
            && part.resources.iter().all(covers_resource)
            && covers_names
            && part.urls.iter().all(covers_url)
    }

    /// `{APIGroups:[""], Resources:["pods"], Verbs:["get"]}`.
    pub fn compact(&self) -> String {
        let lists = [
            ("APIGroups", &self.api_groups),
            ("Resources", &self.resources),
            ("NonResourceURLs", &self.urls),
            ("ResourceNames", &self.resource_names),
            ("Verbs", &self.verbs),
        ];
        let shown = lists.iter().filter(|(_, list)| !list.is_empty()).map(|(name, list)| {
            let quoted: Vec<String> = list.iter().map(|one| format!("{one:?}")).collect();
            format!("{name}:[{}]", quoted.join(" "))
        });
        format!("{{{}}}", shown.collect::<Vec<_>>().join(", "))
    }

    /// The rule as a role holds it.
    pub fn to_value(&self) -> Value {
        let mut value = Map::new();
        for (name, list) in [
            ("verbs", &self.verbs),
            ("apiGroups", &self.api_groups),
            ("resources", &self.resources),
            ("resourceNames", &self.resource_names),
            ("nonResourceURLs", &self.urls),
        ] {
            if !list.is_empty() {
                value.insert(name, json!(list));
            }
        }
        value.into()
    }
}
