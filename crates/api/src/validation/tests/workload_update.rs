use super::check;
use crate::kueue::v1beta2::Workload;
use crate::validation::workload::validate_update;

/// A workload of two pod sets that holds quota.
const GOOD: &str = r#"{
    "spec": {"podSets": [{"name": "a", "count": 3, "template": {"spec": {"containers": [{"name": "c"}]}}},
                         {"name": "b", "count": 2, "template": {}}]},
    "status": {
        "conditions": [{"type": "QuotaReserved", "status": "True", "reason": "R", "lastTransitionTime": "2026-01-01T00:00:00Z"}],
        "admission": {"clusterQueue": "q", "podSetAssignments": [{"name": "a", "count": 3}, {"name": "b", "count": 2}]}}}"#;

fn check_change(table: &str) {
    check::<Workload>(GOOD, table, validate_update);
}

#[test]
fn pod_sets_with_quota_stay_but_may_shrink() {
    check_change(
        r#"
        new spec.priority = 5
        new spec.podSets[0].template.spec.tolerations = []
        => ok

        new spec.podSets[0].template.spec.nodeSelector = {"a": "b"}
        new spec.podSets[1].count = 9
        => spec.podSets.0: Invalid value: {"count":3,"name":"a","template":{"spec":{"containers":[{"name":"c"}],"nodeSelector":{"a":"b"}}}}: field is immutable
        => spec.podSets.1: Invalid value: {"count":9,"name":"b","template":{}}: field is immutable

        new spec.podSets = []
        status.admission.podSetAssignments = []
        => spec.podSets: Invalid value: []: field is immutable

        new spec.podSets[0].count = 1
        => ok

        new spec.podSets[1].count = 1
        new spec.podSets[1].minCount = 1
        => spec.podSets.1: Invalid value: {"count":1,"minCount":1,"name":"b","template":{}}: field is immutable

        gate ElasticJobsViaWorkloadSlices = off
        new spec.podSets[1].count = 1
        => spec.podSets.1: Invalid value: {"count":1,"name":"b","template":{}}: field is immutable

        old status.conditions = []
        new spec.podSets[0].count = 9
        => ok
    "#,
    );
}

#[test]
fn reclaimed_pods_do_not_come_back_while_quota_is_held() {
    check_change(
        r#"
        old status.reclaimablePods = [{"name": "a", "count": 1}]
        new status.reclaimablePods = [{"name": "a", "count": 2}, {"name": "b", "count": 1}]
        => ok

        old status.reclaimablePods = [{"name": "a", "count": 2}, {"name": "b", "count": 1}]
        new status.reclaimablePods = [{"name": "a", "count": 1}]
        => status.reclaimablePods[a].count: Invalid value: 1: cannot be less than 2
        => status.reclaimablePods[b]: Required value: cannot be removed

        old status.reclaimablePods = [{"name": "a", "count": 2}]
        new status.conditions = []
        => ok
    "#,
    );
}

#[test]
fn reclaimed_pods_of_an_elastic_job_are_counted_anew_when_it_shrinks() {
    check_change(
        r#"
        metadata.annotations[kueue.x-k8s.io/elastic-job] = "true"
        new spec.podSets[0].count = 2
        old status.reclaimablePods = [{"name": "a", "count": 2}, {"name": "b", "count": 1}]
        new status.reclaimablePods = [{"name": "a", "count": 1}]
        => status.reclaimablePods[b]: Required value: cannot be removed

        metadata.annotations[kueue.x-k8s.io/elastic-job] = "true"
        new spec.podSets[0].count = 1
        status.reclaimablePods = [{"name": "a", "count": 2}]
        => ok

        metadata.annotations[kueue.x-k8s.io/elastic-job] = "true"
        new spec.podSets[0].count = 1
        old status.reclaimablePods = [{"name": "a", "count": 2}]
        new status.reclaimablePods = [{"name": "a", "count": 3}]
        => status.reclaimablePods[a].count: Invalid value: 3: should be less or equal to 1

        new spec.podSets[0].count = 1
        status.reclaimablePods = [{"name": "a", "count": 2}]
        => status.reclaimablePods[a].count: Invalid value: 2: should be less or equal to 1
    "#,
    );
}

