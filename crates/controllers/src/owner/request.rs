//! Workloads as they come in, and requests as they go out and are answered.

use std::sync::Arc;

use kueue_api::kueue::names::{
    FIELD_MANAGER_ADMISSION, FIELD_MANAGER_KUEUE, FIELD_MANAGER_RECLAIMABLE_PODS, FINALIZER_RESOURCE_IN_USE, label,
};
use kueue_api::kueue::v1beta2::Workload;
use kueue_api::meta::{ConditionStatus, Object as _, ObjectMeta};
use kueue_engine::{Change, Condition, ConditionKind, Hold, Status, Verdict};
use kueue_jobs::report::{self, Fact, Report};
use kueue_runtime::client::{Client, Dependents, Failure, Patch};
use kueue_runtime::events::{Event, Recorder, Regarding};
use kueue_runtime::key::Key;
use kueue_translate::{admission_patch, condition_patch, reclaimable_patch, status_from_engine};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tracing::{debug, warn};

use super::slot::{Errand, Sent, Slot, Urgency};
use super::status::{Distance, distance, says_the_same};
use super::{MOST_TOLD_AT_ONCE, Owner, engine_key};

/// What all labels and annotations have in their names that mean something to us.
const DOMAIN: &str = Workload::GROUP;

/// What became of a request.
#[derive(Debug)]
pub(super) struct Answer {
    key: Key,
    serial: u64,
    /// Whether that was to tell why a Workload waits.
    has_told: bool,
    /// The object as it is now; none when it is gone.
    outcome: Result<Option<Arc<Workload>>, Failure>,
}

impl Owner {
    /// A Workload as the API server shows it.
    pub(super) fn on_workload(&mut self, key: &Key, object: Arc<Workload>) {
        if let Some(slot) = self.slots.get_mut(key).filter(|slot| slot.under_way.is_some()) {
            slot.held = Some(object);
            return;
        }
        if self.known.has_seen(key, &object) {
            return self.known.share(key, object);
        }
        if self.slots.contains_key(key) && self.says_nothing_new(key, &object) {
            return self.keep_decision(key, object);
        }
        self.believe(key, object);
        let facts = self.slots.get_mut(key).map(|slot| std::mem::take(&mut slot.facts));
        facts.into_iter().flatten().for_each(|fact| self.on_fact(fact));
    }

    pub(super) fn on_workload_gone(&mut self, key: &Key) {
        self.touch_queues_around(key);
        self.known.forget(key);
        self.slots.remove(key);
        let kueue_engine::Key { namespace, name } = engine_key(key);
        self.apply(Change::WorkloadGone { namespace, name });
    }

    /// Somebody else's word counts, except where it only words things differently.
    fn believe(&mut self, key: &Key, object: Arc<Workload>) {
        let mut spec = self.known.spec_of(&object);
        let ours = self.engine.status(&engine_key(key));
        if let Some(ours) = ours.filter(|ours| says_the_same(ours, &spec.status)) {
            spec.status = ours.clone();
        }
        if self.known.get(key).is_some_and(|known| known.spec.queue_name != object.spec.queue_name) {
            // It is gone from the queue that it was in.
            self.touch_queues_around(key);
        }
        self.known.set(key.clone(), object);
        self.apply(Change::Workload(spec));
        self.touch_queues_around(key);
    }

    /// Whether an object does not differ from the one that is known in anything that a decision could rest on.
    fn says_nothing_new(&self, key: &Key, object: &Workload) -> bool {
        self.known.get(key).is_some_and(|known| {
            known.spec == object.spec
                && known.status == object.status
                && grounds(&known.metadata) == grounds(&object.metadata)
        })
    }

    /// An object that says nothing new: what was decided and is not written yet counts.
    fn keep_decision(&mut self, key: &Key, object: Arc<Workload>) {
        self.known.set(key.clone(), object);
        self.retell(key, |_| {});
    }

