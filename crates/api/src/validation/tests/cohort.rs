use super::check;
use crate::validation::cohort::validate;

const GOOD: &str = r#"{"spec": {"parentName": "root", "resourceGroups": [{"coveredResources": ["cpu"], "flavors":
    [{"name": "spot", "resources": [{"name": "cpu", "nominalQuota": "1"}]}]}]}}"#;

#[test]
fn a_cohort_lends_what_its_members_have_and_limits_need_a_parent() {
    check(GOOD, TABLE, |new, _, _| validate(new));
}

const TABLE: &str = r#"
    spec.resourceGroups[0].flavors[0].resources[0].lendingLimit = 5
    spec.resourceGroups[0].flavors[0].resources[0].borrowingLimit = 5
    => ok

    spec.parentName = ""
    spec.resourceGroups[0].flavors[0].resources[0].lendingLimit = 1
    spec.resourceGroups[0].flavors[0].resources[0].borrowingLimit = -1
    spec.fairSharing.weight = -1
    => spec.fairSharing: Invalid value: "-1": must be greater than or equal to 0
    => spec.resourceGroups[0].flavors[0].resources[0].borrowingLimit: Invalid value: "-1": must be nil when parent is empty
    => spec.resourceGroups[0].flavors[0].resources[0].borrowingLimit: Invalid value: "-1": must be greater than or equal to 0
    => spec.resourceGroups[0].flavors[0].resources[0].lendingLimit: Invalid value: "1": must be nil when parent is empty
"#;
