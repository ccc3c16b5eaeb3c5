//! Where a pod may run: node and pod affinity, tolerations, spreading over topologies.

use kueue_core::field::{Error, Errors};
use kueue_core::label;
use kueue_core::name::{dns1123_label, dns1123_subdomain};

use super::super::check::Field;

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

pub fn check_affinity(affinity: &Field<'_>, errors: &mut Errors) {
    let node = affinity.child("nodeAffinity");
    if node.child(REQUIRED).is_set() {
        check_node_selector(&node.child(REQUIRED), errors);
    }
    for term in node.child(PREFERRED).items() {
        check_weight(&term, errors);
        check_node_term(&term.child("preference"), false, errors);
    }
    for sort in ["podAffinity", "podAntiAffinity"] {
        for term in affinity.child(sort).child(REQUIRED).items() {
            check_pod_term(&term, errors);
        }
        for term in affinity.child(sort).child(PREFERRED).items() {
            check_weight(&term, errors);
            check_pod_term(&term.child("podAffinityTerm"), errors);
        }
    }
}

fn check_weight(term: &Field<'_>, errors: &mut Errors) {
    let weight = term.child("weight");
    if !(1..=100).contains(&weight.number()) {
        errors.push(Error::invalid(&weight.path, weight.number(), "must be in the range 1-100"));
    }
}

/// Terms of which one must hold.
pub fn check_node_selector(selector: &Field<'_>, errors: &mut Errors) {
    let terms = selector.child("nodeSelectorTerms");
    if terms.is_empty() {
        errors.push(terms.required("must have at least one node selector term"));
    }
    for term in terms.items() {
        check_node_term(&term, true, errors);
    }
}

fn check_node_term(term: &Field<'_>, checks_values: bool, errors: &mut Errors) {
    for expression in term.child("matchExpressions").items() {
        check_expression(&expression, checks_values, errors);
    }
    for expression in term.child("matchFields").items() {
        check_field_expression(&expression, errors);
    }
}

fn check_expression(expression: &Field<'_>, checks_values: bool, errors: &mut Errors) {
    let (operator, values) = (expression.child("operator"), expression.child("values"));
    match operator.text() {
        "In" | "NotIn" => {
            if values.is_empty() {
                errors.push(values.required("must be specified when `operator` is 'In' or 'NotIn'"));
            }
        }
        "Exists" | "DoesNotExist" => {
            if !values.is_empty() {
                let why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                errors.push(values.forbidden(why));
            }
        }
        "Gt" | "Lt" => {
            if values.len() != 1 {
                errors.push(values.required("must be specified single value when `operator` is 'Lt' or 'Gt'"));
            }
        }
        other => errors.push(Error::invalid(&operator.path, other, "not a valid selector operator")),
    }
    expression.child("key").obeys(label::qualified_name, errors);
    if checks_values {
        for value in values.items() {
            value.obeys(label::value, errors);
        }
    }
}

/// The one field of a node that can be asked for is its name.
fn check_field_expression(expression: &Field<'_>, errors: &mut Errors) {
    let (operator, values, key) = (expression.child("operator"), expression.child("values"), expression.child("key"));
    if !["In", "NotIn"].contains(&operator.text()) {
        errors.push(Error::invalid(&operator.path, operator.text(), "not a valid selector operator"));
    } else if values.len() != 1 {
        let why = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
        errors.push(values.required(why));
    }
    if key.text() != "metadata.name" {
        errors.push(Error::invalid(&key.path, key.text(), "not a valid field selector key"));
        return;
    }
    for value in values.items() {
        value.obeys(dns1123_subdomain, errors);
    }
}

fn check_pod_term(term: &Field<'_>, errors: &mut Errors) {
    term.child("labelSelector").label_selector(errors);
    term.child("namespaceSelector").label_selector(errors);
    for namespace in term.child("namespaces").items() {
        let at = term.path.child("namespace");
        let messages = dns1123_label(namespace.text()).into_iter();
        errors.extend(messages.map(|why| Error::invalid(&at, namespace.text(), why)));
    }
    check_label_keys(term, errors);
    let key = term.child("topologyKey");
    if key.is_empty() {
        errors.push(key.required("can not be empty"));
    }
    errors.extend(label::validate_key(key.text(), &key.path));
}

