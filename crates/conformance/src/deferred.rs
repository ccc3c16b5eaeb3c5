//! Cases that need a part of the system which is not built yet.
//!
//! Whether a case is deferred follows from what is in it, never from its name, so a case that only stands near such a
//! part still counts. The rules are here and nowhere else; when a part is built, its rule is deleted.

use serde_json::Value;

use crate::corpus::Case;

/// Packages, by the beginning of their names, whose cases drive the engine and so may need what it does not have yet.
const DRIVES_THE_ENGINE: [&str; 5] =
    ["pkg-cache-", "pkg-controller-core", "pkg-scheduler", "pkg-util-admissionfairsharing", "pkg-workload"];

/// What a case would need, and how it shows.
struct Rule {
    needs: &'static str,
    applies: fn(&[&Value]) -> bool,
}

const RULES: [Rule; 2] = [
    Rule { needs: DEVICES, applies: needs_devices },
    Rule { needs: "a client of the API server", applies: needs_client },
];

const DEVICES: &str = "dynamic resource allocation";

const DEVICE_FIELDS: [&str; 6] = [
    "deviceClassMappings",
    "deviceClassName",
    "draResources",
    "preprocessedDRAResources",
    "replacedExtendedResources",
    "resourceClaims",
];
const DEVICE_KINDS: [&str; 4] = ["DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice"];

/// What the case needs that is not there yet.
pub fn reason(package: &str, case: &Case) -> Option<&'static str> {
    if package.starts_with("pkg-controller-job") {
        return of_jobs(case);
    }
    if package == "pkg-util-admissioncheck" {
        return any_object(&case.parts(), |object| kind(object) == "MultiKueueConfig").then_some("MultiKueue");
    }
    if !DRIVES_THE_ENGINE.iter().any(|start| package.starts_with(start)) {
        return None;
    }
    let parts = case.parts();
    // Their runners can refuse a write.
    if package.starts_with("pkg-controller-core") || package == "pkg-scheduler" {
        let is_found_by_devices = package.ends_with("-indexer") && names_extended_resource(case.raw("want"));
        return (needs_devices(&parts) || is_found_by_devices).then_some(DEVICES);
    }
    RULES.iter().find(|rule| (rule.applies)(&parts)).map(|rule| rule.needs)
}

/// What a case of a job kind needs. Kueue keeps the tests of how jobs are sent to other clusters in files of their own.
fn of_jobs(case: &Case) -> Option<&'static str> {
    let file = case.source.rsplit('/').next().unwrap_or_default();
    if file.contains("multikueue") {
        return Some("MultiKueue");
    }
    // An API server that refuses to be asked, in code.
    let is_refused = !case.raw("interceptors.$skipped").is_null();
    // One that does not know the kind that is asked for.
    let is_unknown = case.has("rayClusterName") && !case.has("object") && !case.has("registerRayType");
    (is_refused || is_unknown).then_some("a client of the API server")
}

/// Whether something is to be found by a resource that only devices have.
fn names_extended_resource(found: &Value) -> bool {
    let mut values = found.as_array().into_iter().flatten().filter_map(Value::as_str);
    values.any(|value| value.split_once('/').is_some_and(|(domain, _)| domain.ends_with(".com")))
}

fn needs_devices(parts: &[&Value]) -> bool {
    any_object(parts, |object| has_field(object, &DEVICE_FIELDS) || DEVICE_KINDS.contains(&kind(object)))
}

/// Code that stands between the tested function and the API server, or an error that it is to answer with.
fn needs_client(parts: &[&Value]) -> bool {
    let has_error = |object: &Value| {
        let fields = object.as_object().into_iter().flatten();
        fields
            .filter(|(key, _)| *key == "err" || key.ends_with("Err"))
            .any(|(key, value)| !key.starts_with("want") && value.get("error").is_some())
    };
    let row = parts.first().copied().unwrap_or(&Value::Null);
    has_error(row)
        || has_error(&row["args"])
        || any_object(parts, |object| {
            let is_listing_refused = object["wantErr"] == true && object["args"]["clnt"].get("$fakeClient").is_some();
            is_listing_refused
                || object.as_object().is_some_and(|map| map.keys().any(|key| key.starts_with("interceptor")))
        })
}

fn kind(object: &Value) -> &str {
    object["kind"].as_str().unwrap_or_default()
}

fn has_field(object: &Value, names: &[&str]) -> bool {
    names.iter().any(|name| match &object[*name] {
        Value::Null => false,
        Value::Array(items) => !items.is_empty(),
        Value::Object(map) => !map.is_empty(),
        _ => true,
    })
}

fn any_object(parts: &[&Value], mut is_so: impl FnMut(&Value) -> bool) -> bool {
    let mut is_any = false;
    for_each_object(parts, &mut |object| is_any |= is_so(object));
    is_any
}

fn for_each_object<'v>(parts: &[&'v Value], visit: &mut impl FnMut(&'v Value)) {
    for part in parts {
        match part {
            Value::Object(map) => {
                visit(part);
                for value in map.values() {
                    for_each_object(&[value], visit);
                }
            }
            Value::Array(items) => {
                for item in items {
                    for_each_object(&[item], visit);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_error_that_the_api_server_is_to_answer_with_defers_and_an_expected_one_does_not() {
        let error = json!({"error": "refused"});
        assert!(needs_client(&[&json!({"err": error})]) && needs_client(&[&json!({"args": {"patchErr": error}})]));
        assert!(!needs_client(&[&json!({"wantErr": error, "want": {"err": error}})]));
    }

    #[test]
    fn a_device_defers_wherever_it_stands() {
        let pods = json!({"podSets": [{"topologyRequest": {"required": "rack"}}]});
        assert!(!needs_devices(&[&pods]));
        assert!(needs_devices(&[&json!({"objects": [{"kind": "DeviceClass"}]})]));
    }
}
