//! `kubeflow.org/v1` JAXJob. Training operator 1.8 and newer.

use super::training_job;

training_job! {
    JAXJob in "v1"/"jaxjobs", jax_replica_specs = "jaxReplicaSpecs", ["Worker"], prebuilt: false,
    const NAME: &'static str = "kubeflow.org/jaxjob";
    const SOURCE: &'static str = "kubeflow.org/jaxjob-kueue-controller";
}
