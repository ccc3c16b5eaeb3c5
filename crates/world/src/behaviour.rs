//! What a pod does once it runs: nobody starts a process here, so its manifest has to tell.
//!
//! | told by | example | the pod |
//! |---|---|---|
//! | annotation `run-for` | `90s` | ends after that time; `forever` never |
//! | annotation `exit-code` | `3` | ends with that code |
//! | annotation `fail-rate` | `20%` | fails in one of five cases, with that code or with 1, and ends well in the others |
//! | annotation `start-after` | `2s` | takes that long to start |
//! | annotation `ready-after` | `5s` | is ready that long after its start |
//! | annotation `stop-after` | `10s` | takes that long to end when it is deleted |
//! | any of these times | `10s-30s` | takes a time between the two |
//! | annotation `never-ready` | `true` | never leaves `Pending` |
//! | annotation `image-pull` | `fails` | has an image that cannot be pulled |
//! | its command or arguments | `sleep 30; exit 1` | sleeps that long, ends with that code |
//! | an image named `sleep` | arguments `["30s"]` | sleeps that long |
//! | an image or argument named `pause` | | never ends |
//! | `restartPolicy: Always` and nothing else | | never ends |
//! | nothing | | runs for some time, and ends well |
//!
//! What is left to chance is drawn from the seed and the pod's name, so it is the same in every run.

use std::fmt;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::str::FromStr;
use std::time::Duration;

use kueue_api::core_v1::Container;
use kueue_core::duration::Duration as GoDuration;
use serde_json::Value;

use crate::kinds::Pod;

/// What pods do that do not say.
#[derive(Clone, Debug)]
pub struct Defaults {
    /// The domain of the annotations that tell pods what to do.
    pub domain: String,
    /// Where the random numbers start.
    pub seed: u64,
    /// How long pods take to start.
    pub start_after: Span,
    /// How long pods run; for ever without.
    pub run_for: Option<Span>,
    /// How many of them fail.
    pub fail_rate: Share,
    /// The address of every pod; each has its own without.
    pub pod_address: Option<String>,
}

impl Default for Defaults {
    fn default() -> Self {
        Self {
            domain: "world.kueue.x-k8s.io".to_owned(),
            seed: 1,
            start_after: Span::from(Duration::from_secs(1)),
            run_for: Some(Span { shortest: Duration::from_secs(10), longest: Duration::from_secs(30) }),
            fail_rate: Share::default(),
            pod_address: None,
        }
    }
}

/// A time that is only known to lie between two.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    shortest: Duration,
    longest: Duration,
}

impl From<Duration> for Span {
    fn from(time: Duration) -> Self {
        Self { shortest: time, longest: time }
    }
}

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (shortest, longest) = text.split_once('-').unwrap_or((text, text));
        let wrong = || format!("{text:?} is not a time such as 1m30s, nor two as in 10s-30s");
        let span =
            Self { shortest: duration(shortest).ok_or_else(wrong)?, longest: duration(longest).ok_or_else(wrong)? };
        match span.shortest <= span.longest {
            true => Ok(span),
            false => Err(format!("in {text:?} the first time is longer than the second")),
        }
    }
}

/// How many of a thousand.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Share(u32);

impl FromStr for Share {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let percent = text.strip_suffix('%').and_then(|number| number.parse::<f64>().ok());
        let percent = percent.filter(|percent| (0.0..=100.0).contains(percent));
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is between 0 and 1000")]
        percent
            .map(|percent| Self((percent * 10.0).round() as u32))
            .ok_or_else(|| format!("{text:?} is not a share such as 20%"))
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", f64::from(self.0) / 10.0)
    }
}

/// What one pod does.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Behaviour {
    /// How long it takes to start; never without.
    pub(crate) start_after: Option<Duration>,
    pub(crate) ready_after: Duration,
    /// How long it runs; for ever without.
    pub(crate) run_for: Option<Duration>,
    pub(crate) exit_code: i32,
    pub(crate) stop_after: Duration,
    pub(crate) can_pull: bool,
}

impl Behaviour {
    /// What the manifest says, and which annotations cannot be understood.
    pub(crate) fn of(pod: &Pod, defaults: &Defaults) -> (Self, Vec<String>) {
        let chance = Chance { pod, seed: defaults.seed };
        let mut told = Told { pod, domain: &defaults.domain, chance, problems: Vec::new() };
        let command = Command::of(pod);
        let usual = || defaults.run_for.map(|span| chance.time("run-for", span));
        let run_for = match told.text("run-for") {
            Some("forever") => None,
            Some(_) => told.time("run-for").or_else(usual),
            None => match command.sleeps {
                Some(sleeps) => sleeps,
                None if pod.spec.restart_policy == "Always" => None,
                None => usual(),
            },
        };
        let never_ready = told.text("never-ready").is_some_and(|text| text != "false");
        let start_after = told.time("start-after");
        let start_after = start_after.unwrap_or_else(|| chance.time("start-after", defaults.start_after));
        let behaviour = Self {
            start_after: (!never_ready).then_some(start_after),
            ready_after: told.time("ready-after").unwrap_or_default(),
            run_for,
            exit_code: told.exit_code(command.exit_code, defaults.fail_rate),
            stop_after: told.time("stop-after").unwrap_or_default(),
            can_pull: told.text("image-pull") != Some("fails"),
        };
        (behaviour, told.problems)
    }
}

