//! Random nodes, usage and questions, held against trying every way to place the pods.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::{Stage, manner};
use crate::topology::place::Manner;
use crate::topology::search::Habits;

/// A zone of two blocks and one of a single block; a block has two racks of two hosts.
const HOSTS: usize = 12;
const LEVELS: [&str; 4] = ["zone", "block", "rack", "host"];
const LOWEST: usize = LEVELS.len() - 1;

#[derive(Clone, Debug)]
enum Step {
    Node { host: usize, cpu: i64 },
    Lose { host: usize },
    Use { host: usize, cpu: i64 },
    Free,
    Ask(Question),
}

#[derive(Clone, Debug)]
struct Question {
    cpu: i64,
    slices: i32,
    /// Levels of [`LEVELS`] and how many pods stay together there: slices, then groups within slices.
    layers: Vec<(usize, i32)>,
    mode: Mode,
    fills_gaps: bool,
    is_balanced: bool,
    /// What a leader needs that goes with the pods.
    leader: Option<i64>,
}

#[derive(Clone, Copy, Debug)]
enum Mode {
    Required(usize),
    Preferred(usize),
    Anywhere,
}

fn path(host: usize) -> [String; 4] {
    [format!("z{}", host / 8), format!("b{}", host / 4), format!("r{}", host / 2), format!("x{host}")]
}

/// Slices of a level that is not above the given one, with up to three layers of groups in them.
fn layers(least: usize) -> impl Strategy<Value = Vec<(usize, i32)>> {
    let size = prop_oneof![Just(1), Just(2), Just(3), Just(4), Just(6), Just(8)];
    (least..=LOWEST, size, proptest::collection::vec((any::<bool>(), 1..=4_i32), LOWEST)).prop_map(
        |(outer, size, below)| {
            let mut layers = vec![(outer, size)];
            for (level, (is_layer, divisor)) in (outer + 1..=LOWEST).zip(below) {
                let above = layers[layers.len() - 1].1;
                if is_layer && above % divisor == 0 {
                    layers.push((level, above / divisor));
                }
            }
            layers
        },
    )
}

fn question() -> impl Strategy<Value = Question> {
    let mode = prop_oneof![
        (0..=LOWEST).prop_map(Mode::Required),
        (0..=LOWEST).prop_map(Mode::Preferred),
        Just(Mode::Anywhere)
    ];
    let leader = prop_oneof![3 => Just(None), 1 => (1..=3_i64).prop_map(Some)];
    let asked = mode.prop_flat_map(|mode| {
        // Slices are never wider than where all pods belong.
        let least = match mode {
            Mode::Required(least) | Mode::Preferred(least) => least,
            Mode::Anywhere => LOWEST,
        };
        (Just(mode), prop_oneof![Just(Vec::new()), layers(least)])
    });
    (1..=2_i64, 1..=3_i32, asked, any::<bool>(), any::<bool>(), leader).prop_map(
        |(cpu, slices, (mode, layers), fills_gaps, is_balanced, leader)| {
            // Trying every way takes too long for more pods than that.
            let slices = if layers.first().is_some_and(|(_, size)| *size > 4) { 1 } else { slices };
            Question { cpu, slices, layers, mode, fills_gaps, is_balanced, leader }
        },
    )
}

fn step() -> impl Strategy<Value = Step> {
    let host = 0..HOSTS;
    prop_oneof![
        2 => (host.clone(), 0..=5_i64).prop_map(|(host, cpu)| Step::Node { host, cpu }),
        1 => host.clone().prop_map(|host| Step::Lose { host }),
        2 => (host, 1..=3_i64).prop_map(|(host, cpu)| Step::Use { host, cpu }),
        1 => Just(Step::Free),
        4 => question().prop_map(Step::Ask),
    ]
}

/// What is so, by the simplest means.
#[derive(Default)]
struct Model {
    cpu: BTreeMap<usize, i64>,
    used: Vec<(usize, i64)>,
}

