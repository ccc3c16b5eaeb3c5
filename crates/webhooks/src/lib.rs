//! What the API server asks before it writes: admission and conversion.
//!
//! The answers are pure functions of the request and what is around it; the rules themselves are in `api` and `jobs`. What
//! an answer depends on is looked up in informer stores, never in the engine, so followers answer as well as the leader.

mod around;
mod conversion;
mod page;
mod review;
mod rules;

pub use around::Surroundings;
pub use page::Webhooks;
