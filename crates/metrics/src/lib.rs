//! The metrics that Kueue's dashboards and alerts read, with the same names and labels.
//!
//! Counters and histograms are fed by what changes about Workloads ([`Event::between`] two versions). Gauges are not
//! kept at all: they are read from the engine when somebody asks ([`gauges`]), so nothing can be left behind or go stale.

mod events;
mod families;
mod gauges;
mod labels;
mod record;
mod registry;

pub use events::Event;
pub use families::{ALL, Family, Shown};
pub use gauges::{LocalQueueState, Reading, gauges};
pub use labels::{CustomLabels, Lookup, Subject};
pub use registry::{Build, Metrics, Role};
