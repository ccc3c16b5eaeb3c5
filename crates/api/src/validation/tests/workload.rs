use super::check;
use crate::kueue::v1beta2::Workload;
use crate::validation::workload::validate;

const GOOD: &str =
    r#"{"spec": {"podSets": [{"name": "main", "count": 3, "template": {"spec": {"containers": [{}]}}}]}}"#;

fn check_new(table: &str) {
    check::<Workload>(GOOD, table, |new, _, gates| validate(new, gates));
}

#[test]
fn labels_and_annotations_of_templates_are_well_formed() {
    check_new(
        r#"
        => ok

        spec.podSets[0].template.metadata.labels = {"a": "b c"}
        spec.podSets[0].template.metadata.annotations = {"@": "b c", "UPPER": ""}
        => spec.podSets[0].template.metadata.labels: Invalid value: "b c": a valid label must be an empty string …
        => spec.podSets[0].template.metadata.annotations: Invalid value: "@": name part must consist of alphanumeric …

        gate WorkloadValidationForPodSetMetadata = off
        spec.podSets[0].template.metadata.labels = {"a": "b c"}
        spec.podSets[0].template.metadata.annotations = {"@": "b c"}
        => ok
    "#,
    );
}

#[test]
fn pods_is_no_resource_to_ask_for_and_nothing_is_negative() {
    check_new(
        r#"
        spec.podSets[0].template.spec.initContainers[0].resources.limits = {"pods": 1}
        spec.podSets[0].template.spec.containers[0].resources = {"requests": {"cpu": "-1m", "pods": -1}, "limits": {"memory": "-1Gi"}}
        spec.podSets[0].template.spec.resources.requests = {"pods": 1}
        => spec.podSets[0].template.spec.initContainers[0].resources.limits[pods]: Invalid value: "pods": the key is reserved for internal kueue use
        => spec.podSets[0].template.spec.containers[0].resources.requests[cpu]: Invalid value: "-1m": must be greater than or equal to 0
        => spec.podSets[0].template.spec.containers[0].resources.requests[pods]: Invalid value: "pods": the key is reserved for internal kueue use
        => spec.podSets[0].template.spec.containers[0].resources.requests[pods]: Invalid value: "-1": must be greater than or equal to 0
        => spec.podSets[0].template.spec.containers[0].resources.limits[memory]: Invalid value: "-1Gi": must be greater than or equal to 0
        => spec.podSets[0].template.spec.resources.requests[pods]: Invalid value: "pods": the key is reserved for internal kueue use

        gate WorkloadValidateResourcesAreNonNegative = off
        spec.podSets[0].template.spec.containers[0].resources.requests = {"cpu": "-1", "pods": 1}
        => spec.podSets[0].template.spec.containers[0].resources.requests[pods]: Invalid value: "pods": the key is reserved for internal kueue use
    "#,
    );
}

#[test]
fn slices_have_a_topology_and_a_size() {
    check_new(
        r#"
        spec.podSets[0].topologyRequest = {"podSetSliceRequiredTopology": "rack", "podSetSliceSize": 2}
        => ok

        spec.podSets[0].topologyRequest = {"podSetSliceRequiredTopology": "rack"}
        => spec.podSets[0].topologyRequest.podSetSliceSize: Required value: must be set when podSetSliceRequiredTopology is specified

        spec.podSets[0].topologyRequest = {"podSetSliceSize": 2}
        => spec.podSets[0].topologyRequest.podSetSliceSize: Forbidden: may not be set when podSetSliceRequiredTopology is not specified

        spec.podSets[0].topologyRequest = {"podSetSliceRequiredTopology": "rack", "podSetSliceSize": 0, "podsetSliceRequiredTopologyConstraints": [{"size": 1}, {"size": -1}]}
        => spec.podSets[0].topologyRequest.podSetSliceSize: Invalid value: 0: must be greater than 0
        => spec.podSets[0].topologyRequest.podsetSliceRequiredTopologyConstraints[1].size: Invalid value: -1: must be greater than 0

        gate TASValidateWorkloadSliceSize = off
        spec.podSets[0].topologyRequest = {"podSetSliceSize": 0}
        => ok
    "#,
    );
}

#[test]
fn one_pod_set_may_be_admitted_in_part_unless_the_job_is_elastic() {
    check_new(
        r#"
        spec.podSets[0].minCount = 1
        => ok

        spec.podSets[0].minCount = 1
        spec.podSets[1] = {"name": "more", "minCount": 1}
        metadata.annotations[kueue.x-k8s.io/elastic-job] = "true"
        => spec.podSets: Invalid value: 2: at most one podSet can use minCount
        => spec.podSets: Invalid value: 2: partial admission and elastic job cannot be used together

        gate ElasticJobsViaWorkloadSlices = off
        spec.podSets[0].minCount = 1
        metadata.annotations[kueue.x-k8s.io/elastic-job] = "true"
        => ok
    "#,
    );
}

#[test]
fn a_boost_is_a_number() {
    check_new(
        r#"
        gate PriorityBoost = on
        metadata.annotations[kueue.x-k8s.io/priority-boost] = "-5"
        => ok

        gate PriorityBoost = on
        metadata.annotations[kueue.x-k8s.io/priority-boost] = "5.5"
        => metadata.annotations[kueue.x-k8s.io/priority-boost]: Invalid value: "5.5": must be a valid signed integer

        gate PriorityBoost = on
        metadata.annotations[kueue.x-k8s.io/priority-boost] = ""
        => metadata.annotations[kueue.x-k8s.io/priority-boost]: Invalid value: "": must be a valid signed integer; use "0" explicitly, empty string is not allowed

        gate PriorityBoost = off
        metadata.annotations[kueue.x-k8s.io/priority-boost] = "5.5"
        => ok
    "#,
    );
}

