//! What a ClusterQueue's Active condition says.

use crate::id::Name;
use crate::queue::Obstacle;

/// Reason and message of a ClusterQueue that is not known.
pub(crate) const NOT_FOUND: (&str, &str) = ("NotFound", "ClusterQueue not found");
/// Reason and message of a ClusterQueue that may admit.
pub(crate) const READY: (&str, &str) = ("Ready", "Can admit new workloads");
/// Reason and message of a ClusterQueue that is being deleted.
pub(crate) const TERMINATING: (&str, &str) = ("Terminating", "Can't admit new workloads; clusterQueue is terminating");

/// Reason and message where something is in the way.
pub(crate) fn not_ready(obstacles: &[Obstacle]) -> (&'static str, Name) {
    let reason = obstacles.first().map_or("Unknown", reason);
    let messages: Vec<String> = obstacles.iter().map(message).collect();
    let message = format!("Can't admit new workloads: {}.", messages.join(", "));
    (reason, super::condition_message(message.into()))
}

fn reason(obstacle: &Obstacle) -> &'static str {
    match obstacle {
        Obstacle::Stopped => "Stopped",
        Obstacle::MissingFlavors(_) => "FlavorNotFound",
        Obstacle::MissingChecks(_) => "AdmissionCheckNotFound",
        Obstacle::InactiveChecks(_) => "AdmissionCheckInactive",
        Obstacle::SeveralMultiKueueChecks(_) => "MultipleMultiKueueAdmissionChecks",
        Obstacle::MultiKueueCheckPerFlavor(_) => "MultiKueueAdmissionCheckAppliedPerFlavor",
        Obstacle::MultiKueueWithProvisioning { .. } => "MultiKueueWithProvisioningRequest",
        Obstacle::MissingTopology { .. } => "TopologyNotFound",
    }
}

fn message(obstacle: &Obstacle) -> String {
    match obstacle {
        Obstacle::Stopped => "is stopped".to_owned(),
        Obstacle::MissingFlavors(names) => format!("references missing ResourceFlavor(s): {}", names.join(",")),
        Obstacle::MissingChecks(names) => format!("references missing AdmissionCheck(s): {}", names.join(",")),
        Obstacle::InactiveChecks(names) => format!("references inactive AdmissionCheck(s): {}", names.join(",")),
        Obstacle::SeveralMultiKueueChecks(names) => {
            let names = names.join(",");
            format!("Cannot use multiple MultiKueue AdmissionChecks on the same ClusterQueue, found: {names}")
        }
        Obstacle::MultiKueueCheckPerFlavor(names) => {
            format!("Cannot specify MultiKueue AdmissionCheck per flavor, found: {}", names.join(","))
        }
        Obstacle::MultiKueueWithProvisioning { multi_kueue, provisioning } => format!(
            "Cannot use both MultiKueue and ProvisioningRequest AdmissionChecks together, found: {}, {}",
            multi_kueue.join(","),
            provisioning.join(",")
        ),
        Obstacle::MissingTopology { topology, flavor } => {
            format!("there is no Topology {topology:?} for TAS flavor {flavor:?}")
        }
    }
}
