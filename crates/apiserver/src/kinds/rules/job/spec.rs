//! What is wrong with a Job's spec, in a Job and in a CronJob's template.

use kueue_core::field::{Error, Errors};
use kueue_core::label;
use kueue_core::name::{dns1123_label, validate_domain_prefixed_path};

use super::super::check::Field;
use super::super::pod_spec::check_template;
use super::{NAME_LABELS, UID_LABELS, indexes};
use crate::json::Value;

const INDEXED_PARALLELISM_MAX: i64 = 100_000;
const FAILED_INDEXES_MAX: i64 = 100_000;
/// Above so many completions the indexes that failed must be bounded more tightly.
const COMPLETIONS_MANY: i64 = 100_000;
const MANY_PARALLELISM_MAX: i64 = 10_000;
const MANY_FAILED_INDEXES_MAX: i64 = 10_000;
const MANAGED_BY_BYTES_MAX: usize = 63;

pub fn validate(object: &Value) -> Errors {
    let mut errors = Errors::new();
    check_generated(object, &mut errors);
    check_whole_spec(object, &mut errors);
    let root = Field::root(object);
    let (name, completions) = (root.child("metadata.name"), root.child("spec.completions"));
    if root.child("spec.completionMode").text() == "Indexed" && completions.number() > 0 {
        let host = format!("{}-{}", name.text(), completions.number() - 1);
        if !dns1123_label(&host).is_empty() {
            errors.push(name.invalid(format!("will not able to create pod with invalid DNS label: {host}")));
        }
    }
    errors
}

/// The selector and the labels that the server makes must be there, whoever wrote them.
fn check_generated(object: &Value, errors: &mut Errors) {
    let root = Field::root(object);
    let selector = root.child("spec.selector");
    if object["spec"]["manualSelector"] == true || !selector.is_set() {
        return;
    }
    let (uid, name) = (&object["metadata"]["uid"], &object["metadata"]["name"]);
    let labels = root.child("spec.template.metadata.labels");
    let expected = [(UID_LABELS[1], uid), (NAME_LABELS[1], name), (UID_LABELS[0], uid), (NAME_LABELS[0], name)];
    for (key, value) in expected {
        let label = labels.child_key(key);
        let why = format!("must be '{}'", value.as_str().unwrap_or_default());
        if !label.is_set() {
            errors.push(label.required(&why));
        } else if label.value != value {
            errors.push(Error::invalid(&label.path, labels.value.clone(), why));
        }
    }
    let made = expected.iter().map(|(key, value)| ((*key).to_owned(), value.as_str().unwrap_or_default().to_owned()));
    if !selector.selector().matches(&made.collect()) {
        errors.push(selector.invalid("`selector` not auto-generated"));
    }
}

/// The spec of a Job, with its selector.
pub fn check_whole_spec(object: &Value, errors: &mut Errors) {
    let spec = Field::root(object).child("spec");
    check_job_spec(&spec, errors);
    let selector = spec.child("selector");
    if selector.is_set() {
        selector.label_selector(errors);
    } else {
        errors.push(selector.required(""));
    }
    let labels = spec.child("template.metadata.labels");
    // No selector selects nothing.
    if !selector.is_set() || !selector.selector().matches(&crate::meta::strings(labels.value)) {
        errors.push(labels.invalid("`selector` does not match template `labels`"));
    }
}

/// What holds in a CronJob's template too.
pub fn check_job_spec(spec: &Field<'_>, errors: &mut Errors) {
    for number in ["parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished"] {
        spec.child(number).not_negative(errors);
    }
    let (per_index, failed) = (spec.child("backoffLimitPerIndex"), spec.child("maxFailedIndexes"));
    per_index.not_negative(errors);
    if failed.is_set() {
        failed.not_negative(errors);
        if !per_index.is_set() {
            errors.push(per_index.required("when maxFailedIndexes is specified"));
        }
    }
    let manager = spec.child("managedBy");
    if manager.is_set() {
        errors.extend(validate_domain_prefixed_path(manager.text(), &manager.path));
        if manager.text().len() > MANAGED_BY_BYTES_MAX {
            errors.push(Error::too_long(&manager.path, MANAGED_BY_BYTES_MAX));
        }
    }
    check_completion_mode(spec, errors);
    check_failure_policy(spec, errors);
    check_success_policy(spec, errors);
    let replacement = spec.child("podReplacementPolicy");
    let has_policy = spec.child("podFailurePolicy").is_set();
    replacement.one_of(if has_policy { &["Failed"] } else { &["Failed", "TerminatingOrFailed"] }, errors);
    check_template(&spec.child("template"), errors);
    check_restart_policy(spec, errors);
}