    /// What surrounds some Workloads changed: they may ask for something else now.
    pub(super) fn tell_again(&mut self, is_meant: impl Fn(&Workload) -> bool) {
        for key in self.known.keys(is_meant) {
            self.retell(&key, |_| {});
        }
    }

    /// Tells the engine about a Workload with the status that it decided, or a changed one.
    fn retell(&mut self, key: &Key, change: impl FnOnce(&mut Status)) {
        let Some(object) = self.known.get(key) else { return };
        let mut spec = self.known.spec_of(object);
        if let Some(status) = self.engine.status(&engine_key(key)) {
            spec.status = status.clone();
        }
        change(&mut spec.status);
        self.apply(Change::Workload(spec));
    }

    /// Puts what a job reports into the status of its Workload.
    pub(super) fn on_fact(&mut self, fact: Fact) {
        let key = fact.workload.clone();
        let Some(object) = self.known.get(&key).filter(|object| object.metadata.uid == fact.uid) else { return };
        let (now, generation) = (self.clock.time(), object.metadata.generation);
        self.slot(&key).facts.push(fact.clone());
        let condition = |kind, verdict, reason: std::borrow::Cow<'static, str>, message: &str| Condition {
            kind,
            verdict,
            reason,
            message: message.into(),
            since: now,
            generation,
        };
        let condition = match fact.report {
            Report::Stopped => {
                let kueue_engine::Key { namespace, name } = engine_key(&key);
                return self.apply(Change::JobStopped { namespace, name });
            }
            Report::OnHold(hold) => {
                let kueue_engine::Key { namespace, name } = engine_key(&key);
                let hold = hold.map(|hold| match hold {
                    report::Hold::Job => Hold::Job,
                    report::Hold::ScaledToZero => Hold::ScaledToZero,
                });
                return self.engine.apply(Change::JobHold { namespace, name, hold }, now);
            }
            Report::Reclaimable(pods) => {
                self.slot(&key).reclaimable = Some(pods.clone());
                let done = pods.iter().map(|pods| (pods.name.as_str().into(), pods.count)).collect();
                return self.retell(&key, |status| status.reclaimable = done);
            }
            Report::Finished { reason, message } => {
                condition(ConditionKind::Finished, Verdict::True, reason.into(), &message)
            }
            Report::PodsReady { status, reason, message } => {
                condition(ConditionKind::PodsReady, verdict(&status), reason.into(), message)
            }
            Report::WaitingForReplacementPods { status, reason, message } => {
                condition(ConditionKind::WaitingForReplacementPods, verdict(&status), reason.into(), &message)
            }
        };
        self.slot(&key).is_dirty = true;
        self.retell(&key, |status| {
            status.set(condition);
        });
        self.touch_queues_around(&key);
    }

    /// Sends what can be sent: what was decided at once, and why others wait as far as the API server has time.
    pub(super) fn send_requests(&mut self) {
        while self.leads
            && let Some(key) = self.restless.pop_first()
        {
            self.send_of(key, false);
        }
        let has_time = self.client.is_prompt();
        while self.leads
            && self.telling < if has_time { MOST_TOLD_AT_ONCE } else { 1 }
            && let Some((_, key)) = self.untold.pop_first()
        {
            self.send_of(key, true);
        }
    }

    fn send_of(&mut self, key: Key, has_time: bool) {
        let Some(mut slot) = self.slots.remove(&key) else { return };
        let may_send = slot.under_way.is_none() && slot.not_before.is_none_or(|at| at <= Instant::now());
        if may_send && self.draining.is_none() {
            self.advance(&key, &mut slot, has_time);
        }
        if !slot.is_idle() {
            self.slots.insert(key, slot);
        }
    }

    /// The next request for a Workload, if there is any.
    fn advance(&mut self, key: &Key, slot: &mut Slot, has_time: bool) {
        if std::mem::take(&mut slot.must_read) {
            return self.spawn(key, slot, Sent::Read, |client, key| async move { read(&client, &key).await });
        }
        let Some(known) = self.known.get(key).cloned() else {
            *slot = Slot::new(slot.serial);
            return;
        };
        if std::mem::take(&mut slot.must_yield) {
            let spec = self.known.spec_of(&known);
            self.engine.apply(Change::Workload(spec), self.clock.time());
            slot.is_dirty = false;
            slot.facts.clear();
        }
        if let Some(pods) = slot.reclaimable.take().filter(|pods| *pods != known.status.reclaimable_pods) {
            let mut wanted = (*known).clone();
            wanted.status.reclaimable_pods.clone_from(&pods);
            let patch = Patch::apply(reclaimable_patch(&wanted), FIELD_MANAGER_RECLAIMABLE_PODS).of_status();
            return self.patch(key, slot, Sent::Reclaimable(pods), patch);
        }
        let wanted = slot.is_dirty.then(|| self.wanted(key, slot, &known)).flatten();
        slot.is_dirty = matches!(wanted, Some((_, Distance::Reason))) && !has_time;
        match wanted {
            Some(_) if slot.is_dirty => {
                // Of several reasons only the last one is told.
                slot.events.drain(..slot.events.len().saturating_sub(1));
                self.untold.insert((slot.serial, key.clone()));
            }
            Some((wanted, distance)) => {
                let facts = std::mem::take(&mut slot.facts);
                slot.announced = slot.events.len();
                let urgency = if distance == Distance::Reason { Urgency::HasTime } else { Urgency::AtOnce };
                let patch = match distance {
                    Distance::OwnCondition(condition, manager) => {
                        Patch::apply(condition_patch(&wanted, &condition), manager)
                    }
                    _ => Patch::apply(admission_patch(&wanted), FIELD_MANAGER_ADMISSION),
                };
                return self.patch(key, slot, Sent::Status(facts, urgency), patch.of_status());
            }
            None => {
                slot.facts.clear();
                let all = slot.events.len();
                tell(&known, slot, all);
            }
        }
        if let Some(errand) = slot.errands.pop_front() {
            self.run_errand(key, slot, &known, errand);
        }
    }

    /// The object with the status that was decided, and how far that is from the known one; nothing when that need not
    /// be written.
    fn wanted(&mut self, key: &Key, slot: &mut Slot, known: &Workload) -> Option<(Workload, Distance)> {
        let decided = self.engine.status(&engine_key(key))?;
        let mut wanted = known.clone();
        status_from_engine(decided, &self.formatter, self.engine.settings().gates, &mut wanted.status);
        match distance(&known.status, &wanted.status) {
            Distance::Same => None,
            Distance::Words => {
                self.spared_writes += 1;
                slot.events.clear();
                None
            }
            distance => Some((wanted, distance)),
        }
    }

    fn run_errand(&mut self, key: &Key, slot: &mut Slot, known: &Arc<Workload>, errand: Errand) {
        let mut wanted = (**known).clone();
        match errand {
            Errand::Unguard | Errand::Delete => {
                wanted.metadata.finalizers.retain(|finalizer| finalizer != FINALIZER_RESOURCE_IN_USE);
            }
            Errand::Deactivate => wanted.spec.active = Some(false),
            Errand::MarkParent => {
                wanted.metadata.labels.insert(label::CONCURRENT_ADMISSION_PARENT.to_owned(), label::TRUE.to_owned());
            }
            Errand::DeleteJob => {
                let owner = known.metadata.owner_references.iter().find(|owner| owner.controller == Some(true));
                let deletion =
                    owner.and_then(|owner| self.jobs.deletion(&self.client, &known.metadata.namespace, owner));
                let Some(deletion) = deletion else { return };
                let known = Arc::clone(known);
                let deletion = |_, _| async move { deletion.await.map(|()| Some(known)) };
                return self.spawn(key, slot, Sent::Errand(errand), deletion);
            }
        }
        let patch = Patch::between(&**known, &wanted, FIELD_MANAGER_KUEUE);
        match (errand, patch) {
            (Errand::Delete, patch) => {
                let uid = known.metadata.uid.clone();
                self.spawn(key, slot, Sent::Errand(errand), |client, key| async move {
                    if let Some(patch) = patch {
                        client.patch::<Workload>(&key, &patch).await?;
                    }
                    client.delete::<Workload>(&key, &uid, Dependents::Background).await?;
                    Ok(None)
                });
            }
            (_, Some(patch)) => self.patch(key, slot, Sent::Errand(errand), patch),
            (_, None) => drop(self.restless.insert(key.clone())),
        }
    }

    fn patch(&mut self, key: &Key, slot: &mut Slot, sent: Sent, patch: Patch) {
        self.spawn(key, slot, sent, |client, key| async move {
            client.patch::<Workload>(&key, &patch).await.map(|object| Some(Arc::new(object)))
        });
    }

    fn spawn<F>(&mut self, key: &Key, slot: &mut Slot, sent: Sent, request: impl FnOnce(Client, Key) -> F)
    where
        F: Future<Output = Result<Option<Arc<Workload>>, Failure>> + Send + 'static,
    {
        let tells = matches!(sent, Sent::Status(_, Urgency::HasTime));
        self.telling += usize::from(tells);
        slot.under_way = Some(sent);
        let (key, serial) = (key.clone(), slot.serial);
        let request = request(self.client.clone(), key.clone());
        self.requests.spawn(async move { Answer { key, serial, has_told: tells, outcome: request.await } });
    }

    pub(super) fn on_answer(&mut self, answer: Answer) {
        let Answer { key, serial, has_told, outcome } = answer;
        self.telling -= usize::from(has_told);
        let Some(mut slot) = self.slots.remove(&key).filter(|slot| slot.serial == serial) else { return };
        let Some(sent) = slot.under_way.take() else { return };
        let (held, announced) = (slot.held.take(), std::mem::take(&mut slot.announced));
        match outcome {
            Ok(Some(object)) if sent == Sent::Read => {
                self.count_change(self.known.get(&key), &object);
                slot.succeed();
                let facts = std::mem::take(&mut slot.facts);
                // Where nothing changed that a decision could rest on, what was decided counts and is sent again.
                slot.is_dirty = self.says_nothing_new(&key, &object);
                if slot.is_dirty {
                    self.keep_decision(&key, object);
                } else {
                    // What was to be announced did not happen.
                    slot.events.clear();
                    self.believe(&key, object);
                }
                self.after_answer(&key, Some(slot), held);
                return facts.into_iter().for_each(|fact| self.on_fact(fact));
            }
            Ok(Some(object)) => {
                self.count_change(self.known.get(&key), &object);
                slot.succeed();
                // Told at once: the Workload may be gone before the next thing is written.
                tell(&object, &mut slot, announced);
                self.learn(&key, object, &slot);
            }
            // It is gone, or will be: the watch tells.
            Ok(None) => return self.after_answer(&key, None, held),
            Err(failure) if failure.is_not_found() => return self.after_answer(&key, None, held),
            Err(failure) => self.on_failure(&key, &mut slot, sent, announced, &failure),
        }
        self.after_answer(&key, Some(slot), held);
    }

    /// Goes on with a Workload that has no request under way any more.
    fn after_answer(&mut self, key: &Key, slot: Option<Slot>, held: Option<Arc<Workload>>) {
        if let Some(slot) = slot {
            self.slots.insert(key.clone(), slot);
        }
        self.restless.insert(key.clone());
        if let Some(held) = held {
            self.on_workload(key, held);
        }
    }

    /// Somebody else leads. What was decided and not written never happened: what the server shows counts again.
    pub(super) fn step_down(&mut self) {
        // Requests that are under way end here; what became of them the watch tells.
        self.requests = JoinSet::new();
        self.telling = 0;
        self.restless.clear();
        self.untold.clear();
        self.postponed.clear();
        let slots = std::mem::take(&mut self.slots);
        self.tell_all_workloads();
        for (key, held) in slots.into_iter().filter_map(|(key, slot)| Some((key, slot.held?))) {
            self.on_workload(&key, held);
        }
        // What jobs reported and nobody wrote has to be reported again.
        self.mending.ask_jobs();
    }

    /// Every Workload is as the server shows it.
    pub(super) fn tell_all_workloads(&mut self) {
        for key in self.known.keys(|_| true) {
            if let Some(object) = self.known.get(&key) {
                let spec = self.known.spec_of(object);
                self.apply(Change::Workload(spec));
            }
        }
    }

    /// Our own write came back. What the engine decided meanwhile still counts.
    fn learn(&mut self, key: &Key, object: Arc<Workload>, slot: &Slot) {
        if self.known.has_seen(key, &object) {
            return;
        }
        self.known.set(key.clone(), Arc::clone(&object));
        if slot.is_dirty || slot.reclaimable.is_some() {
            self.retell(key, |_| {});
        } else {
            self.believe(key, object);
        }
    }

    fn on_failure(&mut self, key: &Key, slot: &mut Slot, sent: Sent, announced: usize, failure: &Failure) {
        if failure.is_conflict() {
            debug!(workload = %key, error = %failure, "somebody was faster");
            // What is there decides whether what was decided still counts; errands and what jobs reported stay.
            match sent {
                Sent::Errand(_) | Sent::Status(..) => slot.want_again(sent),
                Sent::Reclaimable(_) | Sent::Read => {}
            }
            slot.must_read = true;
            return;
        }
        let error = failure.to_string();
        match slot.is_news(&error) {
            true => {
                warn!(workload = %key, error, "cannot write, trying again until it works");
                for (event, recorder) in slot.events.iter().take(announced) {
                    if let (Some(known), Some(otherwise)) = (self.known.get(key), &event.otherwise) {
                        record(known, (**otherwise).clone(), recorder);
                    }
                }
            }
            false => debug!(workload = %key, error, "still cannot write"),
        }
        let at = slot.postpone(&failure.waits());
        self.postponed.insert((at, key.clone()));
        match failure.is_transient() {
            // If it was carried out all the same, sending it again is a conflict.
            true => slot.want_again(sent),
            false => {
                slot.events.clear();
                slot.must_yield = true;
            }
        }
    }
}

