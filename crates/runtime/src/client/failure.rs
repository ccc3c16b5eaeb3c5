//! Why a request did not do what it was sent for.

use std::ops::RangeInclusive;
use std::time::Duration;

use http::header::RETRY_AFTER;
use serde::Deserialize;

/// Waits between attempts grow no longer than this,
pub const LONGEST_WAIT: Duration = Duration::from_secs(1000);
/// or this, when nothing has to be changed for the next one to work.
const LONGEST_WAIT_FOR_SERVER: Duration = Duration::from_secs(30);

/// Why a request failed, and so what is left to do about it.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Failure {
    /// The server understood and said no.
    #[error("{message} ({code} {reason})")]
    Refused {
        /// The HTTP code.
        code: u16,
        /// In one word.
        reason: String,
        /// In a sentence.
        message: String,
        /// How long the server wants to be left alone.
        retry_after: Option<Duration>,
    },
    /// There was no answer, or it broke off. Whether the request was carried out is unknown.
    #[error("the API server cannot be reached: {0}")]
    Unreachable(String),
    /// The answer took too long. Whether the request was carried out is unknown.
    #[error("no answer from the API server within {} s", .0.as_secs())]
    TimedOut(Duration),
    /// Something that is needed does not exist (yet).
    #[error("{0}")]
    Missing(String),
    /// The answer is not what it should be.
    #[error("cannot read the answer of the API server: {0}")]
    Unreadable(String),
}

/// The parts of a `Status` object that say what is wrong.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Status {
    code: u16,
    reason: String,
    message: String,
    details: Option<Details>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Details {
    retry_after_seconds: u64,
}

impl Failure {
    pub(super) fn from_answer(parts: &http::response::Parts, body: &[u8]) -> Self {
        let header = parts.headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
        let mut status: Status = serde_json::from_slice(body).unwrap_or_default();
        status.code = parts.status.as_u16();
        if status.message.is_empty() {
            status.message = String::from_utf8_lossy(body).trim().to_owned();
        }
        Self::from_status(status, header)
    }

    /// What an `ERROR` event of a watch says.
    pub(super) fn from_event(object: &str) -> Self {
        Self::from_status(serde_json::from_str(object).unwrap_or_default(), None)
    }

    fn from_status(status: Status, retry_after_s: Option<u64>) -> Self {
        let told = status.details.map(|details| details.retry_after_seconds).filter(|seconds| *seconds > 0);
        let retry_after = retry_after_s.or(told).map(Duration::from_secs);
        Self::Refused { code: status.code, reason: status.reason, message: status.message, retry_after }
    }

    /// The code of the answer, if there was one.
    pub fn code(&self) -> Option<u16> {
        match self {
            Self::Refused { code, .. } => Some(*code),
            _ => None,
        }
    }

    /// Somebody else wrote in between, or the object exists already.
    pub fn is_conflict(&self) -> bool {
        self.code() == Some(409)
    }

    /// The object, or its kind, does not exist.
    pub fn is_not_found(&self) -> bool {
        self.code() == Some(404)
    }

    /// That version of the world is forgotten: a list is needed.
    pub fn is_gone(&self) -> bool {
        self.code() == Some(410)
    }

    /// The same request may succeed later without anybody changing anything.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Refused { code, .. } => *code == 429 || *code >= 500,
            Self::Unreachable(_) | Self::TimedOut(_) => true,
            Self::Missing(_) | Self::Unreadable(_) => false,
        }
    }

    /// Whether the request was carried out is unknown.
    pub fn leaves_doubt(&self) -> bool {
        match self {
            Self::Refused { code, .. } => *code >= 500,
            Self::Unreachable(_) | Self::TimedOut(_) | Self::Unreadable(_) => true,
            Self::Missing(_) => false,
        }
    }

    /// How long to wait at least, and at most, before the next attempt. What only the server's state prevents may work
    /// at any moment, so that waits do not grow without end while it is away.
    pub fn waits(&self) -> RangeInclusive<Duration> {
        let most = if self.is_transient() { LONGEST_WAIT_FOR_SERVER } else { LONGEST_WAIT };
        self.retry_after().unwrap_or_default()..=most
    }

    /// How long the server wants to be left alone.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Refused { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(code: u16, retry_after: Option<&str>, body: &str) -> Failure {
        let mut response = http::Response::builder().status(code);
        if let Some(text) = retry_after {
            response = response.header(RETRY_AFTER, text);
        }
        Failure::from_answer(&response.body(()).unwrap().into_parts().0, body.as_bytes())
    }

    #[test]
    fn answers_say_what_is_left_to_do() {
        let busy = answer(429, Some("7"), r#"{"reason": "TooManyRequests", "message": "busy"}"#);
        assert!(busy.is_transient());
        assert_eq!(busy.retry_after(), Some(Duration::from_secs(7)));
        assert_eq!(busy.to_string(), "busy (429 TooManyRequests)");
        let told = answer(503, None, r#"{"message": "later", "details": {"retryAfterSeconds": 2}}"#);
        assert_eq!(told.retry_after(), Some(Duration::from_secs(2)));
        assert!(answer(404, None, "{}").is_not_found());
        assert!(answer(409, None, "{}").is_conflict());
        assert!(answer(410, None, "{}").is_gone());
        let strange = answer(502, Some("Tue, 1 Jan"), "<html>bad gateway</html>\n");
        assert_eq!(strange.to_string(), "<html>bad gateway</html> (502 )");
        assert_eq!(strange.retry_after(), None);
    }

    #[test]
    fn waits_for_a_server_that_is_away_do_not_grow_without_end() {
        let seconds = |failure: Failure| (failure.waits().start().as_secs(), failure.waits().end().as_secs());
        assert_eq!(seconds(answer(429, Some("7"), "")), (7, 30));
        assert_eq!(seconds(Failure::Unreachable(String::new())), (0, 30));
        assert_eq!(seconds(answer(422, None, "")), (0, 1000));
    }

    #[test]
    fn what_the_server_judged_is_not_tried_again() {
        for code in [400, 401, 403, 404, 409, 410, 415, 422] {
            assert!(!answer(code, None, "").is_transient(), "{code}");
        }
        assert!(Failure::Unreachable(String::new()).is_transient());
        assert!(Failure::from_event(r#"{"code": 410, "reason": "Expired"}"#).is_gone());
    }
}
