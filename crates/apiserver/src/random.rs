//! What a server invents: uids, name suffixes, tokens. All of it comes from one seed.

use std::sync::Mutex;

use rand::RngExt as _;
use rand::SeedableRng as _;
use rand_chacha::ChaCha12Rng;

/// Letters of generated names: no vowels, so that no words come out, and no digits that look like letters.
const SUFFIX_LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
const SUFFIX_LENGTH: usize = 5;

/// A seeded source that many requests share.
#[derive(Debug)]
pub struct Random(Mutex<ChaCha12Rng>);

impl Random {
    pub fn from_seed(seed: [u8; 32]) -> Self {
        Self(Mutex::new(ChaCha12Rng::from_seed(seed)))
    }

    fn bytes<const N: usize>(&self) -> [u8; N] {
        self.0.lock().expect("no user of the generator panics").random()
    }

    /// A version 4 UUID.
    pub fn uid(&self) -> String {
        let mut bytes = self.bytes::<16>();
        bytes[6] = bytes[6] & 0x0f | 0x40;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        let hex = hex(&bytes);
        format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
    }

    /// What is added to `generateName`.
    pub fn name_suffix(&self) -> String {
        let letter = |byte: &u8| char::from(SUFFIX_LETTERS[usize::from(*byte) % SUFFIX_LETTERS.len()]);
        self.bytes::<SUFFIX_LENGTH>().iter().map(letter).collect()
    }

    /// A secret that nobody guesses.
    pub fn token(&self) -> String {
        hex(&self.bytes::<16>())
    }

    /// What a key is made of.
    pub fn seed(&self) -> [u8; 32] {
        self.bytes()
    }

    /// Evenly distributed below `bound`.
    pub fn below(&self, bound: u64) -> u64 {
        u64::from_le_bytes(self.bytes::<8>()) % bound.max(1)
    }
}

fn hex(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from(b"0123456789abcdef"[usize::from(half)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_invents_the_same_names() {
        let [one, two] = [(); 2].map(|()| Random::from_seed([7; 32]));
        assert_eq!((one.uid(), one.name_suffix(), one.token()), (two.uid(), two.name_suffix(), two.token()));
        let uid = one.uid();
        assert_eq!((uid.len(), &uid[14..15]), (36, "4"));
    }
}
