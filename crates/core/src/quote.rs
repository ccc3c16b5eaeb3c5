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

/// Quoted as Go's `%q` does: what can be printed as it is, the rest as short an escape as Go has for it.
pub(crate) fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for char in text.chars() {
        match char {
            '"' | '\\' => quoted.extend(['\\', char]),
            '\x07' => quoted.push_str("\\a"),
            '\x08' => quoted.push_str("\\b"),
            '\x0c' => quoted.push_str("\\f"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\x0b' => quoted.push_str("\\v"),
            '\0'..' ' | '\x7f' => quoted.push_str(&format!("\\x{:02x}", u32::from(char))),
            ' '..='~' => quoted.push(char),
            _ if is_printable(char) => quoted.push(char),
            '\u{80}'..='\u{ffff}' => quoted.push_str(&format!("\\u{:04x}", u32::from(char))),
            _ => quoted.push_str(&format!("\\U{:08x}", u32::from(char))),
        }
    }
    quoted.push('"');
    quoted
}

/// Letters, marks, numbers, punctuation and symbols: what the standard library would not escape either.
fn is_printable(char: char) -> bool {
    // A mark that starts a string is escaped, one that follows a letter is not.
    let after_letter: String = ['a', char].iter().collect();
    after_letter.escape_debug().nth(1) == Some(char)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_quoted_as_go_quotes_it() {
        let cases = [
            ("plain ~!", r#""plain ~!""#),
            ("a\"b\\c'd", r#""a\"b\\c'd""#),
            ("\x07\x08\x0c\n\r\t\x0b", r#""\a\b\f\n\r\t\v""#),
            ("\0\x1f\x7f", r#""\x00\x1f\x7f""#),
            ("é日\u{301}😀", "\"é日\u{301}😀\""),
            ("\u{a0}\u{ad}\u{200b}\u{200c}\u{2028}\u{feff}", r#""\u00a0\u00ad\u200b\u200c\u2028\ufeff""#),
            ("\u{e0001}", r#""\U000e0001""#),
        ];
        for (text, expected) in cases {
            assert_eq!(quoted(text), expected);
        }
    }
}
