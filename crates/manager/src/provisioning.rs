//! The controllers of checks that ask the autoscaler for nodes, connected to what they depend on.
//!
//! The autoscaler's API may not be there, or come later: nothing waits for it but these controllers.

use std::sync::Arc;

use kueue_api::autoscaling::ProvisioningRequest;
use kueue_api::core_v1::PodTemplate;
use kueue_api::kueue::names::EVENT_SOURCE_PROVISIONING;
use kueue_api::kueue::v1beta2::{AdmissionCheck, ProvisioningRequestConfig, Workload};
use kueue_controllers::provisioning::check::{check_values, config_values};
use kueue_controllers::provisioning::reconciler::{Checks, Provisioning, owner_values, owners};
use kueue_core::gates::Gates;
use kueue_runtime::informer::{Index, Store};
use kueue_runtime::key::Key;
use kueue_runtime::queue::WorkQueue;
use kueue_runtime::reconciler::starter;
use kueue_runtime::watch;
use tokio::task::JoinSet;

use crate::Shared;
use crate::informers::{self, Informers};

type Line = Arc<WorkQueue<Key>>;

/// Whom to look at when something changes.
#[derive(Clone)]
struct Lines {
    workloads: Line,
    checks: Line,
    workload_store: Arc<Store<Workload>>,
    by_check: Index,
    check_store: Arc<Store<AdmissionCheck>>,
    by_config: Index,
}

impl Lines {
    fn on_check(&self, check: &Key) {
        self.checks.add(check.clone());
        for (workload, _) in self.workload_store.find(self.by_check, &check.name) {
            self.workloads.add(workload);
        }
    }

    fn on_config(&self, config: &Key) {
        for (check, _) in self.check_store.find(self.by_config, &config.name) {
            self.on_check(&check);
        }
    }

    /// The API is there: whatever was passed over is looked at.
    async fn on_served(self, mut is_served: watch::Receiver<bool>) {
        // Whoever would tell is gone only while everything ends.
        if is_served.wait_for(|is_served| *is_served).await.is_ok() {
            self.workload_store.keys().into_iter().for_each(|key| self.workloads.add(key));
            self.check_store.keys().into_iter().for_each(|key| self.checks.add(key));
        }
        // A part that ends would end the manager.
        std::future::pending::<()>().await;
    }
}

/// Listens to whatever concerns requests for nodes; returns what begins to look at them.
pub(crate) fn connect(
    shared: &Shared,
    gates: Gates,
    informers: &mut Informers,
    tasks: &mut JoinSet<()>,
) -> impl Fn(&mut JoinSet<()>) + use<> {
    let lines = Lines {
        workloads: Line::default(),
        checks: Line::default(),
        workload_store: informers.workloads.store(),
        by_check: informers.workloads.store().index(check_values),
        check_store: informers.checks.store(),
        by_config: informers.checks.store().index(config_values),
    };
    let (mut requests, request_store) = informers::new::<ProvisioningRequest>();
    let by_owner = request_store.index(owner_values);
    let line = Arc::clone(&lines.workloads);
    requests.listen(move |delta| {
        let (old, new) = delta.sides();
        old.into_iter().chain(new).flat_map(owners).for_each(|workload| line.add(workload));
    });
    let (templates, template_store) = informers::new::<PodTemplate>();
    let (mut configs, config_store) = informers::new::<ProvisioningRequestConfig>();
    let told = lines.clone();
    configs.listen(move |delta| told.on_config(&delta.key));
    let told = lines.clone();
    informers.checks.listen(move |delta| told.on_check(&delta.key));
    let line = Arc::clone(&lines.workloads);
    informers.workloads.listen(move |delta| {
        let (old, new) = delta.sides();
        if old.into_iter().chain(new).any(|workload| !workload.status.admission_checks.is_empty()) {
            line.add(delta.key.clone());
        }
    });
    informers.add(templates);
    informers.add(configs);
    let is_served = requests.synced();
    tasks.spawn(requests.run(shared.client.clone()));
    tasks.spawn(lines.clone().on_served(is_served.clone()));
    let provisioning = Provisioning {
        client: shared.client.clone(),
        clock: shared.clock,
        recorder: shared.recorder.named(EVENT_SOURCE_PROVISIONING),
        gates,
        workloads: informers.workloads.store(),
        flavors: informers.flavors.store(),
        checks: informers.checks.store(),
        configs: Arc::clone(&config_store),
        requests: request_store,
        by_owner,
        templates: template_store,
        is_served: is_served.clone(),
    };
    let checks = Checks {
        client: shared.client.clone(),
        clock: shared.clock,
        checks: informers.checks.store(),
        configs: config_store,
        is_served,
        since: shared.clock.time(),
    };
    let start_workloads = starter(lines.workloads, provisioning, 1, &shared.meters);
    let start_checks = starter(lines.checks, checks, 1, &shared.meters);
    move |tasks| {
        start_workloads(tasks);
        start_checks(tasks);
    }
}
