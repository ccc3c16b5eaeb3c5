//! APIService: who answers for a version of a group.

use kueue_core::field::{Error, Errors};
use kueue_core::name::{dns1035_label, dns1123_subdomain};

use super::check::Field;
use super::{Rules, Update, defaults, path_segment};
use crate::json::Value;

pub static RULES: Rules = Rules {
    allows_unconditional_update: false,
    check_name: path_segment,
    default: |object| defaults::fill(defaults::API_SERVICE, object),
    validate,
    validate_status,
    ..Rules::PLAIN
};

const GROUP_PRIORITY_MAX: i64 = 20_000;
const VERSION_PRIORITY_MAX: i64 = 1000;
const CONDITIONS: [&str; 3] = ["True", "False", "Unknown"];

fn validate(object: &Value) -> Errors {
    let mut errors = Errors::new();
    let (metadata, spec) = (Field::root(object).child("metadata"), Field::root(object).child("spec"));
    let (group, version) = (spec.child("group"), spec.child("version"));
    let wanted = format!("{}.{}", version.text(), group.text());
    for name in [metadata.child("generateName"), metadata.child("name")] {
        let is_wrong = !name.is_empty() && name.text() != wanted && path_segment(name.text()).is_empty();
        if is_wrong {
            errors.push(name.invalid(format!("must be `spec.version+\".\"+spec.group`: {wanted:?}")));
        }
    }
    if group.is_empty() && version.text() != "v1" {
        errors.push(group.required("only v1 may have an empty group and it better be legacy kube"));
    }
    group.obeys_if_set(dns1123_subdomain, &mut errors);
    for why in dns1035_label(version.text()) {
        errors.push(Error::invalid(&version.path, version.text(), why));
    }
    for (name, max) in [("groupPriorityMinimum", GROUP_PRIORITY_MAX), ("versionPriority", VERSION_PRIORITY_MAX)] {
        let priority = spec.child(name);
        if !(1..=max).contains(&priority.number()) {
            let why = format!("must be positive and less than {max}");
            errors.push(Error::invalid(&priority.path, priority.number(), why));
        }
    }
    check_service(&spec, &mut errors);
    errors
}

/// The other server, or that there is none.
fn check_service(spec: &Field<'_>, errors: &mut Errors) {
    let (service, bundle, insecure) =
        (spec.child("service"), spec.child("caBundle"), spec.child("insecureSkipTLSVerify"));
    let is_insecure = *insecure.value == true;
    if !service.is_set() {
        if !bundle.is_empty() {
            let bytes = crate::base64::STANDARD.decode(bundle.text()).map_or(0, |bytes| bytes.len());
            let why = "local APIServices may not have a caBundle";
            errors.push(Error::invalid(&bundle.path, format!("{bytes} bytes"), why));
        }
        if is_insecure {
            errors.push(insecure.invalid("local APIServices may not have insecureSkipTLSVerify"));
        }
        return;
    }
    for name in ["namespace", "name"] {
        service.child(name).needs(errors);
    }
    let port = service.child("port");
    if !(1..=65_535).contains(&port.number()) {
        let why = "port is not valid: must be between 1 and 65535, inclusive";
        errors.push(Error::invalid(&port.path, port.number(), why));
    }
    if is_insecure && !bundle.is_empty() {
        errors.push(insecure.invalid("may not be true if caBundle is present"));
    }
}

fn validate_status(update: Update<'_>) -> Errors {
    let mut errors = Errors::new();
    for condition in Field::root(update.new).child("status.conditions").items() {
        let status = condition.child("status");
        if !CONDITIONS.contains(&status.text()) {
            errors.push(Error::not_supported(&status.path, status.text(), &CONDITIONS));
        }
    }
    errors
}

#[cfg(test)]
mod tests {
    #![expect(clippy::needless_pass_by_value, reason = "cases read better without references")]

    use super::super::check::lines;
    use super::*;
    use crate::json::json;

    fn check(name: &str, spec: Value, expected: &[&str]) {
        let found = lines(&validate(&json!({"metadata": {"name": name}, "spec": spec})));
        assert_eq!(found, expected);
    }

    #[test]
    fn one_is_named_after_its_version_and_group() {
        let spec =
            |group: &str| json!({"group": group, "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 1});
        check("v1.a.example.com", spec("a.example.com"), &[]);
        check("v1.", spec(""), &[]);
        check(
            "v1.b",
            spec("a"),
            &["metadata.name: Invalid value: \"v1.b\": must be `spec.version+\".\"+spec.group`: \"v1.a\""],
        );
        // What cannot be a name at all is told by the rule for names.
        check("v1/b", spec("a"), &[]);
    }

    #[test]
    fn priorities_have_bounds_and_others_an_address() {
        check(
            "v2.",
            json!({"version": "v2", "service": {"port": 70_000}}),
            &[
                "spec.group: Required value: only v1 may have an empty group and it better be legacy kube",
                "spec.groupPriorityMinimum: Invalid value: 0: must be positive and less than 20000",
                "spec.versionPriority: Invalid value: 0: must be positive and less than 1000",
                "spec.service.namespace: Required value",
                "spec.service.name: Required value",
                "spec.service.port: Invalid value: 70000: port is not valid: must be between 1 and 65535, inclusive",
            ],
        );
    }

    #[test]
    fn a_certificate_is_given_or_not_looked_at() {
        let spec = |fields: Value| {
            let mut spec = json!({"group": "a", "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 1});
            spec.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
            spec
        };
        check(
            "v1.a",
            spec(json!({"caBundle": "AAAA", "insecureSkipTLSVerify": true})),
            &[
                "spec.caBundle: Invalid value: \"3 bytes\": local APIServices may not have a caBundle",
                "spec.insecureSkipTLSVerify: Invalid value: true: local APIServices may not have insecureSkipTLSVerify",
            ],
        );
        let service = json!({"namespace": "n", "name": "s", "port": 443});
        check(
            "v1.a",
            spec(json!({"service": service, "caBundle": "AAAA", "insecureSkipTLSVerify": true})),
            &["spec.insecureSkipTLSVerify: Invalid value: true: may not be true if caBundle is present"],
        );
    }

    #[test]
    fn a_condition_holds_or_not_or_is_unknown() {
        let status = |text: &str| json!({"status": {"conditions": [{"type": "Available", "status": text}]}});
        let told = |text: &str| validate_status(Update { new: &status(text), old: &Value::Null }).len();
        assert_eq!((told("True"), told("Odd"), told("")), (0, 1, 1));
    }
}
