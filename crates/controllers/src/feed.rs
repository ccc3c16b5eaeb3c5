//! From informers to the owner of the engine.

use std::sync::Arc;

use kueue_api::core_v1::{LimitRange, Namespace, Node, RuntimeClass};
use kueue_api::kueue::v1beta2::{AdmissionCheck, ClusterQueue, Cohort, LocalQueue, ResourceFlavor, Topology, Workload};
use kueue_api::meta::Object;
use kueue_engine::Change;
use kueue_runtime::informer::Informer;
use kueue_runtime::key::Key;
use tokio::sync::mpsc::UnboundedSender;

use crate::owner::{Input, Source};

/// A kind whose objects the engine knows by themselves.
pub trait Fed: Object + Send + Sync + 'static {
    /// What the object says.
    fn change(&self) -> Change;
    /// What it means that the object is gone.
    fn gone(key: &Key) -> Change;
}

macro_rules! fed {
    ($($kind:ident: $change:expr, $key:ident => $gone:expr;)*) => {$(
        impl Fed for $kind {
            fn change(&self) -> Change {
                $change(self)
            }

            fn gone($key: &Key) -> Change {
                $gone
            }
        }
    )*};
}

fed! {
    AdmissionCheck: kueue_translate::admission_check, key => Change::CheckGone(Arc::clone(&key.name));
    ClusterQueue: kueue_translate::cluster_queue, key => Change::QueueGone(Arc::clone(&key.name));
    Cohort: kueue_translate::cohort, key => Change::CohortGone(Arc::clone(&key.name));
    LocalQueue: kueue_translate::local_queue, key => Change::LocalQueueGone {
        namespace: Arc::clone(&key.namespace),
        name: Arc::clone(&key.name),
    };
    Namespace: namespace, key => Change::NamespaceGone(Arc::clone(&key.name));
    Node: kueue_translate::node, key => Change::NodeGone(Arc::clone(&key.name));
    ResourceFlavor: kueue_translate::flavor, key => Change::FlavorGone(Arc::clone(&key.name));
    Topology: kueue_translate::topology, key => Change::TopologyGone(Arc::clone(&key.name));
}

fn namespace(object: &Namespace) -> Change {
    Change::Namespace { name: object.metadata.name.as_str().into(), labels: object.metadata.labels.clone() }
}

/// Tells the owner of everything that happens to objects of a kind.
pub fn feed<T: Fed>(informer: &mut Informer<T>, inputs: UnboundedSender<Input>) {
    let store = informer.store();
    let all = move || store.all().iter().map(|object| object.change()).collect();
    send(&inputs, Input::Source(Source::new(all)));
    informer.listen(move |delta| {
        let change = delta.new.as_ref().map_or_else(|| T::gone(&delta.key), |new| new.object.change());
        send(&inputs, Input::Changed(change));
    });
}

/// The same for Workloads, which need more than themselves.
pub fn feed_workloads(informer: &mut Informer<Workload>, inputs: UnboundedSender<Input>) {
    informer.listen(move |delta| {
        let input = match &delta.new {
            Some(new) => Input::Workload(delta.key.clone(), Arc::clone(&new.object)),
            None => Input::WorkloadGone(delta.key.clone()),
        };
        send(&inputs, input);
    });
}

pub fn feed_limit_ranges(informer: &mut Informer<LimitRange>, inputs: UnboundedSender<Input>) {
    informer.listen(move |delta| {
        let range = delta.new.as_ref().map(|new| Arc::clone(&new.object));
        send(&inputs, Input::LimitRange(delta.key.clone(), range));
    });
}

pub fn feed_runtime_classes(informer: &mut Informer<RuntimeClass>, inputs: UnboundedSender<Input>) {
    informer.listen(move |delta| {
        let overhead = delta.new.as_ref().and_then(|new| new.object.overhead.as_ref());
        let overhead = overhead.map(|overhead| overhead.pod_fixed.clone());
        send(&inputs, Input::Overhead(delta.key.name.to_string(), overhead));
    });
}

fn send(inputs: &UnboundedSender<Input>, input: Input) {
    // The owner is gone only while everything ends.
    drop(inputs.send(input));
}
