//! What a recorded comparison overlooks, read from the options that the corpus lists with it.

use kueue_api::kueue::names::condition;
use kueue_api::kueue::v1beta2::Workload;
use kueue_api::meta::{ConditionStatus, Object};
use serde_json::{Value, json};

use super::read;
use crate::compare::Rules;
use crate::corpus::{Case, Failure};

/// Where values of a Go type stand that is no object of its own: the field that holds one or a list of them.
const HOLDERS: [(&str, &str); 12] = [
    ("metav1.ObjectMeta", "metadata"),
    ("metav1.Condition", "conditions"),
    ("corev1.PodCondition", "conditions"),
    ("kueue.AdmissionCheckState", "admissionChecks"),
    ("kueue.PreemptionGateState", "preemptionGates"),
    ("kueue.LocalQueueAdmissionFairSharingStatus", "fairSharing"),
    ("kueue.WorkloadSpec", "spec"),
    ("kueue.RequeueState", "requeueState"),
    ("kueue.PodSet", "podSets"),
    ("corev1.PodSpec", "spec"),
    ("corev1.ResourceRequirements", "resources"),
    ("awv1beta2.AppWrapperComponent", "components"),
];

/// How the outcome of a case is held against the recorded one.
#[derive(Debug, Default)]
pub(crate) struct Comparison {
    rules: Rules,
    /// Fields that are left out: who holds them, nobody for the compared objects themselves; and the way to the field.
    overlooked: Vec<(Option<&'static str>, Vec<String>)>,
    sorts_objects: bool,
    sorts_conditions: bool,
}

impl Comparison {
    /// As the check with that expression on its expected side compares.
    pub(crate) fn of(case: &Case, expected: &str) -> Result<Self, Failure> {
        let mut comparison = Self::default();
        let checks = case.checks.as_array().into_iter().flatten();
        for check in checks.filter(|check| check["expected"] == expected) {
            for option in check["options"].as_array().into_iter().flatten() {
                comparison.add(option)?;
            }
            // Options that a row lists itself are recorded without their fields; a list that does not even equate what
            // is empty belongs to a row about annotations, which compares nothing else of the objects.
            let own = case.raw("workloadCmpOpts.$cmp").as_str();
            if expected == "tc.wantWorkloads" && own.is_some_and(|own| !own.contains("isEmpty")) {
                for field in
                    ["ObjectMeta.Name", "ObjectMeta.Finalizers", "ObjectMeta.OwnerReferences", "ObjectMeta.Labels"]
                {
                    comparison.overlook("kueue.Workload", field);
                }
                comparison.overlook("kueue.Workload", "Spec");
            }
        }
        Ok(comparison)
    }

    fn add(&mut self, option: &Value) -> Result<(), Failure> {
        if option == "equateEmpty" {
            self.rules.equate_empty = true;
        } else if let Some(kind) = option["ignoreFieldsOf"].as_str() {
            let fields = option["fields"].as_array().into_iter().flatten();
            for field in fields.filter_map(Value::as_str) {
                self.overlook(kind, field);
            }
        } else if let Some(kinds) = option["ignoreTypes"].as_array() {
            for kind in kinds.iter().filter_map(Value::as_str) {
                self.overlook("", kind.trim_start_matches("metav1."));
            }
        } else if let Some(kind) = option["sortSlicesOf"].as_str() {
            self.sorts_objects |= kind == "kueue.Workload";
            self.sorts_conditions |= kind == "metav1.Condition";
        } else if let Some(name) = option["ref"].as_str() {
            self.add_named(name)?;
        } else if option != "equateErrors" {
            return Err(Failure(format!("a comparison is not understood: {option}")));
        }
        Ok(())
    }

