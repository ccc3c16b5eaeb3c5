//! `kubeflow.org/v1` XGBoostJob. Training operator 1.8 and newer.

use super::training_job;

training_job! {
    XGBoostJob in "v1"/"xgboostjobs", xgb_replica_specs = "xgbReplicaSpecs", ["Master", "Worker"], prebuilt: true,
    const NAME: &'static str = "kubeflow.org/xgboostjob";
    const SOURCE: &'static str = "kubeflow.org/xgboostjob-kueue-controller";
}
