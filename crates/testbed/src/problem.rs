//! What went wrong and what to do next: the one error type of the test bed.
//!
//! Everything that fails here fails in front of a person who wants a control plane, so each error carries the next step
//! beside the cause.

use std::fmt;
use std::path::Path;

/// A failure with the step that gets the reader further.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Problem {
    what: String,
    next: Option<String>,
}

/// The result of everything that can fail in a test bed.
pub type Result<T> = std::result::Result<T, Problem>;

impl Problem {
    /// A failure for which the cause says enough.
    pub fn new(what: impl Into<String>) -> Problem {
        Problem { what: what.into(), next: None }
    }

    /// Adds the next step, unless a more specific one is known already.
    #[must_use]
    pub fn next(mut self, step: impl Into<String>) -> Problem {
        self.next.get_or_insert_with(|| step.into());
        self
    }

    /// A failed file operation; a full disk gets its own advice because every write fails alike on it.
    pub fn file(doing: &str, path: &Path, error: &std::io::Error) -> Problem {
        let problem = Problem::new(format!("cannot {doing} {}: {error}", path.display()));
        match error.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => problem.next(FREE_SPACE),
            _ => problem,
        }
    }
}

/// The advice for a full disk.
pub(crate) const FREE_SPACE: &str = "free some space (the test bed needs about 4 GB for its first build, 100 MB to run), \
    or point KUEUE_TESTBED_CACHE at a larger disk, then run the same command again";

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        match &self.next {
            Some(step) => write!(f, "\n  next: {step}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_advice_is_kept_because_it_is_the_most_specific() {
        let problem = Problem::new("etcd ended").next("free the port").next("look at the log");
        assert_eq!(problem.to_string(), "etcd ended\n  next: free the port");
    }

    #[test]
    fn a_full_disk_is_named_with_its_remedy() {
        let full = std::io::Error::from(std::io::ErrorKind::StorageFull);
        let text = Problem::file("write", Path::new("x"), &full).to_string();
        assert!(text.contains("cannot write x") && text.contains("next: free some space"), "{text}");
    }
}