fn check_completion_mode(spec: &Field<'_>, errors: &mut Errors) {
    let mode = spec.child("completionMode");
    mode.one_of(&["NonIndexed", "Indexed"], errors);
    let (per_index, failed) = (spec.child("backoffLimitPerIndex"), spec.child("maxFailedIndexes"));
    if !mode.is_set() || mode.text() == "NonIndexed" {
        for number in [per_index, failed].iter().filter(|number| number.is_set()) {
            errors.push(number.invalid("requires indexed completion mode"));
        }
        return;
    }
    if mode.text() != "Indexed" {
        return;
    }
    let (completions, parallelism) = (spec.child("completions"), spec.child("parallelism"));
    let at_most = |number: &Field<'_>, max: i64, when: &str, errors: &mut Errors| {
        if number.number() > max {
            errors.push(number.invalid(format!("must be less than or equal to {max}{when}")));
        }
    };
    if !completions.is_set() {
        errors.push(completions.required("when completion mode is Indexed"));
    }
    at_most(&parallelism, INDEXED_PARALLELISM_MAX, " when completion mode is Indexed", errors);
    if completions.is_set() && failed.number() > completions.number() {
        errors.push(failed.invalid("must be less than or equal to completions"));
    }
    at_most(&failed, FAILED_INDEXES_MAX, "", errors);
    if completions.number() > COMPLETIONS_MANY && per_index.is_set() {
        if !failed.is_set() {
            errors.push(failed.required(&format!("must be specified when completions is above {COMPLETIONS_MANY}")));
        }
        let when = format!(" when completions are above {COMPLETIONS_MANY} and used with backoff limit per index");
        at_most(&parallelism, MANY_PARALLELISM_MAX, &when, errors);
        at_most(&failed, MANY_FAILED_INDEXES_MAX, &when, errors);
    }
}

fn check_failure_policy(spec: &Field<'_>, errors: &mut Errors) {
    let rules = spec.child("podFailurePolicy.rules");
    rules.at_most(20, errors);
    let lists = ["containers", "initContainers"];
    let all = lists.iter().flat_map(|list| spec.child("template.spec").child(list).items().collect::<Vec<_>>());
    let names: Vec<&str> = all.map(|container| container.child("name").text()).collect();
    for rule in rules.items() {
        check_failure_rule(&rule, spec, &names, errors);
    }
}

