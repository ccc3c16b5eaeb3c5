//! Jobs of the kinds that are enabled, connected to everything they depend on.

use std::sync::Arc;

use kueue_core::gates::Gate;
use kueue_jobs::job::Job;
use kueue_jobs::kinds::ray::raycluster::RayCluster;
use kueue_jobs::kinds::{Visitor, visit_enabled};
use kueue_jobs::owners::Owners;
use kueue_jobs::reconciler::{JobReconciler, controller_values, queue_children, queue_controller, queue_owners};
use kueue_jobs::step::Settings;
use kueue_runtime::informer::{Store, Unseen};
use kueue_runtime::key::Key;
use kueue_runtime::queue::WorkQueue;
use kueue_runtime::reconciler::{self, Reconciler as _};
use kueue_runtime::watch;
use tokio::task::JoinSet;

use crate::current::catch_up;
use crate::informers::{self, Informers};
use crate::{JobLines, Shared, at_once, frameworks};

/// Begins to look at objects.
type Start = Box<dyn Fn(&mut JoinSet<()>) + Send + Sync>;

/// Watches jobs of every kind that is enabled; returns what begins to look at them.
pub(crate) fn connect_enabled(
    shared: &Shared,
    informers: &mut Informers,
    settings: &Arc<Settings>,
    lines: &JobLines,
    tasks: &mut JoinSet<()>,
) -> impl Fn(&mut JoinSet<()>) + use<> {
    let mut kinds = Connecting { shared, informers, settings, lines, tasks, started: Vec::new() };
    visit_enabled(frameworks(&shared.config), &mut kinds);
    let started = kinds.started;
    move |tasks| started.iter().for_each(|start| start(tasks))
}

struct Connecting<'a> {
    shared: &'a Shared,
    informers: &'a mut Informers,
    settings: &'a Arc<Settings>,
    lines: &'a JobLines,
    tasks: &'a mut JoinSet<()>,
    started: Vec<Start>,
}

impl Visitor for Connecting<'_> {
    fn visit<J: Job>(&mut self) {
        let start = connect::<J>(self.shared, self.informers, Arc::clone(self.settings), self.lines, self.tasks);
        self.started.push(Box::new(start));
    }
}

/// Watches jobs of a kind and the Workloads they own; returns what begins to look at them, once they are listed: the API
/// of a kind may be installed later.
fn connect<J: Job>(
    shared: &Shared,
    informers: &mut Informers,
    settings: Arc<Settings>,
    lines: &JobLines,
    tasks: &mut JoinSet<()>,
) -> impl Fn(&mut JoinSet<()>) + use<J> {
    let (mut informer, jobs) = informers::new::<J>();
    let queue: Arc<WorkQueue<Key>> = Arc::default();
    informer.listen({
        let queue = Arc::clone(&queue);
        move |delta| queue.add(delta.key.clone())
    });
    informers.workloads.listen({
        let queue = Arc::clone(&queue);
        move |delta| queue_owners::<J>(delta, &queue)
    });
    let by_controller = jobs.index(controller_values);
    informers.workloads.listen({
        let (queue, jobs) = (Arc::clone(&queue), Arc::clone(&jobs));
        move |delta| queue_children(delta, &jobs, by_controller, &queue)
    });
    let synced = informers.add_late(informer);
    let ray_clusters = follow_clusters::<J>(&settings, informers, &queue);
    tasks.spawn(look_again(lines.look_again.subscribe(), Arc::clone(&jobs), Arc::clone(&queue)));
    let reconciler = JobReconciler {
        client: shared.client.clone(),
        clock: shared.clock,
        recorder: shared.recorder.named(J::EVENT_SOURCE),
        settings,
        unseen: Arc::new(Unseen::new(Arc::clone(&jobs))),
        jobs,
        stores: informers.stores(),
        owners: Owners::new(shared.client.clone()),
        ray_clusters,
        facts: lines.facts.clone(),
        on_opened: lines.on_opened.clone(),
    };
    let at_once = at_once(&shared.config, &format!("{}.{}", J::KIND, J::GROUP));
    shared.meters.follow(&queue, reconciler.name(), at_once);
    let reconciler = Arc::new(reconciler);
    move |tasks| {
        let (queue, reconciler, mut synced) = (Arc::clone(&queue), Arc::clone(&reconciler), synced.clone());
        tasks.spawn(async move {
            // An informer that is gone tells nothing more; then everything ends.
            drop(synced.wait_for(|is_synced| *is_synced).await);
            catch_up(&reconciler.client, &reconciler.jobs, "").await;
            reconciler::run(queue, reconciler, at_once).await;
        });
    }
}

/// Watches the RayClusters of elastic jobs, whose size may change there.
fn follow_clusters<J: Job>(
    settings: &Settings,
    informers: &mut Informers,
    queue: &Arc<WorkQueue<Key>>,
) -> Option<Arc<Store<RayCluster>>> {
    if !J::RUNS_IN_RAY_CLUSTER || !settings.gates.enabled(Gate::ElasticJobsViaWorkloadSlices) {
        return None;
    }
    let (mut informer, clusters) = informers::new::<RayCluster>();
    let queue = Arc::clone(queue);
    informer.listen(move |delta| queue_controller::<J>(delta, &queue));
    informers.add_late(informer);
    Some(clusters)
}

/// Lets all jobs be looked at whenever that is asked for.
async fn look_again<J: Job>(mut asked: watch::Receiver<u64>, jobs: Arc<Store<J>>, queue: Arc<WorkQueue<Key>>) {
    while asked.changed().await.is_ok() {
        jobs.keys().into_iter().for_each(|key| queue.add(key));
    }
}