    /// Options that the corpus names instead of spelling them out.
    fn add_named(&mut self, name: &str) -> Result<(), Failure> {
        match name {
            "util.IgnoreConditionTimestamps" => self.overlook("metav1.Condition", "LastTransitionTime"),
            "util.IgnoreObjectMetaResourceVersion" => self.overlook("metav1.ObjectMeta", "ResourceVersion"),
            "tc.workloadCmpOpts" => {
                self.rules.equate_empty = true;
                (self.sorts_objects, self.sorts_conditions) = (true, true);
                self.overlook("kueue.Workload", "TypeMeta");
                self.overlook("kueue.Workload", "ObjectMeta.ResourceVersion");
                self.overlook("metav1.Condition", "LastTransitionTime");
            }
            other => return Err(Failure(format!("a comparison is not understood: {other}"))),
        }
        Ok(())
    }

    /// Overlooks a field besides, by the Go names of its type and of the way to it.
    pub(crate) fn overlook(&mut self, kind: &str, field: &str) {
        let holder = HOLDERS.iter().find(|(known, _)| *known == kind).map(|(_, field)| *field);
        if field == "TypeMeta" {
            self.overlooked.extend(["apiVersion", "kind"].map(|name| (holder, vec![name.to_owned()])));
            return;
        }
        self.overlooked.push((holder, field.split('.').map(json_name).collect()));
    }

    /// Compares objects, or lists of them.
    pub(crate) fn same(&self, wanted: &Value, got: &Value) -> Result<(), Failure> {
        self.rules.same(&self.trimmed(wanted), &self.trimmed(got))
    }

    fn trimmed(&self, value: &Value) -> Value {
        let mut value = value.clone();
        if let (Value::Array(items), true) = (&mut value, self.sorts_objects) {
            items.sort_by_key(|item| item["metadata"]["name"].as_str().unwrap_or_default().to_owned());
        }
        if self.sorts_conditions {
            in_holders(&mut value, "conditions", &mut |conditions| {
                if let Value::Array(items) = conditions {
                    items.sort_by_key(|item| item["type"].as_str().unwrap_or_default().to_owned());
                }
            });
        }
        for (holder, way) in &self.overlooked {
            match holder {
                Some(holder) => in_holders(&mut value, holder, &mut |held| forget_in_each(held, way)),
                None => forget_in_each(&mut value, way),
            }
        }
        value
    }
}

/// Does something with every field of that name, however deep it is.
fn in_holders(value: &mut Value, holder: &str, act: &mut impl FnMut(&mut Value)) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                if name == holder {
                    act(value);
                }
                in_holders(value, holder, act);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| in_holders(item, holder, act)),
        _ => {}
    }
}

/// Leaves a field out of an object, or of each object of a list.
fn forget_in_each(value: &mut Value, way: &[String]) {
    match (value, way) {
        (Value::Array(items), way) => items.iter_mut().for_each(|item| forget_in_each(item, way)),
        (Value::Object(fields), [last]) => drop(fields.remove(last)),
        (Value::Object(fields), [first, rest @ ..]) => {
            if let Some(value) = fields.get_mut(first) {
                forget_in_each(value, rest);
            }
        }
        _ => {}
    }
}

/// A Go field as JSON spells it.
fn json_name(field: &str) -> String {
    match field {
        "ObjectMeta" => "metadata".to_owned(),
        "UID" => "uid".to_owned(),
        field => {
            let mut letters = field.chars();
            letters.next().map(|first| first.to_ascii_lowercase()).into_iter().chain(letters).collect()
        }
    }
}

/// Whether there are the recorded objects of a kind, in the order of their names unless the recording has another.
pub(crate) fn same_objects<T: Object>(case: &Case, expected: &str, got: &[T]) -> Result<(), Failure> {
    let comparison = Comparison::of(case, expected)?;
    let wanted = case.wanted(expected).as_array().cloned().unwrap_or_default();
    let wanted = wanted.iter().map(canonical::<T>).collect::<Result<Vec<Value>, Failure>>()?;
    let mut wanted = Value::from(wanted);
    let got = json!(got);
    if T::KIND == Workload::KIND {
        drop_stale_admissions(&mut wanted, &got);
    }
    comparison.same(&wanted, &got).map_err(|Failure(why)| Failure(format!("{expected}{why}")))
}

