//! Everything together: requests in, answers out.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use http::{Response, StatusCode, header};
use http_body_util::Full;
use kueue_api::meta::ObjectMeta;
use kueue_jobs::step::Settings;
use kueue_jobs::webhook::Around;
use kueue_runtime::server::Answer;
use serde::Deserialize as _;
use serde_json::Value;
use tracing::{debug, warn};

use crate::around::Surroundings;
use crate::conversion;
use crate::review::{Request, Review, Verdict};
use crate::rules::{Rule, rules};

const CONVERT: &str = "/convert";

/// Answers what the API server asks.
pub struct Webhooks<S> {
    rules: BTreeMap<String, Rule>,
    settings: Arc<Settings>,
    surroundings: S,
}

impl<S> std::fmt::Debug for Webhooks<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Webhooks").field("paths", &self.rules.len()).finish_non_exhaustive()
    }
}

impl<S: Surroundings> Webhooks<S> {
    /// For the frameworks that are enabled, by their names in the configuration.
    pub fn new<'n>(frameworks: impl IntoIterator<Item = &'n str>, settings: Arc<Settings>, surroundings: S) -> Self {
        Self { rules: rules(frameworks), settings, surroundings }
    }

    /// The answer to a body that was sent to a path.
    pub async fn answer(&self, path: &str, body: &[u8]) -> Answer {
        if path == CONVERT {
            return match conversion::answer(body, self.settings.gates) {
                Ok(answer) => json(&answer),
                Err(problem) => text(StatusCode::BAD_REQUEST, problem),
            };
        }
        let Some(rule) = self.rules.get(path) else { return text(StatusCode::NOT_FOUND, "404 page not found\n") };
        let review: Review = match serde_json::from_slice(body) {
            Ok(review) => review,
            Err(error) => {
                return text(StatusCode::BAD_REQUEST, format!("cannot read the AdmissionReview: {error}\n"));
            }
        };
        let verdict = self.judge(*rule, &review.request).await;
        debug!(path, namespace = review.request.namespace, ?verdict, "asked");
        json(&verdict.answer(&review.api_version, &review.request.uid))
    }

    async fn judge(&self, rule: Rule, request: &Request) -> Verdict {
        // Whoever may delete something needs no word of ours.
        if request.operation == "DELETE" {
            return Verdict::ALLOWED;
        }
        let verdict = match rule {
            Rule::LetThrough => Ok(Verdict::ALLOWED),
            Rule::Own(rule) => rule(request, self.settings.gates),
            Rule::Job(rule) => self.judge_job(rule, request).await,
        };
        verdict.unwrap_or_else(|verdict| verdict)
    }

    async fn judge_job(
        &self,
        rule: fn(&Request, &Around<'_>) -> Result<Verdict, Verdict>,
        request: &Request,
    ) -> Result<Verdict, Verdict> {
        let metadata = request.object.get("metadata").unwrap_or(&Value::Null);
        let mut metadata = ObjectMeta::deserialize(metadata)
            .map_err(|error| Verdict::unreadable(format!("cannot read the metadata: {error}")))?;
        // The object need not repeat what the path of the request says.
        metadata.namespace.clone_from(&request.namespace);
        let ancestor = self.surroundings.ancestor(&metadata, &self.settings).await;
        let ancestor = ancestor.map_err(|failure| {
            warn!(error = %failure, "cannot find the owner of a job");
            Verdict::denied(format!("cannot find the owner of the job: {failure}"))
        })?;
        let namespace = request.namespace.as_str();
        let around = Around {
            settings: &self.settings,
            namespace: self.surroundings.namespace(namespace),
            has_default_queue: self.surroundings.has_default_queue(namespace),
            has_default_priority_class: self.surroundings.has_default_priority_class(),
            ancestor,
            is_dispatched: &|queue| self.surroundings.is_dispatched(namespace, queue),
            workload: &|name| self.surroundings.workload(namespace, name),
        };
        rule(request, &around)
    }
}

fn json(value: &Value) -> Answer {
    let mut answer = Response::new(Full::from(value.to_string()));
    answer.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
    answer
}

fn text(code: StatusCode, text: impl Into<Bytes>) -> Answer {
    let mut answer = Response::new(Full::new(text.into()));
    *answer.status_mut() = code;
    answer
}
