//! The formats a string may be required to have.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use kueue_core::duration::Duration;
use kueue_core::name;
use kueue_core::time::Time;

/// Whether the text has the format. A format nobody knows demands nothing.
pub fn is_valid(format: &str, text: &str) -> bool {
    match format {
        "date-time" | "datetime" => text.parse::<Time>().is_ok(),
        "date" => text.parse::<jiff::civil::Date>().is_ok(),
        "duration" => text.parse::<Duration>().is_ok(),
        "ipv4" => text.parse::<Ipv4Addr>().is_ok(),
        "ipv6" => text.parse::<Ipv6Addr>().is_ok(),
        "cidr" => is_cidr(text),
        "mac" => is_mac(text),
        "uri" => is_uri(text),
        "hostname" => is_hostname(text),
        "email" => is_email(text),
        "byte" => is_base64(text),
        "uuid" => is_uuid(text, None),
        "uuid3" => is_uuid(text, Some('3')),
        "uuid4" => is_uuid(text, Some('4')),
        "uuid5" => is_uuid(text, Some('5')),
        "bsonobjectid" => text.len() == 24 && text.bytes().all(|byte| byte.is_ascii_hexdigit()),
        "hexcolor" => {
            let digits = text.strip_prefix('#').unwrap_or(text);
            [3, 6].contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
        }
        "rgbcolor" => is_rgb(text),
        "ssn" => is_ssn(text),
        "creditcard" => is_credit_card(text),
        "isbn" => is_isbn10(text) || is_isbn13(text),
        "isbn10" => is_isbn10(text),
        "isbn13" => is_isbn13(text),
        "k8s-short-name" => name::dns1123_label(text).is_empty(),
        "k8s-long-name" => name::dns1123_subdomain(text).is_empty(),
        _ => true,
    }
}

fn is_cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else { return false };
    let Ok(bits) = bits.parse::<u8>() else { return false };
    match address.parse::<IpAddr>() {
        Ok(IpAddr::V4(_)) => bits <= 32,
        Ok(IpAddr::V6(_)) => bits <= 128,
        Err(_) => false,
    }
}

fn is_mac(text: &str) -> bool {
    let of = |separator: char, width: usize, counts: &[usize]| {
        let parts: Vec<&str> = text.split(separator).collect();
        let is_part = |part: &&str| part.len() == width && part.bytes().all(|byte| byte.is_ascii_hexdigit());
        counts.contains(&parts.len()) && parts.iter().all(is_part)
    };
    of(':', 2, &[6, 8, 20]) || of('-', 2, &[6, 8, 20]) || of('.', 4, &[3, 4, 10])
}

/// An absolute address, or a path from the root.
fn is_uri(text: &str) -> bool {
    let is_plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic());
    let scheme = text.split_once(':').map(|(scheme, _)| scheme);
    let is_scheme = |scheme: &str| {
        scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    };
    !text.is_empty() && is_plain(text) && (text.starts_with('/') || scheme.is_some_and(is_scheme))
}

fn is_hostname(text: &str) -> bool {
    let is_label = |label: &str| {
        let is_inside = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        !label.is_empty()
            && label.len() <= 63
            && label.bytes().all(is_inside)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let text = text.strip_suffix('.').unwrap_or(text);
    !text.is_empty() && text.len() <= 255 && text.split('.').all(is_label)
}

fn is_email(text: &str) -> bool {
    let is_word = |word: &str| {
        !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_graphic() && !b"<>()[],;:\\\"".contains(&byte))
    };
    text.rsplit_once('@').is_some_and(|(user, host)| is_word(user) && is_word(host))
}

fn is_base64(text: &str) -> bool {
    let body = text.trim_end_matches('=');
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/';
    text.len().is_multiple_of(4) && text.len() - body.len() <= 2 && body.bytes().all(is_letter)
}

/// With or without dashes; the version is the thirteenth digit.
fn is_uuid(text: &str, version: Option<char>) -> bool {
    let digits: String = text.chars().filter(|char| *char != '-').collect();
    let is_version = |digits: &str| version.is_none_or(|version| digits.chars().nth(12) == Some(version));
    digits.len() == 32 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()) && is_version(&digits)
}

