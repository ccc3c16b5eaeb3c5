//! Requests and answers: from a path, a query and a body to what a handler does, and back to bytes.
//!
//! One module per step of a request (path, query, negotiation, body) and one per family of verbs.

pub mod accept;
pub mod body;
pub mod decode;
pub mod delete;
pub mod discovery;
pub mod eviction;
mod gzip;
pub mod list;
pub mod openapi;
pub mod pages;
pub mod path;
pub mod query;
pub mod reply;
pub mod reviews;
pub mod select;
pub mod service;
pub mod subresource;
pub mod token;
pub mod warnings;
pub mod watch;
pub mod write;
