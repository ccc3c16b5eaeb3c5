//! What the configuration file says about sharing.

use kueue_api::config::blocks::AdmissionFairSharing;
use kueue_engine as engine;

/// How usage of LocalQueues is counted.
pub fn admission_fair_sharing(config: &AdmissionFairSharing) -> engine::AdmissionFairSharing {
    engine::AdmissionFairSharing {
        half_life: config.usage_half_life_time,
        sampling_interval: config.usage_sampling_interval,
        resource_weights: config.resource_weights.iter().map(|(name, weight)| (name.clone(), weight.0)).collect(),
    }
}
