//! How many requests were sent, by verb and kind, as the API server counts them.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use kueue_testbed::Plane;
use kueue_testbed::http::Request as Ask;
use serde::Serialize;

const COUNTER: &str = "apiserver_request_total{";
/// The groups whose requests are shown kind by kind; what the API server asks of itself is in others.
const GROUPS: [&str; 2] = ["kueue.x-k8s.io", "events.k8s.io"];

/// A verb and what it is about, as in `APPLY workloads/status`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
pub struct Request {
    pub verb: String,
    pub resource: String,
}

impl Request {
    pub fn new(verb: &str, resource: &str) -> Self {
        Self { verb: verb.to_owned(), resource: resource.to_owned() }
    }

    /// Whether it changes an object that exists.
    pub fn is_change(&self) -> bool {
        ["APPLY", "PATCH", "PUT"].contains(&self.verb.as_str())
    }
}

/// Requests that succeeded and all others.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Answers {
    pub succeeded: u64,
    pub failed: u64,
}

/// Counts, or differences of counts.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Requests(pub BTreeMap<Request, Answers>);

impl Requests {
    /// All that the API server answered since it started.
    pub fn counted_by(plane: &Plane) -> Result<Self> {
        let answer = plane.send(&Ask::get("/metrics"))?;
        let text = answer.body.as_str().context("the API server shows no metrics")?;
        Ok(Self::parse(text))
    }

    fn parse(metrics: &str) -> Self {
        let mut requests = Self::default();
        for line in metrics.lines().filter_map(|line| line.strip_prefix(COUNTER)) {
            let Some((labels, count)) = line.rsplit_once("} ") else { continue };
            let label = |name: &str| {
                let mut labels = labels.split("\",");
                labels
                    .find_map(|label| label.strip_prefix(name)?.strip_prefix("=\""))
                    .map(|value| value.trim_end_matches('"'))
            };
            if !label("group").is_some_and(|group| GROUPS.contains(&group)) {
                continue;
            }
            let (resource, subresource) =
                (label("resource").unwrap_or_default(), label("subresource").unwrap_or_default());
            let resource =
                if subresource.is_empty() { resource.to_owned() } else { format!("{resource}/{subresource}") };
            let request = Request::new(label("verb").unwrap_or_default(), &resource);
            // Counts are floating point numbers on the wire.
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            let count = count.parse::<f64>().unwrap_or(0.0) as u64;
            let answers = requests.0.entry(request).or_default();
            match label("code").is_some_and(|code| code.starts_with('2')) {
                true => answers.succeeded += count,
                false => answers.failed += count,
            }
        }
        requests
    }

    /// What came since.
    pub fn since(mut self, before: &Self) -> Self {
        for (request, known) in &before.0 {
            if let Some(answers) = self.0.get_mut(request) {
                answers.succeeded = answers.succeeded.saturating_sub(known.succeeded);
                answers.failed = answers.failed.saturating_sub(known.failed);
            }
        }
        self.0.retain(|_, answers| *answers != Answers::default());
        self
    }

    pub fn add(&mut self, verb: &str, resource: &str, has_succeeded: bool) {
        let answers = self.0.entry(Request::new(verb, resource)).or_default();
        match has_succeeded {
            true => answers.succeeded += 1,
            false => answers.failed += 1,
        }
    }

    /// How many requests that change objects of this kind, or their status, succeeded.
    pub fn changes_of(&self, resource: &str) -> u64 {
        let is_of = |request: &Request| {
            request.is_change()
                && request.resource.strip_prefix(resource).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.0.iter().filter(|(request, _)| is_of(request)).map(|(_, answers)| answers.succeeded).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_from_the_metrics_of_the_api_server() {
        let text = r#"
# TYPE apiserver_request_total counter
apiserver_request_total{code="200",component="apiserver",dry_run="",group="kueue.x-k8s.io",resource="workloads",scope="resource",subresource="status",verb="APPLY",version="v1beta2"} 15
apiserver_request_total{code="409",component="apiserver",dry_run="",group="kueue.x-k8s.io",resource="workloads",scope="resource",subresource="status",verb="APPLY",version="v1beta2"} 2
apiserver_request_total{code="201",component="apiserver",dry_run="",group="kueue.x-k8s.io",resource="workloads",scope="resource",subresource="",verb="POST",version="v1beta2"} 1.5e+04
apiserver_request_total{code="200",component="apiserver",dry_run="",group="coordination.k8s.io",resource="leases",scope="resource",subresource="",verb="PUT",version="v1"} 9
"#;
        let requests = Requests::parse(text);
        let applies = requests.0[&Request::new("APPLY", "workloads/status")];
        assert_eq!((applies.succeeded, applies.failed), (15, 2));
        assert_eq!(requests.0[&Request::new("POST", "workloads")].succeeded, 15_000);
        assert_eq!((requests.0.len(), requests.changes_of("workloads")), (2, 15));
        let mut later = requests.clone();
        later.add("APPLY", "workloads/status", true);
        assert_eq!(later.since(&requests).changes_of("workloads"), 1);
    }
}
