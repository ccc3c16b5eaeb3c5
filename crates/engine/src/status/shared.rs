//! A status that is shared with the effects that carry it, and copied only when it changes while they live.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use super::Status;

/// A workload's status as the engine keeps it. Workloads about which nothing was said yet share one empty status.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct SharedStatus(Arc<Status>);

impl SharedStatus {
    /// The status as it is now, for an effect.
    pub(crate) fn share(&self) -> Arc<Status> {
        self.0.clone()
    }
}

impl From<Status> for SharedStatus {
    fn from(status: Status) -> Self {
        Self(Arc::new(status))
    }
}

impl Deref for SharedStatus {
    type Target = Status;

    fn deref(&self) -> &Status {
        &self.0
    }
}

impl DerefMut for SharedStatus {
    fn deref_mut(&mut self) -> &mut Status {
        Arc::make_mut(&mut self.0)
    }
}
