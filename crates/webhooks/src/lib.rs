//! What the API server asks before it writes: admission and conversion.
//!
//! The answers are pure functions of the request and what is around it; the rules themselves are in `api` and `jobs`. What
//! an answer depends on is looked up in informer stores, never in the engine, so followers answer as well as the leader.

mod around;
mod certificate;
mod conversion;
mod keeper;
mod page;
mod registration;
mod review;
mod rules;

pub use around::Surroundings;
pub use keeper::Keeper;
pub use page::Webhooks;
pub use registration::{base_name, configuration_name};
