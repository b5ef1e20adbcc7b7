//! Percent-encoding of bytes (RFC 3986 §2.1).

use std::fmt;

use super::error::{Fault, UrlError};

/// Decodes the bytes in `text`.
pub(super) fn decode(text: &[u8]) -> Result<Vec<u8>, UrlError> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        let byte = if byte == b'%' {
            let digit = |at: usize| text.get(at).and_then(|&digit| (digit as char).to_digit(16));
            let (Some(high), Some(low)) = (digit(at + 1), digit(at + 2)) else {
                return Err(UrlError::new(at, Fault::Percent));
            };
            (high << 4 | low) as u8
        } else {
            byte
        };
        if byte == 0 {
            return Err(UrlError::new(at, Fault::Zero));
        }
        at += if text[at] == b'%' { 3 } else { 1 };
        bytes.push(byte);
    }
    Ok(bytes)
}

/// Encodes bytes; those without a special meaning in a URL stay as they are.
pub(super) fn write(bytes: &[u8], out: &mut fmt::Formatter<'_>) -> fmt::Result {
    for &byte in bytes {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                write!(out, "{}", byte as char)?;
            }
            byte => write!(out, "%{byte:02X}")?,
        }
    }
    Ok(())
}
