//! Bytes in JSON are base64, and Go's decoder says where they are not.

/// The place of the first byte that cannot be read.
pub fn illegal_byte(text: &str) -> Option<usize> {
    let bytes: Vec<(usize, u8)> = text.bytes().enumerate().filter(|(_, byte)| !matches!(byte, b'\r' | b'\n')).collect();
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/';
    let mut quantum = 0;
    let mut start = 0;
    for (index, (place, byte)) in bytes.iter().enumerate() {
        if quantum == 0 {
            start = *place;
        }
        if *byte == b'=' {
            return padding(&bytes[index..], quantum, text.len());
        }
        if !is_letter(*byte) {
            return Some(*place);
        }
        quantum = (quantum + 1) % 4;
    }
    (quantum != 0).then_some(start)
}

/// What is wrong with the end of a text whose first padding is the first of `rest`.
fn padding(rest: &[(usize, u8)], quantum: usize, length: usize) -> Option<usize> {
    let wanted = match quantum {
        2 => 2,
        3 => 1,
        _ => return Some(rest[0].0),
    };
    if wanted == 2 {
        match rest.get(1) {
            None => return Some(length),
            Some((place, byte)) if *byte != b'=' => return Some(*place),
            Some(_) => {}
        }
    }
    rest.get(wanted).map(|(place, _)| *place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_byte_that_is_no_base64_is_named() {
        let cases = [
            ("", None),
            ("YWI=", None),
            ("YQ==", None),
            ("YWJj\nYWJj", None),
            ("1", Some(0)),
            ("YWJjYW", Some(4)),
            ("Y!Jj", Some(1)),
            ("Y===", Some(1)),
            ("YQ=", Some(3)),
            ("YQ=x", Some(3)),
            ("YQ==YQ==", Some(4)),
        ];
        for (text, wanted) in cases {
            assert_eq!(illegal_byte(text), wanted, "{text}");
        }
    }
}
