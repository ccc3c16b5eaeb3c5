use super::check;
use crate::kueue::v1beta2::ClusterQueue;
use crate::validation::cluster_queue::{validate, validate_update};

const GOOD: &str = r#"{"spec": {"cohortName": "all", "resourceGroups": [{"coveredResources": ["cpu", "memory"], "flavors": [
    {"name": "spot", "resources": [{"name": "cpu", "nominalQuota": "4"}, {"name": "memory", "nominalQuota": "8Gi"}]}]}]}}"#;

fn check_new(table: &str) {
    check::<ClusterQueue>(GOOD, table, |new, _, gates| validate(new, gates));
}

#[test]
fn quotas_follow_the_covered_resources_and_stay_in_bounds() {
    check_new(
        r#"
        => ok

        spec.resourceGroups[0].coveredResources = ["cpu", "@"]
        spec.resourceGroups[0].flavors[0].resources[0].nominalQuota = -1
        => spec.resourceGroups[0].coveredResources[1]: Invalid value: "@": name part must consist of alphanumeric …
        => spec.resourceGroups[0].flavors[0].resources[0].nominalQuota: Invalid value: "-1": must be greater than or equal to 0
        => spec.resourceGroups[0].flavors[0].resources[1].name: Invalid value: "memory": must match the name in coveredResources

        spec.resourceGroups[1] = {"coveredResources": ["gpu", "cpu"], "flavors": [{"name": "spot"}]}
        => spec.resourceGroups[1].coveredResources[1]: Duplicate value: "cpu"
        => spec.resourceGroups[1].flavors[0].name: Duplicate value: "spot"

        spec.resourceGroups[0].flavors[0].resources[2] = {"name": "gpu", "nominalQuota": -1}
        => ok
    "#,
    );
}

#[test]
fn a_queue_lends_at_most_its_own_and_limits_need_a_cohort() {
    check_new(
        r#"
        spec.resourceGroups[0].flavors[0].resources[0].lendingLimit = 4
        spec.resourceGroups[0].flavors[0].resources[0].borrowingLimit = 0
        => ok

        spec.resourceGroups[0].flavors[0].resources[0].lendingLimit = 4001m
        => spec.resourceGroups[0].flavors[0].resources[0].lendingLimit: Invalid value: "4001m": must be less than or equal to the nominalQuota

        spec.cohortName = ""
        spec.resourceGroups[0].flavors[0].resources[0].lendingLimit = -1
        spec.resourceGroups[0].flavors[0].resources[1].borrowingLimit = 1Gi
        => spec.resourceGroups[0].flavors[0].resources[0].lendingLimit: Invalid value: "-1": must be greater than or equal to 0
        => spec.resourceGroups[0].flavors[0].resources[0].lendingLimit: Invalid value: "-1": must be nil when cohort is empty
        => spec.resourceGroups[0].flavors[0].resources[1].borrowingLimit: Invalid value: "1Gi": must be nil when cohort is empty
    "#,
    );
}

#[test]
fn selector_preemption_fungibility_and_weight_make_sense() {
    check_new(
        r#"
        spec.namespaceSelector.matchExpressions[0] = {"key": "team", "operator": "In"}
        => spec.namespaceSelector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'

        spec.preemption = {"reclaimWithinCohort": "Never", "borrowWithinCohort": {"policy": "LowerPriority"}}
        => spec.preemption: Invalid value: {"borrowWithinCohort":{"policy":"LowerPriority"},"reclaimWithinCohort":"Never"}: reclaimWithinCohort=Never and borrowWithinCohort.Policy!=Never

        spec.preemption = {"reclaimWithinCohort": "Never", "borrowWithinCohort": {"policy": "Never"}}
        => ok

        spec.preemption = {"reclaimWithinCohort": "Any", "borrowWithinCohort": {"policy": "LowerPriority"}}
        => ok

        spec.flavorFungibility = {"preference": "BorrowingOverPreemption", "whenCanBorrow": "TryNextFlavor"}
        => spec.flavorFungibility.preference: Invalid value: "BorrowingOverPreemption": preference "BorrowingOverPreemption" requires both whenCanBorrow and whenCanPreempt to be TryNextFlavor

        spec.flavorFungibility = {"preference": "BorrowingOverPreemption", "whenCanBorrow": "TryNextFlavor", "whenCanPreempt": "TryNextFlavor"}
        => ok

        spec.flavorFungibility = {"whenCanBorrow": "MayStopSearch"}
        => ok

        spec.fairSharing.weight = 1n
        => spec.fairSharing: Invalid value: "1n": When not 0, weight must be > 10e-9

        spec.fairSharing.weight = 2n
        => ok

        spec.fairSharing.weight = 0
        => ok
    "#,
    );
}

#[test]
fn flavors_and_resources_are_limited_in_number() {
    let group = |flavors: usize, resources: usize| {
        let names: Vec<String> = (0..resources).map(|index| format!("r{index}")).collect();
        let quotas: Vec<_> = names.iter().map(|name| serde_json::json!({"name": name, "nominalQuota": 1})).collect();
        let flavors: Vec<_> =
            (0..flavors).map(|index| serde_json::json!({"name": format!("f{index}"), "resources": quotas})).collect();
        serde_json::json!([{"coveredResources": names, "flavors": flavors}])
    };
    let table = [
        (group(256, 2), "ok"),
        (
            group(257, 1),
            "spec.resourceGroups: Invalid value: 257: total number of flavors across all resourceGroups must be ≤ 256, got 257",
        ),
        (
            group(1, 257),
            "spec.resourceGroups: Invalid value: 257: total number of covered resources across all resourceGroups must be ≤ 256, got 257",
        ),
        (
            group(9, 57),
            "spec.resourceGroups[0]: Invalid value: 513: number of flavor-resource combinations in a resourceGroup must be ≤ 512, got 513",
        ),
    ];
    for (groups, expected) in table {
        check_new(&format!("spec.resourceGroups = {groups}\n=> {expected}"));
    }
}

