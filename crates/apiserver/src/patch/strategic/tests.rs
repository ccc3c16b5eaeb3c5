use super::*;
use crate::json::json;
use crate::kinds::BuiltIn;

fn patched(target: Value, patch: &Value) -> Result<Value> {
    let mut target = target;
    apply(&BuiltIn::types().get("core.v1.Pod"), &mut target, patch).map(|()| target)
}

fn pod(names: &str) -> Value {
    let containers: Vec<Value> = names.chars().map(|name| json!({"name": name.to_string(), "image": "i"})).collect();
    json!({"metadata": {"finalizers": ["x", "y"]}, "spec": {"containers": containers, "nodeSelector": {"a": "1"},
           "volumes": [{"name": "v", "emptyDir": {}}], "tolerations": [{"key": "a"}]}})
}

/// The pod with containers `ab` after a patch of its spec: the names of its containers, or why not.
fn containers(spec: &Value) -> String {
    match patched(pod("ab"), &json!({"spec": spec})) {
        Ok(pod) => {
            let list = pod["spec"]["containers"].as_array().unwrap();
            list.iter().map(|container| container["name"].as_str().unwrap()).collect()
        }
        Err(Wrong::Merge(why)) => why,
        Err(Wrong::Form(why)) => format!("bad: {why}"),
    }
}

#[test]
fn lists_merge_by_key_in_an_order() {
    let cases = [
        (json!({"containers": [{"name": "b", "image": "x"}, {"name": "c"}]}), "abc"),
        (json!({"containers": [{"$patch": "delete", "name": "a"}]}), "b"),
        (json!({"containers": [{"$patch": "replace"}, {"name": "z"}]}), "z"),
        (json!({"$setElementOrder/containers": [{"name": "c"}, {"name": "a"}], "containers": [{"name": "c"}]}), "cab"),
        (json!({"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}]}), "ba"),
        (json!({"containers": [{"image": "x"}]}), "map: map[image:x] does not contain declared merge key: name"),
        (
            json!({"containers": [{"$patch": "delete"}]}),
            "map: map[$patch:delete] does not contain declared merge key: name",
        ),
        (
            json!({"containers": [{"$patch": "merge", "name": "a"}]}),
            "merging lists cannot yet be specified in the patch",
        ),
        (
            json!({"containers": [{"$patch": "odd", "name": "a"}]}),
            "unknown patch type: odd in map: map[$patch:odd name:a]",
        ),
        (json!({"$patch": "merge"}), "unknown patch type: merge in map: map[$patch:merge]"),
        (json!({"$retainKeys": "x"}), "bad: invalid patch format of retainKeys"),
        (json!({"$retainKeys": ["containers"], "hostname": "h"}), "bad: invalid patch format of retainKeys"),
        (json!({"$retainKeys": ["containers"]}), "ab"),
        (json!({"$deleteFromPrimitiveList/x": 1}), "bad: invalid patch format of primitive list"),
        (json!({"$setElementOrder/containers": 1}), "expected a []interface {}, but received a int64"),
        (
            json!({"$setElementOrder/containers": [{"name": "a"}], "containers": [{"name": "c"}]}),
            "The order in patch list:\n[map[name:c]]\n doesn't match $setElementOrder list:\n[map[name:a]]\n",
        ),
    ];
    for (spec, wanted) in cases {
        assert_eq!(containers(&spec), wanted, "{spec}");
    }
}

#[test]
fn other_values_replace_merge_or_go() {
    let cases = [
        (json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["x"]}}), "/metadata/finalizers", json!(["y"])),
        (json!({"metadata": {"finalizers": ["z", "x"]}}), "/metadata/finalizers", json!(["z", "x", "y"])),
        (json!({"spec": {"nodeSelector": {"b": "2"}}}), "/spec/nodeSelector", json!({"a": "1", "b": "2"})),
        (json!({"spec": {"nodeSelector": {"$patch": "replace", "b": "2"}}}), "/spec/nodeSelector", json!({"b": "2"})),
        (json!({"spec": {"nodeSelector": {"$patch": "delete"}}}), "/spec/nodeSelector", json!({})),
        (json!({"spec": {"nodeSelector": null}}), "/spec/nodeSelector", Value::Null),
        (json!({"spec": {"tolerations": [{"key": "b"}]}}), "/spec/tolerations", json!([{"key": "b"}])),
        (
            json!({"spec": {"volumes": [{"name": "v", "$retainKeys": ["name", "hostPath"], "hostPath": {"path": "/"}}]}}),
            "/spec/volumes",
            json!([{"name": "v", "hostPath": {"path": "/"}}]),
        ),
        (
            json!({"spec": {"affinity": {"nodeAffinity": null, "podAffinity": {"$patch": "replace", "x": 1}}}}),
            "/spec/affinity",
            json!({}),
        ),
    ];
    for (patch, at, wanted) in cases {
        let result = patched(pod("a"), &patch).unwrap();
        assert_eq!(result.pointer(at).cloned().unwrap_or_default(), wanted, "{patch}");
    }
}
