use super::*;

fn facts(namespaces: Option<&[&str]>) -> Facts {
    let default_namespaces = namespaces.map(|names| names.iter().map(|name| (*name).to_owned()).collect());
    Facts { authorities: "ca".to_owned(), default_namespaces }
}

fn configuration() -> MutatingWebhookConfiguration {
    let hook = |group: &str| {
        json!({"name": "m", "clientConfig": {"service": {"name": "s"}}, "rules": [{"apiGroups": [group]}],
            "matchConditions": [{"name": "of-the-user", "expression": "true"}]})
    };
    serde_json::from_value(json!({"metadata": {"name": "c"}, "webhooks": [hook("batch"), hook("kueue.x-k8s.io")]}))
        .unwrap()
}

#[test]
fn hooks_of_jobs_ask_about_those_that_use_queues() {
    let mut object = configuration();
    object.register(&facts(Some(&["a", "b"])));
    assert_eq!(object.webhooks[0]["clientConfig"]["caBundle"], "Y2E=");
    let conditions = object.webhooks[0]["matchConditions"].as_array().unwrap();
    assert_eq!(conditions[0]["name"], "of-the-user");
    let expression = conditions[1]["expression"].as_str().unwrap();
    assert!(expression.contains("'kueue.x-k8s.io/queue-name' in o.metadata.labels"), "{expression}");
    assert!(expression.ends_with(" || request.namespace in ['a', 'b']"), "{expression}");
    assert_eq!(object.webhooks[1]["matchConditions"].as_array().unwrap().len(), 1, "our own kinds are all ours");
    assert_eq!(object.webhooks[1]["clientConfig"]["caBundle"], "Y2E=");
    let again = object.clone();
    object.register(&facts(Some(&["a", "b"])));
    assert_eq!(object, again, "to say the same twice changes nothing");
    object.register(&facts(None));
    assert_eq!(object.webhooks[0]["matchConditions"].as_array().unwrap().len(), 1, "all jobs wait");
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
    assert_eq!(object.webhooks[0]["matchConditions"].as_array().unwrap().len(), 2);
}

#[test]
fn configurations_are_called_after_the_release() {
    assert_eq!(base_name("kueue-webhook-service"), "kueue");
    assert_eq!(
        configuration_name(base_name("prod-kueue-webhook-service"), "mutating"),
        "prod-kueue-mutating-webhook-configuration"
    );
}
