//! Signed tokens: JSON that only this server can have written.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use ring::digest;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};

use crate::base64::URL;
use crate::json::{Value, json};

/// How many tokens are known without another look at their signature, which costs more than many a request.
const VERIFIED_MAX: usize = 16;

/// A key made from the server's seed. Ed25519, because its signatures need no randomness: the same server under the same
/// clock writes the same tokens.
#[derive(Debug)]
pub struct SigningKey {
    pair: Ed25519KeyPair,
    id: String,
    /// The last tokens that were good, with what they claim: what was signed once stays so.
    verified: Mutex<VecDeque<(String, Value)>>,
}

impl SigningKey {
    pub fn from_seed(seed: &[u8; 32]) -> Self {
        let pair = Ed25519KeyPair::from_seed_unchecked(seed).expect("a seed of 32 bytes makes a key");
        let id = URL.encode(digest::digest(&digest::SHA256, pair.public_key().as_ref()).as_ref());
        Self { pair, id, verified: Mutex::default() }
    }

    pub fn sign(&self, claims: &Value) -> String {
        let header = json!({"alg": "EdDSA", "kid": self.id});
        let content =
            format!("{}.{}", URL.encode(header.to_string().as_bytes()), URL.encode(claims.to_string().as_bytes()));
        let signature = URL.encode(self.pair.sign(content.as_bytes()).as_ref());
        format!("{content}.{signature}")
    }

    /// What a token claims, if this key signed it.
    pub fn verify(&self, token: &str) -> Option<Value> {
        let verified = || self.verified.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, claims)) = verified().iter().find(|(known, _)| known == token) {
            return Some(claims.clone());
        }
        let (content, signature) = token.rsplit_once('.')?;
        let key = UnparsedPublicKey::new(&ED25519, self.pair.public_key().as_ref());
        key.verify(content.as_bytes(), &URL.decode(signature).ok()?).ok()?;
        let claims = claims(token)?;
        let mut verified = verified();
        verified.truncate(VERIFIED_MAX - 1);
        verified.push_front((token.to_owned(), claims.clone()));
        Some(claims)
    }

    /// The public half, for those who check tokens themselves.
    pub fn public(&self) -> Value {
        json!({
            "use": "sig", "kty": "OKP", "crv": "Ed25519", "alg": "EdDSA", "kid": self.id,
            "x": URL.encode(self.pair.public_key().as_ref()),
        })
    }
}

/// What a token claims, whoever signed it.
pub fn claims(token: &str) -> Option<Value> {
    let mut parts = token.split('.');
    let (_, claims, _) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() {
        return None;
    }
    serde_json::from_slice(&URL.decode(claims).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_token_is_nobodys() {
        let key = SigningKey::from_seed(&[1; 32]);
        let token = key.sign(&json!({"sub": "a"}));
        for _ in 0..2 {
            assert_eq!(key.verify(&token), Some(json!({"sub": "a"})));
        }
        assert_eq!(SigningKey::from_seed(&[1; 32]).sign(&json!({"sub": "a"})), token);
        assert_eq!(SigningKey::from_seed(&[2; 32]).verify(&token), None);
        let (head, signature) = token.rsplit_once('.').unwrap();
        let other = key.sign(&json!({"sub": "b"}));
        let forged = format!("{}.{signature}", other.rsplit_once('.').unwrap().0);
        assert_eq!((key.verify(&forged), key.verify(head), key.verify("")), (None, None, None));
    }
}
