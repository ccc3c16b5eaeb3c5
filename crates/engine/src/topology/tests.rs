//! Placements as stories: nodes, what is used, what is asked for, and where it goes.
//!
//! ```text
//! levels block rack host
//! node b1/r1/x1 cpu=2 [gpu=1] [taint=KEY] [label=KEY:VALUE]
//! used x1 cpu=1                                   somebody's pods
//! freed x1 cpu=1                                  they are gone
//! plain x1 cpu=1                                  a pod that belongs to no workload
//! ask 3 cpu=1 [required=rack | preferred=rack | anywhere] [slices=rack:2,host:1] [leader=CPU] [empty] [select=K:V] [like=K:V]
//! => x1:2 x2:1 [leader x3]                        or the text of the failure
//! ```

mod churn;

use std::collections::BTreeMap;
use std::fmt::Write;

use super::place::{Found, Manner, Repair};
use super::request::{Pods, SliceSpec, TopologyRequest, Wanted};
use super::search::Habits;
use super::{HOSTNAME, NodeSpec, PlainPodSpec, Sites, TopologyAssignment};
use crate::id::{FlavorId, Name, ResourceId};
use crate::names::Names;
use crate::placement::{FlavorNodes, NodeOperator, NodeRequirement, PodPlacement, Taint, TaintEffect};

struct Stage {
    sites: Sites,
    names: Names,
    flavor: FlavorId,
    levels: Vec<Name>,
    last: Vec<(usize, TopologyAssignment)>,
    told: String,
}

fn manner() -> Manner {
    let habits = Habits { fills_gaps: true, has_tastes: false, is_balanced: false };
    Manner { is_empty: false, habits, explains: true, keeps_places: false, repair: None }
}

fn tell(story: &str) -> String {
    tell_as(story, &manner())
}

fn tell_as(story: &str, manner: &Manner) -> String {
    let mut stage = Stage::new();
    for line in story.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        stage.play(&words, manner);
        stage.sites.check_invariants();
    }
    stage.told
}

fn level_label(level: &str) -> Name {
    if level == "host" { HOSTNAME.into() } else { level.into() }
}

/// `key=value` words.
fn options<'a>(words: &[&'a str]) -> BTreeMap<&'a str, &'a str> {
    words.iter().map(|word| word.split_once('=').unwrap_or((word, ""))).collect()
}

impl Stage {
    fn new() -> Self {
        let mut names = Names::default();
        let flavor = names.flavor_id(&"default".into());
        Self { sites: Sites::default(), names, flavor, levels: Vec::new(), last: Vec::new(), told: String::new() }
    }

    fn play(&mut self, words: &[&str], manner: &Manner) {
        match words {
            ["levels", levels @ ..] => {
                self.levels = levels.iter().map(|level| level_label(level)).collect();
                let nodes = FlavorNodes::default();
                self.sites.set_flavor(self.flavor, &nodes, &"rooms".into(), &self.levels, true);
            }
            ["node", path, rest @ ..] => {
                let spec = self.node(path, &options(rest));
                self.sites.set_node(spec, &mut self.names);
            }
            ["lose", node] => drop(self.sites.remove_node(&(*node).into())),
            [change @ ("used" | "freed"), node, rest @ ..] => {
                let values: Vec<Name> = vec![(*node).into()];
                let domains = vec![super::DomainShare { values: values.into(), count: 1 }];
                let placed = TopologyAssignment { levels: [HOSTNAME.into()].into(), domains };
                let requests = self.requests(&options(rest));
                for occupied in self.sites.occupied(self.flavor, &placed, &requests) {
                    match *change {
                        "used" => self.sites.add(&occupied),
                        _ => self.sites.remove(&occupied),
                    }
                }
            }
            ["plain", node, rest @ ..] => {
                let requests = options(rest).iter().filter_map(|(name, amount)| resource(name, amount)).collect();
                let (namespace, name) = ("ns".into(), format!("on-{node}").as_str().into());
                let spec = PlainPodSpec { namespace, name, node: (*node).into(), requests };
                self.sites.set_pod(&spec, &mut self.names);
            }
            ["ask", count, rest @ ..] => self.ask(count.parse().unwrap(), &options(rest), manner),
            ["fail", node] => {
                let repair = Repair { node: (*node).into(), current: self.last.clone(), is_pinned: false };
                let manner = Manner { repair: Some(repair), ..manner.clone() };
                let wanted = self.wanted(1, &options(&["cpu=1", "required=rack"]));
                let found = self.sites.find_places(&[(self.flavor, vec![wanted])], &manner);
                self.show(found);
            }
            other => panic!("{other:?} is no line of a story"),
        }
    }

