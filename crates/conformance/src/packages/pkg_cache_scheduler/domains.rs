//! The steps of a search for places, on domains whose room the case makes up.

use std::collections::BTreeMap;

use kueue_core::gates::Gate;
use kueue_engine::{DomainShare, Name, Sketch, SketchRoom, TopologyAssignment, Wish};
use serde_json::{Value, json};

use super::places::{pod_set, shown};
use crate::cluster::Cluster;
use crate::compare::{Rules, equal};
use crate::corpus::{Case, Failure};

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn names(value: &Value) -> Vec<Name> {
    list(value).filter_map(Value::as_str).map(Name::from).collect()
}

fn number(value: &Value) -> i32 {
    value.as_i64().and_then(|number| i32::try_from(number).ok()).unwrap_or_default()
}

fn room(state: &Value) -> SketchRoom {
    SketchRoom {
        pods: number(&state["podCount"]),
        pods_led: number(&state["podCountWithLeader"]),
        slices: number(&state["sliceCount"]),
        slices_led: number(&state["sliceCountWithLeader"]),
        leaders: number(&state["leaderCount"]),
        taste: state["affinityScore"].as_i64().unwrap_or_default(),
    }
}

/// The domains of a case; its levels matter by their number only, unless it names them.
fn sketch(case: &Case) -> Sketch {
    let parts = |spec: &Value| {
        let is_nested = spec.get("domain").is_some();
        let domain = if is_nested { spec["domain"].clone() } else { spec.clone() };
        let state = if is_nested { spec["state"].clone() } else { domain.clone() };
        let name: Name = domain["id"].as_str().unwrap_or_default().into();
        (name, names(&domain["levelValues"]), room(&state))
    };
    let domains: Vec<_> = list(case.raw("domains")).map(parts).collect();
    let depth = domains.iter().map(|(_, path, _)| path.len()).max().unwrap_or_default();
    let levels: Vec<Name> = (0..depth).map(|level| format!("level-{level}").into()).collect();
    let mut sketch = Sketch::new(&levels);
    for (name, path, room) in domains {
        sketch.add(name, &path, room);
    }
    sketch
}

pub(super) fn sorted(case: &Case) -> Result<(), Failure> {
    in_order(case, false)
}

pub(super) fn sorted_with_leader(case: &Case) -> Result<(), Failure> {
    in_order(case, true)
}

fn in_order(case: &Case, is_led: bool) -> Result<(), Failure> {
    let gates = case.gates()?;
    let wish = Wish {
        fills_gaps: gates.enabled(Gate::TASProfileMixed) && case.raw("unconstrained") == true,
        has_tastes: gates.enabled(Gate::TASRespectNodeAffinityPreferred),
        ..Wish::default()
    };
    equal(&names(case.raw("wantOrder")), &sketch(case).in_order(wish, is_led))
}

pub(super) fn compared(case: &Case) -> Result<(), Failure> {
    let mut sketch = Sketch::new(&names(case.raw("levels")));
    let [one, other] = ["a", "b"].map(|field| case.raw(field));
    let mut wider: Vec<Vec<Name>> = Vec::new();
    for domain in [one, other] {
        let path = names(&domain["levelValues"]);
        for depth in 1..path.len() {
            if !wider.contains(&path[..depth].to_vec()) {
                sketch.add(path[..depth].join("/").into(), &path[..depth], SketchRoom::default());
                wider.push(path[..depth].to_vec());
            }
        }
        sketch.add(domain["id"].as_str().unwrap_or_default().into(), &path, SketchRoom::default());
    }
    let id = |domain: &Value| domain["id"].as_str().unwrap_or_default().to_owned();
    let order = sketch.compare(&id(one), &id(other)).map(|order| order as i64);
    equal(&case.raw("want").as_i64(), &order)
}

pub(super) fn fewest(case: &Case) -> Result<(), Failure> {
    let wish =
        Wish { pods: number(case.raw("workerCount")), leaders: number(case.raw("leaderCount")), ..Wish::default() };
    let mut chosen = sketch(case).fewest(wish).unwrap_or_default();
    chosen.sort();
    equal(&names(case.raw("want")), &chosen)
}

