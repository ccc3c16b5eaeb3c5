//! Who leads several processes of one program.

use kueue_core::time::MicroTime;

use super::VERSION;
use crate::meta::object;
use crate::wire::wire_struct;

/// The API group of leases.
const COORDINATION_GROUP: &str = "coordination.k8s.io";

object! {
    /// Something that one process at a time holds, for as long as it says so again and again.
    pub struct Lease in COORDINATION_GROUP/VERSION/"leases", namespaced: true {
        pub spec?: LeaseSpec,
    }
}

wire_struct! {
    /// Who holds a lease, since when and for how long.
    pub struct LeaseSpec {
        /// The process that holds it; nobody when empty.
        pub holder_identity?: String,
        /// How long after a renewal nobody else may take it.
        pub lease_duration_seconds?: i32,
        /// Since when its holder has it.
        pub acquire_time?: Option<MicroTime>,
        /// When its holder last said so.
        pub renew_time?: Option<MicroTime>,
        /// How often it went from one holder to another.
        pub lease_transitions: i32,
        /// Everything else.
        pub ..rest,
    }
}
