//! Whether the CustomResourceDefinitions accept what they should and refuse, with the right words, what they should not.

mod api_server;
mod cases;
mod samples;
mod structural;
mod types;
