//! APIServices of the groups that this server answers for itself, and the order that APIServices give to groups.
//!
//! The built-in ones are made once and then anybody's to change; those of definitions are kept as they must be.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Availability, STORAGE};
use crate::crd;
use crate::json::{Value, json};
use crate::kinds::text_at;
use crate::rest::service::Server;
use crate::store::Key;

/// Those that a real server makes when it starts; `cargo xtask codegen --bed` writes the file.
const BUILT_IN: &str = include_str!("../../data/api_services.json");
const LABEL: &str = "kube-aggregator.kubernetes.io/automanaged";
/// The group that all the others are registered in has no APIService, and comes first.
const REGISTRATION: &str = "apiregistration.k8s.io";

pub const AVAILABLE: Availability = Availability {
    is_there: true,
    reason: "Local",
    message: std::borrow::Cow::Borrowed("Local APIServices are always available"),
};

/// What an APIService of this server says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Local {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    group: String,
    version: String,
    group_priority_minimum: i64,
    version_priority: i64,
}

impl Local {
    fn of_definition(group: &str, version: &str) -> Self {
        Self { group: group.into(), version: version.into(), group_priority_minimum: 1000, version_priority: 100 }
    }

    fn name(&self) -> String {
        format!("{}.{}", self.version, self.group)
    }

    fn spec(&self) -> Value {
        json!(self)
    }
}

impl Server {
    /// Gives a new cluster the APIServices of its built-in groups.
    pub fn bootstrap_api_services(&self) {
        let found: Vec<Local> = serde_json::from_str(BUILT_IN).expect("the committed APIServices are as written");
        found.iter().for_each(|local| self.create_local(local, "onstart"));
    }

    fn create_local(&self, local: &Local, managed: &str) {
        let now = self.clock.time();
        let metadata = json!({
            "name": local.name(), "uid": self.random.uid(), "creationTimestamp": now.to_string(),
            "labels": {LABEL: managed},
        });
        let status = json!({"conditions": [AVAILABLE.condition(now)]});
        let object = json!({"metadata": metadata, "spec": local.spec(), "status": status});
        // Whoever was faster made the same one.
        let _ = self.store.create(STORAGE, Key::new("", local.name()), object);
    }

    /// Keeps an APIService for every version that definitions serve. One that somebody else made is left alone.
    pub fn settle_local_api_services(&self) {
        let definitions = self.store.list(crd::STORAGE, "", None).map(|found| found.objects).unwrap_or_default();
        let mut wanted: BTreeMap<String, Local> = BTreeMap::new();
        for (_, definition) in &definitions {
            let spec = &definition.value["spec"];
            let versions = spec["versions"].as_array().into_iter().flatten();
            for version in versions.filter(|version| version["served"] == true) {
                let local = Local::of_definition(text_at(spec, &["group"]), text_at(version, &["name"]));
                wanted.insert(local.name(), local);
            }
        }
        for (key, object) in self.store.list(STORAGE, "", None).map(|found| found.objects).unwrap_or_default() {
            let local = wanted.remove(text_at(&object.value, &["metadata", "name"]));
            if text_at(&object.value, &["metadata", "labels", LABEL]) != "true" {
                continue;
            }
            // What somebody else changes meanwhile comes here again.
            match local {
                None => drop(self.store.delete(STORAGE, key, &object, object.value.clone())),
                Some(local) if object.value["spec"] != local.spec() => {
                    let mut value = object.value.clone();
                    value["spec"] = local.spec();
                    drop(self.store.update(STORAGE, key, &object, value));
                }
                Some(_) => {}
            }
        }
        wanted.values().for_each(|local| self.create_local(local, "true"));
    }

    /// All groups but the core, each with its versions, as clients should prefer them. Where everything is told at once
    /// equals are ordered by their names, elsewhere by those of their APIServices.
    pub fn groups(&self, are_told_at_once: bool) -> Vec<(String, Vec<String>)> {
        let mut groups: BTreeMap<String, Vec<Ranked>> = BTreeMap::new();
        let mut add = |group: &str, version: &str, ranks: (i64, i64)| {
            let versions = groups.entry(group.to_owned()).or_default();
            match versions.iter_mut().find(|known| known.version == version) {
                Some(known) => known.ranks = ranks,
                None => versions.push(Ranked { version: version.to_owned(), ranks }),
            }
        };
        for (group, versions) in self.registry().groups() {
            let rank = if group == REGISTRATION { i64::MAX } else { 0 };
            versions.iter().for_each(|version| add(&group, version, (rank, 0)));
        }
        for (_, object) in self.store.list(STORAGE, "", None).map(|found| found.objects).unwrap_or_default() {
            let spec = &object.value["spec"];
            let rank = |name: &str| spec[name].as_i64().unwrap_or_default();
            let ranks = (rank("groupPriorityMinimum"), rank("versionPriority"));
            if !text_at(spec, &["group"]).is_empty() {
                add(text_at(spec, &["group"]), text_at(spec, &["version"]), ranks);
            }
        }
        let mut groups: Vec<(String, Vec<Ranked>)> = groups.into_iter().collect();
        groups.sort_by_cached_key(|(group, versions)| {
            let place = |version: &Ranked| (Reverse(version.ranks.0), format!("{}.{group}", version.version));
            let (rank, name) = versions.iter().map(place).min().unwrap_or_default();
            (rank, if are_told_at_once { group.clone() } else { name })
        });
        let ordered = |mut versions: Vec<Ranked>| -> Vec<String> {
            versions.sort_by_cached_key(|version| Reverse((version.ranks.1, Maturity::of(&version.version))));
            versions.into_iter().map(|version| version.version).collect()
        };
        groups.into_iter().map(|(group, versions)| (group, ordered(versions))).collect()
    }
}

/// A version, with the rank of its group and its own within it.
struct Ranked {
    version: String,
    ranks: (i64, i64),
}

/// How versions compare when nothing else is said: `v10`, `v2`, `v2beta1`, `v2alpha1`, then the others by name.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Maturity {
    Odd(Reverse<String>),
    Alpha(u64, u64),
    Beta(u64, u64),
    Stable(u64),
}

impl Maturity {
    fn of(version: &str) -> Self {
        let parse = || {
            let digits = version.strip_prefix('v')?;
            let (major, rest) =
                digits.split_at(digits.find(|char: char| !char.is_ascii_digit()).unwrap_or(digits.len()));
            let major = major.parse().ok()?;
            match (rest.strip_prefix("alpha"), rest.strip_prefix("beta")) {
                (Some(minor), _) => Some(Self::Alpha(major, minor.parse().ok()?)),
                (_, Some(minor)) => Some(Self::Beta(major, minor.parse().ok()?)),
                _ if rest.is_empty() => Some(Self::Stable(major)),
                _ => None,
            }
        };
        parse().unwrap_or_else(|| Self::Odd(Reverse(version.to_owned())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_preferred_by_how_stable_and_how_new_they_are() {
        let mut versions = ["foo", "v1alpha1", "v2", "v1beta1", "v10", "bar", "v1", "v2beta3", "v1beta"];
        versions.sort_by_cached_key(|version| Reverse(Maturity::of(version)));
        assert_eq!(versions, ["v10", "v2", "v1", "v2beta3", "v1beta1", "v1alpha1", "bar", "foo", "v1beta"]);
    }
}
