//! Who of several replicas decides: the one that holds a Lease, as client-go's leader election does it, so that both
//! kinds of program can hold the same Lease in turn.
//!
//! Clocks of other machines are not trusted: a Lease runs out so long after *we* saw it change. Whoever holds it gives
//! up well before anybody else may take it. Unlike client-go, who waits watches the Lease and does not ask for it every
//! other second; a Lease that is given back is taken at once.

#[cfg(test)]
mod tests;

use std::time::Duration;

use crate::watch;
use kueue_api::core_v1::{Lease, LeaseSpec};
use kueue_api::meta::ObjectMeta;
use tokio::time::{Instant, sleep, sleep_until, timeout, timeout_at};
use tracing::{info, warn};

use crate::client::{Client, Failure, Patch, WatchEvent};
use crate::clock::Clock;
use crate::key::Key;

/// How long one watch of the Lease lasts.
const WATCH_LASTS: Duration = Duration::from_secs(300);

/// How long everything may take, in real time whatever the speed of the clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Terms {
    /// So long after a renewal nobody else takes the Lease.
    pub lease: Duration,
    /// Who holds it and cannot renew it for so long gives up; shorter than `lease`.
    pub renew_within: Duration,
    /// How often it is renewed, and how soon after a failure something is tried again.
    pub retry: Duration,
}

impl Default for Terms {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self { lease: seconds(15), renew_within: seconds(10), retry: seconds(2) }
    }
}

/// Waits until we lead; false when nobody will ever say so.
pub async fn elected(leading: &mut watch::Receiver<bool>) -> bool {
    leading.wait_for(|leads| *leads).await.is_ok()
}

/// One who wants to lead.
#[derive(Debug)]
pub struct Candidate {
    /// Best a client of its own, so that renewals do not wait behind other requests.
    client: Client,
    clock: Clock,
    terms: Terms,
    /// The Lease.
    key: Key,
    /// Tells this process from every other one.
    identity: String,
    /// Who writes the Lease, in its managed fields.
    manager: &'static str,
    /// The Lease as it was seen last, and since when it is like that.
    seen: Option<(Lease, Instant)>,
    /// The last failure that was said.
    trouble: Option<String>,
}

impl Candidate {
    pub fn new(client: Client, clock: Clock, terms: Terms, key: Key, identity: String, manager: &'static str) -> Self {
        Self { client, clock, terms, key, identity, manager, seen: None, trouble: None }
    }

    /// Takes the Lease whenever it is free, renews it, and says on `leads` whether it is held. Ends when `end` does, and
    /// gives the Lease back then: whoever waits for `end` must have stopped writing before.
    pub async fn run(mut self, leads: &watch::Sender<bool>, end: impl Future<Output = ()>) {
        tokio::select! {
            biased;
            () = end => {}
            () = self.compete(leads) => {}
        }
        leads.send_replace(false);
        match timeout(self.terms.renew_within, self.give_back()).await {
            Ok(Ok(())) => {}
            Ok(Err(failure)) => warn!(lease = %self.key, error = %failure, "cannot give the lease back"),
            Err(_) => warn!(lease = %self.key, "cannot give the lease back in time"),
        }
    }

    async fn compete(&mut self, leads: &watch::Sender<bool>) {
        loop {
            let held_since = self.acquire().await;
            info!(lease = %self.key, identity = self.identity, "leading");
            leads.send_replace(true);
            self.hold(held_since).await;
            warn!(lease = %self.key, identity = self.identity, "lost the lease, no longer leading");
            leads.send_replace(false);
        }
    }

    /// Waits until the Lease is ours. Returns an instant before that.
    async fn acquire(&mut self) -> Instant {
        loop {
            let began = Instant::now();
            match self.attempt().await {
                Ok(true) => return began,
                Ok(false) => self.wait_until_free().await,
                Err(failure) => {
                    self.say(&failure);
                    sleep(self.terms.retry).await;
                }
            }
        }
    }

    /// Renews the Lease for as long as that is possible in time.
    async fn hold(&mut self, mut renewed: Instant) {
        loop {
            let give_up = renewed + self.terms.renew_within;
            sleep_until(give_up.min(Instant::now() + self.terms.retry)).await;
            let began = Instant::now();
            if began >= give_up {
                return;
            }
            match timeout_at(give_up, self.renew()).await {
                Ok(Ok(true)) => renewed = began,
                Ok(Ok(false)) | Err(_) => return,
                Ok(Err(failure)) => self.say(&failure),
            }
        }
    }

    async fn renew(&mut self) -> Result<bool, Failure> {
        match &self.seen {
            Some((lease, _)) => match self.write(lease.clone()).await {
                // Somebody touched it, perhaps without taking it.
                Err(failure) if failure.is_conflict() || failure.is_not_found() => self.attempt().await,
                outcome => outcome,
            },
            None => self.attempt().await,
        }
    }

