//! What the configuration file says about sharing, and what LocalQueues show of it.

use kueue_api::config::blocks::AdmissionFairSharing;
use kueue_api::kueue::v1beta2::{AdmissionFairSharingStatus, LocalQueueStatus};
use kueue_core::resource_list::ResourceList;
use kueue_core::time::Time;
use kueue_engine as engine;

/// How usage of LocalQueues is counted.
pub fn admission_fair_sharing(config: &AdmissionFairSharing) -> engine::AdmissionFairSharing {
    engine::AdmissionFairSharing {
        half_life: config.usage_half_life_time,
        sampling_interval: config.usage_sampling_interval,
        resource_weights: config.resource_weights.iter().map(|(name, weight)| (name.clone(), weight.0)).collect(),
    }
}

/// Writes what a LocalQueue used ([`engine::Effect::Consumed`]) into its status. Its share of what was borrowed is
/// another's to say and stays as it is.
pub fn consumed_from_engine(consumed: &ResourceList, at: Time, status: &mut LocalQueueStatus) {
    let used = AdmissionFairSharingStatus { consumed_resources: consumed.clone(), last_update: at };
    status.fair_sharing.get_or_insert_default().admission_fair_sharing_status = Some(used);
}

#[cfg(test)]
mod tests {
    use super::*;
    use kueue_api::kueue::v1beta2::{LocalQueue, LocalQueueFairSharingStatus};

    #[test]
    fn what_was_used_is_read_back_as_it_was_written() {
        let mut queue = LocalQueue::default();
        let sharing = LocalQueueFairSharingStatus { weighted_share: 7, ..Default::default() };
        queue.status.fair_sharing = Some(sharing);
        queue.status.pending_workloads = 3;
        let consumed: ResourceList = [("cpu".to_owned(), "1500m".parse().unwrap())].into();
        let at: Time = "2026-01-01T00:01:00Z".parse().unwrap();
        consumed_from_engine(&consumed, at, &mut queue.status);
        let engine::Change::LocalQueue(told) = crate::local_queue(&queue) else { panic!("a LocalQueue is told") };
        assert_eq!(told.consumed, Some(consumed));
        let written = queue.status.fair_sharing.unwrap();
        assert_eq!(written.admission_fair_sharing_status.unwrap().last_update, at);
        assert_eq!((written.weighted_share, queue.status.pending_workloads), (7, 3), "the rest stays");
    }
}
