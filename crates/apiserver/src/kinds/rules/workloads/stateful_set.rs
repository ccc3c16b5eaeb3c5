//! StatefulSets: pods with names and claims of their own.

use kueue_core::field::{Error, Errors, Path};
use kueue_core::name::dns1123_label;

use super::super::check::Field;
use super::super::claim::check_claim_spec;
use super::super::pod_spec::check_template;
use super::super::pod_template::default_template_spec;
use super::super::{Rules, Update, defaults, set_default};
use super::{check_labels, check_runs_on, check_selector, status};
use crate::json::{Value, json};

pub static RULES: Rules = Rules {
    check_name: super::stateful_name,
    default,
    validate,
    validate_create,
    validate_update,
    validate_status: status::validate_stateful_set,
    warn: super::warn,
    ..Rules::WITH_GENERATION
};

/// What of the spec may change.
const FREE: [&str; 7] = [
    "replicas",
    "template",
    "updateStrategy",
    "minReadySeconds",
    "ordinals",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
];

fn default(object: &mut Value) {
    let Some(spec) = object.get_mut("spec").filter(|spec| spec.is_object()) else { return };
    default_template_spec(spec);
    set_default(spec, "replicas", 1);
    set_default(spec, "revisionHistoryLimit", 10);
    set_default(spec, "podManagementPolicy", "OrderedReady");
    set_default(spec, "updateStrategy", json!({}));
    let strategy = &mut spec["updateStrategy"];
    set_default(strategy, "type", "RollingUpdate");
    if strategy["type"] == "RollingUpdate" {
        set_default(strategy, "rollingUpdate", json!({}));
        set_default(&mut strategy["rollingUpdate"], "partition", 0);
    }
    set_default(spec, "persistentVolumeClaimRetentionPolicy", json!({}));
    for when in ["whenDeleted", "whenScaled"] {
        set_default(&mut spec["persistentVolumeClaimRetentionPolicy"], when, "Retain");
    }
    for claim in spec.get_mut("volumeClaimTemplates").and_then(Value::as_array_mut).into_iter().flatten() {
        // What these are goes without saying, and is said.
        set_default(claim, "apiVersion", "v1");
        set_default(claim, "kind", "PersistentVolumeClaim");
        set_default(claim, "status", json!({}));
        defaults::fill(defaults::CLAIM, claim);
        defaults::fill(&[("status.phase", "\"Pending\"")], claim);
    }
}

fn validate(object: &Value) -> Errors {
    let mut errors = Errors::new();
    let spec = Field::root(object).child("spec");
    let management = spec.child("podManagementPolicy");
    if !["OrderedReady", "Parallel"].contains(&management.text()) {
        errors.push(management.invalid("must be 'OrderedReady' or 'Parallel'"));
    }
    check_strategy(&spec.child("updateStrategy"), &mut errors);
    for when in ["whenDeleted", "whenScaled"] {
        spec.child("persistentVolumeClaimRetentionPolicy").child(when).one_of(&["Retain", "Delete"], &mut errors);
    }
    spec.child("replicas").not_negative(&mut errors);
    spec.child("minReadySeconds").not_negative(&mut errors);
    spec.child("ordinals.start").not_negative(&mut errors);
    check_selector(&spec, "statefulset", &mut errors);
    check_labels(&spec, &mut errors);
    let template = pod_template(&spec);
    check_template(&Field { value: &template, path: spec.path.child("template") }, &mut errors);
    check_runs_on(&spec, "StatefulSet", &mut errors);
    errors
}

fn check_strategy(strategy: &Field<'_>, errors: &mut Errors) {
    let rolling = strategy.child("rollingUpdate");
    match strategy.child("type").text() {
        "" => errors.push(strategy.required("")),
        "OnDelete" => {
            if rolling.is_set() {
                errors.push(rolling.invalid("only allowed for updateStrategy 'RollingUpdate'"));
            }
        }
        "RollingUpdate" => {
            rolling.child("partition").not_negative(errors);
            let unavailable = rolling.child("maxUnavailable");
            if unavailable.is_set() {
                unavailable.number_or_percent(errors);
                if unavailable.share() == 0 {
                    errors.push(unavailable.invalid("cannot be 0"));
                }
                unavailable.at_most_all(errors);
            }
        }
        _ => errors.push(strategy.invalid("must be 'RollingUpdate' or 'OnDelete'")),
    }
}