/// What of a Workload's metadata decisions rest on. Its version, and what others wrote on it for themselves, are not.
fn grounds(meta: &ObjectMeta) -> ObjectMeta {
    let mut meta = meta.clone();
    meta.resource_version.clear();
    meta.rest.clear();
    meta.labels.retain(|key, _| key.contains(DOMAIN));
    meta.annotations.retain(|key, _| key.contains(DOMAIN));
    meta
}

/// Tells the first events of a Workload.
fn tell(known: &Workload, slot: &mut Slot, count: usize) {
    let count = count.min(slot.events.len());
    for (event, recorder) in slot.events.drain(..count) {
        record(known, event, &recorder);
    }
}

fn record(known: &Workload, event: kueue_engine::Event, recorder: &Recorder) {
    let kueue_engine::Event { is_warning, reason, message, .. } = event;
    recorder.record(Event { regarding: Regarding::of(known), is_warning, reason: reason.into_owned(), note: message });
}

fn verdict(status: &ConditionStatus) -> Verdict {
    if *status == ConditionStatus::True { Verdict::True } else { Verdict::False }
}

async fn read(client: &Client, key: &Key) -> Result<Option<Arc<Workload>>, Failure> {
    client.get::<Workload>(key).await.map(|object| Some(Arc::new(object)))
}
