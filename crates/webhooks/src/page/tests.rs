use http_body_util::BodyExt as _;
use kueue_api::kueue::v1beta2::Workload;
use kueue_core::gates::Gates;
use kueue_jobs::ancestor::{Ancestor, Lost, Search};
use kueue_jobs::integrations::Integrations;
use kueue_runtime::client::Failure;
use serde_json::json;

use super::*;

/// A namespace `default-queue` with a LocalQueue for everybody, and any other without.
struct World;

impl Surroundings for World {
    fn namespace(&self, name: &str) -> Option<BTreeMap<String, String>> {
        (name != "nowhere").then(BTreeMap::new)
    }

    fn has_default_queue(&self, namespace: &str) -> bool {
        namespace == "default-queue"
    }

    fn has_default_priority_class(&self) -> bool {
        false
    }

    fn is_dispatched(&self, _: &str, _: &str) -> bool {
        false
    }

    /// One that holds quota.
    fn workload(&self, _: &str, name: &str) -> Option<Arc<Workload>> {
        let metadata = ObjectMeta { name: name.to_owned(), ..ObjectMeta::default() };
        name.starts_with("statefulset-busy-").then(|| Arc::new(Workload { metadata, ..Workload::default() }))
    }

    async fn ancestor(&self, job: &ObjectMeta, settings: &Settings) -> Result<Result<Option<Ancestor>, Lost>, Failure> {
        if job.owner_references.iter().any(|owner| owner.name == "unreachable") {
            return Err(Failure::Unreachable("gone".to_owned()));
        }
        let labels = [("kueue.x-k8s.io/queue-name".to_owned(), "lq".to_owned())].into();
        let queued = ObjectMeta { name: "queued".to_owned(), uid: "u".to_owned(), labels, ..ObjectMeta::default() };
        let search = Search::of(job, &settings.integrations, settings.manages_without_queue);
        Ok(search.run(|owner| (owner.name == "queued").then(|| queued.clone())))
    }
}

fn webhooks() -> Webhooks<World> {
    let frameworks = ["batch/job", "deployment", "statefulset"];
    let integrations = Integrations::configured(frameworks, []);
    let settings = Settings { gates: Gates::default(), integrations, ..Settings::default() };
    Webhooks::new(frameworks, Arc::new(settings), World)
}

async fn send(path: &str, body: &str) -> (u16, Value) {
    let answer = webhooks().answer(path, body.as_bytes()).await;
    let code = answer.status().as_u16();
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    let text = String::from_utf8_lossy(&body).into_owned();
    (code, serde_json::from_slice(&body).unwrap_or(Value::String(text)))
}

/// What is answered to a request: `allowed`, with the changes, or the reason.
async fn ask(path: &str, operation: &str, namespace: &str, object: Value, old: Value) -> String {
    let request =
        json!({"uid": "u", "operation": operation, "namespace": namespace, "object": object, "oldObject": old});
    let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request});
    let (code, answer) = send(path, &review.to_string()).await;
    assert_eq!((code, &answer["response"]["uid"]), (200, &json!("u")), "{answer}");
    let response = &answer["response"];
    match response["allowed"] == true {
        false => response["status"]["message"].as_str().unwrap_or_default().to_owned(),
        true => {
            let patch = response["patch"].as_str().unwrap_or_default();
            let patch = kueue_core::base64::STANDARD.decode(patch).unwrap();
            format!("allowed {}", String::from_utf8(patch).unwrap()).trim().to_owned()
        }
    }
}

const MUTATE_JOB: &str = "/mutate-batch-v1-job";
const VALIDATE_JOB: &str = "/validate-batch-v1-job";

fn job(patch: Value) -> Value {
    let mut job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"},
        "spec": {"parallelism": 1, "suspend": false, "template": {"spec": {"containers": [{"name": "c"}]}}}});
    if let Value::Object(patch) = patch {
        for (key, value) in patch {
            job["metadata"][key] = value;
        }
    }
    job
}

