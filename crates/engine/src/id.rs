//! Small integer names for everything the engine holds.
//!
//! Objects arrive under their string names and are looked up once; from then on every reference is one of these, so
//! that state lives in plain vectors and following a reference is an index.

use std::marker::PhantomData;
use std::ops::{Index, IndexMut};
use std::sync::Arc;

use rustc_hash::FxHashMap;

/// An integer that stands for one object of a kind.
pub(crate) trait Id: Copy + Eq {
    fn from_index(index: usize) -> Self;
    fn index(self) -> usize;
}

macro_rules! ids {
    ($($(#[$about:meta])* $name:ident;)*) => {$(
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub(crate) struct $name(u32);

        impl Id for $name {
            fn from_index(index: usize) -> Self {
                Self(u32::try_from(index).expect("fewer than 2^32 objects of a kind"))
            }
            fn index(self) -> usize {
                self.0 as usize
            }
        }

        #[allow(dead_code, reason = "not every kind of id is the key of a range")]
        impl $name {
            pub(crate) const FIRST: Self = Self(0);
            pub(crate) const LAST: Self = Self(u32::MAX);
        }
    )*};
}

ids! {
    /// A resource name such as `cpu`.
    ResourceId;
    /// The name of a flavor, whether or not the object exists.
    FlavorId;
    /// A flavor and a resource: what quota is counted in.
    PoolId;
    /// A ClusterQueue or a cohort as a node of the quota tree.
    NodeId;
    /// A ClusterQueue.
    QueueId;
    /// The name of a LocalQueue, whether or not the object exists.
    LocalQueueId;
    /// The name of a namespace, whether or not it exists.
    NamespaceId;
    /// A Workload.
    WorkloadId;
    /// Workloads that any queue would treat alike.
    ClassId;
    /// Label values that metrics tell workloads apart by.
    LabelsId;
}

/// A vector indexed by one kind of id.
#[derive(Debug)]
pub(crate) struct IdVec<I, T> {
    items: Vec<T>,
    kind: PhantomData<fn(I)>,
}

impl<I: Id, T> Default for IdVec<I, T> {
    fn default() -> Self {
        Self { items: Vec::new(), kind: PhantomData }
    }
}

impl<I: Id, T> IdVec<I, T> {
    pub(crate) fn push(&mut self, item: T) -> I {
        self.items.push(item);
        I::from_index(self.items.len() - 1)
    }
}

impl<I: Id, T> Index<I> for IdVec<I, T> {
    type Output = T;
    fn index(&self, id: I) -> &T {
        &self.items[id.index()]
    }
}

impl<I: Id, T> IndexMut<I> for IdVec<I, T> {
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.items[id.index()]
    }
}

/// Places whose use begins again after removal: for objects that come and go.
///
/// They are kept in chunks, so that growing never moves an object: with a million workloads a move of all of them would
/// be a pause, and twice the memory while it lasts.
#[derive(Debug)]
pub(crate) struct Slab<I, T> {
    chunks: Vec<Vec<Option<T>>>,
    free: Vec<I>,
}

/// Places per chunk.
const CHUNK: usize = 1024;

impl<I: Id, T> Default for Slab<I, T> {
    fn default() -> Self {
        Self { chunks: Vec::new(), free: Vec::new() }
    }
}

impl<I: Id, T> Slab<I, T> {
    pub(crate) fn insert(&mut self, item: T) -> I {
        if let Some(id) = self.free.pop() {
            *self.place(id) = Some(item);
            return id;
        }
        if self.chunks.last().is_none_or(|chunk| chunk.len() == CHUNK) {
            // The first one grows with what is there; those after it will be filled.
            self.chunks.push(Vec::with_capacity(if self.chunks.is_empty() { 0 } else { CHUNK }));
        }
        let full = (self.chunks.len() - 1) * CHUNK;
        let last = self.chunks.last_mut().expect("there is a chunk with room");
        last.push(Some(item));
        I::from_index(full + last.len() - 1)
    }

    pub(crate) fn remove(&mut self, id: I) -> T {
        self.free.push(id);
        self.place(id).take().expect("an id is removed once")
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = I> {
        let items = self.chunks.iter().flatten().enumerate();
        items.filter(|(_, item)| item.is_some()).map(|(index, _)| I::from_index(index))
    }

    fn place(&mut self, id: I) -> &mut Option<T> {
        &mut self.chunks[id.index() / CHUNK][id.index() % CHUNK]
    }
}

impl<I: Id, T> Index<I> for Slab<I, T> {
    type Output = T;
    fn index(&self, id: I) -> &T {
        let item = &self.chunks[id.index() / CHUNK][id.index() % CHUNK];
        item.as_ref().expect("an id lives as long as its object")
    }
}

impl<I: Id, T> IndexMut<I> for Slab<I, T> {
    fn index_mut(&mut self, id: I) -> &mut T {
        self.place(id).as_mut().expect("an id lives as long as its object")
    }
}

/// Gives each distinct value of a kind one id, for ever.
#[derive(Debug)]
pub(crate) struct Interner<I, T> {
    ids: FxHashMap<T, I>,
    values: IdVec<I, T>,
}

impl<I: Id, T> Default for Interner<I, T> {
    fn default() -> Self {
        Self { ids: FxHashMap::default(), values: IdVec::default() }
    }
}

impl<I: Id, T: Clone + Eq + std::hash::Hash> Interner<I, T> {
    pub(crate) fn intern(&mut self, value: &T) -> I {
        if let Some(id) = self.ids.get(value) {
            return *id;
        }
        let id = self.values.push(value.clone());
        self.ids.insert(value.clone(), id);
        id
    }

    pub(crate) fn get(&self, value: &T) -> Option<I> {
        self.ids.get(value).copied()
    }
}

impl<I: Id, T> Index<I> for Interner<I, T> {
    type Output = T;
    fn index(&self, id: I) -> &T {
        &self.values[id]
    }
}

/// Names as they are used in [`Interner`]s and effects: shared, never copied.
pub type Name = Arc<str>;
