//! What a pod set asks about its place.

use serde::{Deserialize, Serialize};

use super::TopologyAssignment;
use super::failure::Failure;
use super::tree::Tree;
use crate::id::{Name, ResourceId};
use crate::placement::PodPlacement;

/// What a pod set says about its place. There is none where it says nothing.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct TopologyRequest {
    /// All pods in one domain of this level.
    pub required: Option<Name>,
    /// All pods in one domain of this level, or of a wider one, or in few of the widest.
    pub preferred: Option<Name>,
    /// Anywhere.
    pub is_unconstrained: bool,
    /// Groups of pods that stay together, from the largest to the smallest.
    pub slices: Vec<SliceSpec>,
}

/// Pods that stay together in one domain.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct SliceSpec {
    /// The level of the domain.
    pub level: Name,
    /// How many pods; not told when it is not positive.
    pub size: i32,
}

/// A pod set that looks for a place.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    /// Its position among the workload's pod sets.
    pub(crate) index: usize,
    pub(crate) count: i32,
    pub(crate) pods: Pods,
    /// What checks say about its nodes and what it says itself cannot both be.
    pub(crate) conflict: Option<Conflict>,
    pub(crate) request: Option<TopologyRequest>,
    /// Pod sets of a group are placed together: one of them leads, the others are the workers.
    pub(crate) group: Option<Name>,
    /// Where the pods of the slice that it replaces are.
    pub(crate) previous: Option<TopologyAssignment>,
}

/// Two values for one label of the nodes that pods may use.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Conflict {
    pub(crate) pod_set: Name,
    pub(crate) key: Name,
    pub(crate) present: Name,
    pub(crate) added: Name,
}

/// What all pods of a pod set are like.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Pods {
    /// What one needs, by resource name, without the pod itself.
    pub(crate) requests: Vec<(ResourceId, i64)>,
    pub(crate) placement: PodPlacement,
}

/// A request in terms of a tree's levels.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Terms {
    /// Where the search begins.
    pub(super) level: usize,
    pub(super) is_required: bool,
    pub(super) is_unconstrained: bool,
    pub(super) slice_level: usize,
    pub(super) slice_size: i32,
    /// The size of the groups within a slice, per level; 0 where there is none.
    pub(super) inner: Vec<i32>,
    /// As they were asked for, where there is more than one.
    pub(super) layers: Vec<SliceSpec>,
}

impl TopologyRequest {
    fn is_about_slices_only(&self) -> bool {
        self.required.is_none() && self.preferred.is_none() && !self.slices.is_empty()
    }

    /// The level that it names, or means.
    fn level<'a>(&'a self, tree: &'a Tree) -> Option<&'a Name> {
        match self {
            Self { required: Some(level), .. } | Self { preferred: Some(level), .. } => Some(level),
            _ if self.is_about_slices_only() => tree.levels.first(),
            _ if self.is_unconstrained => tree.levels.last(),
            _ => None,
        }
    }

    /// Whether all levels that it names exist.
    pub(crate) fn is_known_to(&self, tree: &Tree) -> bool {
        let names = self.slices.iter().map(|slice| &slice.level);
        self.level(tree).is_some_and(|level| names.chain([level]).all(|name| tree.level_of(name).is_some()))
    }

    /// The size of the outermost groups that stay together.
    pub(super) fn slice_size(&self) -> Result<i32, Failure> {
        match self.slices.first() {
            None => Ok(1),
            Some(slice) if slice.size > 0 => Ok(slice.size),
            Some(_) => Err(Failure::NoSliceSize),
        }
    }
}

impl Terms {
    /// Without a request the queue has no place but such that pods are placed: anywhere.
    pub(super) fn new(request: Option<&TopologyRequest>, tree: &Tree) -> Result<Self, Failure> {
        let lowest = tree.levels.last().ok_or(Failure::NoLevel)?;
        let nothing = TopologyRequest { is_unconstrained: true, ..TopologyRequest::default() };
        let asked = request.unwrap_or(&nothing);
        let slice_size = asked.slice_size()?;
        let level_name = asked.level(tree).ok_or(Failure::NoLevel)?;
        let level = tree.level_of(level_name).ok_or_else(|| Failure::UnknownLevel(level_name.clone()))?;
        let slice_name = asked.slices.first().map_or(lowest, |slice| &slice.level);
        let slice_level = tree.level_of(slice_name).ok_or_else(|| Failure::UnknownSliceLevel(slice_name.clone()))?;
        if level > slice_level {
            return Err(Failure::SliceAbove { slice: slice_name.clone(), level: level_name.clone() });
        }
        let inner = inner_sizes(asked, tree, slice_level, slice_size)?;
        let has_layers = inner.iter().any(|size| *size > 0);
        Ok(Self {
            level,
            is_required: asked.required.is_some(),
            is_unconstrained: asked.is_unconstrained || asked.is_about_slices_only(),
            slice_level,
            slice_size,
            inner,
            layers: if has_layers { asked.slices.clone() } else { Vec::new() },
        })
    }

    /// The level at which a search for the request begins.
    pub(super) fn level_of(request: Option<&TopologyRequest>, tree: &Tree) -> Option<usize> {
        match request {
            Some(request) => tree.level_of(request.level(tree)?),
            None => Some(tree.lowest()),
        }
    }

    /// How many pods go together into a domain of that level, below the slices' own.
    pub(super) fn inner_size(&self, level: usize) -> Option<i32> {
        self.inner.get(level).copied().filter(|size| *size > 0)
    }
}

/// The groups within slices: levels between two layers keep the size of the lower one.
fn inner_sizes(asked: &TopologyRequest, tree: &Tree, slice_level: usize, slice_size: i32) -> Result<Vec<i32>, Failure> {
    let mut sizes = Vec::new();
    let (mut above, mut above_size) = (slice_level, slice_size);
    for layer in asked.slices.iter().skip(1) {
        let level = tree.level_of(&layer.level).ok_or_else(|| Failure::UnknownLayer(layer.level.clone()))?;
        if level <= above {
            return Err(Failure::LayerNotLower { layer: layer.level.clone(), above: tree.levels[above].clone() });
        }
        if layer.size <= 0 || above_size % layer.size != 0 {
            return Err(Failure::LayerSize { size: layer.size, above: above_size });
        }
        sizes.resize(tree.levels.len(), 0);
        sizes[above + 1..=level].fill(layer.size);
        (above, above_size) = (level, layer.size);
    }
    Ok(sizes)
}
