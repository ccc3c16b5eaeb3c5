//! What is filled in and refused about Jobs in particular.

use kueue_api::core_v1::PodSchedulingGate;
use kueue_api::kueue::names::SCHEDULING_GATE_ELASTIC_JOB;
use kueue_api::kueue::names::annotation::{
    JOB_COMPLETIONS_EQUAL_PARALLELISM, JOB_MIN_PARALLELISM, PREFERRED_TOPOLOGY, REQUIRED_TOPOLOGY,
};
use kueue_api::slices::is_elastic;
use kueue_core::field::{Error, Errors, Path};
use kueue_core::gates::{Gate, Gates};
use serde_json::json;

use super::Job;
use crate::job::Job as _;
use crate::topology_request::go_bool;
use crate::webhook::validation::{IMMUTABLE, annotation_path, not_an_integer};
use crate::webhook::{Around, topology, validation};

/// Lets the pods of an elastic job wait until their slice is admitted.
pub(super) fn gate_pods(job: &mut Job, gates: Gates) {
    let pod = &mut job.spec.template.spec;
    let is_gated = pod.scheduling_gates.iter().any(|gate| gate.name == SCHEDULING_GATE_ELASTIC_JOB);
    if is_elastic(&job.metadata, gates) && !is_gated {
        pod.scheduling_gates
            .push(PodSchedulingGate { name: SCHEDULING_GATE_ELASTIC_JOB.to_owned(), ..PodSchedulingGate::default() });
    }
}

pub(super) fn create(job: &Job, around: &Around<'_>) -> Errors {
    let gates = around.settings.gates;
    let mut errors = validation::create(job, gates);
    errors.extend(min_parallelism(job, gates));
    errors.extend(synced_completions(job));
    errors.extend(topology_request(job, gates));
    errors
}

pub(super) fn update(new: &Job, old: &Job, around: &Around<'_>) -> Errors {
    let gates = around.settings.gates;
    let mut errors = validation::create(new, gates);
    let least = |job: &Job| job.metadata.annotations.get(JOB_MIN_PARALLELISM).cloned().unwrap_or_default();
    if least(new) != least(old) {
        errors.extend(min_parallelism(new, gates));
    }
    errors.extend(synced_completions(new));
    errors.extend(validation::update(new, old, around.has_default_queue, gates));
    errors.extend(partial_admission_change(new, old));
    errors.extend(topology_request(new, gates));
    errors
}

/// With how few pods a job is content: fewer than it asks for, and not for jobs that change their size themselves.
fn min_parallelism(job: &Job, gates: Gates) -> Errors {
    let Some(text) = job.metadata.annotations.get(JOB_MIN_PARALLELISM) else { return Errors::new() };
    let path = annotation_path(JOB_MIN_PARALLELISM);
    let mut errors = Errors::new();
    match text.parse::<i64>() {
        Err(error) => errors.push(Error::invalid(&path, text.as_str(), not_an_integer(text, &error))),
        Ok(least) if least <= 0 || least >= i64::from(job.pod_count()) => {
            let detail = format!("should be between 0 and {}", job.pod_count() - 1);
            errors.push(Error::invalid(&path, least, detail));
        }
        Ok(_) => {}
    }
    if is_elastic(&job.metadata, gates) {
        let detail = "partial admission and elastic job cannot be used together";
        errors.push(Error::invalid(&path, text.as_str(), detail));
    }
    errors
}

/// Completions that follow parallelism: only where each pod has its own index and both begin equal.
fn synced_completions(job: &Job) -> Errors {
    let Some(text) = job.metadata.annotations.get(JOB_COMPLETIONS_EQUAL_PARALLELISM) else { return Errors::new() };
    let path = annotation_path(JOB_COMPLETIONS_EQUAL_PARALLELISM);
    let mut errors = Errors::new();
    let Some(is_synced) = go_bool(text) else {
        let detail = format!("strconv.ParseBool: parsing {text:?}: invalid syntax");
        return vec![Error::invalid(&path, text.as_str(), detail)];
    };
    if !is_synced {
        return errors;
    }
    if !job.is_indexed() {
        errors.push(Error::invalid(&path, text.as_str(), "should not be enabled for NonIndexed jobs"));
    }
    if job.spec.parallelism.unwrap_or(1) != job.spec.completions.unwrap_or(1) {
        let detail =
            format!("should be equal to parallelism when {JOB_COMPLETIONS_EQUAL_PARALLELISM} annotation is true");
        errors.push(Error::invalid(&Path::new("spec").child("completions"), json!(job.spec.completions), detail));
    }
    errors
}

fn partial_admission_change(new: &Job, old: &Job) -> Errors {
    let mut errors = Errors::new();
    let is_partial = old.metadata.annotations.contains_key(JOB_MIN_PARALLELISM);
    let parallelism = |job: &Job| job.spec.parallelism.unwrap_or(1);
    if is_partial && old.spec.suspend != Some(true) && parallelism(old) != parallelism(new) {
        let path = Path::new("spec").child("parallelism");
        let detail = "cannot change when partial admission is enabled and the job is not suspended";
        errors.push(Error::forbidden(&path, detail));
    }
    let runs_on = !old.is_suspended() && !new.is_suspended();
    if runs_on && old.syncs_completions() != new.syncs_completions() {
        let detail = format!("{IMMUTABLE} while the job is not suspended");
        errors.push(Error::forbidden(&annotation_path(JOB_COMPLETIONS_EQUAL_PARALLELISM), detail));
    }
    errors
}

