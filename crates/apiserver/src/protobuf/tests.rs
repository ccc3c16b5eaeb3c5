//! Objects there and back, and messages that other clients really send.

use super::*;
use crate::json::json;
use crate::kinds::BuiltIn;
use crate::schema::go;

/// Sends an object through protobuf.
fn there_and_back(object: &Value) -> Value {
    let text = |name: &str| object[name].as_str().unwrap_or_default();
    decode(&encode(object).expect("a kind with a form"), (text("apiVersion"), text("kind"))).expect("a message of ours")
}

#[test]
fn an_object_is_the_same_after_the_journey() {
    let objects = [
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "labels": {"x": "1", "y": ""}},
            "data": {"k": "ü"}, "binaryData": {"b": "AP8="}, "immutable": false}),
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "creationTimestamp": "2026-01-01T00:00:00Z",
                "managedFields": [{"manager": "m", "fieldsV1": {"f:spec": {".": {}}}}]},
            "spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "100m"}},
                    "livenessProbe": {"httpGet": {"port": "http", "path": "/"}, "periodSeconds": 3},
                    "ports": [{"containerPort": 80, "hostPort": -1}]}],
                "volumes": [{"name": "v", "emptyDir": {}}, {"name": "w", "configMap": {"name": "x"}}],
                "terminationGracePeriodSeconds": 0}}),
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": {"replicas": 0,
            "strategy": {"rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 1}}}}),
        json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l"},
            "spec": {"renewTime": "2026-01-01T00:00:00.123456Z", "leaseDurationSeconds": 15}}),
        json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
            "spec": {"user": "u", "extra": {"k": ["a", "b"], "none": []}}}),
        json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "c"},
            "spec": {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": {"type": "object", "maximum": 1.5,
                "default": {"a": [1]}, "enum": ["x", null],
                "properties": {"a": {"properties": {"b": {"additionalProperties": true}}},
                    "l": {"items": {"type": "string", "additionalProperties": {"type": "integer"}}}}}}}]}}),
        json!({"apiVersion": "batch/v1", "kind": "JobList", "metadata": {"resourceVersion": "7"},
            "items": [{"metadata": {"name": "j"}, "spec": {"suspend": false}}]}),
        json!({"apiVersion": "v1", "kind": "Status", "status": "Failure", "code": 404, "details": {"name": "x"}}),
        json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "spec": {"replicas": 3}}),
    ];
    for object in objects {
        assert_eq!(there_and_back(&object), object);
    }
}

#[test]
fn every_built_in_kind_has_a_form() {
    let mut types = BuiltIn::types();
    for kind in BuiltIn::kinds() {
        let api_version = crate::kinds::group_version(&kind.group, &kind.version);
        let mut object = json!({"metadata": {"name": "x"}});
        let schema = types.get(&kind.type_name);
        go::canonical(&schema, &mut object, None).expect("an empty object is of every kind");
        object["apiVersion"] = api_version.into();
        object["kind"] = kind.kind.clone().into();
        let mut back = there_and_back(&object);
        go::canonical(&schema, &mut back, None).expect("what was read has the form of its kind");
        back["apiVersion"] = object["apiVersion"].clone();
        back["kind"] = object["kind"].clone();
        assert_eq!(back, object);
    }
}

#[test]
fn what_go_sends_is_understood() {
    // kubectl create configmap a --from-literal=k=v: an empty creationTimestamp and all fields that are not pointers.
    let body = b"k8s\0\n\x0f\n\x02v1\x12\tConfigMap\x12\x1b\n\x11\n\x01a\x12\0\x1a\0\"\0*\x002\x008\0B\0\
                 \x12\x06\n\x01k\x12\x01v\x1a\0\"\0";
    let object = decode(body, ("v1", "ConfigMap")).unwrap();
    assert_eq!(object["data"], json!({"k": "v"}));
    assert_eq!((&object["metadata"]["name"], &object["metadata"]["creationTimestamp"]), (&json!("a"), &Value::Null));
}

#[test]
fn a_body_that_is_no_message_is_told_in_gos_words() {
    let say = |body: &[u8]| decode(body, ("v1", "Pod")).unwrap_err().why;
    assert_eq!(say(b""), "empty data");
    assert_eq!(say(b"k8s\0"), "empty body");
    assert!(say(b"{}").starts_with("provided data does not appear to be a protobuf message"));
    assert_eq!(say(b"k8s\0\x0a\x05ab"), "unexpected EOF");
    assert_eq!(say(b"k8s\0\x0a\x05\x0a\x03\x01x/y"), "unexpected EOF");
    // A number where ObjectMeta belongs.
    assert_eq!(say(b"k8s\0\x12\x02\x08\x01"), "proto: wrong wireType = 0 for field ObjectMeta");
}

#[test]
fn messages_without_an_end_are_refused() {
    let mut schema = Vec::new();
    for _ in 0..100_000 {
        let mut outer = Vec::with_capacity(schema.len() + 8);
        wire::put_bytes(&mut outer, 28, &schema);
        schema = outer;
        if schema.len() > 20_000 {
            break;
        }
    }
    let messages = Messages::get();
    let message = messages.of_type(messages::SCHEMA).unwrap();
    assert!(read::object(messages, message, &schema).is_err());
}

#[test]
fn an_event_is_framed_by_its_length() {
    let event = json!({"type": "ADDED", "object": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}});
    let bytes = frame(&event).unwrap();
    let (length, message) = bytes.split_first_chunk().unwrap();
    assert_eq!(u32::from_be_bytes(*length) as usize, message.len());
    assert!(message.starts_with(b"\x0a\x05ADDED\x12"));
    assert_eq!(frame(&json!({"type": "ADDED", "object": {"apiVersion": "example.com/v1", "kind": "W"}})), None);
}
