//! Where the visibility server listens, and with whose certificate.

use kueue_api::config::Configuration;

use super::Runners;
use crate::compare::equal;
use crate::corpus::{Case, Failure};

pub const RUNNERS: Runners = &[("TestCreateVisibilityServerOptions", options)];

/// The name of all addresses.
const EVERYWHERE: &str = "0.0.0.0";

fn options(case: &Case) -> Result<(), Failure> {
    let config = case.arg::<Configuration>("cfg")?;
    let (address, port) = config.visibility_endpoint();
    equal(&case.arg::<String>("want.BindAddress")?.as_str(), &address.unwrap_or(EVERYWHERE))?;
    equal(&case.arg::<i32>("want.BindPort")?, &port)?;
    // A folder to write one to, or files with one.
    equal(&(case.raw("want.CertDirectory") == true), &config.manages_certificates())
}