    fn node(&self, path: &str, options: &BTreeMap<&str, &str>) -> NodeSpec {
        let values: Vec<&str> = path.split('/').collect();
        let mut labels: BTreeMap<Name, Name> =
            self.levels.iter().cloned().zip(values.iter().map(|value| (*value).into())).collect();
        if let Some((key, value)) = options.get("label").and_then(|label| label.split_once(':')) {
            labels.insert(key.into(), value.into());
        }
        let taint = |key: &&str| Taint { key: (*key).into(), value: "".into(), effect: TaintEffect::NoSchedule };
        NodeSpec {
            name: values.last().copied().unwrap_or_default().into(),
            labels,
            taints: options.get("taint").iter().map(|key| taint(key)).collect(),
            allocatable: options
                .iter()
                .filter_map(|(name, amount)| resource(name, amount))
                .chain([("pods".into(), 10)])
                .collect(),
            ready: Some(!options.contains_key("unready")),
            is_cordoned: options.contains_key("cordoned"),
            ..NodeSpec::default()
        }
    }

    fn requests(&mut self, options: &BTreeMap<&str, &str>) -> Vec<(ResourceId, i64)> {
        let named = options.iter().filter_map(|(name, amount)| resource(name, amount));
        let mut requests: Vec<(Name, i64)> = named.chain([("pods".into(), 1)]).collect();
        requests.sort();
        requests.iter().map(|(name, amount)| (self.names.resource_id(name), *amount)).collect()
    }

    fn wanted(&mut self, count: i32, options: &BTreeMap<&str, &str>) -> Wanted {
        let level = |key: &str| options.get(key).map(|level| level_label(level));
        let slice = |text: &str| {
            let (level, size) = text.split_once(':').unwrap();
            SliceSpec { level: level_label(level), size: size.parse().unwrap() }
        };
        let slices = options.get("slices").map(|slices| slices.split(',').map(slice).collect()).unwrap_or_default();
        let request = TopologyRequest {
            required: level("required"),
            preferred: level("preferred"),
            is_unconstrained: options.contains_key("anywhere"),
            slices,
        };
        let mut placement = PodPlacement::default();
        if let Some((key, value)) = options.get("select").and_then(|label| label.split_once(':')) {
            placement.node_selector.insert(key.into(), value.into());
        }
        if let Some((key, value)) = options.get("like").and_then(|label| label.split_once(':')) {
            let values = vec![value.into()];
            placement
                .preferred
                .push((1, vec![NodeRequirement { key: key.into(), operator: NodeOperator::In, values }]));
        }
        Wanted {
            index: 0,
            count,
            pods: Pods { requests: self.requests(options), placement },
            request: (request != TopologyRequest::default()).then_some(request),
            conflict: None,
            group: Some("group".into()),
            previous: None,
        }
    }

    fn ask(&mut self, count: i32, options: &BTreeMap<&str, &str>, manner: &Manner) {
        let mut wanted = vec![self.wanted(count, options)];
        if let Some(cpu) = options.get("leader") {
            let leader = self.wanted(1, &BTreeMap::from([("cpu", *cpu)]));
            wanted.push(Wanted { index: 1, ..leader });
        }
        let manner = Manner { is_empty: options.contains_key("empty"), ..manner.clone() };
        let found = self.sites.find_places(&[(self.flavor, wanted)], &manner);
        self.last = found.places.clone();
        self.show(found);
    }

    fn show(&mut self, found: Found) {
        let mut line = String::from("=>");
        for (index, place) in &found.places {
            line.push_str(if *index == 1 { " leader" } else { "" });
            for domain in &place.domains {
                let values: Vec<&str> = domain.values.iter().map(|value| &**value).collect();
                let _ = write!(line, " {}:{}", values.join("/"), domain.count);
            }
        }
        if let Some((_, _, failure)) = found.failure {
            let _ = write!(line, " {}", failure.render(&self.names));
        }
        self.told.push_str(&line);
        self.told.push('\n');
    }
}