fn check_failure_rule(rule: &Field<'_>, spec: &Field<'_>, containers: &[&str], errors: &mut Errors) {
    let action = rule.child("action");
    match action.text() {
        "" => errors.push(action.required(r#"valid values: ["Count" "FailIndex" "FailJob" "Ignore"]"#)),
        "FailIndex" => {
            if !spec.child("backoffLimitPerIndex").is_set() {
                errors.push(action.invalid("requires the backoffLimitPerIndex to be set"));
            }
        }
        _ => action.one_of(&["Count", "FailIndex", "FailJob", "Ignore"], errors),
    }
    let (codes, conditions) = (rule.child("onExitCodes"), rule.child("onPodConditions"));
    if codes.is_set() {
        check_exit_codes(&codes, containers, errors);
    }
    conditions.at_most(20, errors);
    for pattern in conditions.items() {
        pattern.child("type").obeys(label::qualified_name, errors);
        let status = pattern.child("status");
        if status.is_empty() {
            errors.push(status.required(r#"valid values: ["False" "True" "Unknown"]"#));
        } else {
            status.one_of(&["False", "True", "Unknown"], errors);
        }
    }
    match (codes.is_set(), !conditions.is_empty()) {
        (true, true) => {
            let why = "specifying both OnExitCodes and OnPodConditions is not supported";
            errors.push(rule.invalid_unshown(why));
        }
        (false, false) => {
            let why = "specifying one of OnExitCodes and OnPodConditions is required";
            errors.push(rule.invalid_unshown(why));
        }
        _ => {}
    }
}

fn check_exit_codes(codes: &Field<'_>, containers: &[&str], errors: &mut Errors) {
    let (operator, name, values) = (codes.child("operator"), codes.child("containerName"), codes.child("values"));
    if operator.is_empty() {
        errors.push(operator.required(r#"valid values: ["In" "NotIn"]"#));
    } else {
        operator.one_of(&["In", "NotIn"], errors);
    }
    if name.is_set() && !containers.contains(&name.text()) {
        errors.push(name.invalid("must be one of the container or initContainer names in the pod template"));
    }
    if values.is_empty() {
        errors.push(values.invalid("at least one value is required"));
    } else {
        values.at_most(255, errors);
    }
    let mut seen: Vec<i64> = Vec::new();
    for value in values.items() {
        if operator.text() == "In" && value.number() == 0 {
            errors.push(value.invalid("must not be 0 for the In operator"));
        }
        if seen.contains(&value.number()) {
            errors.push(value.duplicate());
        }
        seen.push(value.number());
    }
    if !seen.is_sorted() {
        errors.push(values.invalid("must be ordered"));
    }
}

fn check_success_policy(spec: &Field<'_>, errors: &mut Errors) {
    let policy = spec.child("successPolicy");
    if !policy.is_set() {
        return;
    }
    if spec.child("completionMode").text() != "Indexed" {
        errors.push(policy.invalid("requires indexed completion mode"));
        return;
    }
    let rules = policy.child("rules");
    if rules.is_empty() {
        errors.push(rules.required("at least one rules must be specified when the successPolicy is specified"));
    }
    rules.at_most(20, errors);
    for rule in rules.items() {
        check_success_rule(&rule, spec.child("completions").number(), errors);
    }
}

fn check_success_rule(rule: &Field<'_>, completions: i64, errors: &mut Errors) {
    let (count, listed) = (rule.child("succeededCount"), rule.child("succeededIndexes"));
    if !count.is_set() && !listed.is_set() {
        errors.push(rule.required("at least one of succeededCount or succeededIndexes must be specified"));
    }
    let mut total = 0;
    if listed.is_set() {
        if listed.text().len() > 64 << 10 {
            errors.push(Error::too_long(&listed.path, 64 << 10));
        }
        match indexes::count(listed.text(), completions) {
            Ok(found) => total = found,
            Err(why) => errors.push(listed.invalid(format!("error parsing succeededIndexes: {why}"))),
        }
    }
    if count.is_set() {
        count.not_negative(errors);
        if count.number() > completions {
            let why = format!("must be less than or equal to {completions} (the number of specified completions)");
            errors.push(count.invalid(why));
        }
        if listed.is_set() && count.number() > total {
            let why = format!(
                "must be less than or equal to {total} (the number of indexes in the specified succeededIndexes field)"
            );
            errors.push(count.invalid(why));
        }
    }
}

fn check_restart_policy(spec: &Field<'_>, errors: &mut Errors) {
    let policy = spec.child("template.spec.restartPolicy");
    match policy.text() {
        "" | "Always" => errors.push(policy.required("valid values: \"OnFailure\", \"Never\"")),
        "Never" => {}
        "OnFailure" => {
            if spec.child("podFailurePolicy").is_set() {
                errors.push(policy.invalid("only \"Never\" is supported when podFailurePolicy is specified"));
            }
        }
        _ => policy.one_of(&["OnFailure", "Never"], errors),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::needless_pass_by_value, reason = "cases read better without references")]

    use super::super::super::check::lines;
    use super::*;
    use crate::json::json;

    #[track_caller]
    fn check(fields: Value, expected: &[&str]) {
        let mut job = json!({"metadata": {"name": "j", "uid": "u"}, "spec": {
            "template": {"spec": {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}}}});
        job["spec"].as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        super::super::default(&mut job);
        super::super::tests::create(&mut job);
        assert_eq!(lines(&validate(&job)), expected, "{fields}");
    }

    #[test]
    fn numbers_are_not_negative() {
        check(json!({}), &[]);
        for number in ["parallelism", "completions", "backoffLimit", "activeDeadlineSeconds", "ttlSecondsAfterFinished"]
        {
            check(
                json!({number: -1}),
                &[&format!("spec.{number}: Invalid value: -1: must be greater than or equal to 0")],
            );
        }
    }

    #[test]
    fn indexed_jobs_have_completions() {
        check(
            json!({"completionMode": "Indexed", "parallelism": 1}),
            &["spec.completions: Required value: when completion mode is Indexed"],
        );
        check(
            json!({"completionMode": "X"}),
            &["spec.completionMode: Unsupported value: \"X\": supported values: \"NonIndexed\", \"Indexed\""],
        );
        check(
            json!({"backoffLimitPerIndex": 1}),
            &["spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode"],
        );
        check(
            json!({"completionMode": "Indexed", "completions": 2, "maxFailedIndexes": 3, "backoffLimitPerIndex": 1}),
            &["spec.maxFailedIndexes: Invalid value: 3: must be less than or equal to completions"],
        );
        check(
            json!({"completionMode": "Indexed", "completions": 200_000, "parallelism": 1, "backoffLimitPerIndex": 1}),
            &["spec.maxFailedIndexes: Required value: must be specified when completions is above 100000"],
        );
    }

    #[test]
    fn pods_of_a_job_end() {
        let template = |policy: &str| json!({"template": {"spec": {"containers": [{"name": "c", "image": "i"}], "restartPolicy": policy}}});
        check(
            template("Always"),
            &["spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", \"Never\""],
        );
        check(template("OnFailure"), &[]);
    }

    #[test]
    fn a_failure_policy_says_when_and_what() {
        let rules = |rule: Value| json!({"podFailurePolicy": {"rules": [rule]}});
        let at = "spec.podFailurePolicy.rules[0]";
        check(rules(json!({"action": "FailJob", "onExitCodes": {"operator": "In", "values": [1, 2]}})), &[]);
        check(
            rules(json!({"action": "FailJob"})),
            &[&format!("{at}: Invalid value: specifying one of OnExitCodes and OnPodConditions is required")],
        );
        check(
            rules(json!({"action": "FailIndex", "onPodConditions": [{"type": "A"}]})),
            &[&format!("{at}.action: Invalid value: \"FailIndex\": requires the backoffLimitPerIndex to be set")],
        );
        check(
            rules(json!({"onExitCodes": {"operator": "In", "values": [2, 1, 1, 0], "containerName": "x"}})),
            &[
                &format!("{at}.action: Required value: valid values: [\"Count\" \"FailIndex\" \"FailJob\" \"Ignore\"]"),
                &format!(
                    "{at}.onExitCodes.containerName: Invalid value: \"x\": must be one of the container or initContainer names in the pod template"
                ),
                &format!("{at}.onExitCodes.values[2]: Duplicate value: 1"),
                &format!("{at}.onExitCodes.values[3]: Invalid value: 0: must not be 0 for the In operator"),
                &format!("{at}.onExitCodes.values: Invalid value: [2,1,1,0]: must be ordered"),
            ],
        );
        check(
            json!({"podReplacementPolicy": "TerminatingOrFailed", "podFailurePolicy": {"rules": []}}),
            &["spec.podReplacementPolicy: Unsupported value: \"TerminatingOrFailed\": supported values: \"Failed\""],
        );
    }

    #[test]
    fn a_success_policy_counts_indexes() {
        let policy =
            |rule: Value| json!({"completionMode": "Indexed", "completions": 4, "successPolicy": {"rules": [rule]}});
        let at = "spec.successPolicy.rules[0]";
        check(policy(json!({"succeededIndexes": "0-2", "succeededCount": 2})), &[]);
        check(
            policy(json!({})),
            &[&format!("{at}: Required value: at least one of succeededCount or succeededIndexes must be specified")],
        );
        check(
            policy(json!({"succeededIndexes": "3-5"})),
            &[&format!(
                "{at}.succeededIndexes: Invalid value: \"3-5\": error parsing succeededIndexes: too large index: \"5\""
            )],
        );
        check(
            policy(json!({"succeededCount": 5})),
            &[&format!(
                "{at}.succeededCount: Invalid value: 5: must be less than or equal to 4 (the number of specified completions)"
            )],
        );
    }

    #[test]
    fn a_manager_has_a_domain() {
        check(
            json!({"managedBy": "nobody"}),
            &["spec.managedBy: Invalid value: \"nobody\": must be a domain-prefixed path (such as \"acme.io/foo\")"],
        );
    }

    #[test]
    fn a_selector_is_made_by_the_server() {
        check(
            json!({"selector": {"matchLabels": {"a": "b"}}}),
            &[
                "spec.selector: Invalid value: {\"matchLabels\":{\"a\":\"b\",\"batch.kubernetes.io/controller-uid\":\"u\"}}: `selector` not auto-generated",
                "spec.template.metadata.labels: Invalid value: {\"batch.kubernetes.io/controller-uid\":\"u\",\"batch.kubernetes.io/job-name\":\"j\",\"controller-uid\":\"u\",\"job-name\":\"j\"}: `selector` does not match template `labels`",
            ],
        );
        check(
            json!({"manualSelector": true}),
            &[
                "spec.selector: Required value",
                "spec.template.metadata.labels: Invalid value: null: `selector` does not match template `labels`",
            ],
        );
        check(
            json!({"manualSelector": true, "selector": {"matchLabels": {"a": "b"}}}),
            &["spec.template.metadata.labels: Invalid value: null: `selector` does not match template `labels`"],
        );
    }
}
