//! `resource.k8s.io`: devices, classes of them, and claims on them.

use kueue_core::field::{Error, Errors};
use kueue_core::name::{dns1123_label, dns1123_subdomain};

use super::check::Field;
use super::{Rules, Update, defaults, immutable};
use crate::crd::cel::device;
use crate::json::Value;

pub static CLAIM: Rules = Rules {
    answers_deleted: true,
    default: |object| defaults::fill(defaults::RESOURCE_CLAIM, object),
    validate_create: |object| checked(|errors| check_claim(&Field::root(object).child("spec.devices"), errors)),
    validate_update: |update| immutable(update, &[&["spec"]]),
    validate_status: validate_claim_status,
    status_metadata: &[],
    ..Rules::PLAIN
};
pub static CLAIM_TEMPLATE: Rules = Rules {
    validate_create: |object| checked(|errors| check_claim(&Field::root(object).child("spec.spec.devices"), errors)),
    validate_status: |_| Errors::new(),
    ..CLAIM
};
pub static CLASS: Rules = Rules {
    answers_deleted: true,
    validate: |object| checked(|errors| check_selectors(&Field::root(object).child("spec.selectors"), errors)),
    ..Rules::WITH_GENERATION
};
pub static SLICE: Rules = Rules {
    answers_deleted: true,
    validate: validate_slice,
    validate_update: validate_slice_update,
    ..Rules::WITH_GENERATION
};

const REQUESTS_MAX: usize = 32;
const ALTERNATIVES_MAX: usize = 8;
const SELECTORS_MAX: usize = 32;
const RESERVED_MAX: usize = 256;
const DEVICES_MAX: usize = 128;
const EXPRESSION_BYTES_MAX: usize = 10 << 10;

fn checked(check: impl FnOnce(&mut Errors)) -> Errors {
    let mut errors = Errors::new();
    check(&mut errors);
    errors
}

fn check_claim(devices: &Field<'_>, errors: &mut Errors) {
    let requests = devices.child("requests");
    requests.at_most(REQUESTS_MAX, errors);
    check_names(&requests, errors);
    for request in requests.items() {
        request.child("name").obeys(dns1123_label, errors);
        let (exactly, first) = (request.child("exactly"), request.child("firstAvailable"));
        let why = "exactly one of `exactly` or `firstAvailable` is required";
        match (exactly.is_set(), !first.is_empty()) {
            (false, false) => errors.push(request.required(why)),
            (true, true) => {
                let why = format!("{why}, but multiple fields are set");
                errors.push(Error::invalid(&request.path, Value::Null, why));
            }
            (true, false) => check_request(&exactly, errors),
            (false, true) => {
                first.at_most(ALTERNATIVES_MAX, errors);
                check_names(&first, errors);
                for alternative in first.items() {
                    alternative.child("name").obeys(dns1123_label, errors);
                    check_request(&alternative, errors);
                }
            }
        }
    }
}

fn check_names(list: &Field<'_>, errors: &mut Errors) {
    let mut seen: Vec<&str> = Vec::new();
    for item in list.items() {
        let name = item.child("name").text();
        if seen.contains(&name) {
            errors.push(Error::duplicate(&item.path, name));
        }
        seen.push(name);
    }
}

fn check_request(request: &Field<'_>, errors: &mut Errors) {
    request.child("deviceClassName").needs_name(dns1123_subdomain, errors);
    check_selectors(&request.child("selectors"), errors);
    let (mode, count) = (request.child("allocationMode"), request.child("count"));
    match mode.text() {
        "All" => {
            if count.number() != 0 {
                errors.push(count.invalid("must not be specified when allocationMode is 'All'"));
            }
        }
        "ExactCount" => count.positive(errors),
        other => errors.push(Error::not_supported(&mode.path, other, &["All", "ExactCount"])),
    }
}

fn check_selectors(selectors: &Field<'_>, errors: &mut Errors) {
    selectors.at_most(SELECTORS_MAX, errors);
    for selector in selectors.items() {
        let cel = selector.child("cel");
        if !cel.is_set() {
            errors.push(cel.required(""));
            continue;
        }
        let expression = cel.child("expression");
        if expression.text().len() > EXPRESSION_BYTES_MAX {
            errors.push(Error::too_long(&expression.path, EXPRESSION_BYTES_MAX));
        } else if let Some(why) = device::mistake(expression.text()) {
            errors.push(Error::invalid(&expression.path, expression.text(), why));
        }
    }
}

fn validate_claim_status(update: Update<'_>) -> Errors {
    let mut errors = Errors::new();
    let status = Field::root(update.new).child("status");
    let reserved = status.child("reservedFor");
    let is_allocated = status.child("allocation").is_set();
    reserved.at_most(RESERVED_MAX, &mut errors);
    for user in reserved.items() {
        for name in ["resource", "name", "uid"] {
            user.child(name).needs(&mut errors);
        }
    }
    if !reserved.is_empty() && !is_allocated {
        errors.push(reserved.forbidden("may not be specified when `allocated` is not set"));
    }
    let had = !update.old["status"]["allocation"].is_null();
    if had && is_allocated {
        errors.extend(immutable(update, &[&["status", "allocation"]]));
    }
    errors
}