/// Reads annotations.
struct Told<'a> {
    pod: &'a Pod,
    domain: &'a str,
    chance: Chance<'a>,
    problems: Vec<String>,
}

impl<'a> Told<'a> {
    fn text(&self, name: &str) -> Option<&'a str> {
        self.pod.metadata.annotations.get(&format!("{}/{name}", self.domain)).map(String::as_str)
    }

    fn parsed<T: FromStr<Err = String>>(&mut self, name: &str) -> Option<T> {
        match self.text(name)?.parse() {
            Ok(value) => Some(value),
            Err(problem) => {
                self.problems.push(format!("{}/{name}: {problem}", self.domain));
                None
            }
        }
    }

    fn time(&mut self, name: &str) -> Option<Duration> {
        self.parsed(name).map(|span| self.chance.time(name, span))
    }

    /// The annotation, else the command, says with which code it ends; a share of failures says whether it does so.
    fn exit_code(&mut self, of_command: i32, usual: Share) -> i32 {
        let code = self.parsed("exit-code").map(|ExitCode(code)| code);
        let share = self.parsed("fail-rate").or_else(|| (code.is_none() && of_command == 0).then_some(usual));
        let code = code.unwrap_or(of_command);
        match share {
            None => code,
            Some(share) if self.chance.hits(share) => {
                if code == 0 {
                    1
                } else {
                    code
                }
            }
            Some(_) => 0,
        }
    }
}

struct ExitCode(i32);

impl FromStr for ExitCode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let code = text.parse().ok().filter(|code| (0..=255).contains(code));
        code.map(Self).ok_or_else(|| format!("{text:?} is not a number from 0 to 255"))
    }
}

/// What is left to chance about one pod.
#[derive(Clone, Copy)]
struct Chance<'a> {
    pod: &'a Pod,
    seed: u64,
}

impl Chance<'_> {
    /// A number below 1000, the same for the same question.
    fn thousandths(self, about: &str, attempt: i32) -> u32 {
        let mut hasher = DefaultHasher::new();
        (self.seed, &self.pod.metadata.namespace, &self.pod.metadata.name, about, attempt).hash(&mut hasher);
        u32::try_from(hasher.finish() % 1000).unwrap_or(0)
    }

    fn time(self, about: &str, span: Span) -> Duration {
        let Span { shortest, longest } = span;
        shortest + (longest - shortest) * self.thousandths(about, 0) / 1000
    }

    /// Whether this attempt is among those; a container that is restarted has another chance.
    fn hits(self, share: Share) -> bool {
        let restarts = self.pod.status.container_statuses.first().map_or(0, |first| first.restart_count);
        self.thousandths("fail-rate", restarts) < share.0
    }
}

/// What the first container runs.
#[derive(Default)]
struct Command {
    /// For how long it sleeps, for ever without; missing where it does not say.
    sleeps: Option<Option<Duration>>,
    exit_code: i32,
}

impl Command {
    fn of(pod: &Pod) -> Self {
        let Some(container) = pod.spec.containers.first() else { return Self::default() };
        let words = words(container);
        let image = container.rest.get("image").and_then(Value::as_str).unwrap_or_default();
        let image = image.rsplit('/').next().unwrap_or_default();
        let image = image.split([':', '@']).next().unwrap_or_default();
        let after = |name: &str| words.iter().position(|word| word == name).and_then(|at| words.get(at + 1));
        let sleeps = match (image, after("sleep")) {
            (_, Some(time)) => Some(sleep(time)),
            ("sleep", None) => words.first().map(|time| sleep(time)),
            ("pause", None) => Some(None),
            _ => words.iter().any(|word| word == "pause").then_some(None),
        };
        Self { sleeps, exit_code: after("exit").and_then(|code| code.parse().ok()).unwrap_or(0) }
    }
}

/// Command and arguments, split as a shell would.
fn words(container: &Container) -> Vec<String> {
    let lists = ["command", "args"].into_iter().filter_map(|key| container.rest.get(key)?.as_array());
    let texts = lists.flatten().filter_map(Value::as_str);
    let split = |text: &str| -> Vec<String> {
        let words = text.split(|c: char| c.is_whitespace() || ";&|()".contains(c));
        words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
    };
    texts.flat_map(split).map(|word| word.rsplit('/').next().unwrap_or_default().to_owned()).collect()
}

/// What is not a time sleeps for ever, as `infinity` does.
fn sleep(text: &str) -> Option<Duration> {
    duration(text).or_else(|| Duration::try_from_secs_f64(text.parse().ok()?).ok())
}