fn queued() -> Value {
    json!({"labels": {"kueue.x-k8s.io/queue-name": "lq"}})
}

#[tokio::test]
async fn a_job_with_a_queue_waits_from_the_start() {
    let answer = ask(MUTATE_JOB, "CREATE", "ns", job(queued()), Value::Null).await;
    assert_eq!(answer, r#"allowed [{"op":"add","path":"/spec/suspend","value":true}]"#);
    assert_eq!(ask(MUTATE_JOB, "CREATE", "ns", job(json!({})), Value::Null).await, "allowed");
}

#[tokio::test]
async fn a_job_without_a_queue_gets_the_one_for_everybody() {
    let answer = ask(MUTATE_JOB, "CREATE", "default-queue", job(json!({})), Value::Null).await;
    let labels = r#"{"op":"add","path":"/metadata/labels","value":{"kueue.x-k8s.io/queue-name":"default"}}"#;
    assert_eq!(answer, format!(r#"allowed [{labels},{{"op":"add","path":"/spec/suspend","value":true}}]"#));
}

#[tokio::test]
async fn a_job_of_a_queued_job_does_not_wait_by_itself() {
    let owned = |name: &str| {
        let owner = json!({"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": "u", "controller": true});
        job(json!({"ownerReferences": [owner], "labels": {"kueue.x-k8s.io/queue-name": "lq"}}))
    };
    assert_eq!(ask(MUTATE_JOB, "CREATE", "ns", owned("queued"), Value::Null).await, "allowed");
    let missing = ask(MUTATE_JOB, "CREATE", "ns", owned("missing"), Value::Null).await;
    assert_eq!(missing, r#"workload owner not found: Job "missing""#);
    let unreachable = ask(MUTATE_JOB, "CREATE", "ns", owned("unreachable"), Value::Null).await;
    assert!(unreachable.starts_with("cannot find the owner of the job: the API server cannot be reached"));
}

#[tokio::test]
async fn mistakes_are_told_with_field_and_reason() {
    let wrong = job(json!({"labels": {"kueue.x-k8s.io/queue-name": "A B"}}));
    let answer = ask(VALIDATE_JOB, "CREATE", "ns", wrong, Value::Null).await;
    assert!(answer.starts_with(r#"metadata.labels[kueue.x-k8s.io/queue-name]: Invalid value: "A B": a lowercase"#));
    let moved = job(json!({"labels": {"kueue.x-k8s.io/queue-name": "other"}}));
    let answer = ask(VALIDATE_JOB, "UPDATE", "ns", moved, job(queued())).await;
    assert!(answer.ends_with(": field is immutable"), "{answer}");
    assert_eq!(ask(VALIDATE_JOB, "DELETE", "ns", Value::Null, job(queued())).await, "allowed");
}

#[tokio::test]
async fn kinds_of_our_own_are_completed_and_checked() {
    let path = |verb: &str, kind: &str| format!("/{verb}-kueue-x-k8s-io-v1beta2-{kind}");
    let flavor = json!({"metadata": {"name": "f"}, "spec": {}});
    let answer = ask(&path("mutate", "resourceflavor"), "CREATE", "", flavor, Value::Null).await;
    assert!(answer.contains("kueue.x-k8s.io/resource-in-use"), "{answer}");
    let quota = json!({"name": "cpu", "nominalQuota": "1", "borrowingLimit": "1"});
    let groups = json!([{"coveredResources": ["cpu"], "flavors": [{"name": "f", "resources": [quota]}]}]);
    let cohort = json!({"metadata": {"name": "c"}, "spec": {"resourceGroups": groups}});
    let answer = ask(&path("validate", "cohort"), "CREATE", "", cohort, Value::Null).await;
    assert!(answer.starts_with("spec.resourceGroups[0].flavors[0].resources[0].borrowingLimit: "), "{answer}");
    let nonsense = json!({"metadata": {"name": "q"}, "spec": {"resourceGroups": "x"}});
    let answer = ask(&path("validate", "clusterqueue"), "CREATE", "", nonsense, Value::Null).await;
    assert!(answer.starts_with("cannot read the ClusterQueue: "), "{answer}");
}

#[tokio::test]
async fn kinds_that_are_not_enabled_are_let_through() {
    for path in
        ["/mutate-kubeflow-org-v1-tfjob", "/validate-ray-io-v1-rayjob", "/mutate-jobset-x-k8s-io-v1alpha2-jobset"]
    {
        assert_eq!(ask(path, "CREATE", "ns", json!("anything"), Value::Null).await, "allowed", "{path}");
    }
}

#[tokio::test]
async fn pods_of_what_is_enabled_wait_from_the_start() {
    let template = json!({"spec": {"containers": [{"name": "c"}]}});
    let metadata = json!({"name": "d", "labels": {"kueue.x-k8s.io/queue-name": "lq"}});
    let deployment = json!({"metadata": metadata, "spec": {"template": template}});
    let answer = ask("/mutate-apps-v1-deployment", "CREATE", "ns", deployment, Value::Null).await;
    assert!(answer.contains("/spec/template/metadata") && answer.contains("pod-suspending-parent"), "{answer}");
    let pod = json!({"metadata": metadata, "spec": {"containers": [{"name": "c"}]}});
    let answer = ask("/mutate--v1-pod", "CREATE", "ns", pod, Value::Null).await;
    assert!(answer.contains("kueue.x-k8s.io/admission"), "{answer}");
}

#[tokio::test]
async fn a_statefulset_begins_again_when_its_workload_let_go() {
    let set = |name: &str, replicas: i32| {
        let metadata = json!({"name": name, "uid": "u", "labels": {"kueue.x-k8s.io/queue-name": "lq"}});
        json!({"metadata": metadata, "spec": {"replicas": replicas, "template": {"spec": {"containers": []}}}})
    };
    let scale = |name| ask("/validate-apps-v1-statefulset", "UPDATE", "ns", set(name, 2), set(name, 0));
    assert_eq!(scale("idle").await, "allowed");
    let refused = "spec.replicas: Forbidden: workload from previous scale-down is still being deleted";
    assert_eq!(scale("busy").await, refused);
}

#[tokio::test]
async fn users_are_warned_of_what_is_odd() {
    let owner = json!({"apiVersion": "batch/v1", "kind": "Job", "name": "queued", "uid": "u", "controller": true});
    let pod = |labels: Value| {
        let metadata = json!({"name": "p", "labels": labels, "ownerReferences": [owner]});
        let request = json!({"uid": "u", "operation": "CREATE", "namespace": "ns",
            "object": {"metadata": metadata, "spec": {"containers": [{"name": "c"}]}}});
        json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}).to_string()
    };
    let (_, plain) = send("/validate--v1-pod", &pod(json!({}))).await;
    assert_eq!(plain["response"], json!({"uid": "u", "allowed": true}));
    let (_, odd) = send("/validate--v1-pod", &pod(json!({"kueue.x-k8s.io/managed": "true"}))).await;
    let warning =
        "pod owner is managed by kueue, label 'kueue.x-k8s.io/managed=true' might lead to unexpected behaviour";
    assert_eq!(odd["response"], json!({"uid": "u", "allowed": true, "warnings": [warning]}));
}

#[tokio::test]
async fn what_is_no_review_is_refused() {
    assert_eq!(send("/nowhere", "{}").await.0, 404);
    assert_eq!(send(MUTATE_JOB, "{").await.0, 400);
    assert_eq!(send("/convert", "{}").await.0, 400);
    let (code, answer) = send(MUTATE_JOB, r#"{"apiVersion": "admission.k8s.io/v1", "request": {"object": 7}}"#).await;
    assert_eq!((code, &answer["response"]["status"]["code"]), (200, &json!(400)), "{answer}");
}
