//! Whether somebody may read something: the API server knows who they are and what they may.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use http::{HeaderMap, StatusCode, header};
use kueue_runtime::client::{Client, Failure};
use serde_json::{Value, json};
use tokio::time::Instant;
use tracing::warn;

/// How long an answer of the API server is believed.
const BELIEVE_YES: Duration = Duration::from_secs(60);
const BELIEVE_NO: Duration = Duration::from_secs(30);
/// More tokens than anybody has; beyond that all are asked about anew.
const MOST_REMEMBERED: usize = 1000;

const TOKEN_REVIEWS: &str = "/apis/authentication.k8s.io/v1/tokenreviews";
const ACCESS_REVIEWS: &str = "/apis/authorization.k8s.io/v1/subjectaccessreviews";

/// What is answered to those who may not.
pub(super) type Refusal = (StatusCode, &'static str);

type Verdict = Result<(), Refusal>;

/// Asks the API server, and remembers for a while.
pub(super) struct Access {
    client: Client,
    remembered: Mutex<HashMap<String, (Verdict, Instant)>>,
}

impl Access {
    pub(super) fn new(client: Client) -> Self {
        Self { client, remembered: Mutex::default() }
    }

    /// Whether whoever sent these headers may get this path.
    pub(super) async fn check(&self, headers: &HeaderMap, path: &str) -> Verdict {
        let token = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
        let Some(token) = token.filter(|token| !token.is_empty()) else {
            return Err((StatusCode::UNAUTHORIZED, "Unauthorized"));
        };
        if let Some(known) = self.recall(token) {
            return known;
        }
        match self.ask(token, path).await {
            Ok(verdict) => {
                self.remember(token, verdict);
                verdict
            }
            Err(failure) => {
                warn!(error = %failure, "cannot ask whether somebody may read {path}");
                Err((StatusCode::INTERNAL_SERVER_ERROR, "Authentication failed"))
            }
        }
    }

    fn recall(&self, token: &str) -> Option<Verdict> {
        let remembered = self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        remembered.get(token).filter(|(_, until)| *until > Instant::now()).map(|(verdict, _)| *verdict)
    }

    fn remember(&self, token: &str, verdict: Verdict) {
        let mut remembered = self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        if remembered.len() >= MOST_REMEMBERED {
            remembered.clear();
        }
        let believed_for = if verdict.is_ok() { BELIEVE_YES } else { BELIEVE_NO };
        remembered.insert(token.to_owned(), (verdict, Instant::now() + believed_for));
    }

    async fn ask(&self, token: &str, path: &str) -> Result<Verdict, Failure> {
        let review = json!({
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}});
        let review: Value = self.client.post(TOKEN_REVIEWS, &review).await?;
        if review["status"]["authenticated"] != true {
            return Ok(Err((StatusCode::UNAUTHORIZED, "Unauthorized")));
        }
        let user = &review["status"]["user"];
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
            "spec": {
                "user": user["username"], "uid": user["uid"], "groups": user["groups"], "extra": user["extra"],
                "nonResourceAttributes": {"path": path, "verb": "get"}}});
        let review: Value = self.client.post(ACCESS_REVIEWS, &review).await?;
        match review["status"]["allowed"] == true {
            true => Ok(Ok(())),
            false => Ok(Err((StatusCode::FORBIDDEN, "Authorization denied"))),
        }
    }
}