#[test]
fn checks_are_restricted_to_flavors_of_the_queue() {
    check_new(
        r#"
        spec.admissionChecksStrategy.admissionChecks[0] = {"name": "quota", "onFlavors": ["spot"]}
        => ok

        spec.admissionChecksStrategy.admissionChecks[0] = {"name": "quota", "onFlavors": ["spot", "gone", "lost"]}
        => spec.admissionChecksStrategy.admissionChecks[0].onFlavors[1]: Unsupported value: "gone": supported values: "spot"
        => spec.admissionChecksStrategy.admissionChecks[0].onFlavors[2]: Unsupported value: "lost": supported values: "spot"
    "#,
    );
}

#[test]
fn missing_flavors_that_were_there_already_do_not_hold_up_an_update() {
    check::<ClusterQueue>(GOOD, UPDATES, validate_update);
}

const UPDATES: &str = r#"
    spec.admissionChecksStrategy.admissionChecks[0] = {"name": "a", "onFlavors": ["gone", "lost"]}
    new spec.admissionChecksStrategy.admissionChecks[0].onFlavors = ["lost", "gone"]
    new spec.stopPolicy = Hold
    => ok

    spec.admissionChecksStrategy.admissionChecks[0] = {"name": "a", "onFlavors": ["gone"]}
    gate RejectUpdatesToCQWithInvalidOnFlavors = on
    => spec.admissionChecksStrategy.admissionChecks[0].onFlavors[0]: Unsupported value: "gone": supported values: "spot"

    spec.admissionChecksStrategy.admissionChecks[0] = {"name": "a", "onFlavors": ["gone"]}
    new spec.admissionChecksStrategy.admissionChecks[0].name = b
    => spec.admissionChecksStrategy.admissionChecks[0].onFlavors[0]: Unsupported value: "gone": supported values: "spot"

    spec.admissionChecksStrategy.admissionChecks[0] = {"name": "a", "onFlavors": ["gone"]}
    new spec.admissionChecksStrategy.admissionChecks[0].onFlavors = ["lost"]
    => spec.admissionChecksStrategy.admissionChecks[0].onFlavors[0]: Unsupported value: "lost": supported values: "spot"

    spec.admissionChecksStrategy.admissionChecks[0] = {"name": "a", "onFlavors": ["gone"]}
    new spec.resourceGroups[0].flavors[0].name = other
    => spec.admissionChecksStrategy.admissionChecks[0].onFlavors[0]: Unsupported value: "gone": supported values: "other"
"#;

#[test]
fn concurrent_admission_needs_one_small_group_and_stays_as_it_is() {
    check::<ClusterQueue>(GOOD, CONCURRENT, validate_update);
}

const CONCURRENT: &str = r#"
    gate ConcurrentAdmission = on
    spec.concurrentAdmissionPolicy.migration.mode = TryPreferredFlavors
    spec.concurrentAdmissionPolicy.migration.constraints.lastAcceptableFlavorName = spot
    => ok

    gate ConcurrentAdmission = on
    spec.concurrentAdmissionPolicy.migration.constraints.lastAcceptableFlavorName = gone
    spec.resourceGroups[1] = {"coveredResources": ["gpu"], "flavors": [{"name": "big"}]}
    spec.queueingStrategy = StrictFIFO
    => spec.resourceGroups: Invalid value: 2: must have exactly one ResourceGroup when ConcurrentAdmissionPolicy is defined
    => spec.concurrentAdmissionPolicy.migration.constraints.lastAcceptableFlavorName: Invalid value: "gone": must be one of the flavors defined in the ClusterQueue: [big spot]
    => spec.queueingStrategy: Invalid value: "StrictFIFO": StrictFIFO queueing strategy cannot be used when ConcurrentAdmissionPolicy is defined

    gate ConcurrentAdmission = on
    spec.concurrentAdmissionPolicy.migration.mode = RetainFirstAdmission
    spec.concurrentAdmissionPolicy.migration.constraints.lastAcceptableFlavorName = gone
    spec.resourceGroups[0].flavors = [{"name":"a"},{"name":"b"},{"name":"c"},{"name":"d"},{"name":"e"},{"name":"f"},{"name":"g"},{"name":"h"},{"name":"i"},{"name":"j"},{"name":"k"},{"name":"l"},{"name":"m"},{"name":"n"},{"name":"o"},{"name":"p"},{"name":"q"}]
    => spec.resourceGroups[0].flavors: Invalid value: 17: cannot have more than 16 resource flavors in the ResourceGroup when ConcurrentAdmissionPolicy is defined
    => spec.concurrentAdmissionPolicy.migration.constraints: Forbidden: may only be set when migration.mode is "TryPreferredFlavors" (got "RetainFirstAdmission")

    gate ConcurrentAdmission = off
    spec.concurrentAdmissionPolicy.migration.constraints.lastAcceptableFlavorName = gone
    spec.queueingStrategy = StrictFIFO
    => ok

    gate ConcurrentAdmission = on
    new spec.concurrentAdmissionPolicy.migration.mode = TryPreferredFlavors
    => spec.concurrentAdmissionPolicy: Invalid value: {"migration":{"mode":"TryPreferredFlavors"}}: field is immutable

    old spec.concurrentAdmissionPolicy.migration.mode = TryPreferredFlavors
    => spec.concurrentAdmissionPolicy: Invalid value: null: field is immutable
"#;