fn resource(name: &str, amount: &str) -> Option<(Name, i64)> {
    ["cpu", "gpu"].contains(&name).then(|| (name.into(), amount.parse().unwrap()))
}

fn check(story: &str) {
    check_as(story, &manner());
}

/// Plays the lines that do not start with `=>` and compares the others with what came of it.
fn check_as(story: &str, manner: &Manner) {
    let lines = || story.lines().map(str::trim).filter(|line| !line.is_empty());
    let played: Vec<&str> = lines().filter(|line| !line.starts_with("=>")).collect();
    let expected: Vec<&str> = lines().filter(|line| line.starts_with("=>")).collect();
    assert_eq!(tell_as(&played.join("\n"), manner).lines().collect::<Vec<_>>(), expected);
}

const TWO_RACKS: &str = "levels block rack host
    node b1/r1/x1 cpu=2
    node b1/r1/x2 cpu=1
    node b1/r2/x3 cpu=2
    node b2/r3/x4 cpu=3
";

#[test]
fn a_required_level_keeps_all_pods_in_the_tightest_domain_that_has_room() {
    check(&format!("{TWO_RACKS} ask 2 cpu=1 required=rack\n => x3:2"));
    check(&format!("{TWO_RACKS} ask 3 cpu=1 required=rack\n => x1:2 x2:1"));
}

#[test]
fn what_does_not_fit_into_one_domain_says_how_much_would() {
    check(&format!(
        "{TWO_RACKS} ask 4 cpu=1 required=rack
         => topology \"rooms\" allows to fit only 3 out of 4 pod(s)"
    ));
    check(&format!(
        "{TWO_RACKS} ask 2 cpu=9 required=block
         => topology \"rooms\" doesn't allow to fit any of 2 pod(s). Total nodes: 4; excluded: resource \"cpu\": 4"
    ));
}

#[test]
fn a_preferred_level_widens_until_there_is_room() {
    check(&format!("{TWO_RACKS} ask 5 cpu=1 preferred=rack\n => x1:2 x2:1 x3:2"));
    check(&format!("{TWO_RACKS} ask 8 cpu=1 preferred=rack\n => x1:2 x2:1 x3:2 x4:3"));
}

#[test]
fn pods_that_may_go_anywhere_fill_gaps() {
    check(&format!("{TWO_RACKS} ask 1 cpu=1 anywhere\n => x2:1"));
    check(&format!("{TWO_RACKS} ask 4 cpu=1\n => x1:2 x2:1 x3:1"));
}

#[test]
fn slices_stay_whole() {
    check(&format!("{TWO_RACKS} ask 6 cpu=1 slices=host:2\n => x1:2 x3:2 x4:2"));
    check(&format!(
        "{TWO_RACKS} ask 8 cpu=1 slices=host:2
         => topology \"rooms\" allows to fit only 3 out of 4 slice(s)"
    ));
}

#[test]
fn pods_of_a_slice_that_is_not_full_have_a_place_too() {
    check(&format!("{TWO_RACKS} ask 5 cpu=1 slices=host:2\n => x1:2 x3:2 x4:1"));
    check(&format!("{TWO_RACKS} ask 1 cpu=1 slices=host:2\n => x4:1"));
    check(&format!(
        "{TWO_RACKS} ask 7 cpu=1 slices=host:2
         => topology \"rooms\" allows to fit only 3 out of 4 slice(s)"
    ));
}

#[test]
fn groups_within_slices_stay_whole_as_well() {
    let nodes = "levels block rack host
        node b1/r1/x1 cpu=3
        node b1/r1/x2 cpu=3
        node b1/r2/x3 cpu=4
    ";
    check(&format!("{nodes} ask 4 cpu=1 required=block slices=rack:4,host:2\n => x1:2 x2:2"));
    check(&format!("{nodes} ask 8 cpu=1 required=block slices=rack:4,host:2\n => x1:2 x2:2 x3:4"));
    check(&format!(
        "{nodes} ask 12 cpu=1 required=block slices=rack:4,host:2
         => topology \"rooms\" doesn't allow to fit; 2/3 slice(s) fit on level rack; 4/6 slice(s) fit on level {HOSTNAME}"
    ));
}

