//! What requests and pod templates are called, and which attempt a name tells.

use sha1::{Digest as _, Sha1};

/// Of the hash, so many digits are shown.
const HASH_DIGITS: usize = 5;
/// The longest part of a name before the hash: 253 less the hash and a dash.
const LONGEST: usize = 253 - 1 - HASH_DIGITS;

/// The request of an attempt.
pub fn request_name(workload: &str, check: &str, attempt: i32) -> String {
    limited(format!("{workload}-{check}-{attempt}"))
}

/// The template of a pod set that a request asks for.
pub fn template_name(request: &str, pod_set: &str) -> String {
    limited(format!("ppt-{request}-{pod_set}"))
}

/// Which attempt of the check a request is; none if it belongs to another.
pub fn attempt_of(request: &str, workload: &str, check: &str) -> Option<i32> {
    // Prefixes are limited like names, as they are in Kueue: what was named by one is found by the other.
    let digits = request.strip_prefix(&limited(format!("{workload}-{check}-")))?;
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().unwrap_or(1))
}

/// Names that are too long are cut, and told apart by a hash.
fn limited(mut name: String) -> String {
    if name.len() <= LONGEST {
        return name;
    }
    let digest = Sha1::digest(name.as_bytes());
    let digits: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    name.truncate(name.floor_char_boundary(LONGEST));
    format!("{name}-{}", &digits[..HASH_DIGITS])
}