fn topology_request(job: &Job, gates: Gates) -> Errors {
    if !gates.enabled(Gate::TopologyAwareScheduling) {
        return Errors::new();
    }
    let at = Path::new("spec").child("template").child("metadata");
    let annotations = &job.spec.template.metadata.annotations;
    let errors = topology::request(annotations, &at, gates);
    if !errors.is_empty() {
        return errors;
    }
    if is_elastic(&job.metadata, gates) {
        let ways = [(REQUIRED_TOPOLOGY, "required"), (PREFERRED_TOPOLOGY, "preferred")];
        if let Some((key, way)) = ways.into_iter().find(|(key, _)| annotations.contains_key(*key)) {
            let detail = format!("{way} topology is not supported with elastic jobs");
            return vec![Error::forbidden(&at.child("annotations").child(key), detail)];
        }
    }
    match job.pod_sets(gates) {
        Ok(pod_sets) => {
            pod_sets.first().map(|pod_set| topology::slices_in_count(annotations, &at, pod_set)).unwrap_or_default()
        }
        Err(error) => vec![Error::internal(&at, error.to_string())],
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::webhook::tests::around;

    const ELASTIC: &str = "kueue.x-k8s.io/elastic-job";

    fn job(spec: &Value, annotations: &Value) -> Job {
        let mut job = json!({"metadata": {"name": "j", "namespace": "ns", "annotations": annotations}, "spec": spec});
        job["spec"]["template"]["spec"] = json!({"containers": [{"name": "c"}]});
        serde_json::from_value(job).unwrap()
    }

    fn shown(errors: &Errors) -> String {
        errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    }

    fn check(spec: &Value, annotations: &Value, expected: &str) {
        let errors = around(Gates::default(), |around| job(spec, annotations).validate_create(around));
        assert!(shown(&errors).contains(expected) && errors.is_empty() == expected.is_empty(), "{}", shown(&errors));
    }

    #[test]
    fn partial_admission_needs_a_number_below_the_size() {
        let least = |value: &str| json!({JOB_MIN_PARALLELISM: value});
        check(&json!({"parallelism": 3}), &least("2"), "");
        check(&json!({"parallelism": 3}), &least("3"), "Invalid value: 3: should be between 0 and 2");
        check(&json!({"parallelism": 3}), &least("0"), "should be between 0 and 2");
        check(&json!({"parallelism": 3}), &least("x"), r#"strconv.Atoi: parsing "x": invalid syntax"#);
    }

    #[test]
    fn completions_follow_parallelism_only_where_pods_are_indexed_and_both_are_equal() {
        let synced = |value: &str| json!({JOB_COMPLETIONS_EQUAL_PARALLELISM: value});
        let indexed =
            |completions: i32| json!({"parallelism": 3, "completions": completions, "completionMode": "Indexed"});
        check(&indexed(3), &synced("true"), "");
        check(&indexed(4), &synced("true"), "spec.completions: Invalid value: 4: should be equal to parallelism");
        check(&json!({"parallelism": 1}), &synced("true"), "should not be enabled for NonIndexed jobs");
        check(&json!({"parallelism": 1}), &synced("false"), "");
        check(&json!({"parallelism": 1}), &synced("maybe"), r#"strconv.ParseBool: parsing "maybe": invalid syntax"#);
    }

    #[test]
    fn a_running_job_keeps_its_size_when_it_may_have_been_admitted_in_part() {
        let annotations = json!({JOB_MIN_PARALLELISM: "1"});
        let change = |is_suspended: bool| {
            let old = job(&json!({"parallelism": 3, "suspend": is_suspended}), &annotations);
            let new = job(&json!({"parallelism": 4, "suspend": is_suspended}), &annotations);
            shown(&around(Gates::default(), |around| new.validate_update(&old, around)))
        };
        assert!(change(false).starts_with("spec.parallelism: Forbidden: cannot change when partial admission"));
        assert_eq!(change(true), "");
    }

    #[test]
    fn an_elastic_job_gets_a_gate_once_and_takes_any_place() {
        let gates = Gates::default().with(Gate::ElasticJobsViaWorkloadSlices, true);
        let mut elastic = job(&json!({"parallelism": 1}), &json!({ELASTIC: "true"}));
        gate_pods(&mut elastic, Gates::default().with(Gate::ElasticJobsViaWorkloadSlices, false));
        assert!(elastic.spec.template.spec.scheduling_gates.is_empty());
        gate_pods(&mut elastic, gates);
        gate_pods(&mut elastic, gates);
        assert_eq!(elastic.spec.template.spec.scheduling_gates.len(), 1);
        let annotations = &mut elastic.spec.template.metadata.annotations;
        annotations.insert(REQUIRED_TOPOLOGY.to_owned(), "rack".to_owned());
        let errors = around(gates.with(Gate::TopologyAwareScheduling, true), |around| create(&elastic, around));
        assert!(shown(&errors).ends_with("required topology is not supported with elastic jobs"), "{errors:?}");
    }
}