#[test]
fn a_leader_goes_where_its_workers_still_fit() {
    check(&format!("{TWO_RACKS} ask 2 cpu=1 required=rack leader=1\n => x1:1 x2:1 leader x1:1"));
}

#[test]
fn what_others_use_is_not_free_unless_the_cluster_is_thought_empty() {
    check(&format!(
        "{TWO_RACKS} used x4 cpu=2\n ask 3 cpu=1 required=host\n => topology \"rooms\" allows to fit only 2 out of 3 pod(s)"
    ));
    check(&format!("{TWO_RACKS} used x4 cpu=2\n ask 3 cpu=1 required=host empty\n => x4:3"));
    check(&format!(
        "{TWO_RACKS} plain x4 cpu=2\n ask 3 cpu=1 required=host empty\n => topology \"rooms\" allows to fit only 2 out of 3 pod(s)"
    ));
}

#[test]
fn nodes_that_pods_may_not_use_are_left_out_and_counted() {
    check(
        "levels host
         node x1 cpu=1 taint=sick
         node x2 cpu=1 label=kind:old
         node x3 cpu=1 unready
         node x4 cpu=1 cordoned
         ask 1 cpu=1 required=host select=kind:new
         => topology \"rooms\" doesn't allow to fit any of 1 pod(s). Total nodes: 2; excluded: nodeSelector: 1, taint \"sick:NoSchedule\": 1",
    );
}

#[test]
fn a_place_is_found_anew_as_nodes_come_and_go() {
    check(&format!(
        "{TWO_RACKS}
         ask 3 cpu=1 required=host
         => x4:3
         lose x4
         ask 3 cpu=1 required=host
         => topology \"rooms\" allows to fit only 2 out of 3 pod(s)
         node b2/r3/x5 cpu=3
         ask 3 cpu=1 required=host
         => x5:3"
    ));
}

#[test]
fn only_the_pods_of_a_failed_node_move_and_stay_near_the_others() {
    check(
        "levels rack host
         node r1/x1 cpu=1
         node r1/x2 cpu=1
         node r1/x3 cpu=1
         node r2/x4 cpu=9
         ask 2 cpu=1 required=rack
         => x1:1 x2:1
         used x1 cpu=1
         used x2 cpu=1
         lose x2
         fail x2
         => x1:1 x3:1",
    );
}

#[test]
fn balanced_placement_gives_every_domain_as_much() {
    let nodes = "levels block host
        node b1/x1 cpu=5
        node b1/x2 cpu=5
        node b1/x3 cpu=5
    ";
    check(&format!("{nodes} ask 6 cpu=1 preferred=host\n => x1:5 x2:1"));
    let habits = Habits { is_balanced: true, ..manner().habits };
    check_as(&format!("{nodes} ask 6 cpu=1 preferred=host\n => x1:3 x2:3"), &Manner { habits, ..manner() });
}

#[test]
fn nodes_that_pods_like_draw_them_only_where_domains_are_nodes() {
    let nodes = "node b1/r1/x1 cpu=9
        node b1/r2/x2 cpu=1 label=disk:ssd
        node b2/r3/x3 cpu=3
    ";
    let liking = Manner { habits: Habits { fills_gaps: false, has_tastes: true, ..manner().habits }, ..manner() };
    let ask = "ask 3 cpu=1 preferred=rack like=disk:ssd";
    check_as(&format!("levels block rack host\n {nodes} {ask}\n => x1:2 x2:1"), &liking);
    check_as(&format!("levels block rack\n {nodes} {ask}\n => b2/r3:3"), &liking);
}

#[test]
fn a_request_that_names_unknown_levels_says_so() {
    check(&format!("{TWO_RACKS} ask 1 cpu=1 required=row\n => no requested topology level: row"));
    check(&format!(
        "{TWO_RACKS} ask 2 cpu=1 required=host slices=rack:2
         => podset slice topology rack is above the podset topology {HOSTNAME}"
    ));
}

#[test]
fn a_story_is_the_same_when_it_is_told_again() {
    let story = format!("{TWO_RACKS} ask 5 cpu=1 preferred=rack\n ask 4 cpu=1\n ask 3 cpu=1 required=rack");
    assert_eq!(tell(&story), tell(&story));
}
