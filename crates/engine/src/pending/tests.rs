//! The queue against a model that keeps everybody in one vector and looks at all of it for every question.

use std::cmp::Reverse;
use std::sync::Arc;

use kueue_core::duration::Duration;
use kueue_core::time::Time;
use proptest::prelude::*;

use super::{Pending, PendingCount};
use crate::id::{ClassId, Id as _, LabelsId, LocalQueueId, QueueId, ResourceId, WorkloadId};
use crate::status::history::OrderTime;
use crate::workload::{Origin, Seat, Ticket};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Where {
    Awake,
    Asleep,
    Held,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Push(usize),
    Park(usize),
    Hold(usize),
    Remove(usize),
    SleepClass(usize),
    Wake(usize),
}

const WORKLOADS: usize = 12;
const CLASSES: usize = 3;
const LOCAL_QUEUES: usize = 2;

/// Workloads differ in class, LocalQueue, label and time, in every combination that matters.
fn seat(index: usize) -> Seat {
    let seconds = i64::try_from(index * 7 % 5).unwrap();
    Seat {
        queue: QueueId::from_index(0),
        class: ClassId::from_index(index % CLASSES),
        origin: Origin {
            local_queue: LocalQueueId::from_index(index % LOCAL_QUEUES),
            labels: LabelsId::from_index(index / 6),
        },
        ticket: Ticket {
            priority: Reverse(i64::try_from(index % CLASSES).unwrap()),
            since: OrderTime { second: Time::default() + Duration::from_seconds(seconds), is_after: false },
            uid: format!("uid-{index:02}").into(),
            id: WorkloadId::from_index(index),
        },
        requests: Arc::from([(ResourceId::from_index(index % CLASSES), 5)]),
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let workload = 0..WORKLOADS;
    let step = prop_oneof![
        workload.clone().prop_map(Step::Push),
        workload.clone().prop_map(Step::Park),
        workload.clone().prop_map(Step::Hold),
        workload.prop_map(Step::Remove),
        (0..CLASSES).prop_map(Step::SleepClass),
        (0..LOCAL_QUEUES).prop_map(Step::Wake),
    ];
    prop::collection::vec(step, 0..60)
}

#[derive(Default)]
struct Model(Vec<(usize, Where)>);

impl Model {
    fn place(&self, index: usize) -> Option<Where> {
        self.0.iter().find(|(known, _)| *known == index).map(|(_, place)| *place)
    }

    fn ids(&self, passes: impl Fn(usize, Where) -> bool) -> Vec<WorkloadId> {
        let mut tickets: Vec<Ticket> = self
            .0
            .iter()
            .filter(|(index, place)| passes(*index, *place))
            .map(|(index, _)| seat(*index).ticket)
            .collect();
        tickets.sort();
        tickets.into_iter().map(|ticket| ticket.id).collect()
    }

    fn count(&self, passes: impl Fn(usize) -> bool) -> PendingCount {
        let active = self.ids(|index, place| passes(index) && place == Where::Awake).len();
        PendingCount { active, inadmissible: self.ids(|index, place| passes(index) && place != Where::Awake).len() }
    }

    fn classes(&self, passes: impl Fn(Where) -> bool) -> usize {
        (0..CLASSES)
            .filter(|class| self.0.iter().any(|(index, place)| index % CLASSES == *class && passes(*place)))
            .count()
    }
}

fn remove(pending: &mut Pending, model: &mut Model, index: usize) {
    match model.place(index) {
        Some(Where::Held) => pending.remove_held(&seat(index)),
        Some(_) => pending.remove_queued(&seat(index)),
        None => {}
    }
    model.0.retain(|(known, _)| *known != index);
}

fn take(pending: &mut Pending, model: &mut Model, step: Step) {
    match step {
        Step::Push(index) | Step::Park(index) | Step::Hold(index) => {
            remove(pending, model, index);
            let place = match step {
                Step::Push(_) => Where::Awake,
                Step::Park(_) => Where::Asleep,
                _ => Where::Held,
            };
            match place {
                Where::Awake => pending.push(&seat(index)),
                Where::Asleep => pending.park(&seat(index)),
                Where::Held => pending.hold(&seat(index)),
            }
            model.0.push((index, place));
        }
        Step::Remove(index) => remove(pending, model, index),
        Step::SleepClass(class) => {
            pending.put_to_sleep(ClassId::from_index(class));
            for (index, place) in &mut model.0 {
                if *index % CLASSES == class && *place == Where::Awake {
                    *place = Where::Asleep;
                }
            }
        }
        Step::Wake(queue) => {
            pending.wake(|_| true, |lq| lq == LocalQueueId::from_index(queue));
            for (index, place) in &mut model.0 {
                if *index % LOCAL_QUEUES == queue && *place == Where::Asleep {
                    *place = Where::Awake;
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn order_and_numbers_are_those_of_a_sorted_list(steps in steps()) {
        let mut pending = Pending::default();
        let mut model = Model::default();
        for step in steps {
            take(&mut pending, &mut model, step);
            pending.check_invariants();
            let ids = |tickets: Vec<&Ticket>| tickets.into_iter().map(|ticket| ticket.id).collect::<Vec<_>>();
            prop_assert_eq!(ids(pending.awake(None).collect()), model.ids(|_, place| place == Where::Awake));
            prop_assert_eq!(ids(pending.in_order(None).collect()), model.ids(|_, _| true));
            prop_assert_eq!(pending.first(None), model.ids(|_, place| place == Where::Awake).first().copied());
            let tally = pending.tally();
            prop_assert_eq!(tally.total(), model.count(|_| true));
            for queue in 0..LOCAL_QUEUES {
                let counted = tally.of_local_queue(LocalQueueId::from_index(queue));
                prop_assert_eq!(counted, model.count(|index| index % LOCAL_QUEUES == queue));
            }
            let (awake, resting) =
                (model.classes(|place| place == Where::Awake), model.classes(|place| place != Where::Awake));
            prop_assert_eq!(tally.shapes(), PendingCount { active: awake, inadmissible: resting });
            prop_assert_eq!(tally.distinct_shapes(), model.classes(|_| true));
            let asked: i128 = tally.requests().map(|(_, sum)| sum).sum();
            prop_assert_eq!(asked, 5 * i128::try_from(model.0.len()).unwrap());
        }
    }
}
