//! Faults on demand: a layer around a server that makes it as unreliable as a network and a busy cluster can be.
//!
//! Whether a request meets a fault is drawn from the seed, the client, the method, the path and how often that client
//! asked for it before, so a run is the same again whatever other clients do meanwhile. Whatever goes wrong, what a
//! client is told of one object stays true and in order: answers may be lost, late or refused, never invented.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, RwLock};
use std::task::{Context, Poll};
use std::time::Duration;

use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use crate::rest::accept::{Accepted, Encoding};
use crate::rest::reply::{Body, Response, refused};
use crate::status::Status;

mod request;
mod rule;
mod stream;

pub use rule::{Fault, Filter, ParseRuleError, Rule};

use request::Head;

/// How many counters the clients' requests share.
const COUNTERS: usize = 1024;

/// The switch of a layer of faults: cloning it gives another handle to the same one.
#[derive(Debug, Clone)]
pub struct Faults(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    seed: u64,
    is_on: AtomicBool,
    rules: RwLock<Arc<[Rule]>>,
    /// How often something was asked for, by what was asked.
    asked: Box<[AtomicU64]>,
    played: Mutex<BTreeMap<Fault, u64>>,
}

/// A server with faults.
#[derive(Debug, Clone)]
pub struct Faulty<S> {
    server: S,
    faults: Faults,
}

/// The connection went away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lost;

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the connection was lost, as faults demand")
    }
}

impl std::error::Error for Lost {}

/// What happens to one request.
#[derive(Debug, Default)]
struct Plan {
    delay: Duration,
    refusal: Option<Status>,
    /// A watch that begins with an error.
    expires: bool,
    is_lost_before: bool,
    is_lost_after: bool,
    times_out_after: bool,
    page_max: Option<u64>,
    stream: stream::Shape,
}

impl Faults {
    /// Faults by these rules, from now on.
    pub fn new(seed: u64, rules: impl Into<Arc<[Rule]>>) -> Self {
        Self(Arc::new(Shared {
            seed,
            is_on: AtomicBool::new(true),
            rules: RwLock::new(rules.into()),
            asked: (0..COUNTERS).map(|_| AtomicU64::new(0)).collect(),
            played: Mutex::default(),
        }))
    }

    /// No more faults; streams that are under way become true to the server, too.
    pub fn stop(&self) {
        self.0.is_on.store(false, Ordering::Relaxed);
    }

    pub fn resume(&self) {
        self.0.is_on.store(true, Ordering::Relaxed);
    }

    pub fn is_on(&self) -> bool {
        self.0.is_on.load(Ordering::Relaxed)
    }

    fn has_no_rules(&self) -> bool {
        self.0.rules.read().expect("nobody panics with the rules").is_empty()
    }

    pub fn replace_rules(&self, rules: impl Into<Arc<[Rule]>>) {
        *self.0.rules.write().expect("nobody panics with the rules") = rules.into();
    }

    /// How often each fault was played.
    pub fn played(&self) -> BTreeMap<Fault, u64> {
        self.0.played.lock().expect("nobody panics while counting").clone()
    }

    fn count(&self, fault: Fault) {
        *self.0.played.lock().expect("nobody panics while counting").entry(fault).or_default() += 1;
    }

    /// The random numbers of one request.
    fn dice(&self, head: &Head) -> ChaCha8Rng {
        let mut hasher = DefaultHasher::new();
        (self.0.seed, &head.agent, head.method.as_str(), &head.path).hash(&mut hasher);
        let what = hasher.finish();
        let counter = &self.0.asked[usize::try_from(what % COUNTERS as u64).unwrap_or_default()];
        let times = counter.fetch_add(1, Ordering::Relaxed);
        ChaCha8Rng::seed_from_u64(what ^ times.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    fn plan(&self, head: &Head) -> Plan {
        let mut plan = Plan::default();
        let rules = Arc::clone(&self.0.rules.read().expect("nobody panics with the rules"));
        let mut dice = self.dice(head);
        for rule in rules.iter().filter(|rule| rule.only.fits(head) && rule.fault.fits(head)) {
            // Every rule draws twice, so that one more or less changes nothing for those before it.
            let (chance, size) = (dice.random::<f64>(), dice.random::<f64>());
            if chance < rule.rate {
                plan.add(rule.fault, size, head);
                self.count(rule.fault);
            }
        }
        plan.stream.dice = dice.random();
        plan
    }
}

impl Plan {
    /// `size` is between 0 and 1 and says how bad it is.
    fn add(&mut self, fault: Fault, size: f64, head: &Head) {
        match fault {
            Fault::Delay => self.delay += rule::DELAY_MAX.mul_f64(size),
            Fault::LostBefore => self.is_lost_before = true,
            Fault::LostAfter => self.is_lost_after = true,
            Fault::TimeoutAfter => self.times_out_after = true,
            Fault::Expired if head.is_watch => self.expires = true,
            Fault::ShortPages => self.page_max = Some(1 + (size * rule::SHORT_PAGE_MAX) as u64),
            Fault::WatchCut => self.stream.cut_after = Some(1 + (size * rule::EVENTS_BEFORE_CUT_MAX) as usize),
            Fault::WatchLag => self.stream.lag_max = Some(rule::LAG_MAX.mul_f64(size)),
            Fault::NoBookmarks => self.stream.drops_bookmarks = true,
            Fault::Reorder => self.stream.reorders = true,
            other => self.refusal = self.refusal.take().or_else(|| request::refusal(other, head)),
        }
    }
}

impl<S> tower::Layer<S> for Faults {
    type Service = Faulty<S>;

    fn layer(&self, server: S) -> Faulty<S> {
        Faulty { server, faults: self.clone() }
    }
}

impl<S, B> tower::Service<http::Request<B>> for Faulty<S>
where
    S: tower::Service<http::Request<B>, Response = Response, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send,
    B: Send + 'static,
{
    type Response = Response;
    type Error = Lost;
    type Future = Pin<Box<dyn Future<Output = Result<Response, Lost>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Lost>> {
        self.server.poll_ready(context).map_err(|never| match never {})
    }

    fn call(&mut self, mut request: http::Request<B>) -> Self::Future {
        let Faulty { mut server, faults } = self.clone();
        // The clone may not be ready; the original was asked.
        std::mem::swap(&mut server, &mut self.server);
        Box::pin(async move {
            if !faults.is_on() || faults.has_no_rules() {
                return server.call(request).await.map_err(|never| match never {});
            }
            let plan = faults.plan(&Head::of(&request));
            if !plan.delay.is_zero() {
                tokio::time::sleep(plan.delay).await;
            }
            if plan.is_lost_before {
                return Err(Lost);
            }
            if let Some(status) = &plan.refusal {
                return Ok(refused(status, Accepted::JSON, &[]));
            }
            if plan.expires {
                return Ok(request::expired_watch());
            }
            if let Some(page_max) = plan.page_max {
                request::shorten_page(&mut request, page_max);
            }
            let answer = server.call(request).await.map_err(|never| match never {})?;
            if plan.is_lost_after {
                return Err(Lost);
            }
            if plan.times_out_after {
                return Ok(refused(&Status::timeout(), Accepted::JSON, &[]));
            }
            Ok(answer.map(|body| match body {
                Body::Stream { lines, accepted } if plan.stream.does_something() => {
                    let is_text = accepted.encoding == Encoding::Json;
                    Body::Stream { lines: stream::shape(lines, plan.stream, is_text, faults), accepted }
                }
                other => other,
            }))
        })
    }
}
