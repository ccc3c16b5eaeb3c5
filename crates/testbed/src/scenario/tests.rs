//! Scenarios on a pretend bed: what they say when things go right and wrong.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use expect_test::{Expect, expect};

use super::*;
use crate::http::Response;

/// A bed with one kind, whose objects become ready two seconds after they were applied.
#[derive(Default)]
struct PretendBed {
    objects: RefCell<BTreeMap<String, (Value, Duration)>>,
    now: Cell<Duration>,
    busy_until: Duration,
}

impl Bed for PretendBed {
    fn send(&self, request: &Request) -> Result<Response> {
        if self.now.get() < self.busy_until && request.path.contains("/pods") {
            return Ok(Response { status: 429, body: json!({"message": "storage is (re)initializing"}) });
        }
        let path = request.path.split('?').next().unwrap_or_default().to_string();
        let mut objects = self.objects.borrow_mut();
        let body = match (request.method, path.as_str()) {
            ("GET", "/api/v1") => Some(json!({"resources": [
                {"kind": "Pod", "name": "pods/status", "namespaced": true},
                {"kind": "Pod", "name": "pods", "namespaced": true},
                {"kind": "Namespace", "name": "namespaces", "namespaced": false},
            ]})),
            ("GET", list) if list.ends_with("/pods") => {
                let items: Vec<&Value> = objects.range(path.clone()..).map(|(_, (object, _))| object).collect();
                Some(json!({"items": items}))
            }
            ("GET", _) => objects.get(&path).map(|(object, since)| {
                let mut object = object.clone();
                object["status"] = json!({"ready": self.now.get() >= *since + Duration::from_secs(2)});
                object
            }),
            ("PATCH", _) => {
                let body = request.body.clone().unwrap_or_default();
                objects.insert(path, (body.clone(), self.now.get()));
                Some(body)
            }
            _ => objects.remove(&path).map(|(object, _)| object),
        };
        let status = if body.is_some() { 200 } else { 404 };
        Ok(Response { status, body: body.unwrap_or_else(|| json!({"message": "not found"})) })
    }

    fn pass(&self, duration: Duration) {
        self.now.set(self.now.get() + duration);
    }

    fn has(&self, need: Need) -> bool {
        match need {
            Need::Workloads | Need::Certificates => false,
        }
    }
}

fn check(steps: &str, expected: &Expect) {
    check_on(&PretendBed::default(), steps, expected);
}

fn check_on(bed: &PretendBed, steps: &str, expected: &Expect) {
    let text = format!("about: a test\nsteps:\n{steps}");
    let result = Scenario::parse(&text, "demo").and_then(|scenario| scenario.run(bed, "demo"));
    let told = match result {
        Ok(()) => format!("passed after {:?}\n", bed.now.get()),
        Err(problem) => format!("{problem}\n"),
    };
    expected.assert_eq(&told);
    assert!(bed.objects.borrow().is_empty(), "left behind: {:?}", bed.objects.borrow());
}

