//! A process on this machine is reached through ordinary Services, and reaches the API server as a ServiceAccount.

mod backend;

use std::process::Command;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use backend::Backend;
use kueue_testbed::http::{Request, Response};
use kueue_testbed::recipe::Program;
use kueue_testbed::{Bed, Plane, Route};
use serde_json::{Value, json};

/// Makes a namespace with a played Deployment of one pod behind a ClusterIP Service, and a backend for it on loopback.
fn deploy(plane: &Plane, namespace: &str) -> Backend {
    let backend = Backend::start(&format!("demo.{namespace}.svc"));
    let labels = json!({"app": "demo"});
    let pod = json!({"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    apply(
        plane,
        "/api/v1/namespaces",
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}),
    );
    apply(
        plane,
        &format!("/apis/apps/v1/namespaces/{namespace}/deployments"),
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "demo"},
               "spec": {"selector": {"matchLabels": labels}, "template": pod}}),
    );
    apply(
        plane,
        &format!("/api/v1/namespaces/{namespace}/services"),
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "demo"},
               "spec": {"selector": labels, "ports": [{"port": 443, "targetPort": 9443}]}}),
    );
    let route = Route { namespace: namespace.to_string(), service: "demo".to_string(), port: 443, to: backend.port };
    plane.route(route).unwrap();
    backend
}

fn apply(plane: &Plane, collection: &str, object: Value) {
    let name = object["metadata"]["name"].as_str().unwrap().to_string();
    let request = Request::apply(&format!("{collection}/{name}"), "suite", object);
    plane.send(&request).unwrap().success("cannot apply").unwrap();
}

fn delete(plane: &Plane, path: &str) {
    plane.send(&Request::delete(path)).unwrap().success("cannot delete").unwrap();
}

/// Asks until the answer is the expected one: configuration takes effect up to a second after it was written.
fn ask_until(plane: &Plane, request: &Request, is_it: impl Fn(&Response) -> bool) -> Response {
    let begin = Instant::now();
    loop {
        let answer = plane.send(request).unwrap();
        if is_it(&answer) {
            return answer;
        }
        assert!(begin.elapsed() < Duration::from_secs(30), "in vain: {answer:?}");
        plane.pass(Duration::from_millis(100));
    }
}

#[test]
fn a_webhook_behind_a_cluster_ip_is_answered_on_loopback() {
    let _shared = crate::ALONE.read().unwrap_or_else(PoisonError::into_inner);
    let (plane, namespace) = (crate::plane(), "hooked");
    let backend = deploy(&plane, namespace);
    let hooks = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
    apply(
        &plane,
        hooks,
        json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "hooked"},
        "webhooks": [{
            "name": "demo.hooked.example.com",
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "clientConfig": {"caBundle": backend.ca_bundle(),
                             "service": {"namespace": namespace, "name": "demo", "path": "/validate"}},
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}],
        }]}),
    );
    let path = format!("/api/v1/namespaces/{namespace}/configmaps?dryRun=All");
    let create = Request::post(path, json!({"metadata": {"name": "forbidden"}}));
    let denied = ask_until(&plane, &create, |answer| answer.status == 403);
    let message = denied.body["message"].as_str().unwrap();
    assert_eq!(message, "admission webhook \"demo.hooked.example.com\" denied the request: not on loopback's watch");
    delete(&plane, &format!("{hooks}/hooked"));
    delete(&plane, "/api/v1/namespaces/hooked");
}

#[test]
fn an_aggregated_api_behind_a_cluster_ip_is_answered_on_loopback() {
    let _shared = crate::ALONE.read().unwrap_or_else(PoisonError::into_inner);
    let (plane, namespace) = (crate::plane(), "aggregated");
    let backend = deploy(&plane, namespace);
    let services = "/apis/apiregistration.k8s.io/v1/apiservices";
    apply(
        &plane,
        services,
        json!({"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
               "metadata": {"name": "v1.loopback.example.com"},
               "spec": {"group": "loopback.example.com", "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 100,
                        "caBundle": backend.ca_bundle(), "service": {"namespace": namespace, "name": "demo"}}}),
    );
    let things = Request::get("/apis/loopback.example.com/v1/things");
    let answer = ask_until(&plane, &things, Response::is_success);
    assert_eq!(answer.body["items"][0]["metadata"]["name"], "from-loopback");
    assert_eq!(answer.body["items"][0]["user"], "admin", "the front proxy tells who asks");
    delete(&plane, &format!("{services}/v1.loopback.example.com"));
    delete(&plane, "/api/v1/namespaces/aggregated");
}

#[test]
fn a_service_account_kubeconfig_has_the_rights_that_rbac_gives_it() {
    let _shared = crate::ALONE.read().unwrap_or_else(PoisonError::into_inner);
    let plane = crate::plane();
    let spaces = "/api/v1/namespaces";
    apply(&plane, spaces, json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "accounted"}}));
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "reader"}});
    apply(&plane, &format!("{spaces}/accounted/serviceaccounts"), account);
    let rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/accounted";
    let version = "rbac.authorization.k8s.io/v1";
    let rules = json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]);
    let role = json!({"apiVersion": version, "kind": "Role", "metadata": {"name": "reader"}, "rules": rules});
    apply(&plane, &format!("{rbac}/roles"), role);
    let subject = json!({"kind": "ServiceAccount", "name": "reader", "namespace": "accounted"});
    let bound = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"});
    let binding = json!({"apiVersion": version, "kind": "RoleBinding", "metadata": {"name": "reader"},
                         "subjects": [subject], "roleRef": bound});
    apply(&plane, &format!("{rbac}/rolebindings"), binding);

    let file = plane.info().kubeconfig.with_file_name("reader.kubeconfig");
    plane.write_service_account_kubeconfig("accounted", "reader", &file).unwrap();
    let kubectl = |what: &str| {
        let mut command = Command::new(crate::cache().program(Program::Kubectl));
        command.args(["--namespace", "accounted", "--kubeconfig"]).arg(&file).args(["get", what]);
        String::from_utf8(command.output().unwrap().stderr).unwrap()
    };
    // RBAC takes effect a moment after it was written.
    let begin = Instant::now();
    while kubectl("pods") != "No resources found in accounted namespace.\n" {
        assert!(begin.elapsed() < Duration::from_secs(20), "{}", kubectl("pods"));
    }
    let refused = kubectl("secrets");
    assert!(
        refused.contains("\"system:serviceaccount:accounted:reader\" cannot list resource \"secrets\""),
        "{refused}"
    );
    let nobody = plane.write_service_account_kubeconfig("accounted", "nobody", &file).unwrap_err().to_string();
    assert!(nobody.contains("accounted/nobody") && nobody.contains("not found"), "{nobody}");
    delete(&plane, "/api/v1/namespaces/accounted");
}