pub(super) fn levelled_out(case: &Case) -> Result<(), Failure> {
    let size = number(case.raw("sliceSize"));
    let wish = Wish {
        pods: number(case.raw("sliceCount")) * size,
        leaders: number(case.raw("leaderCount")),
        slice_size: size,
        ..Wish::default()
    };
    let given = sketch(case).level_out(wish, number(case.raw("threshold"))).unwrap_or_default();
    let wanted = case.raw("want").as_object().into_iter().flatten();
    let wanted: BTreeMap<Name, SketchRoom> = wanted.map(|(name, state)| (name.as_str().into(), room(state))).collect();
    equal(&wanted, &given.into_iter().collect())
}

pub(super) fn best_threshold(case: &Case) -> Result<(), Failure> {
    let part = |field: &str| number(&case.raw("params")[field]);
    let wish = Wish {
        pods: part("count"),
        leaders: part("leaderCount"),
        slice_size: part("sliceSize"),
        slice_level: usize::try_from(part("sliceLevelIdx")).unwrap_or_default(),
        ..Wish::default()
    };
    let best = sketch(case).best_threshold(wish).unwrap_or_default();
    let wanted = (number(case.raw("wantThreshold")), number(case.raw("wantDomainsCount")));
    equal(&wanted, &(best.0, i32::try_from(best.1).unwrap_or(i32::MAX)))
}

/// An assignment as Kueue keeps it inside.
fn assignment(plain: &Value) -> TopologyAssignment {
    let share =
        |domain: &Value| DomainShare { values: names(&domain["Values"]).into(), count: number(&domain["Count"]) };
    TopologyAssignment { levels: names(&plain["Levels"]).into(), domains: list(&plain["Domains"]).map(share).collect() }
}

/// The lowest domains of some nodes.
fn sketch_of_nodes(levels: &Value, nodes: &Value) -> Sketch {
    let levels = names(levels);
    let mut sketch = Sketch::new(&levels);
    for node in list(nodes) {
        let label = |level: &Name| node["metadata"]["labels"][&**level].as_str().unwrap_or_default().into();
        let path: Vec<Name> = levels.iter().map(label).collect();
        sketch.add(path.join(",").into(), &path, SketchRoom::default());
    }
    sketch
}

pub(super) fn stale(case: &Case) -> Result<(), Failure> {
    let tree = case.raw("tree");
    let stale = sketch_of_nodes(&tree["levelKeys"], &tree["nodes"]).first_stale(&assignment(case.raw("assignment")));
    equal(&case.arg::<bool>("wantStale")?, &stale.is_some())?;
    equal(&case.arg::<String>("wantStaleDomain")?, &stale.unwrap_or_default().to_string())
}

pub(super) fn merged(case: &Case) -> Result<(), Failure> {
    let sketch = sketch_of_nodes(case.scope("levels"), case.scope("nodes"));
    let merged = sketch.merged(&assignment(case.raw("a")), &assignment(case.raw("b")));
    Rules::equate_empty().ignoring(&["$type"]).same(case.raw("want"), &shown(&merged))
}

pub(super) fn truncated(case: &Case) -> Result<(), Failure> {
    let truncated = assignment(case.raw("assignment")).truncated(number(case.raw("newCount")));
    Rules::equate_empty().ignoring(&["$type"]).same(case.raw("want"), &shown(&truncated))
}

pub(super) fn counted(case: &Case) -> Result<(), Failure> {
    equal(&case.arg::<i32>("want")?, &assignment(case.raw("assignment")).pods())
}

/// Who says nothing about places needs no level.
pub(super) fn levels_known(case: &Case) -> Result<(), Failure> {
    let sketch = Sketch::new(&names(case.scope("levels")));
    let mut cluster = Cluster::for_case(case, None)?;
    let row = json!({"topologyRequest": case.raw("podSetTopologyRequest"), "count": 1});
    let request = pod_set(&mut cluster, &row)?.topology;
    equal(&case.arg::<bool>("want")?, &request.is_some_and(|request| sketch.knows(&request)))
}