#[test]
fn an_admission_is_given_and_taken_but_not_changed() {
    check_change(
        r#"
        old status.admission = null
        old status.conditions = []
        => ok

        new status.admission = null
        new status.conditions = []
        => ok

        new status.admission.clusterQueue = other
        => status.admission: Invalid value: {"clusterQueue":"other","podSetAssignments":[{"count":3,"name":"a"},{"count":2,"name":"b"}]}: field is immutable

        new status.admission.podSetAssignments = [{"name": "a", "count": 3}]
        => status.admission: Invalid value: {"clusterQueue":"q","podSetAssignments":[{"count":3,"name":"a"}]}: field is immutable

        new status.admission.podSetAssignments[0].topologyAssignment.levels = ["rack"]
        new status.admission.podSetAssignments[1].delayedTopologyRequest = Ready
        => ok

        gate TopologyAwareScheduling = off
        old status.admission.podSetAssignments[1].delayedTopologyRequest = Pending
        => status.admission: Invalid value: {"clusterQueue":"q","podSetAssignments":[{"count":3,"name":"a"},{"count":2,"name":"b"}]}: field is immutable

        new status.admission = null
        => status.admission: Required value: must be set while the QuotaReserved condition is true

        status.admission = null
        => ok
    "#,
    );
}

#[test]
fn a_check_that_stays_ready_keeps_its_updates() {
    check_change(
        r#"
        status.admissionChecks = [{"name": "x", "state": "Ready"}, {"name": "y", "state": "Ready"}]
        new status.admissionChecks[1].podSetUpdates = [{"name": "a", "labels": {"k": "v"}}]
        new status.admissionChecks[1].message = hello
        => status.admissionChecks[1].podSetUpdates: Invalid value: [{"labels":{"k":"v"},"name":"a"}]: field is immutable

        old status.admissionChecks = [{"name": "x", "state": "Pending"}, {"name": "gone", "state": "Ready"}]
        new status.admissionChecks = [{"name": "x", "state": "Ready", "podSetUpdates": [{"name": "a"}]}]
        => ok
    "#,
    );
}

#[test]
fn the_job_goes_to_a_cluster_that_was_asked() {
    check_change(
        r#"
        status.nominatedClusterNames = ["east"]
        new status.clusterName = east
        => ok

        status.nominatedClusterNames = ["east"]
        new status.clusterName = west
        => status.clusterName: Invalid value: "west": when setting clusterName it must be one of the nominatedClusterNames

        old status.clusterName = east
        new status.clusterName = west
        => ok

        new metadata.annotations[kueue.x-k8s.io/workload-slice-replacement-for] = ns/old
        new status.clusterName = west
        => ok

        gate ElasticJobsViaWorkloadSlices = off
        new metadata.annotations[kueue.x-k8s.io/workload-slice-replacement-for] = ns/old
        new status.clusterName = west
        => status.clusterName: Invalid value: "west": when setting clusterName it must be one of the nominatedClusterNames
    "#,
    );
}

#[test]
fn admission_gates_can_only_go() {
    check_change(
        r#"
        old metadata.annotations[kueue.x-k8s.io/admission-gated-by] = "a.io/x,b.io/y"
        new metadata.annotations[kueue.x-k8s.io/admission-gated-by] = "b.io/y"
        => ok

        old metadata.annotations[kueue.x-k8s.io/admission-gated-by] = "a.io/x"
        => ok

        new metadata.annotations[kueue.x-k8s.io/admission-gated-by] = "a.io/x"
        => metadata.annotations[kueue.x-k8s.io/admission-gated-by]: Forbidden: cannot add admission gate after creation

        old metadata.annotations[kueue.x-k8s.io/admission-gated-by] = "a.io/x"
        new metadata.annotations[kueue.x-k8s.io/admission-gated-by] = "b.io/y,c"
        => metadata.annotations[kueue.x-k8s.io/admission-gated-by]: Invalid value: "c": must be a domain-prefixed path (such as "acme.io/foo")
        => metadata.annotations[kueue.x-k8s.io/admission-gated-by]: Forbidden: can only remove gates, not add new ones
    "#,
    );
}
