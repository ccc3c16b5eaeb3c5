//! Something to look at: two teams with a queue each, and a stream of jobs that never quite fits.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::Duration;

use anyhow::{Context as _, Result};
use kueue_runtime::clock::Clock;
use kueue_runtime::watch;
use serde_json::{Value, json};
use tracing::warn;

use crate::install::apply;

const TEAMS: &str = include_str!("../../../examples/two-teams.yaml");
/// How often somebody submits a job.
const EVERY: Duration = Duration::from_secs(4);
/// For how many jobs in a row one team is the busy one.
const WAVE: u64 = 15;
/// How long a job stays after its end.
const KEPT_SECONDS: u32 = 90;

/// Sets up the teams when there is a manager, and submits jobs for ever; the same seed submits the same ones.
pub(crate) async fn run(client: kube::Client, clock: Clock, seed: u64, mut has_manager: watch::Receiver<bool>) {
    // Without a world there is no manager either, and all of this ends.
    drop(has_manager.wait_for(|has_manager| *has_manager).await);
    if let Err(error) = prepare(&client).await {
        warn!("the demo cannot be set up: {error:#}");
        return;
    }
    for number in 0_u64.. {
        if let Err(error) = apply(&client, &job(seed, number)).await {
            warn!("the demo cannot submit a job: {error:#}");
        }
        tokio::time::sleep(clock.wait(EVERY)).await;
    }
}

async fn prepare(client: &kube::Client) -> Result<()> {
    let objects: Vec<Value> = serde_saphyr::from_multiple(TEAMS).context("examples/two-teams.yaml")?;
    for object in &objects {
        apply(client, object).await?;
    }
    Ok(())
}

fn job(seed: u64, number: u64) -> Value {
    let draw = |what: &str, below: u64| {
        let mut hasher = DefaultHasher::new();
        (seed, number, what).hash(&mut hasher);
        hasher.finish() % below
    };
    // Three of four jobs are of the team whose turn it is, so that it has to borrow.
    let is_busy_teams = draw("team", 4) > 0;
    let team = if (number / WAVE).is_multiple_of(2) == is_busy_teams { "team-a" } else { "team-b" };
    let (pods, seconds) = (1 + draw("pods", 5), 10 + draw("time", 30));
    let mut labels = json!({"kueue.x-k8s.io/queue-name": "jobs"});
    if draw("urgent", 10) == 0 {
        labels["kueue.x-k8s.io/priority-class"] = json!("urgent");
    }
    json!({
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"name": format!("demo-{number}"), "namespace": team, "labels": labels},
        "spec": {
            "parallelism": pods, "completions": pods, "suspend": true, "ttlSecondsAfterFinished": KEPT_SECONDS,
            "template": {"spec": {"restartPolicy": "Never", "containers": [{
                "name": "work", "image": "example.com/work:1", "command": ["sleep", seconds.to_string()],
                "resources": {"requests": {"cpu": "1"}},
            }]}},
        },
    })
}
