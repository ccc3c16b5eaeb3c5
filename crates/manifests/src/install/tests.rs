use std::collections::BTreeSet;

use expect_test::expect;
use kueue_api::config;

use super::*;

fn install() -> Vec<Value> {
    objects(&Options::default())
}

fn of_kind<'a>(objects: &'a [Value], kind: &str) -> Vec<&'a Value> {
    objects.iter().filter(|object| object["kind"] == kind).collect()
}

fn name(object: &Value) -> String {
    object["metadata"]["name"].as_str().unwrap().to_owned()
}

/// Calls `visit` with every schema inside of `schema` and its path.
fn walk(path: &str, schema: &Value, visit: &mut dyn FnMut(&str, &Value)) {
    visit(path, schema);
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        walk(&format!("{path}.{name}"), field, visit);
    }
    for (keyword, suffix) in [("items", "[]"), ("additionalProperties", "{}")] {
        if let Some(inner) = schema.get(keyword) {
            walk(&format!("{path}{suffix}"), inner, visit);
        }
    }
}

fn walk_all(visit: &mut dyn FnMut(&str, &Value)) {
    for kind in crds::kinds() {
        for version in kind.versions {
            walk(&format!("{} {}", version.name(), kind.name), &kind.full_schema(*version), visit);
        }
    }
}

/// Plain `kubectl apply` keeps the manifest in an annotation, which may not be larger than 262,144 bytes.
#[test]
fn every_crd_is_far_smaller_than_an_annotation_may_be() {
    for kind in crds::kinds() {
        let size = kind.to_crd().to_string().len();
        assert!(size < 262_144 / 2, "{} has {size} bytes", kind.plural);
    }
}

#[test]
fn every_field_is_described() {
    let mut missing = Vec::new();
    walk_all(&mut |path, schema| {
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            let is_metadata_of_the_object = name == "metadata" && path.split(' ').count() == 2 && !path.contains('.');
            if field.get("description").is_none() && !is_metadata_of_the_object {
                missing.push(format!("{path}.{name}"));
            }
        }
    });
    assert_eq!(missing, Vec::<String>::new());
}

/// The API server prices each rule by the largest object that the schema allows.
#[test]
fn every_list_has_a_bound() {
    let mut unbounded = Vec::new();
    walk_all(&mut |path, schema| {
        if schema["type"] == "array" && schema.get("maxItems").is_none() {
            unbounded.push(path.to_owned());
        }
    });
    assert_eq!(unbounded, Vec::<String>::new());
}

#[test]
fn bindings_name_roles_and_accounts_that_are_installed() {
    let objects = install();
    let installed: BTreeSet<(String, String)> =
        objects.iter().map(|object| (object["kind"].as_str().unwrap().to_owned(), name(object))).collect();
    let has = |kind: &Value, name: &Value| {
        installed.contains(&(kind.as_str().unwrap().to_owned(), name.as_str().unwrap().to_owned()))
    };
    let bindings = [of_kind(&objects, "RoleBinding"), of_kind(&objects, "ClusterRoleBinding")].concat();
    assert_eq!(bindings.len(), 6);
    for binding in bindings {
        let (role, subject) = (&binding["roleRef"], &binding["subjects"][0]);
        let is_of_kubernetes = binding["metadata"]["namespace"] == "kube-system";
        assert!(is_of_kubernetes || has(&role["kind"], &role["name"]), "{binding}");
        assert!(has(&subject["kind"], &subject["name"]), "{binding}");
    }
}

#[test]
fn webhooks_and_conversion_go_to_the_installed_service() {
    let objects = install();
    let webhooks =
        [of_kind(&objects, "MutatingWebhookConfiguration"), of_kind(&objects, "ValidatingWebhookConfiguration")];
    let entries = webhooks.concat().into_iter().flat_map(|object| object["webhooks"].as_array().unwrap());
    let crds = of_kind(&objects, "CustomResourceDefinition").into_iter();
    let clients =
        entries.chain(crds.map(|crd| &crd["spec"]["conversion"]["webhook"])).map(|hook| &hook["clientConfig"]);
    let services: Vec<&Value> = clients.map(|client| &client["service"]).filter(|service| !service.is_null()).collect();
    assert_eq!(services.len(), 21 + 22 + 5);
    let installed: Vec<String> = of_kind(&objects, "Service").into_iter().map(name).collect();
    for service in services {
        assert!(installed.iter().any(|name| service["name"] == *name), "{service}");
        assert_eq!(service["namespace"], NAMESPACE);
    }
}

