//! What happens in a server over time: collecting, faults, random lives, and clients that mean no good.

#![allow(clippy::unwrap_used, reason = "all of this is tests, also the functions that they share")]

mod life {
    pub mod bad_input;
    pub mod collecting;
    pub mod faulty;
    pub mod model;
    pub mod refused;
    pub mod rig;
}