/// Keys whose values come from the pod itself.
fn check_label_keys(term: &Field<'_>, errors: &mut Errors) {
    let (same, other) = (term.child("matchLabelKeys"), term.child("mismatchLabelKeys"));
    let selector = term.child("labelSelector");
    for keys in [&same, &other] {
        if keys.is_empty() {
            continue;
        }
        if !selector.is_set() {
            errors.push(keys.forbidden("must not be specified when labelSelector is not set"));
            continue;
        }
        for key in keys.items() {
            key.obeys(label::qualified_name, errors);
        }
    }
    // What the keys add to the selector stands at its end; a key that was there before appears twice.
    let mut known: Vec<&str> = selector.child("matchLabels").entries().map(|(key, _)| key).collect();
    for expression in selector.child("matchExpressions").items() {
        let key = expression.child("key").text();
        if let Some(index) = same.items().position(|wanted| wanted.text() == key).filter(|_| known.contains(&key)) {
            let why = "exists in both matchLabelKeys and labelSelector";
            errors.push(Error::invalid(&term.path.index(index), key, why));
        }
        known.push(key);
    }
    let excluded: Vec<&str> = other.items().map(|key| key.text()).collect();
    for key in same.items().filter(|key| excluded.contains(&key.text())) {
        errors.push(key.invalid("exists in both matchLabelKeys and mismatchLabelKeys"));
    }
}

pub fn check_tolerations(tolerations: &Field<'_>, errors: &mut Errors) {
    for toleration in tolerations.items() {
        check_toleration(&toleration, errors);
    }
}

fn check_toleration(toleration: &Field<'_>, errors: &mut Errors) {
    let (key, operator) = (toleration.child("key"), toleration.child("operator"));
    let (value, effect) = (toleration.child("value"), toleration.child("effect"));
    key.obeys_if_set(label::qualified_name, errors);
    if key.is_empty() && operator.text() != "Exists" {
        let why = "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
        errors.push(Error::invalid(&operator.path, operator.text(), why));
    }
    if toleration.child("tolerationSeconds").is_set() && effect.text() != "NoExecute" {
        let why = "effect must be 'NoExecute' when `tolerationSeconds` is set";
        errors.push(Error::invalid(&effect.path, effect.text(), why));
    }
    match operator.text() {
        "Equal" | "" => {
            let messages = label::value(value.text());
            if !messages.is_empty() {
                errors.push(Error::invalid(&operator.path, value.text(), messages.join(";")));
            }
        }
        "Exists" => {
            if !value.is_empty() {
                let why = "value must be empty when `operator` is 'Exists'";
                errors.push(Error::invalid(&operator.path, value.text(), why));
            }
        }
        // Comparisons are behind a gate that is off; its name is not yet given away for other words.
        "Lt" | "Gt" => {
            let words = ["Equal", "Exists", "Lt", "Gt"];
            errors.push(Error::not_supported(&operator.path, operator.text(), &words));
        }
        _ => operator.one_of(&["Equal", "Exists"], errors),
    }
    if !effect.is_empty() {
        check_taint_effect(&effect, errors);
    }
}

pub fn check_taint_effect(effect: &Field<'_>, errors: &mut Errors) {
    effect.one_of(&["NoSchedule", "PreferNoSchedule", "NoExecute"], errors);
}

pub fn check_spread(constraints: &Field<'_>, errors: &mut Errors) {
    let all: Vec<Field<'_>> = constraints.items().collect();
    let pair = |constraint: &Field<'_>| {
        format!("{{{}, {}}}", constraint.child("topologyKey").text(), constraint.child("whenUnsatisfiable").text())
    };
    for (index, constraint) in all.iter().enumerate() {
        constraint.child("maxSkew").positive(errors);
        let (key, action) = (constraint.child("topologyKey"), constraint.child("whenUnsatisfiable"));
        if key.is_empty() {
            errors.push(key.required("can not be empty"));
        }
        if !["DoNotSchedule", "ScheduleAnyway"].contains(&action.text()) {
            errors.push(Error::not_supported(&action.path, action.text(), &["DoNotSchedule", "ScheduleAnyway"]));
        }
        if all[index + 1..].iter().any(|later| pair(later) == pair(constraint)) {
            let at = constraint.path.child("{topologyKey, whenUnsatisfiable}");
            errors.push(Error::duplicate(&at, pair(constraint)));
        }
        let domains = constraint.child("minDomains");
        if domains.is_set() {
            domains.positive(errors);
            if action.text() != "DoNotSchedule" {
                let why = format!("can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {}", action.text());
                errors.push(domains.invalid(why));
            }
        }
        for policy in ["nodeAffinityPolicy", "nodeTaintsPolicy"] {
            constraint.child(policy).one_of(&["Honor", "Ignore"], errors);
        }
        check_label_keys(constraint, errors);
        constraint.child("labelSelector").label_selector(errors);
    }
}
