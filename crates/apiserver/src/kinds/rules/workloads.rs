//! Deployments, ReplicaSets, StatefulSets and DaemonSets: a template, a selector that stays, defaults.

use kueue_core::field::{Error, Errors};
use kueue_core::name;

use super::check::Field;
use super::job::has_new_generation;
use super::pod_spec::check_template;
use super::pod_template::default_template_spec;
use super::{Moment, Rules, Update, immutable, pod_warnings, set_default};
use crate::json::{Value, json};

mod stateful_set;
mod status;

pub use stateful_set::RULES as STATEFUL_SET;

pub static DEPLOYMENT: Rules = Rules {
    default: default_deployment,
    validate: validate_deployment,
    validate_update: keep_selector,
    validate_status: status::validate_deployment,
    warn: warn_with_name,
    status_metadata: &["annotations", "finalizers", "ownerReferences"],
    ..Rules::WITH_GENERATION
};
pub static REPLICA_SET: Rules = Rules {
    default: default_replica_set,
    validate: validate_replica_set,
    validate_update: keep_selector,
    validate_status: status::validate_replica_set,
    warn: warn_with_name,
    selectable: &["status.replicas"],
    unknown_selector: super::UnknownSelector::Kind,
    ..Rules::WITH_GENERATION
};
pub static DAEMON_SET: Rules = Rules {
    default: default_daemon_set,
    prepare_create: |object, _: Moment<'_>| set_template_generation(object, 1),
    prepare_update: move_template_generation,
    validate_create: validate_daemon_set,
    // Here the selector is looked at first.
    validate_update: |update| {
        let mut errors = keep_selector(update);
        errors.extend(validate_daemon_set(update.new));
        errors
    },
    validate_status: status::validate_daemon_set,
    warn,
    ..Rules::WITH_GENERATION
};
pub static CONTROLLER_REVISION: Rules = Rules {
    validate: |object| {
        let mut errors = Errors::new();
        Field::root(object).child("revision").not_negative(&mut errors);
        errors
    },
    validate_create: |object| {
        let data = Field::root(object).child("data");
        match data.value {
            Value::Object(_) => Errors::new(),
            Value::Null => vec![data.required("data is mandatory")],
            _ => vec![data.required("data must be a valid JSON object")],
        }
    },
    validate_update: |update| immutable(update, &[&["data"]]),
    ..Rules::PLAIN
};
pub static POD_TEMPLATE: Rules = Rules {
    answers_deleted: true,
    default: |object| {
        default_template_spec(object);
    },
    validate: |object| {
        let mut errors = Errors::new();
        check_template(&Field::root(object).child("template"), &mut errors);
        errors
    },
    warn: |new, old| {
        let is_new = old.is_none_or(|old| old["template"] != new["template"]);
        if is_new { pod_warnings::of_pod(&Field::root(new).child("template")) } else { Vec::new() }
    },
    ..Rules::WITH_GENERATION
};

/// The generation of a DaemonSet's template, which old clients read here.
const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

fn warn(new: &Value, old: Option<&Value>) -> Vec<String> {
    if !has_new_generation(new, old) {
        return Vec::new();
    }
    pod_warnings::of_pod(&Field::root(new).child("spec.template"))
}

fn warn_with_name(new: &Value, old: Option<&Value>) -> Vec<String> {
    let mut warnings = pod_warnings::of_name(new, old, "Pod names and hostnames");
    warnings.extend(warn(new, old));
    warnings
}

fn keep_selector(update: Update<'_>) -> Errors {
    immutable(update, &[&["spec", "selector"]])
}

/// A selector that selects something, and finds the pods of the template.
fn check_selector(spec: &Field<'_>, kind: &str, errors: &mut Errors) {
    let selector = spec.child("selector");
    if !selector.is_set() {
        errors.push(selector.required(""));
    }
    selector.label_selector(errors);
    if selector.is_set() && is_empty(&selector) {
        errors.push(selector.invalid(format!("empty selector is invalid for {kind}")));
    }
}

