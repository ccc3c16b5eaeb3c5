//! `kubeflow.org/v2beta1` MPIJob: a launcher and its workers. MPI operator 0.6 and newer.

use kueue_api::kueue::names::annotation;
use kueue_core::field::Errors;
use kueue_core::gates::{Gate, Gates};

use super::{Groups, topology_errors, training_job};
use crate::webhook::validation;

const LAUNCHER: &str = "Launcher";
const WORKER: &str = "Worker";

training_job! {
    MPIJob in "v2beta1"/"mpijobs", mpi_replica_specs = "mpiReplicaSpecs", [LAUNCHER, WORKER], prebuilt: true,
    const NAME: &'static str = "kubeflow.org/mpijob";
    const SOURCE: &'static str = "kubeflow.org/mpijob-kueue-controller";
    const OPERATOR: &'static str = "kubeflow.org/mpi-operator";

    /// A launcher that works as well has the first index; in a group the placement of pods knows that anyway.
    fn fill_in(&mut self, gates: Gates) {
        let works_as_well = self.spec.rest.get("runLauncherAsWorker") == Some(&true.into());
        let launcher = self.spec.mpi_replica_specs.get(LAUNCHER).and_then(Option::as_ref);
        let is_alone = launcher
            .is_some_and(|launcher| !launcher.template.metadata.annotations.contains_key(annotation::POD_SET_GROUP_NAME));
        if !gates.enabled(Gate::TopologyAwareScheduling) || !works_as_well || !is_alone {
            return;
        }
        if let Some(Some(worker)) = self.spec.mpi_replica_specs.get_mut(WORKER) {
            let annotations = &mut worker.template.metadata.annotations;
            annotations.insert(annotation::POD_INDEX_OFFSET.to_owned(), "1".to_owned());
        }
    }

    fn mistakes(&self, gates: Gates) -> Errors {
        let mut errors = validation::create(self, gates);
        errors.extend(topology_errors(self, Groups::Allowed, gates));
        by_field(errors)
    }

    fn mistakes_in_change(&self, old: &Self, has_default_queue: bool, gates: Gates) -> Errors {
        let mut errors = validation::update(self, old, has_default_queue, gates);
        errors.extend(self.mistakes(gates));
        by_field(errors)
    }
}

fn by_field(mut errors: Errors) -> Errors {
    errors.sort_by_key(|error| error.field.to_string());
    errors
}
