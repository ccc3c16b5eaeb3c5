//! What pods ask for, as integers: the form in which requests are added up, scaled and fitted into capacities.
//!
//! Resource names become small ids once, in an interner that the caller owns; after that a request is a short sorted
//! vector of ids and values. It holds no gaps: a cluster may see many resource names, while one pod asks for few.

#[cfg(test)]
mod tests;

use crate::resource::{self, Formatter};
use crate::resource_list::ResourceList;

/// A resource name, interned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceId(u32);

/// The interner: every resource name seen, each with its id. Names are never forgotten.
#[derive(Clone, Debug, Default)]
pub struct ResourceNames {
    /// Indexed by id.
    names: Vec<Box<str>>,
    /// All ids, ordered by name.
    sorted: Vec<ResourceId>,
}

impl ResourceNames {
    /// The id of a name, a new one if it was never seen.
    pub fn intern(&mut self, name: &str) -> ResourceId {
        match self.search(name) {
            Ok(found) => self.sorted[found],
            Err(place) => {
                let id =
                    ResourceId(u32::try_from(self.names.len()).expect("fewer than 2^32 resource names fit in memory"));
                self.names.push(name.into());
                self.sorted.insert(place, id);
                id
            }
        }
    }

    /// The name of an id that this interner handed out.
    pub fn name(&self, id: ResourceId) -> &str {
        &self.names[id.0 as usize]
    }

    fn search(&self, name: &str) -> Result<usize, usize> {
        self.sorted.binary_search_by(|id| self.name(*id).cmp(name))
    }
}

/// Values by resource, in base units ([`resource::base_units`]). Arithmetic saturates.
///
/// A resource asked for with the value zero is not the same as one not asked for: it still shows up in resource lists
/// and in the search for the limiting resource.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Requests {
    /// Ordered by id, each id once.
    entries: Vec<(ResourceId, i64)>,
}

/// How often a request fits into a capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fit {
    /// From 0 to `i32::MAX`; 0 when nothing is requested.
    pub count: i32,
    /// The resource that runs out first, the alphabetically first one of several; `None` when nothing is requested.
    pub limiting: Option<ResourceId>,
}

impl Requests {
    /// Reads a resource list, interning its names.
    pub fn from_list(list: &ResourceList, names: &mut ResourceNames) -> Self {
        list.iter().map(|(name, quantity)| (names.intern(name), resource::base_units(name, quantity))).collect()
    }

    /// The resource list as users expect to see it.
    pub fn to_list(&self, names: &ResourceNames, formatter: &Formatter) -> ResourceList {
        let quantity = |(id, value)| {
            let name = names.name(id);
            (name.to_owned(), formatter.quantity(name, value))
        };
        self.iter().map(quantity).collect()
    }

    /// The value of a resource, zero when it is not requested.
    pub fn get(&self, id: ResourceId) -> i64 {
        self.search(id).map_or(0, |found| self.entries[found].1)
    }

    pub fn set(&mut self, id: ResourceId, value: i64) {
        match self.search(id) {
            Ok(found) => self.entries[found].1 = value,
            Err(place) => self.entries.insert(place, (id, value)),
        }
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Ids and values, ordered by id.
    pub fn iter(&self) -> impl Iterator<Item = (ResourceId, i64)> {
        self.entries.iter().copied()
    }

    pub fn add(&mut self, other: &Self) {
        self.combine(other, i64::saturating_add);
    }

    pub fn subtract(&mut self, other: &Self) {
        self.combine(other, i64::saturating_sub);
    }

    pub fn multiply(&mut self, factor: i64) {
        self.update(|value| value.saturating_mul(factor));
    }

    /// Divides, rounding towards zero. Division by zero, the share of each of no pods, changes nothing.
    pub fn divide(&mut self, divisor: i64) {
        self.update(|value| value.checked_div(divisor).unwrap_or(value));
    }

    /// Replaces negative values by zero.
    pub fn floor_to_zero(&mut self) {
        self.update(|value| value.max(0));
    }

    /// How often the request fits into the capacity. Overdrawn capacity fits nothing; a request of zero always fits.
    pub fn count_in(&self, capacity: &Self, names: &ResourceNames) -> Fit {
        let count = |(id, value): (ResourceId, i64)| match capacity.get(id).checked_div(value) {
            _ if value == 0 => i32::MAX,
            Some(count) => count.clamp(0, i32::MAX.into()) as i32,
            None => 0,
        };
        let fits = self.iter().map(|entry| (count(entry), entry.0));
        match fits.min_by(|a, b| a.0.cmp(&b.0).then_with(|| names.name(a.1).cmp(names.name(b.1)))) {
            Some((count, limiting)) => Fit { count, limiting: Some(limiting) },
            None => Fit { count: 0, limiting: None },
        }
    }

    /// The resources, in alphabetical order, that are in both and of which this one has more.
    pub fn greater_than<'n>(&self, other: &Self, names: &'n ResourceNames) -> Vec<&'n str> {
        let exceeds =
            |(id, value): &(ResourceId, i64)| other.search(*id).is_ok_and(|found| *value > other.entries[found].1);
        let mut greater: Vec<&str> = self.iter().filter(exceeds).map(|(id, _)| names.name(id)).collect();
        greater.sort_unstable();
        greater
    }

    fn search(&self, id: ResourceId) -> Result<usize, usize> {
        self.entries.binary_search_by_key(&id, |entry| entry.0)
    }

    fn update(&mut self, change: impl Fn(i64) -> i64) {
        for (_, value) in &mut self.entries {
            *value = change(*value);
        }
    }

    /// Merges the other's values in; a resource that only one side has counts as zero on the other.
    fn combine(&mut self, other: &Self, combine: fn(i64, i64) -> i64) {
        // Both usually name the same resources: then nothing moves and nothing is allocated.
        let mut at = 0;
        for (id, value) in other.iter() {
            while self.entries.get(at).is_some_and(|own| own.0 < id) {
                at += 1;
            }
            match self.entries.get_mut(at) {
                Some(own) if own.0 == id => own.1 = combine(own.1, value),
                _ => self.entries.insert(at, (id, combine(0, value))),
            }
        }
    }
}

impl FromIterator<(ResourceId, i64)> for Requests {
    fn from_iter<I: IntoIterator<Item = (ResourceId, i64)>>(entries: I) -> Self {
        let mut requests = Self::default();
        for (id, value) in entries {
            requests.set(id, value);
        }
        requests
    }
}