impl Question {
    fn pods(&self) -> i32 {
        self.slices * self.layers.first().map_or(1, |(_, size)| *size)
    }

    fn line(&self) -> String {
        let mut line = format!("ask {} cpu={}", self.pods(), self.cpu);
        match self.mode {
            Mode::Required(level) => line += &format!(" required={}", LEVELS[level]),
            Mode::Preferred(level) => line += &format!(" preferred={}", LEVELS[level]),
            Mode::Anywhere => line += " anywhere",
        }
        if !self.layers.is_empty() {
            let layers: Vec<String> =
                self.layers.iter().map(|(level, size)| format!("{}:{size}", LEVELS[*level])).collect();
            line += &format!(" slices={}", layers.join(","));
        }
        if let Some(cpu) = self.leader {
            line += &format!(" leader={cpu}");
        }
        line
    }

    fn manner(&self) -> Manner {
        let habits = Habits { fills_gaps: self.fills_gaps, is_balanced: self.is_balanced, ..manner().habits };
        Manner { habits, ..manner() }
    }

    /// Whether pods placed like this are where they were asked to be, and together as they were.
    fn is_met_by(&self, pods: &BTreeMap<usize, i32>, leader: Option<usize>) -> bool {
        let domains = |level: usize| {
            let mut sums: BTreeMap<String, i32> = BTreeMap::new();
            for (host, count) in pods.iter().filter(|(_, count)| **count > 0) {
                *sums.entry(path(*host)[level].clone()).or_default() += count;
            }
            sums
        };
        let is_whole = self.layers.iter().all(|(level, size)| domains(*level).values().all(|count| count % size == 0));
        let is_close = match self.mode {
            Mode::Required(level) => {
                let mut all = domains(level);
                if let Some(host) = leader {
                    all.insert(path(host)[level].clone(), 1);
                }
                all.len() <= 1
            }
            Mode::Preferred(_) | Mode::Anywhere => true,
        };
        is_whole && is_close
    }
}

impl Model {
    fn room(&self, host: usize) -> i64 {
        let used = self.used.iter().filter(|(known, _)| *known == host).map(|(_, cpu)| cpu).sum::<i64>();
        self.cpu.get(&host).map_or(0, |cpu| (cpu - used).max(0))
    }

    /// Tries every host for the leader, if there is one, and every way to give the pods to hosts.
    fn has_place(&self, question: &Question) -> bool {
        let pods = question.pods();
        let Some(cpu) = question.leader else { return self.has_places(question, None, 0, pods, &mut BTreeMap::new()) };
        let fitting = (0..HOSTS).filter(|host| self.room(*host) >= cpu);
        fitting.into_iter().any(|host| self.has_places(question, Some((host, cpu)), 0, pods, &mut BTreeMap::new()))
    }

    /// Tries every way to give the pods to hosts from this one on.
    fn has_places(
        &self,
        question: &Question,
        leader: Option<(usize, i64)>,
        host: usize,
        left: i32,
        pods: &mut BTreeMap<usize, i32>,
    ) -> bool {
        // A domain that ends here and was given a part of a slice or group is no place.
        let is_torn = |level: usize, size: i32| {
            let ended = host.checked_sub(1).map(|last| path(last)[level].clone());
            let is_over = host == HOSTS || ended.as_ref().is_some_and(|ended| path(host)[level] != *ended);
            let given = pods.iter().filter(|(known, _)| Some(&path(**known)[level]) == ended.as_ref());
            is_over && given.map(|(_, count)| count).sum::<i32>() % size != 0
        };
        if question.layers.iter().any(|(level, size)| is_torn(*level, *size)) {
            return false;
        }
        if host == HOSTS {
            return left == 0 && question.is_met_by(pods, leader.map(|(host, _)| host));
        }
        let taken = leader.filter(|(known, _)| *known == host).map_or(0, |(_, cpu)| cpu);
        let most = i32::try_from((self.room(host) - taken) / question.cpu).unwrap_or(i32::MAX).min(left);
        (0..=most).any(|count| {
            pods.insert(host, count);
            let is_found = self.has_places(question, leader, host + 1, left - count, pods);
            pods.remove(&host);
            is_found
        })
    }

