//! The formats a string may be required to have.

use kueue_core::duration::Duration;
use kueue_core::time::Time;

/// Whether the text has the format. A format nobody knows demands nothing.
pub fn is_valid(format: &str, text: &str) -> bool {
    match format {
        "date-time" => text.parse::<Time>().is_ok(),
        "date" => text.parse::<jiff::civil::Date>().is_ok(),
        "duration" => text.parse::<Duration>().is_ok(),
        "ipv4" => text.parse::<std::net::Ipv4Addr>().is_ok(),
        "ipv6" => text.parse::<std::net::Ipv6Addr>().is_ok(),
        "byte" => is_base64(text),
        "uuid" | "uuid3" | "uuid4" | "uuid5" => is_uuid(text),
        "email" => text.split_once('@').is_some_and(|(user, host)| !user.is_empty() && !host.is_empty()),
        _ => true,
    }
}

fn is_base64(text: &str) -> bool {
    let body = text.trim_end_matches('=');
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/';
    text.len().is_multiple_of(4) && text.len() - body.len() <= 2 && body.bytes().all(is_letter)
}

fn is_uuid(text: &str) -> bool {
    let digits: String = text.chars().filter(|char| *char != '-').collect();
    digits.len() == 32 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}