fn is_empty(selector: &Field<'_>) -> bool {
    selector.child("matchLabels").is_empty() && selector.child("matchExpressions").is_empty()
}

/// Pods that run until they are stopped, and that the selector finds.
fn check_pods(spec: &Field<'_>, kind: &str, errors: &mut Errors) {
    check_labels(spec, errors);
    check_template(&spec.child("template"), errors);
    check_runs_on(spec, kind, errors);
}

fn check_labels(spec: &Field<'_>, errors: &mut Errors) {
    let (selector, labels) = (spec.child("selector"), spec.child("template.metadata.labels"));
    // Without a selector nothing is found.
    let finds = selector.is_set() && selector.selector().matches(&crate::meta::strings(labels.value));
    if !finds {
        errors.push(labels.invalid("`selector` does not match template `labels`"));
    }
}

fn check_runs_on(spec: &Field<'_>, kind: &str, errors: &mut Errors) {
    let policy = spec.child("template.spec.restartPolicy");
    if policy.text() != "Always" {
        errors.push(Error::not_supported(&policy.path, policy.text(), &["Always"]));
    }
    let deadline = spec.child("template.spec.activeDeadlineSeconds");
    if deadline.is_set() {
        errors.push(deadline.forbidden(format!("activeDeadlineSeconds in {kind} is not Supported")));
    }
}

fn validate_deployment(object: &Value) -> Errors {
    let mut errors = Errors::new();
    let spec = Field::root(object).child("spec");
    spec.child("replicas").not_negative(&mut errors);
    check_selector(&spec, "deployment", &mut errors);
    check_pods(&spec, "ReplicaSet", &mut errors);
    check_strategy(&spec.child("strategy"), &mut errors);
    spec.child("minReadySeconds").not_negative(&mut errors);
    spec.child("revisionHistoryLimit").not_negative(&mut errors);
    let deadline = spec.child("progressDeadlineSeconds");
    if deadline.is_set() {
        deadline.not_negative(&mut errors);
        if deadline.number() <= spec.child("minReadySeconds").number() {
            errors.push(deadline.invalid("must be greater than minReadySeconds"));
        }
    }
    errors
}

fn check_strategy(strategy: &Field<'_>, errors: &mut Errors) {
    let rolling = strategy.child("rollingUpdate");
    match strategy.child("type").text() {
        "Recreate" => {
            if rolling.is_set() {
                errors.push(rolling.forbidden("may not be specified when strategy `type` is 'Recreate'"));
            }
        }
        "RollingUpdate" => {
            let (unavailable, surge) = (rolling.child("maxUnavailable"), rolling.child("maxSurge"));
            unavailable.number_or_percent(errors);
            surge.number_or_percent(errors);
            if unavailable.share() == 0 && surge.share() == 0 {
                errors.push(unavailable.invalid("may not be 0 when `maxSurge` is 0"));
            }
            unavailable.at_most_all(errors);
        }
        _ => {
            let words = ["Recreate", "RollingUpdate"];
            errors.push(Error::not_supported(&strategy.path, strategy.value.clone(), &words));
        }
    }
}

fn validate_replica_set(object: &Value) -> Errors {
    let mut errors = Errors::new();
    let spec = Field::root(object).child("spec");
    spec.child("replicas").not_negative(&mut errors);
    spec.child("minReadySeconds").not_negative(&mut errors);
    check_selector(&spec, "deployment", &mut errors);
    check_pods(&spec, "ReplicaSet", &mut errors);
    errors
}