#[test]
fn admission_gates_are_different_names_with_a_domain() {
    check_new(
        r#"
        metadata.annotations[kueue.x-k8s.io/admission-gated-by] = " a.io/x , b.io/y"
        => ok

        metadata.annotations[kueue.x-k8s.io/admission-gated-by] = "a.io/x,,x,a.io/x, "
        => metadata.annotations[kueue.x-k8s.io/admission-gated-by]: Invalid value: "a.io/x,,x,a.io/x, ": cannot contain empty gate names
        => metadata.annotations[kueue.x-k8s.io/admission-gated-by]: Invalid value: "x": must be a domain-prefixed path (such as "acme.io/foo")
        => metadata.annotations[kueue.x-k8s.io/admission-gated-by]: Invalid value: "a.io/x,,x,a.io/x, ": duplicate gate name: a.io/x
        => metadata.annotations[kueue.x-k8s.io/admission-gated-by]: Invalid value: "a.io/x,,x,a.io/x, ": cannot contain empty gate names

        metadata.annotations[kueue.x-k8s.io/admission-gated-by] = "a.io/ninety-nine-characters-are-too-many-for-the-name-of-a-gate-even"
        => metadata.annotations[kueue.x-k8s.io/admission-gated-by]: Too long: may not be more than 63 bytes

        gate AdmissionGatedBy = off
        metadata.annotations[kueue.x-k8s.io/admission-gated-by] = "x"
        => ok
    "#,
    );
}

#[test]
fn what_holds_quota_has_an_admission_that_fits_its_pod_sets() {
    check_new(
        r#"
        status.conditions[0] = {"type": "QuotaReserved", "status": "True", "reason": "R", "lastTransitionTime": "2026-01-01T00:00:00Z"}
        status.admission.podSetAssignments = [{"name": "main", "count": 3, "resourceUsage": {"cpu": "3m", "memory": "3"}}]
        => ok

        status.conditions[0] = {"type": "QuotaReserved", "status": "True", "reason": "R", "lastTransitionTime": "2026-01-01T00:00:00Z"}
        => status.admission: Required value: must be set while the QuotaReserved condition is true

        status.conditions[0] = {"type": "QuotaReserved", "status": "True", "reason": "R", "lastTransitionTime": "2026-01-01T00:00:00Z"}
        status.admission.podSetAssignments = [{"name": "gone", "count": 3, "resourceUsage": {"cpu": "1", "memory": "4"}}]
        => status.admission.podSetAssignments[0].name: Not found: "gone"
        => status.admission.podSetAssignments[0].resourceUsage[cpu]: Invalid value: "1": is not a multiple of 3
        => status.admission.podSetAssignments[0].resourceUsage[memory]: Invalid value: "4": is not a multiple of 3

        status.admission.podSetAssignments = [{"name": "gone"}]
        => ok
    "#,
    );
}

#[test]
fn conditions_are_well_formed() {
    check_new(
        r#"
        status.conditions[0] = {"type": "A", "status": "True", "reason": "R", "lastTransitionTime": "2026-01-01T00:00:00Z"}
        status.conditions[1] = {"type": "A", "status": "true", "reason": "R.", "observedGeneration": -1}
        => status.conditions[1].type: Duplicate value: "A"
        => status.conditions[1].status: Unsupported value: "true": supported values: "False", "True", "Unknown"
        => status.conditions[1].observedGeneration: Invalid value: -1: must be greater than or equal to zero
        => status.conditions[1].lastTransitionTime: Required value
        => status.conditions[1].reason: Invalid value: "R.": a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')

        status.conditions[0] = {"type": "A", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
        => status.conditions[0].reason: Required value
    "#,
    );
    let condition = serde_json::json!({
        "type": "A", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z",
        "reason": "r".repeat(1025), "message": "m".repeat(32 * 1024 + 1),
    });
    check_new(&format!(
        "status.conditions[0] = {condition}
         => status.conditions[0].reason: Too long: may not be more than 1024 bytes
         => status.conditions[0].message: Too long: may not be more than 32768 bytes"
    ));
}

#[test]
fn reclaimable_pods_and_updates_are_those_of_pod_sets() {
    check_new(
        r#"
        status.reclaimablePods = [{"name": "main", "count": 3}]
        status.admissionChecks[0].podSetUpdates = [{"name": "main", "tolerations": [{"operator": "Exists"}]}]
        => ok

        status.reclaimablePods = [{"name": "main", "count": 4}, {"name": "gone", "count": 1}]
        => status.reclaimablePods[main].count: Invalid value: 4: should be less or equal to 3
        => status.reclaimablePods[gone].name: Unsupported value: "gone": supported values: "main"

        status.admissionChecks[0].podSetUpdates = [{"name": "gone", "tolerations": [{"key": "-"}], "annotations": {"@": ""}, "nodeSelector": {"a": "+"}, "labels": {"a": "*"}}]
        => status.admissionChecks[0].podSetUpdates[0].name: Unsupported value: "gone": supported values: "main"
        => status.admissionChecks[0].podSetUpdates[0].tolerations[0].key: Invalid value: "-": name part must consist of …
        => status.admissionChecks[0].podSetUpdates[0].annotations: Invalid value: "@": name part must consist of …
        => status.admissionChecks[0].podSetUpdates[0].nodeSelector: Invalid value: "+": a valid label must be …
        => status.admissionChecks[0].podSetUpdates[0].labels: Invalid value: "*": a valid label must be …
    "#,
    );
}
