//! Training jobs of Kubeflow.

use kueue_jobs::kinds::kubeflow::jaxjob::JAXJob;
use kueue_jobs::kinds::kubeflow::mpijob::MPIJob;
use kueue_jobs::kinds::kubeflow::paddlejob::PaddleJob;
use kueue_jobs::kinds::kubeflow::pytorchjob::PyTorchJob;
use kueue_jobs::kinds::kubeflow::tfjob::TFJob;
use kueue_jobs::kinds::kubeflow::xgboostjob::XGBoostJob;
use kueue_jobs::kinds::kubeflow::{TrainingJob, roles};

use super::Runners;
use super::field_errors::Compared;
use super::job_kind::{default, job_or_empty, pod_sets, priority_class, restore, run};
use super::job_reconciler::reconcile;
use super::job_webhook::validate_create;
use crate::compare::equal;
use crate::corpus::{Case, Failure};

pub const JAX: Runners = &[
    ("TestOrderedReplicaTypes", ordered_roles::<JAXJob>),
    ("TestPodSets", |case| pod_sets::<JAXJob>(case, "job")),
    ("TestPriorityClass", priority_class::<JAXJob>),
    ("TestValidate", validate::<JAXJob>),
];

pub const MPI: Runners = &[
    ("TestCalcPriorityClassName", priority_class::<MPIJob>),
    ("TestDefault", |case| default::<MPIJob>(case, "mpiJob")),
    ("TestPodSets", |case| pod_sets::<MPIJob>(case, "job")),
    ("TestReconciler", reconcile::<MPIJob>),
    ("TestRestorePodSetsInfo", |case| restore::<MPIJob>(case, "job")),
    ("TestRunWithPodSetsInfo", |case| run::<MPIJob>(case, "job")),
    ("TestValidateCreate", |case| validate_create::<MPIJob>(case, "wantErr", Compared::Everything)),
];

pub const PADDLE: Runners = &[
    ("TestOrderedReplicaTypes", ordered_roles::<PaddleJob>),
    ("TestPodSets", |case| pod_sets::<PaddleJob>(case, "job")),
    ("TestPriorityClass", priority_class::<PaddleJob>),
    ("TestReconciler", reconcile::<PaddleJob>),
    ("TestValidate", validate::<PaddleJob>),
];

pub const PYTORCH: Runners = &[
    ("TestOrderedReplicaTypes", ordered_roles::<PyTorchJob>),
    ("TestPodSets", |case| pod_sets::<PyTorchJob>(case, "job")),
    ("TestPriorityClass", priority_class::<PyTorchJob>),
    ("TestRestorePodSetsInfo", |case| restore::<PyTorchJob>(case, "job")),
    ("TestValidate", validate::<PyTorchJob>),
];

pub const TF: Runners = &[
    ("TestOrderedReplicaTypes", ordered_roles::<TFJob>),
    ("TestPodSets", |case| pod_sets::<TFJob>(case, "job")),
    ("TestPriorityClass", priority_class::<TFJob>),
    ("TestValidate", validate::<TFJob>),
];

pub const XGBOOST: Runners = &[
    ("TestOrderedReplicaTypes", ordered_roles::<XGBoostJob>),
    ("TestPodSets", |case| pod_sets::<XGBoostJob>(case, "job")),
    ("TestPriorityClass", priority_class::<XGBoostJob>),
    ("TestReconciler", reconcile::<XGBoostJob>),
    ("TestValidate", validate::<XGBoostJob>),
];

fn ordered_roles<J: TrainingJob + Default>(case: &Case) -> Result<(), Failure> {
    equal(
        &case.arg::<Vec<String>>("wantReplicaTypes")?,
        &roles(&job_or_empty::<J>(case)?).iter().map(ToString::to_string).collect(),
    )
}

/// What the kind adds to the mistakes of all kinds.
fn validate<J: TrainingJob>(case: &Case) -> Result<(), Failure> {
    validate_create::<J>(case, "wantValidationErrs", Compared::Everything)
}