    /// A stage that knows all this and nothing of how it came to be.
    fn fresh(&self) -> Stage {
        let mut stage = Stage::new();
        play(&mut stage, "levels zone block rack host");
        for (host, cpu) in &self.cpu {
            play(&mut stage, &format!("node {} cpu={cpu}", path(*host).join("/")));
        }
        for (host, cpu) in &self.used {
            play(&mut stage, &format!("used x{host} cpu={cpu}"));
        }
        stage
    }

    fn check(&self, question: &Question, answer: &str) {
        let pods = question.pods();
        let exists = self.has_place(question);
        if answer.contains("topolog") {
            assert!(!exists, "{question:?}: there is a place, and the answer is {answer}");
            return;
        }
        let (workers, leader) = answer.trim_start_matches("=>").split_once("leader").unwrap_or((answer, ""));
        let shares = |told: &str| {
            let mut given: BTreeMap<usize, i32> = BTreeMap::new();
            for share in told.trim_start_matches("=>").split_whitespace() {
                let (host, count) = share.split_once(':').expect("a share");
                let host: usize = host.trim_start_matches('x').parse().expect("a host");
                *given.entry(host).or_default() += count.parse::<i32>().expect("a count");
            }
            given
        };
        let (given, leader) = (shares(workers), shares(leader));
        assert_eq!(given.values().sum::<i32>(), pods, "{question:?}: {answer}");
        assert_eq!(leader.values().sum::<i32>(), i32::from(question.leader.is_some()), "{question:?}: {answer}");
        assert!(question.is_met_by(&given, leader.keys().next().copied()), "{question:?}: {answer}");
        for host in 0..HOSTS {
            let count = |pods: &BTreeMap<usize, i32>| i64::from(pods.get(&host).copied().unwrap_or_default());
            let needed = count(&given) * question.cpu + count(&leader) * question.leader.unwrap_or_default();
            assert!(self.room(host) >= needed, "{question:?}: x{host} has no room: {answer}");
        }
    }
}

fn play(stage: &mut Stage, line: &str) {
    stage.play(&line.split_whitespace().collect::<Vec<_>>(), &manner());
}

fn answer(stage: &mut Stage, question: &Question) -> String {
    stage.told.clear();
    stage.play(&question.line().split_whitespace().collect::<Vec<_>>(), &question.manner());
    stage.told.trim().to_owned()
}

fn run(nodes: &[i64], steps: &[Step]) {
    let cpu = nodes.iter().copied().enumerate().filter(|(_, cpu)| *cpu > 0);
    let mut model = Model { cpu: cpu.collect(), ..Model::default() };
    let mut stage = model.fresh();
    for step in steps {
        match step {
            Step::Node { host, cpu } => {
                model.cpu.insert(*host, *cpu);
                play(&mut stage, &format!("node {} cpu={cpu}", path(*host).join("/")));
            }
            Step::Lose { host } => {
                model.cpu.remove(host);
                play(&mut stage, &format!("lose x{host}"));
            }
            Step::Use { host, cpu } => {
                model.used.push((*host, *cpu));
                play(&mut stage, &format!("used x{host} cpu={cpu}"));
            }
            Step::Free => {
                if let Some((host, cpu)) = model.used.pop() {
                    play(&mut stage, &format!("freed x{host} cpu={cpu}"));
                }
            }
            Step::Ask(question) => {
                let told = answer(&mut stage, question);
                model.check(question, &told);
                assert_eq!(told, answer(&mut model.fresh(), question), "what was counted before must not matter");
            }
        }
        stage.sites.check_invariants();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn a_place_is_found_where_there_is_one_however_nodes_came_and_went(
        nodes in proptest::collection::vec(0..=5_i64, HOSTS),
        steps in proptest::collection::vec(step(), 1..40),
    ) {
        run(&nodes, &steps);
    }
}
