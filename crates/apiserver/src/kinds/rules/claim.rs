//! PersistentVolumeClaims: kept while pods use them, and frozen but for their size once they are bound.

use kueue_core::field::{Error, Errors, Path};
use kueue_core::name::{dns1123_label, dns1123_subdomain};

use super::check::Field;
use super::pod::put;
use super::{Moment, Rules, UnknownSelector, Update, defaults, immutable, internal_diff};
use crate::json::{Value, json};

pub static RULES: Rules = Rules {
    answers_deleted: true,
    selectable: &["name"],
    unknown_selector: UnknownSelector::Kind,
    default: |object| defaults::fill(defaults::CLAIM, object),
    prepare_create,
    validate,
    validate_update,
    validate_status,
    // A real server stores a new claim without the phase that it shows.
    is_rewritten_once: |_| true,
    ..Rules::PLAIN
};

const ACCESS_MODES: [&str; 4] = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];

/// A claim is kept while a pod uses it, and waits for a volume.
fn prepare_create(object: &mut Value, _: Moment<'_>) {
    if let Some(metadata) = crate::schema::object_at(object, &["metadata"]) {
        let finalizers = metadata.entry("finalizers").or_insert_with(|| json!([]));
        let wanted = json!("kubernetes.io/pvc-protection");
        if let Some(list) = finalizers.as_array_mut().filter(|list| !list.contains(&wanted)) {
            list.push(wanted);
        }
    }
    object["status"] = json!({"phase": "Pending"});
}

fn validate(object: &Value) -> Errors {
    let mut errors = Errors::new();
    check_claim_spec(&Field::root(object).child("spec"), &mut errors);
    errors
}

/// The spec of a claim, in a claim and in every template of one.
pub fn check_claim_spec(spec: &Field<'_>, errors: &mut Errors) {
    let modes = spec.child("accessModes");
    if modes.is_empty() {
        errors.push(modes.required("at least 1 access mode is required"));
    }
    spec.child("selector").label_selector(errors);
    for mode in modes.items() {
        Field { value: mode.value, path: modes.path.clone() }.one_of(&ACCESS_MODES, errors);
    }
    let has = |wanted: fn(&str) -> bool| modes.items().any(|mode| wanted(mode.text()));
    if has(|mode| mode == "ReadWriteOncePod") && has(|mode| ACCESS_MODES[..3].contains(&mode)) {
        errors.push(modes.forbidden("may not use ReadWriteOncePod with other access modes"));
    }
    let at = spec.path.child("resources").key("storage");
    let storage = Field { value: spec.child("resources.requests.storage").value, path: at };
    match storage.quantity() {
        None => errors.push(storage.required("")),
        Some(amount) if amount.sign() <= 0 => errors.push(storage.invalid("must be greater than zero")),
        Some(_) => {}
    }
    spec.child("storageClassName").obeys_if_set(dns1123_subdomain, errors);
    spec.child("volumeMode").one_of(&["Block", "Filesystem"], errors);
    for source in ["dataSource", "dataSourceRef"] {
        check_source(&spec.child(source), errors);
    }
    check_both_sources(spec, errors);
    spec.child("volumeAttributesClassName").obeys_if_set(dns1123_subdomain, errors);
}

fn check_source(source: &Field<'_>, errors: &mut Errors) {
    if !source.is_set() {
        return;
    }
    source.child("name").needs(errors);
    source.child("kind").needs(errors);
    let (group, kind) = (source.child("apiGroup"), source.child("kind").text());
    if group.is_empty() && kind != "PersistentVolumeClaim" {
        let why = "must be 'PersistentVolumeClaim' when referencing the default apiGroup";
        errors.push(Error::invalid(&source.path, kind, why));
    }
    group.obeys_if_set(dns1123_subdomain, errors);
    source.child("namespace").obeys_if_set(dns1123_label, errors);
}

fn check_both_sources(spec: &Field<'_>, errors: &mut Errors) {
    let (source, reference) = (spec.child("dataSource"), spec.child("dataSourceRef"));
    if !source.is_set() || !reference.is_set() {
        return;
    }
    let shown = source.path.to_string();
    let differs = ["apiGroup", "kind", "name"].iter().any(|name| source.value.get(name) != reference.value.get(name));
    if !reference.child("namespace").is_empty() {
        let why = "may not be specified when dataSourceRef.namespace is specified";
        errors.push(Error::invalid(&spec.path, shown, why));
    } else if differs {
        errors.push(Error::invalid(&spec.path, shown, "must match dataSourceRef"));
    }
}

