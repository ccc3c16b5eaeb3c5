//! Quoting of user input inside error messages, as the Go packages whose messages we repeat do it.

/// Quoted for messages about times and durations: every byte outside printable ASCII as `\xNN`.
pub(crate) fn ascii_quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => quoted.extend(['\\', char::from(byte)]),
            // The delete character counts as printable here.
            b' '..=0x7f => quoted.push(char::from(byte)),
            _ => quoted.push_str(&format!("\\x{byte:02x}")),
        }
    }
    quoted.push('"');
    quoted
}
