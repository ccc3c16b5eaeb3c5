//! What a pod does once it runs: nobody starts a process here, so its manifest has to tell.
//!
//! | told by | example | the pod |
//! |---|---|---|
//! | annotation `run-for` | `90s` | ends after that time; `forever` never |
//! | annotation `exit-code` | `3` | ends with that code |
//! | annotation `start-after` | `2s` | takes that long to start |
//! | annotation `ready-after` | `5s` | is ready that long after its start |
//! | annotation `stop-after` | `10s` | takes that long to end when it is deleted |
//! | annotation `never-ready` | `true` | never leaves `Pending` |
//! | annotation `image-pull` | `fails` | has an image that cannot be pulled |
//! | its command or arguments | `sleep 30; exit 1` | sleeps that long, ends with that code |
//! | an image named `sleep` | arguments `["30s"]` | sleeps that long |
//! | an image or argument named `pause` | | never ends |
//! | `restartPolicy: Always` and nothing else | | never ends |
//! | nothing | | runs for a time drawn from the seed and its name, and ends well |

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
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
    pub start_after: Duration,
    /// The shortest and the longest time that pods run; for ever without.
    pub run_for: Option<(Duration, Duration)>,
    /// The address of every pod; each has its own without.
    pub pod_address: Option<String>,
}

impl Default for Defaults {
    fn default() -> Self {
        Self {
            domain: "world.kueue.x-k8s.io".to_owned(),
            seed: 1,
            start_after: Duration::from_secs(1),
            run_for: Some((Duration::from_secs(10), Duration::from_secs(30))),
            pod_address: None,
        }
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
        let mut told = Told { pod, domain: &defaults.domain, problems: Vec::new() };
        let command = Command::of(pod);
        let run_for = match told.text("run-for") {
            Some("forever") => None,
            Some(_) => told.duration("run-for").or_else(|| drawn(pod, defaults)),
            None => match command.sleeps {
                Some(sleeps) => sleeps,
                None if pod.spec.restart_policy == "Always" => None,
                None => drawn(pod, defaults),
            },
        };
        let never_ready = told.text("never-ready").is_some_and(|text| text != "false");
        let start_after = told.duration("start-after").unwrap_or(defaults.start_after);
        let behaviour = Self {
            start_after: (!never_ready).then_some(start_after),
            ready_after: told.duration("ready-after").unwrap_or_default(),
            run_for,
            exit_code: told.exit_code().unwrap_or(command.exit_code),
            stop_after: told.duration("stop-after").unwrap_or_default(),
            can_pull: told.text("image-pull") != Some("fails"),
        };
        (behaviour, told.problems)
    }
}

/// Reads annotations.
struct Told<'a> {
    pod: &'a Pod,
    domain: &'a str,
    problems: Vec<String>,
}

impl<'a> Told<'a> {
    fn text(&self, name: &str) -> Option<&'a str> {
        self.pod.metadata.annotations.get(&format!("{}/{name}", self.domain)).map(String::as_str)
    }

    fn duration(&mut self, name: &str) -> Option<Duration> {
        let text = self.text(name)?;
        let duration = duration(text);
        if duration.is_none() {
            self.problems.push(format!("{}/{name}: {text:?} is not a duration such as 1m30s", self.domain));
        }
        duration
    }

    fn exit_code(&mut self) -> Option<i32> {
        let text = self.text("exit-code")?;
        let code = text.parse().ok().filter(|code| (0..=255).contains(code));
        if code.is_none() {
            self.problems.push(format!("{}/exit-code: {text:?} is not a number from 0 to 255", self.domain));
        }
        code
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

/// A time between the shortest and the longest, the same for the same seed and name.
fn drawn(pod: &Pod, defaults: &Defaults) -> Option<Duration> {
    let (shortest, longest) = defaults.run_for?;
    let mut hasher = DefaultHasher::new();
    (defaults.seed, &pod.metadata.namespace, &pod.metadata.name).hash(&mut hasher);
    let span = longest.saturating_sub(shortest);
    let thousandths = u32::try_from(hasher.finish() % 1000).unwrap_or(0);
    Some(shortest + span * thousandths / 1000)
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
    fn annotations_that_make_no_sense_are_named() {
        let (_, problems) = behaviour(json!({"d/run-for": "soon", "d/exit-code": "-1"}), "Never", &json!({}));
        assert_eq!(
            problems,
            [
                "d/run-for: \"soon\" is not a duration such as 1m30s",
                "d/exit-code: \"-1\" is not a number from 0 to 255"
            ]
        );
    }
}
