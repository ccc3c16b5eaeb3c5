//! `kubeflow.org/v1` PyTorchJob. Training operator 1.8 and newer.

use super::training_job;

training_job! {
    PyTorchJob in "v1"/"pytorchjobs", pytorch_replica_specs = "pytorchReplicaSpecs", ["Master", "Worker"], prebuilt: true,
    const NAME: &'static str = "kubeflow.org/pytorchjob";
    const SOURCE: &'static str = "kubeflow.org/pytorchjob-kueue-controller";
}