fn validate_daemon_set(object: &Value) -> Errors {
    let mut errors = Errors::new();
    let spec = Field::root(object).child("spec");
    let selector = spec.child("selector");
    selector.label_selector(&mut errors);
    check_labels(&spec, &mut errors);
    if selector.is_set() && is_empty(&selector) {
        errors.push(selector.invalid("empty selector is invalid for daemonset"));
    }
    check_template(&spec.child("template"), &mut errors);
    check_runs_on(&spec, "DaemonSet", &mut errors);
    spec.child("minReadySeconds").not_negative(&mut errors);
    check_daemon_strategy(&spec.child("updateStrategy"), &mut errors);
    spec.child("revisionHistoryLimit").not_negative(&mut errors);
    errors
}

fn check_daemon_strategy(strategy: &Field<'_>, errors: &mut Errors) {
    let rolling = strategy.child("rollingUpdate");
    match strategy.child("type").text() {
        "OnDelete" => {}
        "RollingUpdate" => {
            let (unavailable, surge) = (rolling.child("maxUnavailable"), rolling.child("maxSurge"));
            for share in [&unavailable, &surge] {
                share.number_or_percent(errors);
            }
            for share in [&unavailable, &surge] {
                share.at_most_all(errors);
            }
            match (unavailable.share() != 0, surge.share() != 0) {
                (true, true) => errors.push(surge.invalid("may not be set when maxUnavailable is non-zero")),
                (false, false) => errors.push(unavailable.required("cannot be 0 when maxSurge is 0")),
                _ => {}
            }
        }
        _ => {
            let words = ["RollingUpdate", "OnDelete"];
            errors.push(Error::not_supported(&strategy.path, strategy.value.clone(), &words));
        }
    }
}

fn default_deployment(object: &mut Value) {
    let Some(spec) = object.get_mut("spec").filter(|spec| spec.is_object()) else { return };
    default_template_spec(spec);
    set_default(spec, "replicas", 1);
    set_default(spec, "revisionHistoryLimit", 10);
    set_default(spec, "progressDeadlineSeconds", 600);
    set_default(spec, "strategy", json!({}));
    let strategy = &mut spec["strategy"];
    set_default(strategy, "type", "RollingUpdate");
    if strategy["type"] == "RollingUpdate" {
        set_default(strategy, "rollingUpdate", json!({}));
        set_default(&mut strategy["rollingUpdate"], "maxUnavailable", "25%");
        set_default(&mut strategy["rollingUpdate"], "maxSurge", "25%");
    }
}

fn default_replica_set(object: &mut Value) {
    if let Some(spec) = object.get_mut("spec").filter(|spec| spec.is_object()) {
        default_template_spec(spec);
        set_default(spec, "replicas", 1);
    }
}

fn default_daemon_set(object: &mut Value) {
    let Some(spec) = object.get_mut("spec").filter(|spec| spec.is_object()) else { return };
    default_template_spec(spec);
    set_default(spec, "revisionHistoryLimit", 10);
    set_default(spec, "updateStrategy", json!({}));
    let strategy = &mut spec["updateStrategy"];
    set_default(strategy, "type", "RollingUpdate");
    if strategy["type"] == "RollingUpdate" {
        set_default(strategy, "rollingUpdate", json!({}));
        set_default(&mut strategy["rollingUpdate"], "maxUnavailable", 1);
        set_default(&mut strategy["rollingUpdate"], "maxSurge", 0);
    }
}

fn set_template_generation(object: &mut Value, generation: i64) {
    if let Some(annotations) = crate::schema::object_at(object, &["metadata", "annotations"]) {
        annotations.insert(TEMPLATE_GENERATION, generation.to_string().into());
    }
}

/// The number moves with the template, whatever a client writes.
fn move_template_generation(new: &mut Value, old: &Value) {
    let known = old["metadata"]["annotations"][TEMPLATE_GENERATION].as_str();
    let generation: i64 = known.and_then(|text| text.parse().ok()).unwrap_or(1);
    let has_moved = new["spec"]["template"] != old["spec"]["template"];
    set_template_generation(new, generation + i64::from(has_moved));
}