/// Undoes what an update may do: a volume is given once, and a class once; a bound claim may grow.
fn take_back(spec: &mut Value, update: Update<'_>) {
    let old = &update.old["spec"];
    if old["volumeName"].as_str().unwrap_or_default().is_empty() {
        put(spec, "volumeName", old);
    }
    if old["storageClassName"].is_null() && !spec["storageClassName"].is_null() {
        put(spec, "storageClassName", old);
    }
    if update.new["status"]["phase"] == "Bound" {
        put(spec, "volumeAttributesClassName", old);
        if let Some(size) = spec.pointer_mut("/resources/requests/storage") {
            *size = old["resources"]["requests"]["storage"].clone();
        }
    }
}

fn validate_update(update: Update<'_>) -> Errors {
    let mut errors = Errors::new();
    let mut allowed = update.new["spec"].clone();
    take_back(&mut allowed, update);
    if allowed != update.old["spec"] {
        let diff = internal_diff("PersistentVolumeClaimSpec", &update.old["spec"], &allowed);
        let why = format!(
            "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound \
             claims\n{diff}"
        );
        errors.push(Error::forbidden(&Path::new("spec"), why));
    }
    let (new, old) = (Field::root(update.new), Field::root(update.old));
    let size = |object: &Field<'_>, at: &str| object.child(at).quantity().unwrap_or_default();
    let asked = "spec.resources.requests.storage";
    if size(&new, asked) < size(&old, asked) && size(&new, asked) <= size(&old, "status.capacity.storage") {
        errors.push(new.child(asked).forbidden("field can not be less than status.capacity"));
    }
    let mode = immutable(update, &[&["spec", "volumeMode"]]);
    errors.extend(mode.into_iter().map(|error| Error { field: Path::new("volumeMode"), ..error }));
    let class = new.child("spec.volumeAttributesClassName");
    if old.child("status.currentVolumeAttributesClassName").is_set() && class.is_empty() {
        let to = if class.is_set() { "empty string" } else { "nil" };
        let why = format!("update to {to} is forbidden when status.currentVolumeAttributesClassName is not nil");
        errors.push(class.forbidden(why));
    }
    errors
}

fn validate_status(update: Update<'_>) -> Errors {
    let mut errors = Errors::new();
    for (_, amount) in Field::root(update.new).child("status.capacity").entries() {
        if let Some(quantity) = amount.quantity().filter(|quantity| quantity.value() < 0) {
            errors.push(Error::invalid(&amount.path, quantity.value(), "must be a valid resource quantity"));
        }
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::super::check::lines;
    use super::*;

    fn claim(change: impl Fn(&mut Value)) -> Value {
        let mut claim = json!({"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
            "status": {"phase": "Bound", "capacity": {"storage": "1Gi"}}});
        change(&mut claim);
        claim
    }

    fn check(change: impl Fn(&mut Value), expected: &[&str]) {
        assert_eq!(lines(&validate(&claim(change))), expected);
    }

    #[test]
    fn a_claim_says_how_and_how_much() {
        check(|_| {}, &[]);
        check(
            |claim| claim["spec"] = json!({}),
            &[
                "spec.accessModes: Required value: at least 1 access mode is required",
                "spec.resources[storage]: Required value",
            ],
        );
        check(
            |claim| claim["spec"]["accessModes"] = json!(["ReadWriteOncePod", "ReadOnlyMany"]),
            &["spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes"],
        );
        check(
            |claim| claim["spec"]["resources"]["requests"]["storage"] = "0".into(),
            &["spec.resources[storage]: Invalid value: \"0\": must be greater than zero"],
        );
        check(
            |claim| claim["spec"]["dataSource"] = json!({"kind": "X", "name": "x"}),
            &[
                "spec.dataSource: Invalid value: \"X\": must be 'PersistentVolumeClaim' when referencing the default apiGroup",
            ],
        );
    }

    #[test]
    fn a_bound_claim_only_grows() {
        let update =
            |change: fn(&mut Value)| lines(&validate_update(Update { new: &claim(change), old: &claim(|_| {}) }));
        assert_eq!(update(|claim| claim["spec"]["resources"]["requests"]["storage"] = "2Gi".into()), [""; 0]);
        assert_eq!(
            update(|claim| claim["spec"]["resources"]["requests"]["storage"] = "1Mi".into()),
            ["spec.resources.requests.storage: Forbidden: field can not be less than status.capacity"]
        );
        assert_eq!(update(|claim| claim["spec"]["accessModes"] = json!(["ReadWriteMany"])).len(), 1);
    }
}
