//! Server-side apply against its rules: what managers say, what they change, and what follows from that, told by a model
//! that knows nothing of sets or schemas but only of paths and who last said what.

use std::collections::{BTreeMap, BTreeSet};

use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use super::super::set::FieldSet;
use super::super::{ApplyError, Intent, NOTHING};
use super::{apart, apply, track};
use crate::json::{Value, json};
use crate::schema::Schema;
use crate::schema::load::custom;

const MANAGERS: [&str; 3] = ["a", "b", "c"];
const NAMES: [&str; 3] = ["x", "y", "z"];

/// Leaves that a configuration may set, and where they are: fields, entries of a map, fields of elements, members of a
/// set, and things with one owner.
fn paths() -> Vec<String> {
    let mut paths = vec!["s".to_owned(), "atomic".to_owned(), "list".to_owned()];
    for name in NAMES {
        paths.push(format!("map/{name}"));
        paths.push(format!("set/{name}"));
        paths.push(format!("items/{name}"));
        paths.push(format!("items/{name}/v"));
    }
    paths
}

fn schema() -> Schema {
    custom(&json!({"type": "object", "properties": {
        "metadata": {"type": "object", "properties": {"name": {"type": "string"}}},
        "s": {"type": "string"},
        "atomic": {"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": {"type": "string"}},
        "list": {"type": "array", "items": {"type": "string"}},
        "map": {"type": "object", "additionalProperties": {"type": "string"}},
        "set": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
        "items": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["n"],
                  "items": {"type": "object", "properties": {"n": {"type": "string"}, "v": {"type": "string"}}}},
    }}))
}

/// What an object has, path by path.
type Content = BTreeMap<String, String>;

fn content(object: &Value) -> Content {
    let mut found = Content::new();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    for name in ["s", "atomic", "list"] {
        if let Some(value) = object.get(name) {
            found.insert(name.into(), value.to_string());
        }
    }
    for (name, value) in object["map"].as_object().into_iter().flatten() {
        found.insert(format!("map/{name}"), text(value));
    }
    for value in object["set"].as_array().into_iter().flatten() {
        found.insert(format!("set/{}", text(value)), String::new());
    }
    for item in object["items"].as_array().into_iter().flatten() {
        found.insert(format!("items/{}", text(&item["n"])), String::new());
        if let Some(value) = item.get("v") {
            found.insert(format!("items/{}/v", text(&item["n"])), text(value));
        }
    }
    found
}

/// An object that has just this.
fn object(content: &Content) -> Value {
    let mut object = json!({"metadata": {"name": "o"}});
    for (path, value) in content {
        let parts: Vec<&str> = path.split('/').collect();
        match parts.as_slice() {
            ["s"] => object["s"] = serde_json::from_str(value).unwrap(),
            ["atomic"] => object["atomic"] = serde_json::from_str(value).unwrap(),
            ["list"] => object["list"] = serde_json::from_str(value).unwrap(),
            ["map", name] => object["map"][*name] = value.clone().into(),
            ["set", name] => push(&mut object["set"], (*name).into()),
            ["items", name] => push(&mut object["items"], json!({"n": name})),
            ["items", name, "v"] => {
                let items = object["items"].as_array_mut().unwrap();
                items.iter_mut().find(|item| item["n"] == *name).unwrap()["v"] = value.clone().into();
            }
            _ => unreachable!("no such path"),
        }
    }
    object
}

fn push(list: &mut Value, item: Value) {
    if list.is_null() {
        *list = json!([]);
    }
    list.as_array_mut().unwrap().push(item);
}

fn random_content(random: &mut ChaCha8Rng) -> Content {
    let mut content = Content::new();
    for path in paths() {
        if random.random_range(0..3) > 0 {
            continue;
        }
        let value = NAMES[random.random_range(0..2)];
        let value = match path.as_str() {
            "s" => json!(value).to_string(),
            "atomic" => json!({"k": value}).to_string(),
            "list" => json!([value]).to_string(),
            path if path.starts_with("map/") || path.ends_with("/v") => value.to_owned(),
            _ => String::new(),
        };
        content.insert(path, value);
    }
    for path in content.keys().cloned().collect::<Vec<_>>() {
        if let Some(element) = path.strip_suffix("/v") {
            content.insert(element.to_owned(), String::new());
        }
    }
    content
}

/// Who owns what, by the entries of an object: manager and operation, and the paths.
fn owners(object: &Value) -> BTreeMap<(String, bool), BTreeSet<String>> {
    let mut found = BTreeMap::new();
    for entry in object["metadata"]["managedFields"].as_array().into_iter().flatten() {
        let set = FieldSet::parse(&entry["fieldsV1"]).expect("managed fields parse");
        assert_eq!(set.to_value(), entry["fieldsV1"], "managed fields read back as written");
        let spell = |path: String| {
            let path = path.replace("[n=\"", "/").replace("[=\"", "/").replace("\"]", "").replace('.', "/");
            path.trim_start_matches('/').to_owned()
        };
        let mut owned: BTreeSet<String> = set.paths().into_iter().map(spell).collect();
        // Containers and keys come with what is in them.
        owned.retain(|path| paths().contains(path));
        if owned.is_empty() {
            continue;
        }
        let key = (entry["manager"].as_str().unwrap().to_owned(), entry["operation"] == "Apply");
        assert!(found.insert(key, owned).is_none(), "one entry per manager and operation");
    }
    found
}

