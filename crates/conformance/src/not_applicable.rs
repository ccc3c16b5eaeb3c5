//! Corpus files that test a Go helper nobody outside Kueue's code can notice, each with the reason.

/// `package/test` and why there is nothing to compare.
pub const NOT_APPLICABLE: &[(&str, &str)] = &[];
