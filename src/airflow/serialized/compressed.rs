//! `_data_compressed`: zlib over JSON, as bytes or as text that stands for bytes.

use std::io::Read as _;

use flate2::read::ZlibDecoder;
use serde_json::Value as Json;

use super::MAX_BYTES;
use crate::airflow::ImportError;

/// JSON in a text column.
pub(super) fn json_of_text(text: &str, origin: &str) -> Result<Json, ImportError> {
    match serde_json::from_str(text) {
        Ok(value) => Ok(value),
        Err(error) if text.trim_start().starts_with(['{', '[']) => {
            Err(ImportError::new(format!("{origin}: `data` is not JSON: {error}")))
        }
        Err(_) => json_of_packed(text, origin),
    }
}

/// JSON in a compressed column that was exported as text: hexadecimal digits or base64.
pub(super) fn json_of_packed(text: &str, origin: &str) -> Result<Json, ImportError> {
    let bytes = hexadecimal(text.trim()).or_else(|| base64(text.trim())).ok_or_else(|| {
        ImportError::new(format!("{origin}: `_data_compressed` is neither base64 nor hexadecimal digits"))
    })?;
    let plain = inflate(&bytes, origin)?;
    serde_json::from_slice(&plain)
        .map_err(|error| ImportError::new(format!("{origin}: `_data_compressed` holds no JSON: {error}")))
}

/// Bytes out of a zlib stream, within the limit for files.
pub(super) fn inflate(bytes: &[u8], origin: &str) -> Result<Vec<u8>, ImportError> {
    let mut plain = Vec::new();
    let limit = MAX_BYTES + 1;
    ZlibDecoder::new(bytes)
        .take(limit)
        .read_to_end(&mut plain)
        .map_err(|error| ImportError::new(format!("{origin}: the compressed data cannot be read: {error}")))?;
    if plain.len() as u64 >= limit {
        return Err(ImportError::new(format!("{origin}: the compressed data holds more than {MAX_BYTES} bytes")));
    }
    Ok(plain)
}

/// `\x789c...` (PostgreSQL), `X'789C...'` (SQLite), `0x789c...` (MySQL), or the digits alone.
fn hexadecimal(text: &str) -> Option<Vec<u8>> {
    let digits = text.strip_prefix("\\x").or_else(|| text.strip_prefix("0x")).unwrap_or(text);
    let digits = digits.strip_prefix("X'").and_then(|digits| digits.strip_suffix('\'')).unwrap_or(digits);
    if digits.is_empty() || !digits.len().is_multiple_of(2) || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    digits.as_bytes().chunks(2).map(pair).collect()
}

fn base64(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut count) = (0_u32, 0);
    for byte in text.trim_end_matches('=').bytes().filter(|byte| !byte.is_ascii_whitespace()) {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count & 0xFF) as u8);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_stand_for_bytes() {
        assert_eq!(base64("aGVsbG8=").unwrap(), b"hello");
        assert_eq!(base64("_-8").unwrap(), [0xFF, 0xEF]);
        assert!(base64("a*").is_none());
        for text in ["\\x789c", "0x789c", "X'789C'", "789c"] {
            assert_eq!(hexadecimal(text).unwrap(), [0x78, 0x9c], "{text}");
        }
        assert!(hexadecimal("eJ").is_none());
    }
}