/// The template as its pods will be: each claim is a volume, and names are given later.
fn pod_template(spec: &Field<'_>) -> Value {
    let mut template = spec.child("template").value.clone();
    let claims: Vec<Field<'_>> = spec.child("volumeClaimTemplates").items().collect();
    let names: Vec<&Value> = claims.iter().map(|claim| claim.child("metadata.name").value).collect();
    let mut volumes: Vec<Value> =
        names.iter().map(|name| json!({"name": name, "persistentVolumeClaim": {"claimName": name}})).collect();
    let own = template["spec"]["volumes"].as_array().into_iter().flatten();
    volumes.extend(own.filter(|volume| !names.contains(&&volume["name"])).cloned());
    template["spec"]["volumes"] = volumes.into();
    for name in ["hostname", "subdomain"] {
        template["spec"][name] = Value::Null;
    }
    template
}

fn validate_create(object: &Value) -> Errors {
    let mut errors = Errors::new();
    let spec = Field::root(object).child("spec");
    for claim in spec.child("volumeClaimTemplates").items() {
        check_claim_spec(&claim.child("spec"), &mut errors);
    }
    spec.child("serviceName").obeys_if_set(dns1123_label, &mut errors);
    errors
}

fn validate_update(update: Update<'_>) -> Errors {
    let frozen = |object: &Value| {
        let mut spec = object["spec"].clone();
        if let Some(spec) = spec.as_object_mut() {
            spec.retain(|name, _| !FREE.contains(&name.as_str()));
        }
        spec
    };
    if frozen(update.new) == frozen(update.old) {
        return Errors::new();
    }
    let why = "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', \
               'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' \
               are forbidden";
    vec![Error::forbidden(&Path::new("spec"), why)]
}

#[cfg(test)]
mod tests {
    use super::super::super::check::lines;
    use super::*;

    fn set(change: impl Fn(&mut Value)) -> Value {
        let mut set = json!({"metadata": {"name": "x"}, "spec": {"serviceName": "s", "selector": {"matchLabels": {"a": "b"}},
            "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}}}}],
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i",
                "volumeMounts": [{"name": "data", "mountPath": "/d"}]}]}}}});
        change(&mut set);
        default(&mut set);
        set
    }

    #[test]
    fn a_claim_is_a_volume_of_the_pods() {
        assert_eq!(lines(&validate(&set(|_| {}))), [""; 0]);
        let without = set(|set| set["spec"]["volumeClaimTemplates"] = json!([]));
        assert_eq!(
            lines(&validate(&without)),
            ["spec.template.spec.containers[0].volumeMounts[0].name: Not found: \"data\""]
        );
    }

    #[test]
    fn policies_are_known() {
        let odd = set(|set| set["spec"]["podManagementPolicy"] = "X".into());
        assert_eq!(
            lines(&validate(&odd)),
            ["spec.podManagementPolicy: Invalid value: \"X\": must be 'OrderedReady' or 'Parallel'"]
        );
        let partition = set(|set| set["spec"]["updateStrategy"]["rollingUpdate"]["partition"] = (-1).into());
        assert_eq!(lines(&validate(&partition)).len(), 1);
    }

    #[test]
    fn most_of_the_spec_stays() {
        let update = |change: fn(&mut Value)| lines(&validate_update(Update { new: &set(change), old: &set(|_| {}) }));
        assert_eq!(update(|set| set["spec"]["replicas"] = 3.into()), [""; 0]);
        assert_eq!(update(|set| set["spec"]["serviceName"] = "t".into()).len(), 1);
    }
}
