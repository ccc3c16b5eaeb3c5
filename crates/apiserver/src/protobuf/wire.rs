//! Tags, lengths and numbers as protobuf writes them.

/// What one field holds before its type is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Wire<'b> {
    Number(u64),
    Bytes(&'b [u8]),
}

/// The fields of a message, one after the other.
#[derive(Debug)]
pub struct Fields<'b>(pub &'b [u8]);

const END: &str = "unexpected EOF";

impl<'b> Fields<'b> {
    /// The next field: its number and what it holds. Errors are Go's.
    pub fn next(&mut self) -> Result<Option<(u32, Wire<'b>)>, String> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let tag = self.varint()?;
        let (number, kind) = (u32::try_from(tag >> 3).unwrap_or_default(), tag & 7);
        if number == 0 {
            return Err(format!("proto: illegal tag {number} (wire type {kind})"));
        }
        let held = match kind {
            0 => Wire::Number(self.varint()?),
            1 => Wire::Number(u64::from_le_bytes(self.array()?)),
            2 => {
                let length = self.varint()?;
                let length = usize::try_from(length).map_err(|_| "proto: negative length found during unmarshaling")?;
                Wire::Bytes(self.take(length)?)
            }
            5 => Wire::Number(u64::from(u32::from_le_bytes(self.array()?))),
            _ => return Err(format!("proto: illegal wireType {kind}")),
        };
        Ok(Some((number, held)))
    }

    fn take(&mut self, length: usize) -> Result<&'b [u8], String> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(END)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], String> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(END)?;
        self.0 = rest;
        Ok(*taken)
    }

    /// A number in groups of seven bits, the lowest first.
    pub fn varint(&mut self) -> Result<u64, String> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let [byte] = self.array()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err("proto: integer overflow".into())
    }
}

pub fn put_varint(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// A whole number; negative ones take all ten bytes.
pub fn put_number(bytes: &mut Vec<u8>, field: u32, number: i64) {
    put_varint(bytes, u64::from(field) << 3);
    put_varint(bytes, number as u64);
}

pub fn put_double(bytes: &mut Vec<u8>, field: u32, number: f64) {
    put_varint(bytes, u64::from(field) << 3 | 1);
    bytes.extend_from_slice(&number.to_le_bytes());
}

/// Text, bytes or a message.
pub fn put_bytes(bytes: &mut Vec<u8>, field: u32, held: &[u8]) {
    put_varint(bytes, u64::from(field) << 3 | 2);
    put_varint(bytes, held.len() as u64);
    bytes.extend_from_slice(held);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_all_sizes_come_back() {
        for number in [0, 1, 127, 128, 300, i64::MAX, -1, i64::MIN] {
            let mut bytes = Vec::new();
            put_number(&mut bytes, 5, number);
            assert_eq!(Fields(&bytes).next(), Ok(Some((5, Wire::Number(number as u64)))));
        }
    }

    #[test]
    fn a_message_that_is_cut_off_is_an_error() {
        let mut bytes = Vec::new();
        put_bytes(&mut bytes, 2, b"hello");
        for end in 1..bytes.len() {
            assert_eq!(Fields(&bytes[..end]).next(), Err(END.into()), "{end}");
        }
        assert!(Fields(&[0x03]).next().is_err(), "number zero");
        assert!(Fields(&[0xff; 11]).next().is_err(), "too large");
        assert!(Fields(&[0x0f]).next().is_err(), "no such wire type");
    }
}