    /// Reads the Lease and takes it if it is free or ours. Says whether it is ours now.
    async fn attempt(&mut self) -> Result<bool, Failure> {
        let outcome = match self.client.get::<Lease>(&self.key).await {
            Ok(lease) => {
                self.see(lease.clone());
                if !self.may_take() {
                    return Ok(false);
                }
                self.write(lease).await
            }
            Err(failure) if failure.is_not_found() => self.create().await,
            Err(failure) => Err(failure),
        };
        match outcome {
            // Somebody was faster.
            Err(failure) if failure.is_conflict() => Ok(false),
            outcome => outcome,
        }
    }

    async fn create(&mut self) -> Result<bool, Failure> {
        let (namespace, name) = (self.key.namespace.to_string(), self.key.name.to_string());
        let metadata = ObjectMeta { namespace, name, ..ObjectMeta::default() };
        let lease = Lease { metadata, spec: self.held(&LeaseSpec::default()), ..Lease::default() };
        let lease = self.client.create(&lease).await?;
        self.see(lease);
        Ok(true)
    }

    /// Makes the Lease ours, unless it is not any more as we know it.
    async fn write(&mut self, known: Lease) -> Result<bool, Failure> {
        let wanted = Lease { spec: self.held(&known.spec), ..known.clone() };
        let lease = match Patch::between(&known, &wanted, self.manager) {
            Some(patch) => self.client.patch::<Lease>(&self.key, &patch).await?,
            None => known,
        };
        self.see(lease);
        Ok(true)
    }

    /// What the Lease says when we hold it.
    fn held(&self, before: &LeaseSpec) -> LeaseSpec {
        let now = Some(self.clock.micro_time());
        let is_ours = before.holder_identity == self.identity;
        // A Lease that never had a holder changed hands for the first time, which does not count.
        let is_new = before.holder_identity.is_empty() && before.renew_time.is_none();
        LeaseSpec {
            holder_identity: self.identity.clone(),
            lease_duration_seconds: i32::try_from(self.terms.lease.as_secs()).unwrap_or(i32::MAX),
            acquire_time: if is_ours { before.acquire_time } else { now },
            renew_time: now,
            lease_transitions: before.lease_transitions.saturating_add(i32::from(!is_ours && !is_new)),
            rest: before.rest.clone(),
        }
    }

    fn see(&mut self, lease: Lease) {
        self.trouble = None;
        let since = match &self.seen {
            Some((seen, since)) if seen.spec == lease.spec => *since,
            _ => Instant::now(),
        };
        self.seen = Some((lease, since));
    }

    fn may_take(&self) -> bool {
        self.free_at().is_none_or(|at| at <= Instant::now())
    }

    /// When somebody else's Lease runs out; none when it is free or ours.
    fn free_at(&self) -> Option<Instant> {
        let (lease, since) = self.seen.as_ref()?;
        let holder = &lease.spec.holder_identity;
        let lasts = Duration::from_secs(u64::try_from(lease.spec.lease_duration_seconds).unwrap_or(0));
        (!holder.is_empty() && *holder != self.identity).then(|| *since + lasts)
    }

    /// Watches the Lease until it may be free, or until it is time to read it again.
    async fn wait_until_free(&mut self) {
        let version = self.seen.as_ref().map(|(lease, _)| lease.metadata.resource_version.clone());
        let mut events =
            match self.client.watch_one::<Lease>(&self.key, &version.unwrap_or_default(), WATCH_LASTS).await {
                Ok(events) => events,
                Err(failure) => {
                    self.say(&failure);
                    return sleep(self.terms.retry).await;
                }
            };
        while !self.may_take() {
            let free_at = self.free_at();
            tokio::select! {
                biased;
                event = events.next() => match event {
                    Ok(Some(WatchEvent::Applied(lease))) => self.see(lease),
                    Ok(Some(WatchEvent::Deleted(_))) => return,
                    Ok(Some(WatchEvent::Bookmark { .. } | WatchEvent::Unreadable(_))) => {}
                    Ok(None) | Err(_) => return sleep(self.terms.retry).await,
                },
                () = sleep_until(free_at.unwrap_or_else(Instant::now)) => return,
            }
        }
    }

    /// Lets somebody else have the Lease at once.
    async fn give_back(&mut self) -> Result<(), Failure> {
        // A request of ours may have been on its way when the end came: only the server knows what became of it.
        let lease = match self.client.get::<Lease>(&self.key).await {
            Ok(lease) if lease.spec.holder_identity == self.identity => lease,
            Ok(_) => return Ok(()),
            Err(failure) if failure.is_not_found() => return Ok(()),
            Err(failure) => return Err(failure),
        };
        let now = Some(self.clock.micro_time());
        let spec = LeaseSpec {
            holder_identity: String::new(),
            lease_duration_seconds: 1,
            acquire_time: now,
            renew_time: now,
            ..lease.spec.clone()
        };
        let free = Lease { spec, ..lease.clone() };
        if let Some(patch) = Patch::between(&lease, &free, self.manager) {
            self.client.patch::<Lease>(&self.key, &patch).await?;
        }
        Ok(())
    }

    /// Says a failure once, until something works again.
    fn say(&mut self, failure: &Failure) {
        let text = failure.to_string();
        if self.trouble.as_ref() != Some(&text) {
            warn!(lease = %self.key, error = %text, "cannot read or write the lease, trying again");
            self.trouble = Some(text);
        }
    }
}
