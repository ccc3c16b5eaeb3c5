//! Pods and groups of pods, and the jobs whose pods wait instead of them, connected to everything they depend on.

use std::fmt::Display;
use std::hash::Hash;
use std::sync::Arc;

use kueue_api::config::frameworks::POD;
use kueue_api::kueue::names::label;
use kueue_core::gates::Gates;
use kueue_jobs::job::Job as _;
use kueue_jobs::kinds::deployment;
use kueue_jobs::kinds::pod::expectations::Expectations;
use kueue_jobs::kinds::pod::reconciler::{PodReconciler, Request, group_values};
use kueue_jobs::kinds::pod::{self, Pod};
use kueue_jobs::kinds::statefulset::reconciler::StatefulSetReconciler;
use kueue_jobs::kinds::statefulset::{self, StatefulSet};
use kueue_jobs::owners::Owners;
use kueue_jobs::reconciler::{JobReconciler, controller_values};
use kueue_jobs::step::Settings;
use kueue_runtime::informer::{Store, Unseen};
use kueue_runtime::key::Key;
use kueue_runtime::queue::WorkQueue;
use kueue_runtime::reconciler::{self, Reconciler};
use kueue_runtime::watch;
use tokio::task::JoinSet;

use crate::current::catch_up;
use crate::informers::{self, Informers};
use crate::{JobLines, Shared, at_once};

/// Begins to look at something.
pub(crate) type Start = Box<dyn Fn(&mut JoinSet<()>) + Send + Sync>;

/// Watches pods, if any kind is enabled that needs them; returns what begins to look at them.
pub(crate) fn connect(
    shared: &Shared,
    informers: &mut Informers,
    settings: &Arc<Settings>,
    lines: &JobLines,
    tasks: &mut JoinSet<()>,
) -> Vec<Start> {
    let integrations = shared.config.integrations.iter();
    let enabled: Vec<&str> = integrations.flat_map(|jobs| &jobs.frameworks).map(String::as_str).collect();
    let has = |framework: &str| enabled.contains(&framework);
    if ![POD, deployment::FRAMEWORK, statefulset::FRAMEWORK].into_iter().any(has) {
        return Vec::new();
    }
    let gates = settings.gates;
    let pods = informers.pods().store();
    let by_group = pods.index(group_values(gates));
    let unseen = Arc::new(Unseen::new(Arc::clone(&pods)));
    let (queue, expectations): (Arc<WorkQueue<Request>>, Arc<Expectations>) = Default::default();
    informers.pods().listen({
        let (queue, expectations, unseen) = (Arc::clone(&queue), Arc::clone(&expectations), Arc::clone(&unseen));
        move |delta| {
            unseen.on_delta(delta);
            pod::reconciler::on_pod(delta, gates, &expectations, &queue);
        }
    });
    informers.workloads.listen({
        let queue = Arc::clone(&queue);
        move |delta| pod::reconciler::on_workload(delta, gates, &queue)
    });
    tasks.spawn(look_again(lines.look_again.subscribe(), Arc::clone(&pods), gates, Arc::clone(&queue)));
    let jobs = looks(shared, informers, settings, lines, &pods, &unseen);
    let reconciler = PodReconciler { jobs, by_group, expectations, needs_parent: !has(POD) };
    let mut starts = vec![start(shared, &pods, queue, reconciler, "Pod")];
    if has(statefulset::FRAMEWORK) {
        let (mut sets_informer, sets) = informers::new::<StatefulSet>();
        let queue: Arc<WorkQueue<Key>> = Arc::default();
        sets_informer.listen({
            let queue = Arc::clone(&queue);
            move |delta| queue.add(delta.key.clone())
        });
        informers.pods().listen({
            let queue = Arc::clone(&queue);
            move |delta| statefulset::reconciler::on_pod(delta, &queue)
        });
        informers.workloads.listen({
            let queue = Arc::clone(&queue);
            move |delta| statefulset::reconciler::on_workload(delta, &queue)
        });
        informers.add(sets_informer);
        let reconciler = StatefulSetReconciler {
            by_controller: pods.index(controller_values),
            pods: looks(shared, informers, settings, lines, &pods, &unseen),
            by_group,
            sets,
            recorder: shared.recorder.named(statefulset::EVENT_SOURCE),
        };
        starts.push(start(shared, &pods, queue, reconciler, "StatefulSet.apps"));
    }
    starts
}

/// What begins to look at something that pods belong to, once it is known what the leader before did to them.
fn start<K, R>(
    shared: &Shared,
    pods: &Arc<Store<Pod>>,
    queue: Arc<WorkQueue<K>>,
    reconciler: R,
    kind_and_group: &str,
) -> Start
where
    K: Clone + Eq + Hash + Display + Send + Sync + 'static,
    R: Reconciler<K>,
{
    let at_once = at_once(&shared.config, kind_and_group);
    shared.meters.follow(&queue, reconciler.name(), at_once);
    let (client, pods, reconciler) = (shared.client.clone(), Arc::clone(pods), Arc::new(reconciler));
    Box::new(move |tasks| {
        let (client, pods) = (client.clone(), Arc::clone(&pods));
        let running = reconciler::run(Arc::clone(&queue), Arc::clone(&reconciler), at_once);
        tasks.spawn(async move {
            catch_up(&client, &pods, &format!("{}={}", label::MANAGED, label::TRUE)).await;
            running.await;
        });
    })
}

/// What looks at single pods, and does what is to be done about any.
fn looks(
    shared: &Shared,
    informers: &Informers,
    settings: &Arc<Settings>,
    lines: &JobLines,
    pods: &Arc<Store<Pod>>,
    unseen: &Arc<Unseen<Pod>>,
) -> JobReconciler<Pod> {
    JobReconciler {
        client: shared.client.clone(),
        clock: shared.clock,
        recorder: shared.recorder.named(Pod::EVENT_SOURCE),
        settings: Arc::clone(settings),
        jobs: Arc::clone(pods),
        unseen: Arc::clone(unseen),
        stores: informers.stores(),
        owners: Owners::new(shared.client.clone()),
        ray_clusters: None,
        facts: lines.facts.clone(),
        on_opened: lines.on_opened.clone(),
    }
}

/// Lets all pods be looked at whenever that is asked for.
async fn look_again(
    mut asked: watch::Receiver<u64>,
    pods: Arc<Store<Pod>>,
    gates: Gates,
    queue: Arc<WorkQueue<Request>>,
) {
    while asked.changed().await.is_ok() {
        pods.all().iter().for_each(|pod| queue.add(Request::of(pod, gates)));
    }
}
