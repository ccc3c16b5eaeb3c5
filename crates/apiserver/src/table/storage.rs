//! Cells of kinds around storage and devices.

use jiff::Timestamp;

use super::cells::{joined, text};
use crate::json::{Value, json};

/// `RWO,ROX`.
pub fn access_modes(modes: &Value) -> String {
    let short =
        [("ReadWriteOnce", "RWO"), ("ReadOnlyMany", "ROX"), ("ReadWriteMany", "RWX"), ("ReadWriteOncePod", "RWOP")];
    let given = modes.as_array().map(Vec::as_slice).unwrap_or_default();
    let known: Vec<&str> =
        short.iter().filter(|(long, _)| given.contains(&json!(long))).map(|(_, short)| *short).collect();
    known.join(",")
}

/// What is being deleted says so.
pub fn phase(object: &Value, _: Timestamp) -> Value {
    match object["metadata"].get("deletionTimestamp") {
        Some(_) => "Terminating".into(),
        None => text(&object["status"]["phase"]).into(),
    }
}

/// A claim has the size and modes of the volume it got.
pub fn claim_capacity(object: &Value, _: Timestamp) -> Value {
    match text(&object["spec"]["volumeName"]) {
        "" => "".into(),
        _ => match text(&object["status"]["capacity"]["storage"]) {
            "" => "0".into(),
            size => size.into(),
        },
    }
}

pub fn claim_modes(object: &Value, _: Timestamp) -> Value {
    match text(&object["spec"]["volumeName"]) {
        "" => "".into(),
        _ => access_modes(&object["status"]["accessModes"]).into(),
    }
}

/// The class in the spec, or in the annotation that came before it.
pub fn class(object: &Value, _: Timestamp) -> Value {
    match text(&object["metadata"]["annotations"]["volume.beta.kubernetes.io/storage-class"]) {
        "" => text(&object["spec"]["storageClassName"]).into(),
        old => old.into(),
    }
}

pub fn volume_claim(object: &Value, _: Timestamp) -> Value {
    let claim = &object["spec"]["claimRef"];
    if claim.is_null() { "".into() } else { format!("{}/{}", text(&claim["namespace"]), text(&claim["name"])).into() }
}

/// How far a claim on devices is.
pub fn claim_state(object: &Value, _: Timestamp) -> Value {
    let is_deleted = object["metadata"].get("deletionTimestamp").is_some();
    let is_allocated = object["status"]["allocation"].is_object();
    let is_reserved = object["status"]["reservedFor"].as_array().is_some_and(|users| !users.is_empty());
    let states = [
        (is_deleted, "deleted"),
        (!is_allocated && !is_deleted, "pending"),
        (is_allocated, "allocated"),
        (is_allocated && is_reserved, "reserved"),
    ];
    let true_ones: Vec<&str> = states.iter().filter(|(holds, _)| *holds).map(|(_, state)| *state).collect();
    true_ones.join(",").into()
}

pub fn driver_modes(object: &Value, _: Timestamp) -> Value {
    match joined(&object["spec"]["volumeLifecycleModes"], ",") {
        modes if modes.is_empty() => "<none>".into(),
        modes => modes.into(),
    }
}

pub fn driver_audiences(object: &Value, _: Timestamp) -> Value {
    let Some(requests) = object["spec"]["tokenRequests"].as_array() else { return "<unset>".into() };
    let audiences: Vec<&str> = requests.iter().map(|request| text(&request["audience"])).collect();
    audiences.join(",").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn access_modes_are_short_and_in_order() {
        assert_eq!(access_modes(&json!(["ReadWriteMany", "ReadWriteOnce"])), "RWO,RWX");
        assert_eq!(access_modes(&Value::Null), "");
    }

    #[test]
    fn a_claim_on_devices_says_how_far_it_is() {
        let now = Timestamp::UNIX_EPOCH;
        assert_eq!(claim_state(&json!({}), now), "pending");
        let held = json!({"status": {"allocation": {}, "reservedFor": [{}]}});
        assert_eq!(claim_state(&held, now), "allocated,reserved");
    }
}