/// Creating our own kinds must not wait for the manager; a job must not start because it is missing.
#[test]
fn only_jobs_need_the_webhooks() {
    for configuration in webhooks::configurations() {
        for webhook in configuration["webhooks"].as_array().unwrap() {
            let is_ours = webhook["rules"][0]["apiGroups"][0] == crate::crd::GROUP;
            assert_eq!(webhook["failurePolicy"], if is_ours { "Ignore" } else { "Fail" }, "{webhook}");
            assert_eq!(webhook.get("namespaceSelector").is_none(), is_ours, "{webhook}");
        }
    }
}

#[test]
fn the_shipped_configuration_is_accepted() {
    let objects = install();
    let map = of_kind(&objects, "ConfigMap")[0];
    let text = map["data"]["controller_manager_config.yaml"].as_str().unwrap();
    let configuration = config::load(text, NAMESPACE).unwrap_or_else(|rejected| panic!("{rejected}"));
    assert_eq!(configuration.integrations.unwrap().frameworks.len(), 12);
}

#[test]
fn the_image_is_a_choice() {
    let objects = objects(&Options { image: "registry.example/kueue:1".to_owned() });
    let deployment = of_kind(&objects, "Deployment")[0];
    assert_eq!(deployment["spec"]["template"]["spec"]["containers"][0]["image"], "registry.example/kueue:1");
}

#[test]
fn what_is_installed_besides_roles_for_people() {
    let objects = install();
    let is_for_people = |object: &&Value| {
        object["metadata"]["labels"].get("rbac.kueue.x-k8s.io/role").is_some()
            || object.get("aggregationRule").is_some()
    };
    let listed: Vec<String> = objects
        .iter()
        .filter(|object| !is_for_people(object))
        .map(|object| format!("{} {}", object["kind"].as_str().unwrap(), name(object)))
        .collect();
    expect![[r#"
        Namespace kueue-system
        CustomResourceDefinition admissionchecks.kueue.x-k8s.io
        CustomResourceDefinition clusterqueues.kueue.x-k8s.io
        CustomResourceDefinition cohorts.kueue.x-k8s.io
        CustomResourceDefinition localqueues.kueue.x-k8s.io
        CustomResourceDefinition multikueueclusters.kueue.x-k8s.io
        CustomResourceDefinition multikueueconfigs.kueue.x-k8s.io
        CustomResourceDefinition provisioningrequestconfigs.kueue.x-k8s.io
        CustomResourceDefinition resourceflavors.kueue.x-k8s.io
        CustomResourceDefinition topologies.kueue.x-k8s.io
        CustomResourceDefinition workloads.kueue.x-k8s.io
        CustomResourceDefinition workloadpriorityclasses.kueue.x-k8s.io
        ServiceAccount kueue-controller-manager
        Role kueue-leader-election-role
        RoleBinding kueue-leader-election-rolebinding
        Role kueue-manager-clusterprofiles-role
        RoleBinding kueue-manager-clusterprofiles-rolebinding
        Role kueue-manager-secrets-role
        RoleBinding kueue-manager-secrets-rolebinding
        ClusterRole kueue-manager-role
        ClusterRoleBinding kueue-manager-rolebinding
        ClusterRole kueue-metrics-auth-role
        ClusterRoleBinding kueue-metrics-auth-rolebinding
        ClusterRole kueue-metrics-reader
        RoleBinding kueue-visibility-server-auth-reader
        ConfigMap kueue-manager-config
        Secret kueue-webhook-server-cert
        Service kueue-controller-manager-metrics-service
        Service kueue-visibility-server
        Service kueue-webhook-service
        Deployment kueue-controller-manager
        APIService v1beta1.visibility.kueue.x-k8s.io
        APIService v1beta2.visibility.kueue.x-k8s.io
        MutatingWebhookConfiguration kueue-mutating-webhook-configuration
        ValidatingWebhookConfiguration kueue-validating-webhook-configuration"#]]
    .assert_eq(&listed.join("\n"));
    assert_eq!(objects.iter().filter(is_for_people).count(), 2 + 2 * 20 + 2);
}
