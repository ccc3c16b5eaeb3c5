//! Which faults there are, and which requests they are for.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use http::Method;

use super::request::Head;

/// The longest delay of a request.
pub const DELAY_MAX: Duration = Duration::from_secs(2);
/// The longest time that an event of a watch is late.
pub const LAG_MAX: Duration = Duration::from_millis(500);
pub const EVENTS_BEFORE_CUT_MAX: f64 = 20.0;
pub const SHORT_PAGE_MAX: f64 = 10.0;

/// Something that goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// The request waits before it is looked at.
    Delay,
    /// 409, as if somebody else had been faster.
    Conflict,
    /// 410: the version or page is no longer known.
    Expired,
    /// 429 with `Retry-After`.
    TooManyRequests,
    /// 500.
    Internal,
    /// 503.
    Unavailable,
    /// 504, and nothing was done.
    TimeoutBefore,
    /// 504, and it was done all the same.
    TimeoutAfter,
    /// The connection breaks before the request is looked at.
    LostBefore,
    /// The connection breaks before the answer is sent; what was asked for is done.
    LostAfter,
    /// Pages of lists are shorter than asked for.
    ShortPages,
    /// A watch ends after a few events.
    WatchCut,
    /// The events of a watch are late.
    WatchLag,
    /// A watch gets no bookmarks, but for the one that ends its first events.
    NoBookmarks,
    /// Neighbouring events of different objects change places.
    Reorder,
}

/// Every fault with the name it is asked for by.
pub const ALL: [(Fault, &str); 15] = [
    (Fault::Delay, "delay"),
    (Fault::Conflict, "conflict"),
    (Fault::Expired, "expired"),
    (Fault::TooManyRequests, "too-many-requests"),
    (Fault::Internal, "internal"),
    (Fault::Unavailable, "unavailable"),
    (Fault::TimeoutBefore, "timeout-before"),
    (Fault::TimeoutAfter, "timeout-after"),
    (Fault::LostBefore, "lost-before"),
    (Fault::LostAfter, "lost-after"),
    (Fault::ShortPages, "short-pages"),
    (Fault::WatchCut, "watch-cut"),
    (Fault::WatchLag, "watch-lag"),
    (Fault::NoBookmarks, "no-bookmarks"),
    (Fault::Reorder, "reorder"),
];

/// A fault, how often it strikes, and whom.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    pub fault: Fault,
    /// Between 0 (never) and 1 (always).
    pub rate: f64,
    pub only: Filter,
}

/// Which requests a rule is for; nothing in it means all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Part of the `User-Agent`.
    pub agent: String,
    /// Part of the path.
    pub path: String,
}

impl Filter {
    pub fn fits(&self, head: &Head) -> bool {
        head.agent.contains(&self.agent) && head.path.contains(&self.path)
    }
}

impl Rule {
    /// For every request.
    pub fn new(fault: Fault, rate: f64) -> Self {
        Self { fault, rate, only: Filter::default() }
    }

    /// Every fault there is, at the same rate.
    pub fn all(rate: f64) -> Vec<Self> {
        ALL.iter().map(|(fault, _)| Self::new(*fault, rate)).collect()
    }
}

impl Fault {
    /// Whether a real server could fail like this.
    pub fn fits(self, head: &Head) -> bool {
        let is_write = head.method != Method::GET;
        match self {
            Fault::Conflict => matches!(head.method, Method::PUT | Method::PATCH),
            Fault::Expired => head.is_watch && head.has("resourceVersion") || head.has("continue"),
            Fault::ShortPages => !head.is_watch && head.has("limit"),
            Fault::WatchCut | Fault::WatchLag | Fault::NoBookmarks | Fault::Reorder => head.is_watch,
            Fault::TimeoutBefore | Fault::TimeoutAfter => is_write,
            Fault::LostAfter => !head.is_watch,
            _ => true,
        }
    }
}

/// Why a rule cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub struct ParseRuleError(String);

impl fmt::Display for ParseRuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ParseRuleError {}

impl FromStr for Rule {
    type Err = ParseRuleError;

    /// `FAULT=RATE`, then `@AGENT` and `/PATH` if it is for some requests only.
    fn from_str(text: &str) -> Result<Self, ParseRuleError> {
        let wrong = |why: String| ParseRuleError(format!("{text:?} is no fault: {why}"));
        let (name, rest) =
            text.split_once('=').ok_or_else(|| wrong("write it as FAULT=RATE[@AGENT][/PATH]".to_owned()))?;
        let known = || ALL.map(|(_, name)| name).join(", ");
        let (fault, _) = ALL
            .iter()
            .find(|(_, known)| *known == name)
            .ok_or_else(|| wrong(format!("{name:?} is not known; there are {}", known())))?;
        let (rest, path) = match rest.find('/') {
            Some(place) => rest.split_at(place),
            None => (rest, ""),
        };
        let (rate, agent) = rest.split_once('@').unwrap_or((rest, ""));
        let rate = rate.parse::<f64>().ok().filter(|rate| (0.0..=1.0).contains(rate));
        let rate = rate.ok_or_else(|| wrong("the rate must be between 0 and 1".to_owned()))?;
        Ok(Self { fault: *fault, rate, only: Filter { agent: agent.to_owned(), path: path.to_owned() } })
    }
}
