use super::*;

fn facts(namespaces: Option<&[&str]>) -> Facts {
    let default_namespaces = namespaces.map(|names| names.iter().map(|name| (*name).to_owned()).collect());
    Facts { authorities: "ca".to_owned(), default_namespaces }
}

fn configuration() -> MutatingWebhookConfiguration {
    let hook = |name: &str, condition: &str| {
        json!({"name": name, "clientConfig": {"service": {"name": "s"}}, "matchConditions": [
            {"name": "of-the-user", "expression": "true"}, {"name": condition, "expression": "names one"}]})
    };
    let hooks = [hook("mjob.kb.io", webhook_filter::NAME), hook("mworkload.kb.io", "other")];
    serde_json::from_value(json!({"metadata": {"name": "c"}, "webhooks": hooks})).unwrap()
}

#[test]
fn jobs_that_wait_without_a_queue_are_asked_about_by_hooks_of_our_own() {
    let mut object = configuration();
    object.register(&facts(Some(&["a", "b"])));
    let names: Vec<&str> = object.webhooks.iter().map(name).collect();
    assert_eq!(names, ["mjob.kb.io", "mworkload.kb.io", "nameless.mjob.kb.io"], "our own kinds are all asked about");
    assert_eq!(object.webhooks[0]["matchConditions"], configuration().webhooks[0]["matchConditions"]);
    let conditions = object.webhooks[2]["matchConditions"].as_array().unwrap();
    assert_eq!((&conditions[0]["name"], &conditions[1]["name"]), (&json!("of-the-user"), &json!(NAMELESS)));
    let expression = conditions[1]["expression"].as_str().unwrap();
    assert!(expression.contains("'kueue.x-k8s.io/queue-name' in o.metadata.labels"), "{expression}");
    assert!(expression.starts_with("!([") && expression.ends_with(") && request.namespace in ['a', 'b']"));
    assert!(object.webhooks.iter().all(|hook| hook["clientConfig"]["caBundle"] == "Y2E="));
    let again = object.clone();
    object.register(&facts(Some(&["a", "b"])));
    assert_eq!(object, again, "to say the same twice changes nothing");
    object.register(&facts(None));
    let expression = object.webhooks[2]["matchConditions"][1]["expression"].as_str().unwrap();
    assert!(expression.starts_with("!([") && !expression.contains("request.namespace"), "all jobs wait: {expression}");
    object.register(&facts(Some(&[])));
    assert_eq!(object.webhooks.len(), 2);
}

#[test]
fn definitions_that_convert_learn_whom_to_trust() {
    let webhook = json!({"strategy": "Webhook", "webhook": {"clientConfig": {"service": {"name": "s"}}}});
    for (conversion, expected) in [(webhook, json!("Y2E=")), (json!({"strategy": "None"}), Value::Null)] {
        let mut object: CustomResourceDefinition =
            serde_json::from_value(json!({"metadata": {"name": "c"}, "spec": {"conversion": conversion}})).unwrap();
        object.register(&facts(None));
        assert_eq!(object.spec.conversion["webhook"]["clientConfig"]["caBundle"], expected);
    }
}

#[test]
fn nothing_is_said_about_authorities_that_others_manage() {
    let mut object = configuration();
    object.register(&Facts { authorities: String::new(), default_namespaces: Some(vec![]) });
    assert_eq!(object.webhooks[0]["clientConfig"].get("caBundle"), None);
    assert_eq!(object, configuration());
}

#[test]
fn configurations_are_called_after_the_release() {
    assert_eq!(base_name("kueue-webhook-service"), "kueue");
    assert_eq!(
        configuration_name(base_name("prod-kueue-webhook-service"), "mutating"),
        "prod-kueue-mutating-webhook-configuration"
    );
}