#[test]
fn a_server_that_is_busy_is_asked_again() {
    let steps = "
- apply: {apiVersion: v1, kind: Pod, metadata: {name: a}}
- delete: {apiVersion: v1, kind: Pod, name: a}";
    let bed = PretendBed { busy_until: Duration::from_secs(3), ..PretendBed::default() };
    check_on(
        &bed,
        steps,
        &expect![[r#"
            passed after 3s
        "#]],
    );
}

#[test]
fn an_expectation_is_awaited_no_longer_than_needed() {
    let steps = "
- apply: {apiVersion: v1, kind: Pod, metadata: {name: a}}
- expect: {apiVersion: v1, kind: Pod, name: a, matches: {status: {ready: true}}, within: 1m}
- delete: {apiVersion: v1, kind: Pod, name: a}
- expect: {apiVersion: v1, kind: Pod, name: a, absent: true}";
    check(
        steps,
        &expect![[r#"
        passed after 2s
    "#]],
    );
}

#[test]
fn what_never_comes_true_is_told_with_the_first_difference() {
    let steps = "
- apply: {apiVersion: v1, kind: Pod, metadata: {name: a}}
- expect: {apiVersion: v1, kind: Pod, name: a, matches: {status: {ready: true}}, within: 500ms}";
    check(
        steps,
        &expect![[r#"
        step 2: Pod /api/v1/namespaces/demo/pods/a: not within 500ms: .status.ready: expected true, found false
    "#]],
    );
}

#[test]
fn what_does_not_stay_true_is_told() {
    let steps = "
- apply: {apiVersion: v1, kind: Pod, metadata: {name: a}}
- expect: {apiVersion: v1, kind: Pod, name: a, matches: {status: {ready: false}}, stays: 5s}";
    check(
        steps,
        &expect![[r#"
        step 2: Pod /api/v1/namespaces/demo/pods/a: true at first, no longer 2s later: .status.ready: expected false, found true
    "#]],
    );
}

#[test]
fn a_selector_counts_objects() {
    let steps = "
- apply: {apiVersion: v1, kind: Pod, metadata: {name: a-$ns}}
- expect: {apiVersion: v1, kind: Pod, selector: app in (a), count: 2, within: 100ms}";
    check(
        steps,
        &expect![[r#"
        step 2: Pod /api/v1/namespaces/demo/pods?labelSelector=app%20in%20%28a%29: not within 100ms: expected 2, found 1
    "#]],
    );
}

#[test]
fn lists_match_when_every_expected_element_is_found() {
    let steps = "
- apply: {apiVersion: v1, kind: Pod, metadata: {name: a}, conditions: [{type: A, status: 'True'}, {type: B, status: 'False'}]}
- expect: {apiVersion: v1, kind: Pod, name: a, matches: {conditions: [{type: B}], missing: null}}
- expect: {apiVersion: v1, kind: Pod, name: a, matches: {conditions: [{type: B, status: 'True'}]}, within: 0s}";
    check(
        steps,
        &expect![[r#"
        step 3: Pod /api/v1/namespaces/demo/pods/a: not within 0ns: .conditions[0]: expected {"status":"True","type":"B"} among [{"status":"True","type":"A"},{"status":"False","type":"B"}]
    "#]],
    );
}

#[test]
fn conditions_say_what_is_expected_and_maybe_more() {
    let steps = "
- apply: {apiVersion: v1, kind: Pod, metadata: {name: a}}
- patch: {apiVersion: v1, kind: Pod, name: a, merge: {metadata: {name: a}}}
- expect: {apiVersion: v1, kind: Pod, name: a, conditions: {A: null}}
- expect: {apiVersion: v1, kind: Pod, name: a, conditions: {A: 'True'}, within: 0s}";
    check(
        steps,
        &expect![[r#"
        step 4: Pod /api/v1/namespaces/demo/pods/a: not within 0ns: condition A: expected Some("True"), found "nothing"
    "#]],
    );
    let object = json!({"status": {"conditions": [
        {"type": "A", "status": "False", "reason": "Waits", "message": "for 2 more"}]}});
    let says = |expected: Option<&str>| {
        let conditions = BTreeMap::from([("A".to_string(), expected.map(String::from))]);
        let pattern = Pattern { matches: &Value::Null, conditions: &conditions, some: None };
        pattern.check(std::slice::from_ref(&object)).is_ok()
    };
    for fits in ["False", "False Waits", "False Waits: for", "False Waits: for 2 more"] {
        assert!(says(Some(fits)), "{fits}");
    }
    for differs in ["True", "False Wait", "False Waits: for 2 mor", "False Waits: for 3 more"] {
        assert!(!says(Some(differs)), "{differs}");
    }
    assert!(!says(None));
}

#[test]
fn one_of_many_is_found_by_its_owner_or_its_looks() {
    let steps = "
- apply: {apiVersion: v1, kind: Pod, metadata: {name: a, ownerReferences: [{name: x}]}}
- apply: {apiVersion: v1, kind: Pod, metadata: {name: b}, spec: {node: one}}
- expect: {apiVersion: v1, kind: Pod, owner: x, matches: {metadata: {name: a}}}
- expect: {apiVersion: v1, kind: Pod, some: {spec: {node: one}}}
- delete: {apiVersion: v1, kind: Pod, owner: x}
- expect: {apiVersion: v1, kind: Pod, owner: x, absent: true}
- expect: {apiVersion: v1, kind: Pod, some: {spec: {node: two}}, within: 0s}";
    check(
        steps,
        &expect![[r#"
        step 7: Pod /api/v1/namespaces/demo/pods: not within 0ns: none of 1 is like {"spec":{"node":"two"}}
    "#]],
    );
}

#[test]
fn a_step_may_be_refused_with_the_right_words_only() {
    let refused = "{delete: {apiVersion: v1, kind: Pod, name: a}, with: 404 not found}";
    let steps = format!(
        "
- refused: {refused}
- repeat: {{times: 3, steps: [{{refused: {refused}}}, {{pass: 1s}}]}}
- refused: {{delete: {{apiVersion: v1, kind: Pod, name: a}}, with: 403}}"
    );
    check(
        &steps,
        &expect![[r#"
        step 3: not refused with "403" but: cannot delete /api/v1/namespaces/demo/pods/a: 404 not found
    "#]],
    );
    check(
        "- refused: {pass: 1s, with: never}",
        &expect![[r#"
        step 1: nobody said no, and certainly not "never"
    "#]],
    );
}

#[test]
fn only_a_bed_with_a_manager_stops_it() {
    check(
        "- stop: manager",
        &expect![[r#"
        step 1: this bed has no manager that could be stopped and started
    "#]],
    );
}

#[test]
fn mistakes_in_a_scenario_are_told() {
    check(
        "- expect: {apiVersion: v1, kind: Pod, name: a, owner: b}",
        &expect![[r#"
        step 1: an expectation has either a name, a selector or an owner
    "#]],
    );
    check(
        "- patch: {apiVersion: v1, kind: Pod, merge: {}}",
        &expect![[r#"
        step 1: a Pod is known by either its name or its owner
    "#]],
    );
    check(
        "- delete: {kind: Pod, name: a}",
        &expect![[r#"
        step 1: the kind Pod needs an apiVersion
    "#]],
    );
    check(
        "- apply: {kind: Pod}",
        &expect![[r#"
        step 1: an applied object needs apiVersion
    "#]],
    );
    check(
        "- delete: {apiVersion: v1, kind: Node, name: a}",
        &expect![[r#"
        step 1: v1 has no kind Node
    "#]],
    );
    for text in ["- pass: soon", "- pass: 99999999999s", "- dance: 3s", "- expect: {nam: a}"] {
        let problem = Scenario::parse(&format!("about: x\nsteps: [{}]", &text[2..]), "demo").unwrap_err();
        assert!(problem.to_string().starts_with("the scenario cannot be read"), "{text}");
    }
}
