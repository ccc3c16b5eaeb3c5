//! Checks that ask the autoscaler for nodes, with a hand that plays the autoscaler.

#![allow(clippy::unwrap_used, reason = "an object without what is asked for fails its test")]

use serde_json::{Value, json};

use crate::bed::Bed;

const KUEUE: &str = "/apis/kueue.x-k8s.io/v1beta2";
const REQUESTS: &str = "/apis/autoscaling.x-k8s.io/v1/namespaces/default/provisioningrequests";
const TEMPLATES: &str = "/api/v1/namespaces/default/podtemplates";

/// The autoscaler's kind, as far as anybody here looks at it.
fn definition() -> Value {
    let anything = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let schema = json!({"type": "object", "properties": {"spec": anything, "status": anything}});
    let version = json!({"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                         "schema": {"openAPIV3Schema": schema}});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "provisioningrequests.autoscaling.x-k8s.io"},
        "spec": {
            "group": "autoscaling.x-k8s.io", "scope": "Namespaced", "versions": [version],
            "names": {"plural": "provisioningrequests", "singular": "provisioningrequest", "kind": "ProvisioningRequest",
                      "listKind": "ProvisioningRequestList"},
        },
    })
}

async fn define(bed: &Bed) {
    bed.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &definition()).await;
    bed.pass(120).await;
}

