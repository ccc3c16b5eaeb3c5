//! What goes wrong with a request: as its parameters say, or drawn from a seed.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::Duration;

use jiff::SignedDuration;
use kueue_api::autoscaling::ProvisioningRequest;
use kueue_core::duration::Duration as GoDuration;
use kueue_core::time::Time;

/// The longest that a trouble lasts which nobody chose.
const LONGEST: Duration = Duration::from_secs(60);
/// How long capacity that flaps is there, and how long it is not.
pub(super) const FLAP: Duration = Duration::from_secs(5);

/// An autoscaler with a will of its own: of a hundred requests, so many meet each trouble. Which ones, and how badly,
/// depends on the seed and on their names alone. What a request asks for by its parameters wins.
#[derive(Clone, Debug, Default)]
pub struct Temper {
    pub seed: u64,
    /// Nobody answers for a while.
    pub silent: u8,
    /// No machine is to be had for a while.
    pub sold_out: u8,
    /// The attempt fails.
    pub failing: u8,
    /// What is provisioned is so no more, and then again.
    pub flapping: u8,
    /// Machines come later than told, or what does not fit is told to fit.
    pub lying: u8,
    /// The booking expires.
    pub expiring: u8,
    /// The capacity is taken back, which ends the workload.
    pub revoking: u8,
    /// It is dead again and again: so often, and so long each time.
    pub dead: Option<(Duration, Duration)>,
    /// From then on it does only what it should, to requests that come later.
    pub until: Option<Time>,
}

impl Temper {
    /// How long the autoscaler is still dead.
    pub(super) fn dead_for(&self, now: Time) -> Option<Duration> {
        let (every, long) = self.dead.filter(|(every, _)| !every.is_zero() && !self.is_over(now))?;
        let second = u64::try_from(now.timestamp().as_second()).unwrap_or(0);
        let into = Duration::from_secs(second % every.as_secs().max(1));
        // The period ends with its death, so that every world begins alive.
        let alive = every.saturating_sub(long);
        (into >= alive).then(|| every.saturating_sub(into))
    }

    fn is_over(&self, at: Time) -> bool {
        self.until.is_some_and(|until| at >= until)
    }
}

/// For how long something is so.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Span {
    For(Duration),
    Forever,
}

impl Span {
    fn parse(text: &str) -> Option<Self> {
        match text {
            "forever" => Some(Self::Forever),
            _ => duration(text).map(Self::For),
        }
    }

    /// How much is left of it: nothing when it is over.
    pub(super) fn left(self, begin: Time, now: Time) -> Option<Self> {
        match self {
            Self::Forever => Some(self),
            Self::For(time) => Some(remaining(time, begin, now)).filter(|left| !left.is_zero()).map(Self::For),
        }
    }

    /// When to look again.
    pub(super) fn end(self) -> Option<Duration> {
        match self {
            Self::For(time) => Some(time),
            Self::Forever => None,
        }
    }
}

/// What happens to one request.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Fate {
    pub(super) silent: Option<Span>,
    pub(super) stock_out: Option<Span>,
    /// So many attempts fail before one does not.
    pub(super) failures: u32,
    pub(super) flaps: Option<Duration>,
    /// The machines are told to be there so long before they are.
    pub(super) lie: Option<Span>,
    pub(super) expires: Option<Duration>,
    pub(super) revoked: Option<Duration>,
}

impl Fate {
    pub(super) fn of(request: &ProvisioningRequest, temper: &Temper) -> Self {
        let told = |key: &str| request.spec.parameters.get(key).map(String::as_str);
        let span = |key: &str, percent: u8| {
            told(key).and_then(Span::parse).or(drawn(request, temper, key, percent).map(Span::For))
        };
        let time = |key: &str, percent: u8| told(key).and_then(duration).or(drawn(request, temper, key, percent));
        let fails = || u32::from(drawn(request, temper, "failures", temper.failing).is_some()) * attempt(request);
        Self {
            silent: span("silent-for", temper.silent),
            stock_out: span("stock-out", temper.sold_out),
            failures: told("failures").and_then(|text| text.parse().ok()).unwrap_or_else(fails),
            flaps: time("flaps-for", temper.flapping),
            lie: span("machines-after", temper.lying),
            expires: time("booking-expires-after", temper.expiring),
            revoked: time("revoked-after", temper.revoking),
        }
    }

    pub(super) fn is_failing(&self, request: &ProvisioningRequest) -> bool {
        attempt(request) <= self.failures
    }

    /// How long capacity is away that flaps, if it is.
    pub(super) fn away(&self, request: &ProvisioningRequest, now: Time) -> Option<Duration> {
        let passed = self.flapping(request, now)?;
        let (turn, into) = (passed.as_nanos() / FLAP.as_nanos(), passed.as_nanos() % FLAP.as_nanos());
        let left = FLAP.saturating_sub(Duration::from_nanos(u64::try_from(into).unwrap_or(0)));
        (turn % 2 == 1).then_some(left)
    }

    /// When capacity goes away again that flaps.
    pub(super) fn goes(&self, request: &ProvisioningRequest, now: Time) -> Option<Duration> {
        self.flapping(request, now).map(|_| FLAP)
    }

    fn flapping(&self, request: &ProvisioningRequest, now: Time) -> Option<Duration> {
        let begin = request.metadata.creation_timestamp;
        let passed = Duration::try_from(now.timestamp().duration_since(begin.timestamp())).unwrap_or_default();
        self.flaps.filter(|time| passed < *time).map(|_| passed)
    }
}

/// How long a trouble lasts that the request meets by chance.
fn drawn(request: &ProvisioningRequest, temper: &Temper, trouble: &str, percent: u8) -> Option<Duration> {
    let mut hasher = DefaultHasher::new();
    (temper.seed, trouble, &request.metadata.namespace, &request.metadata.name).hash(&mut hasher);
    let number = hasher.finish();
    let seconds = (number / 100) % LONGEST.as_secs() + 1;
    let is_hit = number % 100 < u64::from(percent) && !temper.is_over(request.metadata.creation_timestamp);
    is_hit.then(|| Duration::from_secs(seconds))
}

pub(super) fn remaining(time: Duration, begin: Time, now: Time) -> Duration {
    let passed = now.timestamp().duration_since(begin.timestamp());
    let time = SignedDuration::try_from(time).unwrap_or(SignedDuration::MAX);
    Duration::try_from(time.saturating_sub(passed)).unwrap_or_default()
}

fn duration(text: &str) -> Option<Duration> {
    let nanos = text.parse::<GoDuration>().ok()?.nanos();
    u64::try_from(nanos).ok().map(Duration::from_nanos)
}

/// Requests of one workload end in their number.
fn attempt(request: &ProvisioningRequest) -> u32 {
    request.metadata.name.rsplit('-').next().and_then(|number| number.parse().ok()).unwrap_or(1)
}
