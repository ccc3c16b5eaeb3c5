//! `kubeflow.org/v1` TFJob. Training operator 1.8 and newer.

use super::training_job;

training_job! {
    TFJob in "v1"/"tfjobs", tf_replica_specs = "tfReplicaSpecs", ["Chief", "Master", "PS", "Worker", "Evaluator"], prebuilt: true,
    const NAME: &'static str = "kubeflow.org/tfjob";
    const SOURCE: &'static str = "kubeflow.org/tfjob-kueue-controller";
}
