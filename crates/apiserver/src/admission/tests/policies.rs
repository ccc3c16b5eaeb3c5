//! What policies refuse and warn of.

use super::*;

/// A policy for new config maps, bound to everything.
async fn bind(bed: &Bed, spec: Value, binding: Value) {
    let mut whole = json!({"matchConstraints": {"resourceRules": [rule("CREATE", "", "v1", "configmaps")]}});
    whole.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    let policy = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "p"}, "spec": whole,
    });
    let told = bed.ask(&format!("POST {KINDS}/validatingadmissionpolicies"), policy).await;
    assert_eq!(told.code, 201, "{told:?}");
    let mut whole = json!({"policyName": "p", "validationActions": ["Deny"]});
    whole.as_object_mut().unwrap().extend(binding.as_object().unwrap().clone());
    let binding = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": "b"}, "spec": whole,
    });
    let told = bed.ask(&format!("POST {KINDS}/validatingadmissionpolicybindings"), binding).await;
    assert_eq!(told.code, 201, "{told:?}");
}

fn validation(expression: &str, more: &Value) -> Value {
    let mut validation = json!({"expression": expression});
    validation.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({"validations": [validation]})
}

#[tokio::test(start_paused = true)]
async fn a_refusal_has_the_message_and_reason_of_the_validation() {
    let text = |why: &str| {
        format!("configmaps \"a\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: {why}")
    };
    let expression = "object.data.a == '2'";
    let cases = [
        (json!({}), 422, "Invalid", text("failed expression: object.data.a == '2'")),
        (json!({"message": " must be 2 "}), 422, "Invalid", text("must be 2")),
        (json!({"messageExpression": "'not ' + object.data.a", "message": "x"}), 422, "Invalid", text("not 1")),
        (json!({"messageExpression": "object.none.x", "message": "x"}), 422, "Invalid", text("x")),
        (json!({"message": "x", "reason": "Forbidden"}), 403, "Forbidden", text("x")),
    ];
    for (more, code, reason, message) in cases {
        let bed = Bed::new();
        bind(&bed, validation(expression, &more), json!({})).await;
        let told = bed.create("a").await;
        assert_eq!((told.code, told.body["reason"].as_str(), told.message()), (code, Some(reason), message.as_str()));
        assert_eq!(told.body["details"]["kind"], "configmaps");
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_follows_the_failure_policy() {
    for (policy, code) in [("Fail", 422), ("Ignore", 201)] {
        let bed = Bed::new();
        let mut spec = validation("object.none.x == 1", &json!({}));
        spec["failurePolicy"] = policy.into();
        bind(&bed, spec, json!({})).await;
        let told = bed.create("a").await;
        assert_eq!(told.code, code);
        if code != 201 {
            assert!(told.message().ends_with("expression 'object.none.x == 1' resulted in error: no such key: none"));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_binding_chooses_actions_and_places() {
    let bed = Bed::new();
    let other = json!({"matchResources": {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "x"}}}});
    bind(&bed, validation("false", &json!({})), other).await;
    assert_eq!(bed.create("a").await.code, 201);
    let bed = Bed::new();
    bind(&bed, validation("false", &json!({"message": "beware"})), json!({"validationActions": ["Warn", "Audit"]}))
        .await;
    let told = bed.create("a").await;
    let warning = "299 - \"Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': beware\"";
    assert_eq!((told.code, told.warnings), (201, vec![warning.to_owned()]));
}

#[tokio::test(start_paused = true)]
async fn conditions_variables_and_the_namespace_are_known() {
    let bed = Bed::new();
    let mut spec = validation("variables.twice == '11' && namespaceObject.metadata.name == 'nowhere'", &json!({}));
    spec["variables"] = json!([{"name": "one", "expression": "object.data.a"}, {"name": "twice", "expression": "variables.one + variables.one"}]);
    spec["matchConditions"] = json!([{"name": "c", "expression": "object.metadata.name != 'free'"}]);
    bind(&bed, spec, json!({})).await;
    assert_eq!(bed.create("free").await.code, 201);
    let told = bed.create("a").await;
    assert!(told.message().contains("failed expression: variables.twice"), "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn a_variable_that_fails_is_named() {
    let bed = Bed::new();
    let mut spec = validation("variables.v == 1", &json!({}));
    spec["variables"] = json!([{"name": "v", "expression": "object.none"}]);
    bind(&bed, spec, json!({})).await;
    let told = bed.create("a").await;
    let why = "resulted in error: composited variable \"v\" fails to evaluate: no such key: none";
    assert!(told.message().ends_with(why), "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn parameters_are_objects_that_a_binding_names() {
    let spec = || {
        let mut spec = validation("object.data.a == params.data.a", &json!({}));
        spec["paramKind"] = json!({"apiVersion": "v1", "kind": "ConfigMap"});
        spec["matchConditions"] = json!([{"name": "not-itself", "expression": "object.metadata.name != 'params'"}]);
        spec
    };
    let params = |action: &str| json!({"paramRef": {"name": "params", "namespace": "default", "parameterNotFoundAction": action}});
    let bed = Bed::new();
    bed.create("params").await;
    bind(&bed, spec(), params("Deny")).await;
    assert_eq!(bed.create("a").await.code, 201);
    bed.ask(&format!("PATCH {CONFIG_MAPS}/params"), json!({"data": {"a": "3"}})).await;
    assert_eq!(bed.create("b").await.code, 422);
    for (action, code) in [("Deny", 422), ("Allow", 201)] {
        let bed = Bed::new();
        bind(&bed, spec(), params(action)).await;
        assert_eq!(bed.create("a").await.code, code, "without parameters");
    }
}
