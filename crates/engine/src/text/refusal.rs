//! Why a flavor could not be given, as a value and as a sentence.

use kueue_core::amount::Amount;

use super::amount;
use crate::explain::{PlaceLook, Shortage};
use crate::id::{FlavorId, Name, PoolId, ResourceId};
use crate::names::Names;
use crate::topology::Failure;

/// One reason against a flavor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Refusal {
    /// The ClusterQueue has no quota for the resource.
    NotCovered(ResourceId),
    /// The attempt is bound to the flavors that were nominated before.
    NotNominated { flavor: FlavorId, resource: ResourceId },
    /// The workload may not get the flavor.
    NotAllowed(FlavorId),
    /// There is no such ResourceFlavor.
    NoSuchFlavor(FlavorId),
    /// The pods do not tolerate a taint of the flavor.
    Taint { taint: Name, flavor: FlavorId },
    /// The pods select other nodes.
    Affinity(FlavorId),
    /// The slice that is replaced has another flavor.
    OtherFlavorHeld { flavor: FlavorId, held: Option<FlavorId> },
    /// More than could ever be had.
    ExceedsCapacity { pool: PoolId, assumed: Amount, request: Amount, capacity: Amount },
    /// More than is free now.
    Insufficient { pool: PoolId, missing: Amount },
    /// Pods are asked to be close together, and the flavor does not say where its nodes are.
    NotPlaced(FlavorId),
    /// The flavor is for pods that are placed.
    OnlyPlaced(FlavorId),
    /// The flavor's topology is not known.
    NoTree(FlavorId),
    /// The flavor's topology has no such level.
    NoLevel(FlavorId),
    /// There is no room where the pods may go together.
    Unplaced(Failure),
    /// The flavor was given up because it lacks a resource of the same group.
    NotProvided { flavor: FlavorId, resource: ResourceId },
}

impl Refusal {
    /// By how much quota is too small, if that is what is wrong.
    pub(crate) fn shortage(&self, names: &Names) -> Option<Shortage> {
        let (pool, missing, is_for_ever) = match self {
            Self::ExceedsCapacity { pool, assumed, request, capacity } => {
                (pool, assumed.plus(*request).minus(*capacity), true)
            }
            Self::Insufficient { pool, missing } => (pool, *missing, false),
            _ => return None,
        };
        Some(Shortage { resource: names.pool(*pool).1.clone(), missing, is_for_ever })
    }

    /// How far a search for places came, if that is what is wrong.
    pub(crate) fn place(&self, names: &Names) -> Option<PlaceLook> {
        match self {
            Self::Unplaced(failure) => failure.look(names),
            _ => None,
        }
    }

    pub(crate) fn render(&self, names: &Names) -> String {
        match self {
            Self::NotCovered(resource) => format!("resource {} unavailable in ClusterQueue", names.resource(*resource)),
            Self::NotNominated { flavor, resource } => format!(
                "skipping flavor {} as it is not found in the nomination mapping for resource {}",
                names.flavor(*flavor),
                names.resource(*resource)
            ),
            Self::NotAllowed(flavor) => format!(
                "skipping flavor {} due to WorkloadAllowedResourceFlavorAnnotation annotation",
                names.flavor(*flavor)
            ),
            Self::NoSuchFlavor(flavor) => format!("flavor {} not found", names.flavor(*flavor)),
            Self::Taint { taint, flavor } => format!("untolerated taint {taint} in flavor {}", names.flavor(*flavor)),
            Self::Affinity(flavor) => format!("flavor {} doesn't match node affinity", names.flavor(*flavor)),
            Self::OtherFlavorHeld { flavor, held } => format!(
                "could not assign {} flavor since the original workload is assigned: {}",
                names.flavor(*flavor),
                held.map_or("", |held| names.flavor(held))
            ),
            Self::ExceedsCapacity { pool, assumed, request, capacity } => {
                let (flavor, resource) = names.pool(*pool);
                format!(
                    "insufficient quota for {resource} in flavor {flavor}, previously considered podsets requests ({}) + \
                     current podset request ({}) > maximum capacity ({})",
                    amount(resource, *assumed),
                    amount(resource, *request),
                    amount(resource, *capacity)
                )
            }
            Self::Insufficient { pool, missing } => {
                let (flavor, resource) = names.pool(*pool);
                format!(
                    "insufficient unused quota for {resource} in flavor {flavor}, {} more needed",
                    amount(resource, *missing)
                )
            }
            Self::NotPlaced(flavor) => {
                format!("Flavor {:?} does not support TopologyAwareScheduling", names.flavor(*flavor))
            }
            Self::OnlyPlaced(flavor) => {
                format!("Flavor {:?} supports only TopologyAwareScheduling", names.flavor(*flavor))
            }
            Self::NoTree(flavor) => format!("Flavor {:?} information missing in TAS cache", names.flavor(*flavor)),
            Self::NoLevel(flavor) => {
                format!("Flavor {:?} does not contain the requested level", names.flavor(*flavor))
            }
            Self::Unplaced(failure) => failure.render(names),
            Self::NotProvided { flavor, resource } => {
                format!("flavor {} does not provide resource {}", names.flavor(*flavor), names.resource(*resource))
            }
        }
    }
}
