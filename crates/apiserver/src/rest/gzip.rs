//! Large answers are compressed for clients that can read that, as by a real server.

use bytes::Bytes;
use http::HeaderMap;
use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, HeaderValue, VARY};
use miniz_oxide::deflate::compress_to_vec;

use super::reply::{Body, Response};

/// Smaller bodies are sent as they are.
const BYTES_MIN: usize = 128 << 10;
/// The fastest; most of what can be gained is gained by it.
const LEVEL: u8 = 1;

/// An answer to a client that sent these headers.
pub fn answer(asked: &HeaderMap, mut response: Response) -> Response {
    let Body::Whole(Some(plain)) = response.body() else { return response };
    if plain.len() <= BYTES_MIN || !is_readable(asked) {
        return response;
    }
    *response.body_mut() = compressed(plain).into();
    response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    response.headers_mut().append(VARY, HeaderValue::from_static("Accept-Encoding"));
    response
}

fn is_readable(asked: &HeaderMap) -> bool {
    let listed = asked.get_all(ACCEPT_ENCODING).into_iter().filter_map(|value| value.to_str().ok());
    listed.flat_map(|value| value.split(',')).any(|one| one.trim().split(';').next() == Some("gzip"))
}

/// Header, deflated content, checksum and length.
fn compressed(plain: &[u8]) -> Bytes {
    const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 0xff];
    let mut out = HEADER.to_vec();
    out.extend(compress_to_vec(plain, LEVEL));
    out.extend(checksum(plain).to_le_bytes());
    out.extend((plain.len() as u32).to_le_bytes());
    out.into()
}

/// CRC-32 as gzip has it.
fn checksum(bytes: &[u8]) -> u32 {
    const TABLE: [u32; 256] = {
        let mut table = [0; 256];
        let mut byte = 0;
        while byte < 256 {
            let mut sum = byte as u32;
            let mut bit = 0;
            while bit < 8 {
                sum = if sum & 1 == 1 { sum >> 1 ^ 0xedb8_8320 } else { sum >> 1 };
                bit += 1;
            }
            table[byte] = sum;
            byte += 1;
        }
        table
    };
    !bytes.iter().fold(!0, |sum, byte| TABLE[(sum as u8 ^ byte) as usize] ^ sum >> 8)
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;
    use miniz_oxide::inflate::decompress_to_vec;

    use super::*;

    fn asked(accepted: &str) -> HeaderMap {
        HeaderMap::from_iter([(ACCEPT_ENCODING, accepted.parse().unwrap())])
    }

    #[test]
    fn a_checksum_is_the_known_one() {
        assert_eq!(checksum(b"123456789"), 0xcbf4_3926);
    }

    #[tokio::test]
    async fn only_large_answers_are_compressed_and_only_for_who_can_read_them() {
        let large = "an answer ".repeat(20_000);
        for (accepted, text, is_compressed) in [
            ("gzip", large.as_str(), true),
            ("deflate, gzip;q=1.0, *;q=0.5", &large, true),
            ("deflate", &large, false),
            ("gzip", "an answer", false),
        ] {
            let response = http::Response::new(Body::from(Bytes::from(text.to_owned())));
            let response = answer(&asked(accepted), response);
            assert_eq!(response.headers().contains_key(CONTENT_ENCODING), is_compressed, "{accepted}");
            let body = response.into_body().collect().await.unwrap().to_bytes();
            if is_compressed {
                let content = &body[10..body.len() - 8];
                assert_eq!(decompress_to_vec(content).unwrap(), text.as_bytes());
                assert_eq!(body[body.len() - 4..], (text.len() as u32).to_le_bytes());
            } else {
                assert_eq!(body, text);
            }
        }
    }
}
