//! Bytes as text: as Secrets carry them, and as tokens in URLs do.

/// Which letters are used, and whether the end is filled up.
#[derive(Debug)]
pub struct Alphabet {
    letters: &'static [u8; 64],
    is_padded: bool,
}

/// As objects carry bytes.
pub const STANDARD: Alphabet =
    Alphabet { letters: b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", is_padded: true };
/// As URLs carry them, without filling.
pub const URL: Alphabet =
    Alphabet { letters: b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", is_padded: false };

impl Alphabet {
    pub fn encode(&self, bytes: &[u8]) -> String {
        let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
        for chunk in bytes.chunks(3) {
            let byte = |index: usize| u32::from(chunk.get(index).copied().unwrap_or_default());
            let word = byte(0) << 16 | byte(1) << 8 | byte(2);
            for index in 0..=chunk.len() {
                text.push(char::from(self.letters[(word >> (18 - 6 * index) & 63) as usize]));
            }
            if self.is_padded {
                text.extend(std::iter::repeat_n('=', 3 - chunk.len()));
            }
        }
        text
    }

    /// An error is the place of the first byte that does not belong, as Go tells it.
    pub fn decode(&self, text: &str) -> Result<Vec<u8>, usize> {
        let mut bytes = Vec::with_capacity(text.len() * 3 / 4);
        if self.is_padded && !text.len().is_multiple_of(4) {
            return Err(text.len());
        }
        let filling = text.len() - text.trim_end_matches('=').len();
        let text = if self.is_padded && filling <= 2 { &text[..text.len() - filling] } else { text };
        for (number, chunk) in text.as_bytes().chunks(4).enumerate() {
            let mut word = 0;
            for (index, byte) in chunk.iter().enumerate() {
                let digit = self.letters.iter().position(|letter| letter == byte).ok_or(number * 4 + index)?;
                word |= (digit as u32) << (18 - 6 * index);
            }
            if chunk.len() == 1 {
                return Err(number * 4);
            }
            bytes.extend_from_slice(&word.to_be_bytes()[1..chunk.len()]);
        }
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_can_be_read() {
        for (bytes, standard, url) in
            [(&b""[..], "", ""), (b"a", "YQ==", "YQ"), (b"ab\xff", "YWL/", "YWL_"), (b"abcd", "YWJjZA==", "YWJjZA")]
        {
            assert_eq!((STANDARD.encode(bytes), URL.encode(bytes)), (standard.to_owned(), url.to_owned()));
            assert_eq!(STANDARD.decode(standard).unwrap(), bytes);
            assert_eq!(URL.decode(url).unwrap(), bytes);
        }
    }

    #[test]
    fn the_first_wrong_letter_is_named() {
        assert_eq!(STANDARD.decode("YWJj!A=="), Err(4));
        assert_eq!(STANDARD.decode("YWJ"), Err(3));
        assert_eq!(URL.decode("bogus"), Err(4));
        assert_eq!(STANDARD.decode("===="), Err(0));
    }
}