fn duration(text: &str) -> Option<Duration> {
    let nanos = text.parse::<GoDuration>().ok()?.nanos();
    u64::try_from(nanos).ok().map(Duration::from_nanos)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn behaviour(annotations: Value, policy: &str, container: &Value) -> (Behaviour, Vec<String>) {
        let mut pod: Pod = serde_json::from_value(json!({"metadata": {"name": "p"}, "spec": {
            "restartPolicy": policy, "containers": [container]}}))
        .unwrap();
        pod.metadata.annotations = serde_json::from_value(annotations).unwrap();
        Behaviour::of(&pod, &Defaults { domain: "d".to_owned(), ..Defaults::default() })
    }

    #[test]
    fn commands_say_how_long_and_how_well_they_run() {
        let seconds = |count: f64| Some(Some(Duration::from_secs_f64(count)));
        for (container, runs, code) in [
            (json!({"command": ["sleep", "3"]}), seconds(3.0), 0),
            (json!({"command": ["/bin/sleep", "0.5"]}), seconds(0.5), 0),
            (json!({"command": ["sh", "-c"], "args": ["echo hi; sleep 2m; exit 4"]}), seconds(120.0), 4),
            (json!({"image": "example.com/tests/sleep:v1", "args": ["30s"]}), seconds(30.0), 0),
            (json!({"image": "example.com/agnhost:2", "args": ["pause"]}), Some(None), 0),
            (json!({"image": "example.com/pause@sha256:0"}), Some(None), 0),
            (json!({"command": ["sleep", "infinity"]}), Some(None), 0),
            (json!({"image": "x"}), None, 0),
        ] {
            let (told, problems) = behaviour(json!({}), "Never", &container);
            assert_eq!(told.exit_code, code, "{container}");
            match runs {
                Some(runs) => assert_eq!(told.run_for, runs, "{container}"),
                None => assert!(told.run_for.is_some_and(|time| (10..=30).contains(&time.as_secs())), "{container}"),
            }
            assert!(problems.is_empty());
        }
        assert_eq!(behaviour(json!({}), "Always", &json!({})).0.run_for, None);
    }

    #[test]
    fn annotations_win() {
        let (told, problems) = behaviour(
            json!({"d/run-for": "1h", "d/exit-code": "9", "d/start-after": "0s", "d/image-pull": "fails", "e/run-for": "1s"}),
            "Never",
            &json!({"command": ["sleep", "3"]}),
        );
        assert_eq!((told.run_for, told.exit_code), (Some(Duration::from_secs(3600)), 9));
        assert_eq!((told.start_after, told.can_pull), (Some(Duration::ZERO), false));
        assert!(problems.is_empty());
        assert_eq!(behaviour(json!({"d/run-for": "forever"}), "Never", &json!({})).0.run_for, None);
        assert_eq!(behaviour(json!({"d/never-ready": "true"}), "Never", &json!({})).0.start_after, None);
    }

    #[test]
    fn times_between_two_and_shares_of_failures_are_drawn_by_name() {
        let of = |name: &str, annotations: Value, restarts: i32| {
            let mut pod: Pod = serde_json::from_value(json!({"metadata": {"name": name}, "spec": {
                "restartPolicy": "Never", "containers": [{}]}, "status": {"containerStatuses": [{"restartCount": restarts}]}}))
            .unwrap();
            pod.metadata.annotations = serde_json::from_value(annotations).unwrap();
            Behaviour::of(&pod, &Defaults { domain: "d".to_owned(), ..Defaults::default() }).0
        };
        let names: Vec<String> = (0..1000).map(|number| format!("p{number}")).collect();
        let times: Vec<Duration> =
            names.iter().filter_map(|name| of(name, json!({"d/run-for": "10s-20s"}), 0).run_for).collect();
        assert!(times.iter().all(|time| (10.0..20.0).contains(&time.as_secs_f64())));
        let long = times.iter().filter(|time| time.as_secs() >= 15).count();
        assert!((400..600).contains(&long), "{long}");
        assert_eq!(of("p1", json!({"d/run-for": "10s-20s"}), 0).run_for, Some(times[1]), "the same every time");

        let codes: Vec<i32> =
            names.iter().map(|name| of(name, json!({"d/fail-rate": "20%", "d/exit-code": "7"}), 0).exit_code).collect();
        assert!(codes.iter().all(|code| [0, 7].contains(code)));
        let failed = codes.iter().filter(|code| **code == 7).count();
        assert!((150..250).contains(&failed), "{failed}");
        let unlucky = &names[codes.iter().position(|code| *code == 7).unwrap()];
        let again = (1..30).map(|restarts| of(unlucky, json!({"d/fail-rate": "20%"}), restarts).exit_code);
        assert!(again.clone().any(|code| code == 0) && again.into_iter().any(|code| code == 1), "another chance each");
    }

    #[test]
    fn annotations_that_make_no_sense_are_named() {
        let (_, problems) = behaviour(json!({"d/run-for": "soon", "d/exit-code": "-1"}), "Never", &json!({}));
        assert_eq!(
            problems,
            [
                "d/run-for: \"soon\" is not a time such as 1m30s, nor two as in 10s-30s",
                "d/exit-code: \"-1\" is not a number from 0 to 255"
            ]
        );
    }
}
