//! Objects that must be accepted as they are: the samples of every kind, and what documents tell people to apply.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use kueue_api::kueue::kinds::KINDS;
use serde_json::Value;

use crate::api_server::ApiServer;

/// What is wrong with an object, led by its name.
fn problems_of(server: &ApiServer, object: &Value) -> Vec<String> {
    let name = format!("{} {} {}", object["apiVersion"], object["kind"], object["metadata"]["name"]);
    server.problems(None, object).into_iter().map(|problem| format!("{name}: {problem}")).collect()
}

fn problems(text: &str) -> Vec<String> {
    let server = ApiServer::new();
    objects(text).iter().flat_map(|object| problems_of(&server, object)).collect()
}

fn objects(text: &str) -> Vec<Value> {
    serde_saphyr::from_multiple(text).expect("the text is YAML")
}

/// Reads an object as its type and prints it again.
fn recode(object: &Value) -> Value {
    let kind = KINDS
        .iter()
        .find(|kind| object["kind"] == kind.kind && object["apiVersion"] == format!("kueue.x-k8s.io/{}", kind.version));
    (kind.expect("samples are of our kinds").recode)(object.clone()).expect("samples can be read")
}

/// As written, and as our types print it: with no empty value where a field should be left out.
#[test]
fn the_samples_of_every_kind_and_version_are_accepted() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../api/samples");
    let server = ApiServer::new();
    let mut refused = Vec::new();
    let mut kinds = BTreeSet::new();
    for entry in fs::read_dir(folder).unwrap() {
        for object in objects(&fs::read_to_string(entry.unwrap().path()).unwrap()) {
            kinds.insert(format!("{} {}", object["apiVersion"], object["kind"]));
            refused.extend(problems_of(&server, &object));
            refused.extend(problems_of(&server, &recode(&object)));
        }
    }
    assert_eq!(refused, Vec::<String>::new());
    assert_eq!(kinds.len(), KINDS.len(), "{kinds:?}");
}

/// Two teams that share a cluster: one queue for both, or a queue for each and a cohort, with capacity asked for first.
#[test]
fn queues_of_two_teams_apply_in_the_versions_that_documents_use() {
    let quota = "
  - coveredResources: [cpu, memory, nvidia.com/gpu]
    flavors:
    - name: default-flavor
      resources:
      - {name: cpu, nominalQuota: 1000000000}
      - {name: memory, nominalQuota: 1000000000Gi}
      - {name: nvidia.com/gpu, nominalQuota: 1000000000}
";
    let manifest = format!(
        "
apiVersion: kueue.x-k8s.io/v1beta1
kind: ResourceFlavor
metadata: {{name: default-flavor}}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: AdmissionCheck
metadata: {{name: capacity}}
spec:
  controllerName: kueue.x-k8s.io/provisioning-request
  parameters: {{apiGroup: kueue.x-k8s.io, kind: ProvisioningRequestConfig, name: capacity-config}}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ProvisioningRequestConfig
metadata: {{name: capacity-config}}
spec:
  provisioningClassName: check-capacity.autoscaling.x-k8s.io
  managedResources: [nvidia.com/gpu, cpu, memory]
---
apiVersion: kueue.x-k8s.io/v1alpha1
kind: Cohort
metadata: {{name: teams}}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {{name: shared}}
spec:
  namespaceSelector: {{}}
  resourceGroups:{quota}
  admissionChecks: [capacity]
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {{name: team-1}}
spec:
  cohort: teams
  namespaceSelector: {{}}
  resourceGroups:{quota}
  admissionChecks: [capacity]
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {{namespace: team-1, name: queue}}
spec: {{clusterQueue: team-1}}
"
    );
    assert_eq!(problems(&manifest), Vec::<String>::new());
}

/// A queue whose jobs wait for a cloud to queue the provisioning, and queues named after an organisation and a job type.
#[test]
fn queued_provisioning_and_names_with_dots_apply() {
    let manifest = "
apiVersion: kueue.x-k8s.io/v1beta1
kind: ProvisioningRequestConfig
metadata: {name: rayjob-gpu-config}
spec: {provisioningClassName: queued-provisioning.gke.io, managedResources: [nvidia.com/gpu]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: organization1}
spec: {nodeLabels: {organization: organization1}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: organization1}
spec:
  cohortName: organizations
  namespaceSelector: {matchLabels: {organization: organization1}}
  preemption: {reclaimWithinCohort: Any, withinClusterQueue: LowerPriority}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: organization1, resources: [{name: cpu, nominalQuota: 10, lendingLimit: 4}]}]
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata: {namespace: organization1, name: organization1.ray}
spec: {clusterQueue: organization1}
";
    assert_eq!(problems(manifest), Vec::<String>::new());
}
