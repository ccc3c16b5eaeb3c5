//! Whether somebody may read something: the API server knows who they are and what they may.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use http::{HeaderMap, StatusCode, header};
use kueue_runtime::client::{Client, Failure};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::Instant;
use tracing::warn;

/// How long an answer of the API server is believed.
const BELIEVE_YES: Duration = Duration::from_secs(60);
const BELIEVE_NO: Duration = Duration::from_secs(30);
/// More questions than anybody has; beyond that all are asked anew.
const MOST_REMEMBERED: usize = 1000;

const TOKEN_REVIEWS: &str = "/apis/authentication.k8s.io/v1/tokenreviews";
const ACCESS_REVIEWS: &str = "/apis/authorization.k8s.io/v1/subjectaccessreviews";

/// What is answered to those who may not.
pub(super) type Refusal = (StatusCode, &'static str);

type Verdict = Result<(), Refusal>;

/// Somebody, as the API server knows them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct User {
    pub(super) username: String,
    pub(super) uid: String,
    pub(super) groups: Vec<String>,
    pub(super) extra: BTreeMap<String, Vec<String>>,
}

/// Who asks.
#[derive(Clone, Debug)]
pub(super) enum Caller {
    /// Whoever has this token.
    Bearer(String),
    /// The API server said who it is.
    Known(User),
}

impl Caller {
    /// Whoever sent these headers, if they say who they are.
    pub(super) fn bearer(headers: &HeaderMap) -> Option<Self> {
        let token = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
        token.filter(|token| !token.is_empty()).map(|token| Self::Bearer(token.to_owned()))
    }
}

/// What somebody wants to get.
#[derive(Clone, Debug)]
pub(super) enum Wanted<'a> {
    Path(&'a str),
    Resource { group: &'a str, version: &'a str, resource: &'a str, part: &'a str, namespace: &'a str, name: &'a str },
}

impl Wanted<'_> {
    /// As a field of a SubjectAccessReview.
    fn attributes(&self) -> (&'static str, Value) {
        match self {
            Self::Path(path) => ("nonResourceAttributes", json!({"path": path, "verb": "get"})),
            Self::Resource { group, version, resource, part, namespace, name } => (
                "resourceAttributes",
                json!({"group": group, "version": version, "resource": resource, "subresource": part,
                    "namespace": namespace, "name": name, "verb": "get"}),
            ),
        }
    }
}

/// Asks the API server, and remembers for a while.
pub(super) struct Access {
    client: Client,
    remembered: Mutex<HashMap<String, (Verdict, Instant)>>,
}

impl Access {
    pub(super) fn new(client: Client) -> Self {
        Self { client, remembered: Mutex::default() }
    }

    /// Whether somebody may get this. Who does not say who they are may get nothing.
    pub(super) async fn check(&self, caller: Option<&Caller>, wanted: &Wanted<'_>) -> Verdict {
        let Some(caller) = caller else { return Err((StatusCode::UNAUTHORIZED, "Unauthorized")) };
        let question = format!("{caller:?} {wanted:?}");
        if let Some(known) = self.recall(&question) {
            return known;
        }
        match self.ask(caller, wanted).await {
            Ok(verdict) => {
                self.remember(question, verdict);
                verdict
            }
            Err(failure) => {
                warn!(error = %failure, "cannot ask whether somebody may read {wanted:?}");
                Err((StatusCode::INTERNAL_SERVER_ERROR, "Authentication failed"))
            }
        }
    }

    fn recall(&self, question: &str) -> Option<Verdict> {
        let remembered = self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        remembered.get(question).filter(|(_, until)| *until > Instant::now()).map(|(verdict, _)| *verdict)
    }

    fn remember(&self, question: String, verdict: Verdict) {
        let mut remembered = self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        if remembered.len() >= MOST_REMEMBERED {
            remembered.clear();
        }
        let believed_for = if verdict.is_ok() { BELIEVE_YES } else { BELIEVE_NO };
        remembered.insert(question, (verdict, Instant::now() + believed_for));
    }

    async fn ask(&self, caller: &Caller, wanted: &Wanted<'_>) -> Result<Verdict, Failure> {
        let user = match caller {
            Caller::Known(user) => user.clone(),
            Caller::Bearer(token) => match self.owner(token).await? {
                Some(user) => user,
                None => return Ok(Err((StatusCode::UNAUTHORIZED, "Unauthorized"))),
            },
        };
        let mut spec = json!({"user": user.username, "uid": user.uid, "groups": user.groups, "extra": user.extra});
        let (field, attributes) = wanted.attributes();
        spec[field] = attributes;
        let review = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec});
        let review: Value = self.client.post(ACCESS_REVIEWS, &review).await?;
        match review["status"]["allowed"] == true {
            true => Ok(Ok(())),
            false => Ok(Err((StatusCode::FORBIDDEN, "Authorization denied"))),
        }
    }

    /// Whose token it is.
    async fn owner(&self, token: &str) -> Result<Option<User>, Failure> {
        let review = json!({
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}});
        let mut review: Value = self.client.post(TOKEN_REVIEWS, &review).await?;
        if review["status"]["authenticated"] != true {
            return Ok(None);
        }
        let user = serde_json::from_value(review["status"]["user"].take());
        user.map(Some).map_err(|error| Failure::Unreadable(error.to_string()))
    }
}