/// A queue whose jobs wait for nodes.
async fn bed() -> Bed {
    let bed = Bed::with_queue("8").await;
    let object = |kind: &str, name: &str, spec: &Value| json!({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": {"name": name}, "spec": spec});
    let retry = json!({"backoffLimitCount": 1, "backoffBaseSeconds": 60, "backoffMaxSeconds": 600});
    let spec = json!({"provisioningClassName": "best-effort", "parameters": {"zone": "z"}, "retryStrategy": retry});
    bed.create(&format!("{KUEUE}/provisioningrequestconfigs"), &object("ProvisioningRequestConfig", "c", &spec)).await;
    let parameters = json!({"apiGroup": "kueue.x-k8s.io", "kind": "ProvisioningRequestConfig", "name": "c"});
    let spec = json!({"controllerName": "kueue.x-k8s.io/provisioning-request", "parameters": parameters});
    bed.create(&format!("{KUEUE}/admissionchecks"), &object("AdmissionCheck", "nodes", &spec)).await;
    let strategy = json!({"admissionChecks": [{"name": "nodes"}]});
    bed.merge(&format!("{KUEUE}/clusterqueues/cq"), &json!({"spec": {"admissionChecksStrategy": strategy}})).await;
    bed
}

async fn names(bed: &Bed, path: &str) -> Vec<String> {
    let all = bed.get(path).await;
    let names = all["items"].as_array().unwrap().iter().map(|item| item["metadata"]["name"].as_str().unwrap());
    names.map(str::to_owned).collect()
}

/// The autoscaler says something about the latest request.
async fn say(bed: &Bed, kind: &str, message: &str) {
    let request = names(bed, REQUESTS).await.pop().unwrap();
    let condition = json!({"type": kind, "status": "True", "reason": "R", "message": message,
                           "lastTransitionTime": "2026-01-01T00:00:00Z"});
    bed.merge(&format!("{REQUESTS}/{request}/status"), &json!({"status": {"conditions": [condition]}})).await;
}

async fn check(bed: &Bed, job: &str) -> String {
    let workload = bed.workload_of(job).await;
    let check = &workload["status"]["admissionChecks"][0];
    format!("{}: {}", check["state"].as_str().unwrap(), check["message"].as_str().unwrap())
}

#[tokio::test(start_paused = true)]
async fn a_job_starts_when_its_nodes_are_there_and_leaves_no_request_behind() {
    let bed = bed().await;
    let queue = bed.get(&format!("{KUEUE}/clusterqueues/cq")).await;
    assert_eq!(queue["status"]["conditions"][0]["reason"], "AdmissionCheckInactive", "nobody can be asked yet");
    bed.pass(40).await;
    let missing = bed.get(&format!("{KUEUE}/admissionchecks/nodes")).await["status"]["conditions"][0].clone();
    assert_eq!(missing["reason"], "ProvisioningRequestsNotServed");
    define(&bed).await;
    let active = bed.get(&format!("{KUEUE}/admissionchecks/nodes")).await["status"]["conditions"][0].clone();
    assert_eq!(active["message"], "The admission check is active");
    bed.submit("j", 2, "1").await;
    assert_eq!(bed.job("j").await["spec"]["suspend"], true);
    let workload = bed.workload_of("j").await["metadata"]["name"].as_str().unwrap().to_owned();
    assert_eq!(names(&bed, REQUESTS).await, [format!("{workload}-nodes-1")]);
    let request = bed.get(&format!("{REQUESTS}/{workload}-nodes-1")).await;
    assert_eq!(request["spec"]["parameters"], json!({"zone": "z"}));
    assert_eq!(request["spec"]["podSets"][0]["count"], 2);
    let template = bed.get(&format!("{TEMPLATES}/ppt-{workload}-nodes-1-main")).await;
    assert_eq!(template["metadata"]["ownerReferences"].as_array().unwrap().len(), 1);
    assert_eq!(template["metadata"]["ownerReferences"][0]["kind"], "ProvisioningRequest");
    assert_eq!(template["template"]["spec"]["nodeSelector"], json!({"pool": "blue"}));
    say(&bed, "Provisioned", "here they are").await;
    assert_eq!(check(&bed, "j").await, "Ready: here they are");
    let job = bed.job("j").await;
    assert_eq!(job["spec"]["suspend"], false);
    let pods = &job["spec"]["template"]["metadata"]["annotations"];
    assert_eq!(pods["autoscaling.x-k8s.io/consume-provisioning-request"], format!("{workload}-nodes-1"));
    bed.end("j", "Complete").await;
    assert_eq!(names(&bed, REQUESTS).await, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_tried_again_after_a_while_and_a_second_one_switches_the_job_off() {
    let bed = bed().await;
    define(&bed).await;
    bed.submit("j", 2, "1").await;
    let first = names(&bed, REQUESTS).await.pop().unwrap();
    say(&bed, "Failed", "no room").await;
    assert_eq!(check(&bed, "j").await, "Retry: Retrying after failure: no room");
    bed.pass(50).await;
    assert_eq!(names(&bed, REQUESTS).await, [first.as_str()], "not before its time has come");
    bed.pass(20).await;
    let evicted = "Evicted due to AdmissionCheck in Retry state: \"nodes\" (Retrying after failure: no room)";
    assert!(bed.condition("j", "Evicted").await.contains(evicted));
    let second = names(&bed, REQUESTS).await;
    assert_eq!(second, [first.replace("-nodes-1", "-nodes-2")], "the first attempt is cleaned up");
    say(&bed, "Failed", "never").await;
    bed.pass(5).await;
    let workload = bed.workload_of("j").await;
    assert_eq!(workload["spec"]["active"], false);
    assert!(bed.condition("j", "Evicted").await.contains("never"), "the user reads why");
}

#[tokio::test(start_paused = true)]
async fn a_check_without_settings_says_so_and_works_when_they_come() {
    let bed = bed().await;
    define(&bed).await;
    let path = format!("{KUEUE}/provisioningrequestconfigs");
    let config = bed.get(&format!("{path}/c")).await;
    bed.delete(&format!("{path}/c")).await;
    bed.pass(2).await;
    let told = |object: Value| object["status"]["conditions"][0]["message"].clone();
    let check = format!("{KUEUE}/admissionchecks/nodes");
    let missing = json!("provisioningrequestconfigs.kueue.x-k8s.io \"c\" not found");
    assert_eq!(told(bed.get(&check).await), missing);
    let again = json!({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ProvisioningRequestConfig",
                       "metadata": {"name": "c"}, "spec": config["spec"]});
    bed.create(&path, &again).await;
    bed.pass(2).await;
    assert_eq!(told(bed.get(&check).await), json!("The admission check is active"));
}
