//! Questions about what would be: what a workload would get and why, who would have to go for it, in which order.
//!
//! Explanations and what-if use them, and the data sets check them. An answer is found as a cycle finds it, on the
//! live quota tree inside a mark, so a question needs the engine for itself for a moment; it leaves nothing behind.

mod assignment;
mod places;
mod preemption;
mod turns;

pub use assignment::{AssignmentView, AttemptView, FlavorView, PodSetAssignmentView};
pub use places::{PlaceAnswer, PlaceQuestion};
pub use preemption::{FairStep, Priority, Victim, WantedFlavor, WantedPodSet};
pub use turns::{FairTurn, Turn};
