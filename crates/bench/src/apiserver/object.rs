//! What is written: a custom kind with the shapes that real ones have, and objects of 2 KiB.

use serde_json::{Value, json};

pub const OBJECTS: &str = "/apis/bench.example.com/v1/namespaces/default/widgets";
pub const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// The kind, with rules in CEL or without.
pub fn definition(with_cel: bool) -> Value {
    let text = json!({"type": "string"});
    let mut spec = json!({
        "type": "object", "required": ["queueName"],
        "properties": {
            "active": {"type": "boolean", "default": true},
            "priority": {"type": "integer", "format": "int32"},
            "queueName": {"type": "string", "maxLength": 253, "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"},
            "podSets": {
                "type": "array", "maxItems": 8, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                "items": {"type": "object", "required": ["count", "name", "template"], "properties": {
                    "name": {"type": "string", "default": "main", "maxLength": 63},
                    "count": {"type": "integer", "format": "int32", "minimum": 0, "default": 1},
                    "template": {"type": "object", "properties": {"spec": template(&text)}},
                }},
            },
        },
    });
    if with_cel {
        spec["x-kubernetes-validations"] = json!([
            {"rule": "self.podSets.size() > 0", "message": "must have pods"},
            {"rule": "!has(self.priority) || self.priority >= 0", "message": "must not be negative"},
            {"rule": "self.queueName.startsWith('team')", "message": "must be a team's queue"},
            {"rule": "self.podSets.all(set, set.count < 1000)", "message": "must not be huge"},
            {"rule": "self.queueName == oldSelf.queueName", "message": "field is immutable"},
        ]);
    }
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.bench.example.com"},
        "spec": {
            "group": "bench.example.com", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": status(&text)}}},
            }],
        },
    })
}

fn template(text: &Value) -> Value {
    let quantities = json!({
        "type": "object",
        "additionalProperties": {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": true},
    });
    json!({"type": "object", "properties": {
        "restartPolicy": {"type": "string", "enum": ["Never", "OnFailure", "Always"]},
        "nodeSelector": {"type": "object", "additionalProperties": text},
        "containers": {
            "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
            "items": {"type": "object", "required": ["name"], "properties": {
                "name": text, "image": text,
                "args": {"type": "array", "x-kubernetes-list-type": "atomic", "items": text},
                "env": {
                    "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                    "items": {"type": "object", "required": ["name"], "properties": {"name": text, "value": text}},
                },
                "resources": {"type": "object", "properties": {"requests": quantities, "limits": quantities}},
            }},
        },
    }})
}

fn status(text: &Value) -> Value {
    json!({"type": "object", "properties": {
        "observed": {"type": "integer", "format": "int64"},
        "conditions": {
            "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"],
            "items": {"type": "object", "required": ["lastTransitionTime", "message", "reason", "status", "type"], "properties": {
                "type": {"type": "string", "maxLength": 316},
                "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
                "reason": {"type": "string", "minLength": 1, "maxLength": 1024}, "message": text,
                "lastTransitionTime": {"type": "string", "format": "date-time"},
                "observedGeneration": {"type": "integer", "format": "int64", "minimum": 0},
            }},
        },
    }})
}

pub fn name(number: usize) -> String {
    format!("widget-{number:06}")
}

/// An object that is 2 KiB when it is sent.
pub fn widget(number: usize) -> Value {
    let container = |name: &str| {
        json!({
            "name": name, "image": "registry.example.com/team/trainer:v1.2.3",
            "args": ["--epochs=100", "--learning-rate=0.0003", "--checkpoint=/data/checkpoints", format!("--run={number}")],
            "env": [{"name": "MASTER_ADDR", "value": "trainer-0.trainer"}, {"name": "MASTER_PORT", "value": "29500"},
                    {"name": "NCCL_DEBUG", "value": "WARN"}],
            "resources": {"requests": {"cpu": "8", "memory": "64Gi", "example.com/gpu": "1"},
                          "limits": {"memory": "64Gi", "example.com/gpu": "1"}},
        })
    };
    let pods = |name: &str, count: usize| {
        json!({"name": name, "count": count, "template": {"spec": {
            "restartPolicy": "Never", "nodeSelector": {"example.com/pool": "training"},
            "containers": [container("trainer"), container("sidecar")],
        }}})
    };
    json!({
        "apiVersion": "bench.example.com/v1", "kind": "Widget",
        "metadata": {
            "name": name(number), "labels": {"example.com/queue": "team-a", "example.com/run": number.to_string()},
            "annotations": {"example.com/about": "an object as a controller would make it for one job of a team"},
        },
        "spec": {"active": true, "priority": 100, "queueName": "team-a", "podSets": [pods("driver", 1), pods("workers", 16)]},
    })
}

/// A status that differs from round to round.
pub fn status_of(round: usize) -> Value {
    let condition = |kind: &str, status: &str| {
        json!({
            "type": kind, "status": status, "reason": "Observed", "observedGeneration": 1,
            "message": format!("round {round}"), "lastTransitionTime": "2026-01-01T00:00:00Z",
        })
    };
    json!({"observed": round, "conditions": [condition("QuotaReserved", "True"), condition("Admitted", "False")]})
}

/// A small object of a built-in kind.
pub fn config_map(number: usize) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name(number)}, "data": {"number": number.to_string()}})
}