fn validate_slice(object: &Value) -> Errors {
    let mut errors = Errors::new();
    let spec = Field::root(object).child("spec");
    let driver = spec.child("driver");
    if driver.needs(&mut errors) {
        driver.obeys(dns1123_subdomain, &mut errors);
    }
    let pool = spec.child("pool");
    if pool.child("name").needs(&mut errors) {
        for part in pool.child("name").text().split('/') {
            let mistakes = dns1123_subdomain(part).into_iter();
            errors.extend(mistakes.map(|why| Error::invalid(&pool.child("name").path, part, why)));
        }
    }
    let count = pool.child("resourceSliceCount");
    if count.number() <= 0 {
        errors.push(Error::invalid(&count.path, count.number(), "must be greater than zero"));
    }
    pool.child("generation").not_negative(&mut errors);
    check_place(&spec, &mut errors);
    let devices = spec.child("devices");
    devices.at_most(DEVICES_MAX, &mut errors);
    check_names(&devices, &mut errors);
    for device in devices.items() {
        device.child("name").obeys(dns1123_label, &mut errors);
    }
    errors
}

/// Where the devices of a slice are.
fn check_place(spec: &Field<'_>, errors: &mut Errors) {
    let places = ["nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection"];
    let given: Vec<&str> = places.into_iter().filter(|name| is_given(&spec.child(name))).collect();
    let why = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required";
    match given.len() {
        0 => errors.push(spec.required(why)),
        1 => spec.child("nodeName").obeys_if_set(dns1123_subdomain, errors),
        _ => {
            let shown = format!("{{{}}}", given.join(", "));
            errors.push(Error::invalid(&spec.path, shown, format!("{why}, but multiple fields are set")));
        }
    }
}

fn is_given(place: &Field<'_>) -> bool {
    !place.is_empty() && *place.value != false
}

fn validate_slice_update(update: Update<'_>) -> Errors {
    let frozen: [&[&str]; 4] =
        [&["spec", "driver"], &["spec", "nodeName"], &["spec", "allNodes"], &["spec", "pool", "name"]];
    immutable(update, &frozen)
}

#[cfg(test)]
mod tests {
    use super::super::check::lines;
    use super::*;
    use crate::json::json;

    #[test]
    fn a_request_names_a_class() {
        let say = |request: Value| {
            let mut claim = json!({"spec": {"devices": {"requests": [request]}}});
            (CLAIM.default)(&mut claim);
            lines(&(CLAIM.validate_create)(&claim))
        };
        assert_eq!(say(json!({"name": "a", "exactly": {"deviceClassName": "c"}})), [""; 0]);
        assert_eq!(
            say(json!({"name": "a", "exactly": {}})),
            ["spec.devices.requests[0].exactly.deviceClassName: Required value"]
        );
        assert_eq!(
            say(json!({"name": "a"})),
            ["spec.devices.requests[0]: Required value: exactly one of `exactly` or `firstAvailable` is required"]
        );
        assert_eq!(say(json!({"name": "a", "exactly": {"deviceClassName": "c", "count": -1}})).len(), 1);
    }

    #[test]
    fn selectors_are_compiled() {
        let class = json!({"spec": {"selectors": [{"cel": {"expression": "device.driver == 'a'"}}, {"cel": {"expression": "1"}}, {}]}});
        assert_eq!(
            lines(&(CLASS.validate)(&class)),
            [
                "spec.selectors[1].cel.expression: Invalid value: \"1\": must evaluate to bool or the unknown type, not int",
                "spec.selectors[2].cel: Required value",
            ]
        );
    }

    #[test]
    fn a_claim_is_reserved_after_it_is_allocated() {
        let status = json!({"status": {"reservedFor": [{"resource": "pods", "name": "p", "uid": "u"}]}});
        assert_eq!(
            lines(&validate_claim_status(Update { new: &status, old: &json!({}) })),
            ["status.reservedFor: Forbidden: may not be specified when `allocated` is not set"]
        );
    }

    #[test]
    fn a_slice_is_in_one_place() {
        let slice = |fields: Value| {
            let mut slice = json!({"spec": {"driver": "d", "pool": {"name": "p", "resourceSliceCount": 1}}});
            slice["spec"].as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
            lines(&validate_slice(&slice))
        };
        assert_eq!(slice(json!({"nodeName": "n"})), [""; 0]);
        assert!(slice(json!({"nodeName": "n", "allNodes": true}))[0].ends_with("but multiple fields are set"));
        assert_eq!(slice(json!({"nodeName": "n", "driver": ""})), ["spec.driver: Required value"]);
    }
}