fn intent(manager: &str, second: i64) -> Intent {
    let time = format!("2026-01-01T00:{:02}:{:02}Z", second / 60 % 60, second % 60);
    Intent {
        manager: manager.into(),
        api_version: "v1".into(),
        subresource: String::new(),
        time: time.parse().unwrap(),
        resets: &NOTHING,
    }
}

/// What the rules say about who owns what.
#[derive(Debug, Default, Clone)]
struct Model {
    content: Content,
    /// By manager and whether it applies.
    owned: BTreeMap<(String, bool), BTreeSet<String>>,
}

impl Model {
    /// What was there before anybody kept track has an owner from the first apply on.
    fn begin(&mut self) {
        let all = self.content.keys().cloned().collect();
        self.owned.insert(("before-first-apply".into(), false), all);
    }

    /// Others who own a path that would change.
    fn conflicts(&self, manager: &str, config: &Content) -> bool {
        let own = (manager.to_owned(), true);
        config.iter().any(|(path, value)| {
            self.content.get(path) != Some(value)
                && self.owned.iter().any(|(other, owned)| *other != own && owned.contains(path))
        })
    }

    fn apply(&mut self, manager: &str, config: &Content) {
        let own = (manager.to_owned(), true);
        let said: BTreeSet<String> = config.keys().cloned().collect();
        let last = self.owned.remove(&own).unwrap_or_default();
        let changed: BTreeSet<String> = config
            .iter()
            .filter(|(path, value)| self.content.get(*path) != Some(*value))
            .map(|(path, _)| path.clone())
            .collect();
        for owned in self.owned.values_mut() {
            owned.retain(|path| !changed.contains(path));
        }
        self.content.extend(config.clone());
        // What was said before, is no longer, and nobody else owns goes; an element goes with all that is in it.
        let is_owned = |path: &String| self.owned.values().any(|owned| owned.contains(path)) || said.contains(path);
        let given_up: Vec<&String> = last.iter().filter(|path| !is_owned(path)).collect();
        let is_gone = |path: &String| {
            given_up
                .iter()
                .any(|gone| path == *gone || path.strip_prefix(gone.as_str()).is_some_and(|rest| rest.starts_with('/')))
        };
        let gone: BTreeSet<String> = self.content.keys().filter(|path| is_gone(path)).cloned().collect();
        self.content.retain(|path, _| !gone.contains(path));
        for owned in self.owned.values_mut() {
            owned.retain(|path| !gone.contains(path));
        }
        self.owned.insert(own, said);
        self.owned.retain(|_, owned| !owned.is_empty());
    }

    fn update(&mut self, manager: &str, new: &Content) {
        let changed: BTreeSet<String> = new
            .iter()
            .filter(|(path, value)| self.content.get(*path) != Some(*value))
            .map(|(path, _)| path.clone())
            .collect();
        for owned in self.owned.values_mut() {
            owned.retain(|path| !changed.contains(path) && new.contains_key(path));
        }
        self.content = new.clone();
        self.owned.entry((manager.to_owned(), false)).or_default().extend(changed);
        self.owned.retain(|_, owned| !owned.is_empty());
    }
}

/// One random life of an object, step by step beside the model.
fn live(seed: u64) {
    let schema = schema();
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut model = Model::default();
    let mut object_now: Option<Value> = None;
    for step in 0..24 {
        let manager = MANAGERS[random.random_range(0..MANAGERS.len())];
        let wanted = random_content(&mut random);
        let about = format!("seed {seed}, step {step}, manager {manager}, {wanted:?}, before {:?}", model.owned);
        let who = intent(manager, step);
        let is_tracked = object_now.as_ref().is_some_and(|object| object["metadata"].get("managedFields").is_some());
        if object_now.is_none() || random.random_range(0..3) > 0 {
            let is_forced = random.random_bool(0.4);
            let config = object(&wanted);
            let mut next_model = model.clone();
            if !is_tracked && object_now.is_some() {
                next_model.begin();
            }
            let is_contested = next_model.conflicts(manager, &wanted);
            match apply(&schema, object_now.as_ref(), &config, &who, is_forced) {
                Err(ApplyError::Conflicts(_)) => {
                    assert!(!is_forced && is_contested, "a conflict without reason: {about}");
                    continue;
                }
                Err(ApplyError::Typed(why)) => panic!("{why}: {about}"),
                Ok(next) => {
                    assert!(is_forced || !is_contested, "no conflict: {about}");
                    next_model.apply(manager, &wanted);
                    model = next_model;
                    let again = apply(&schema, Some(&next), &config, &intent(manager, step + 1000), false).unwrap();
                    let ((value, owners), (same, others)) = (apart(&next), apart(&again));
                    assert!(value == same && owners.owns_as(&others), "applying twice changes nothing: {about}");
                    object_now = Some(next);
                }
            }
        } else if let Some(old) = &object_now {
            let mut next = object(&wanted);
            track(&schema, Some(old), &mut next, &who);
            if is_tracked {
                model.update(manager, &wanted);
            } else {
                model.content = wanted.clone();
            }
            object_now = Some(next);
        }
        let present = object_now.as_ref().unwrap();
        assert_eq!(content(present), model.content, "content: {about}");
        assert_eq!(owners(present), model.owned, "owners: {about}");
    }
}

#[test]
fn what_managers_say_is_what_they_own() {
    for seed in 0..60 {
        live(seed);
    }
}

#[test]
fn an_object_is_made_of_its_content_and_back() {
    let mut random = ChaCha8Rng::seed_from_u64(7);
    for _ in 0..50 {
        let wanted = random_content(&mut random);
        assert_eq!(content(&object(&wanted)), wanted);
    }
}
