//! Corpus files that test a Go helper nobody outside Kueue's code can notice, each with the reason.

/// `package/test` and why there is nothing to compare.
pub const NOT_APPLICABLE: &[(&str, &str)] = &[
    ("pkg-resources/TestLazyRequests", "when Go copies a map before writing to it; the operations are code, not data"),
    ("pkg-resources/TestSliceRequests_Clone", "copying a value, which the language does for us"),
];