fn is_rgb(text: &str) -> bool {
    let inside = text.strip_prefix("rgb(").and_then(|rest| rest.strip_suffix(')'));
    inside.is_some_and(|inside| {
        let parts: Vec<&str> = inside.split(',').map(str::trim).collect();
        parts.len() == 3 && parts.iter().all(|part| part.parse::<u8>().is_ok())
    })
}

fn is_ssn(text: &str) -> bool {
    let digits: String = text.chars().filter(|char| !"- ".contains(*char)).collect();
    let has_form = text.len() == 9 || text.len() == 11 && text.as_bytes()[3] == text.as_bytes()[6];
    has_form && digits.len() == 9 && digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn digits_of(text: &str) -> Option<Vec<u32>> {
    text.chars().filter(|char| !"- ".contains(*char)).map(|char| char.to_digit(10)).collect()
}

/// The sum of a card's digits, every other doubled, ends in zero.
fn is_credit_card(text: &str) -> bool {
    let Some(digits) = digits_of(text).filter(|digits| (13..=19).contains(&digits.len())) else { return false };
    let twice = |digit: u32| if digit > 4 { digit * 2 - 9 } else { digit * 2 };
    let sum: u32 =
        digits.iter().rev().enumerate().map(|(place, digit)| if place % 2 == 1 { twice(*digit) } else { *digit }).sum();
    sum.is_multiple_of(10)
}

fn is_isbn10(text: &str) -> bool {
    let chars: Vec<char> = text.chars().filter(|char| !"- ".contains(*char)).collect();
    let value = |(place, char): (usize, &char)| match char {
        'X' | 'x' if place == 9 => Some(10),
        other => other.to_digit(10),
    };
    let digits: Option<Vec<u32>> = chars.iter().enumerate().map(value).collect();
    digits.filter(|digits| digits.len() == 10).is_some_and(|digits| {
        let sum: u32 = digits.iter().zip(1..).map(|(digit, weight)| digit * weight).sum();
        sum.is_multiple_of(11)
    })
}

fn is_isbn13(text: &str) -> bool {
    digits_of(text).filter(|digits| digits.len() == 13).is_some_and(|digits| {
        let sum: u32 =
            digits.iter().enumerate().map(|(place, digit)| if place % 2 == 1 { digit * 3 } else { *digit }).sum();
        sum.is_multiple_of(10)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_format_knows_right_from_wrong() {
        for (format, right, wrong) in [
            ("date-time", "2020-01-01T00:00:00Z", "2020-01-01"),
            ("date", "2020-01-31", "2020-02-31"),
            ("duration", "1h30m", "1 hour"),
            ("ipv4", "10.0.0.1", "10.0.0"),
            ("ipv6", "::1", "10.0.0.1"),
            ("cidr", "10.0.0.0/8", "10.0.0.0/40"),
            ("mac", "01:23:45:67:89:ab", "01:23"),
            ("uri", "https://example.com/a?b", "no uri"),
            ("hostname", "a.example.com", "-a.example.com"),
            ("email", "a@example.com", "a at example.com"),
            ("byte", "YWI=", "YWI"),
            ("uuid", "123e4567-e89b-12d3-a456-426614174000", "123e4567"),
            ("uuid4", "123e4567-e89b-42d3-a456-426614174000", "123e4567-e89b-12d3-a456-426614174000"),
            ("bsonobjectid", "507f1f77bcf86cd799439011", "507f"),
            ("hexcolor", "#fff", "#ff"),
            ("rgbcolor", "rgb(1, 2, 255)", "rgb(1,2,256)"),
            ("ssn", "111-22-3333", "111-22"),
            ("creditcard", "4111 1111 1111 1111", "4111 1111 1111 1112"),
            ("isbn10", "0-306-40615-2", "0-306-40615-3"),
            ("isbn13", "978-0-306-40615-7", "978-0-306-40615-8"),
            ("k8s-short-name", "a-b", "a.b"),
            ("k8s-long-name", "a.b", "A"),
        ] {
            assert!(is_valid(format, right) && !is_valid(format, wrong), "{format}");
        }
        assert!(is_valid("of its own", "anything"));
    }
}