/// The same for one object, which may be missing on both sides.
pub(crate) fn same_object<T: Object>(case: &Case, expected: &str, got: Option<&T>) -> Result<(), Failure> {
    let wanted = match case.wanted(expected) {
        Value::Null => Value::Null,
        object => canonical::<T>(object)?,
    };
    let comparison = Comparison::of(case, expected)?;
    comparison.same(&wanted, &json!(got)).map_err(|Failure(why)| Failure(format!("{expected}{why}")))
}

/// The way our types write an object: quantities and times are compared by value.
fn canonical<T: Object>(object: &Value) -> Result<Value, Failure> {
    Ok(json!(read::<T>(T::KIND, object)?))
}

/// The recorder's API server could not take an admission away (see section 3 of the corpus' description); ours can.
fn drop_stale_admissions(wanted: &mut Value, got: &Value) {
    let pairs = wanted.as_array_mut().into_iter().flatten().zip(got.as_array().into_iter().flatten());
    for (wanted, got) in pairs {
        let is_unreserved = |state: &Value| {
            state["type"] == condition::QUOTA_RESERVED && state["status"] == json!(ConditionStatus::False)
        };
        let conditions = wanted["status"]["conditions"].as_array();
        if got["status"]["admission"].is_null() && conditions.is_some_and(|all| all.iter().any(is_unreserved)) {
            forget_in_each(wanted, &["status".to_owned(), "admission".to_owned()]);
        }
    }
}

/// Whether the recorded events were told, in order unless the recording compares them as a set.
pub(crate) fn same_events(case: &Case, got: &[Value]) -> Result<(), Failure> {
    let expected = "tc.wantEvents";
    let is_set = case.checks.as_array().into_iter().flatten().any(|check| {
        let options = check["options"].as_array().into_iter().flatten();
        check["expected"] == expected && options.into_iter().any(|option| !option["sortSlicesOf"].is_null())
    });
    let listed = |events: &[Value]| {
        let mut events: Vec<Value> = events.to_vec();
        for event in &mut events {
            forget_in_each(event, &["$type".to_owned()]);
        }
        if is_set {
            events.sort_by_key(ToString::to_string);
        }
        Value::from(events)
    };
    let wanted = case.wanted(expected).as_array().cloned().unwrap_or_default();
    Rules::default()
        .same(&listed(&wanted), &listed(got))
        .map_err(|Failure(why)| Failure(format!("{expected}{why} (told: {})", reasons(got))))
}

fn reasons(events: &[Value]) -> String {
    let reasons: Vec<&str> = events.iter().filter_map(|event| event["Reason"].as_str()).collect();
    reasons.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_say_what_is_overlooked_and_where() {
        let mut comparison = Comparison::default();
        for option in [
            json!("equateEmpty"),
            json!({"ignoreFieldsOf": "kueue.Workload", "fields": ["TypeMeta", "ObjectMeta.Name"]}),
            json!({"ignoreFieldsOf": "metav1.Condition", "fields": ["LastTransitionTime"]}),
            json!({"sortSlicesOf": "metav1.Condition"}),
        ] {
            comparison.add(&option).unwrap();
        }
        let object = |kind: &str, name: &str, types: &[&str], label: &str| {
            let conditions: Vec<Value> =
                types.iter().map(|kind| json!({"type": kind, "lastTransitionTime": label})).collect();
            json!([{"kind": kind, "metadata": {"name": name, "labels": {}}, "status": {"conditions": conditions}}])
        };
        comparison.same(&object("a", "b", &["x", "y"], "1"), &object("c", "d", &["y", "x"], "2")).unwrap();
        comparison.same(&object("a", "b", &["x", "y"], "1"), &object("c", "d", &["y", "z"], "2")).unwrap_err();
        assert!(Comparison::default().add(&json!({"other": "cmp.Comparer"})).is_err());
    }
}
