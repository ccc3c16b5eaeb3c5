//! Why no place was found, as values and in Kueue's words.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::filter::Repelled;
use super::request::Conflict;
use crate::explain::PlaceLook;
use crate::id::{Name, ResourceId};
use crate::names::Names;

/// Why no place was found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Failure {
    /// Slices are asked for, but not how large.
    NoSliceSize,
    /// The request names no level.
    NoLevel,
    UnknownLevel(Name),
    UnknownSliceLevel(Name),
    SliceAbove {
        slice: Name,
        level: Name,
    },
    UnknownLayer(Name),
    LayerNotLower {
        layer: Name,
        above: Name,
    },
    LayerSize {
        size: i32,
        above: i32,
    },
    Conflict(Conflict),
    NoDomains(Name),
    /// Nobody asked for more than that.
    NoRoom,
    /// Room for some or none.
    TooFew {
        topology: Name,
        spot: Spot,
        fitting: i32,
        wanted: i32,
        unit: Unit,
        excluded: Excluded,
    },
    /// Room for groups at some levels and not at others.
    Layers {
        topology: Name,
        spot: Spot,
        fits: Vec<(i32, i32, Name)>,
        excluded: Excluded,
    },
    /// Pods that stay are on a node that is not there any more.
    StaleDomain(Name),
    NoReplacement(Name),
}

/// Where most was found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Spot {
    pub(super) level: Name,
    /// The domain with the most room, by its values from the top; none where several would have been taken together.
    pub(super) domain: Vec<Name>,
}

/// What is placed as a whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Unit {
    Pod,
    Slice,
}

/// Lowest domains that were out of the question, by reason.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Excluded {
    pub(super) total: usize,
    pub(super) reasons: BTreeMap<Reason, u32>,
}

/// What keeps even one pod out of a domain.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Reason {
    Repelled(Repelled),
    /// Pods must stay in another part of the tree.
    Outside,
    Shortage(ResourceId),
}

impl Excluded {
    /// How many are excluded for which reason, in words.
    fn told(&self, names: &Names) -> Vec<(String, u32)> {
        let words = |reason: &Reason| match reason {
            Reason::Repelled(Repelled::Taint(taint)) => format!("taint \"{taint}\""),
            Reason::Repelled(Repelled::Selector) => "nodeSelector".to_owned(),
            Reason::Repelled(Repelled::Affinity) => "affinity".to_owned(),
            Reason::Outside => "topologyDomain".to_owned(),
            Reason::Shortage(resource) => format!("resource \"{}\"", names.resource(*resource)),
        };
        self.reasons.iter().map(|(reason, count)| (words(reason), *count)).collect()
    }

    fn render(&self, names: &Names) -> String {
        if self.reasons.is_empty() {
            return String::new();
        }
        let mut reasons: Vec<String> =
            self.told(names).into_iter().map(|(reason, count)| format!("{reason}: {count}")).collect();
        // By their words, numbers included.
        reasons.sort();
        format!(". Total nodes: {}; excluded: {}", self.total, reasons.join(", "))
    }
}

impl Failure {
    /// How far the search came, where there was something to search.
    pub(crate) fn look(&self, names: &Names) -> Option<PlaceLook> {
        let (spot, excluded, fitting, wanted) = match self {
            Self::TooFew { spot, excluded, fitting, wanted, .. } => (spot, excluded, *fitting, *wanted),
            Self::Layers { spot, excluded, fits, .. } => {
                let (fitting, wanted, _) = fits.first()?;
                (spot, excluded, *fitting, *wanted)
            }
            _ => return None,
        };
        Some(PlaceLook {
            level: spot.level.clone(),
            domain: spot.domain.clone(),
            fitting,
            wanted,
            domains: excluded.total,
            excluded: excluded.told(names),
        })
    }

    /// In Kueue's words.
    pub(crate) fn render(&self, names: &Names) -> String {
        match self {
            Self::NoSliceSize => "slice topology requested, but slice size not provided".to_owned(),
            Self::NoLevel => "topology level not specified".to_owned(),
            Self::UnknownLevel(level) => format!("no requested topology level: {level}"),
            Self::UnknownSliceLevel(level) => format!("no requested topology level for slices: {level}"),
            Self::SliceAbove { slice, level } => {
                format!("podset slice topology {slice} is above the podset topology {level}")
            }
            Self::UnknownLayer(level) => format!("no requested topology level for additional slice layer: {level}"),
            Self::LayerNotLower { layer, above } => {
                format!("additional slice layer topology {layer} must be at a lower level than {above}")
            }
            Self::LayerSize { size, above } => {
                format!("additional slice layer size {size} must evenly divide parent layer size {above}")
            }
            Self::Conflict(Conflict { pod_set, key, present, added }) => format!(
                "invalid podSetUpdate for PodSet {pod_set}, error: invalid admission check PodSetUpdate: \
                 conflict for nodeSelector: conflict for key={key}, value1={present}, value2={added}"
            ),
            Self::NoRoom => "no room".to_owned(),
            Self::NoDomains(level) => format!("no topology domains at level: {level}"),
            Self::TooFew { topology, fitting, wanted, unit, excluded, .. } => {
                let unit = match unit {
                    Unit::Pod => "pod",
                    Unit::Slice => "slice",
                };
                let sentence = match fitting {
                    0 => format!("topology \"{topology}\" doesn't allow to fit any of {wanted} {unit}(s)"),
                    _ => format!("topology \"{topology}\" allows to fit only {fitting} out of {wanted} {unit}(s)"),
                };
                sentence + &excluded.render(names)
            }
            Self::Layers { topology, fits, excluded, .. } => {
                let mut sentence = format!("topology \"{topology}\" doesn't allow to fit");
                for (fitting, wanted, level) in fits {
                    let _ = write!(sentence, "; {fitting}/{wanted} slice(s) fit on level {level}");
                }
                sentence + &excluded.render(names)
            }
            Self::StaleDomain(name) => format!(
                "Cannot replace the node, because the existing topologyAssignment is invalid, as it contains the stale domain {name}"
            ),
            Self::NoReplacement(node) => format!("cannot find replacement assignment for unhealthy node: {node}"),
        }
    }
}