/// StatefulSets make names of pods, which are labels.
fn stateful_name(name: &str) -> Vec<String> {
    name::dns1123_label(name)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::needless_pass_by_value, reason = "cases read better without references")]

    use super::super::check::lines;
    use super::*;

    /// A workload with one container after its defaults, changed before.
    fn workload(rules: &Rules, change: &Value) -> Value {
        let mut object = json!({"metadata": {"name": "x"}, "spec": {"selector": {"matchLabels": {"a": "b"}},
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}});
        for (path, value) in change.as_object().unwrap() {
            let mut place = &mut object["spec"];
            for name in path.split('.') {
                place = &mut place[name];
            }
            *place = value.clone();
        }
        (rules.default)(&mut object);
        object
    }

    #[track_caller]
    pub fn check(rules: &Rules, change: Value, expected: &[&str]) {
        let object = workload(rules, &change);
        let mut errors = (rules.validate)(&object);
        errors.extend((rules.validate_create)(&object));
        assert_eq!(lines(&errors), expected, "{change}");
    }

    const NO_MATCH: &str = "`selector` does not match template `labels`";

    #[test]
    fn selectors_find_the_pods_of_the_template() {
        for rules in [&DEPLOYMENT, &REPLICA_SET, &STATEFUL_SET, &DAEMON_SET] {
            check(rules, json!({}), &[]);
            check(
                rules,
                json!({"selector.matchLabels": {"a": "c"}}),
                &[&format!("spec.template.metadata.labels: Invalid value: {{\"a\":\"b\"}}: {NO_MATCH}")],
            );
        }
        check(
            &DEPLOYMENT,
            json!({"selector": {}}),
            &["spec.selector: Invalid value: {}: empty selector is invalid for deployment"],
        );
        check(
            &DEPLOYMENT,
            json!({"selector": null}),
            &[
                "spec.selector: Required value",
                &format!("spec.template.metadata.labels: Invalid value: {{\"a\":\"b\"}}: {NO_MATCH}"),
            ],
        );
    }

    #[test]
    fn pods_of_a_workload_run_on() {
        check(
            &DEPLOYMENT,
            json!({"template.spec.restartPolicy": "Never", "template.spec.activeDeadlineSeconds": 1}),
            &[
                "spec.template.spec.restartPolicy: Unsupported value: \"Never\": supported values: \"Always\"",
                "spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in ReplicaSet is not Supported",
            ],
        );
    }

    #[test]
    fn a_rollout_makes_progress() {
        check(
            &DEPLOYMENT,
            json!({"strategy.rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}}),
            &["spec.strategy.rollingUpdate.maxUnavailable: Invalid value: 0: may not be 0 when `maxSurge` is 0"],
        );
        check(
            &DEPLOYMENT,
            json!({"strategy": {"type": "Recreate", "rollingUpdate": {}}}),
            &["spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'"],
        );
        check(
            &DEPLOYMENT,
            json!({"minReadySeconds": 600}),
            &["spec.progressDeadlineSeconds: Invalid value: 600: must be greater than minReadySeconds"],
        );
        check(
            &DAEMON_SET,
            json!({"updateStrategy.rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}}),
            &[
                "spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: 1: may not be set when maxUnavailable is non-zero",
            ],
        );
        check(
            &DEPLOYMENT,
            json!({"replicas": -1}),
            &["spec.replicas: Invalid value: -1: must be greater than or equal to 0"],
        );
    }

    #[test]
    fn the_templates_generation_moves_with_it() {
        let mut old = workload(&DAEMON_SET, &json!({}));
        set_template_generation(&mut old, 1);
        let mut same = old.clone();
        move_template_generation(&mut same, &old);
        assert_eq!(same, old);
        let mut new = workload(&DAEMON_SET, &json!({"template.spec.nodeSelector": {"x": "y"}}));
        move_template_generation(&mut new, &old);
        assert_eq!(new["metadata"]["annotations"][TEMPLATE_GENERATION], "2");
    }
}
