//! `kubeflow.org/v1` PaddleJob. Training operator 1.8 and newer.

use super::training_job;

training_job! {
    PaddleJob in "v1"/"paddlejobs", paddle_replica_specs = "paddleReplicaSpecs", ["Master", "Worker"], prebuilt: true,
    const NAME: &'static str = "kubeflow.org/paddlejob";
    const SOURCE: &'static str = "kubeflow.org/paddlejob-kueue-controller";
}
