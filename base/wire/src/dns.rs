//! DNS queries for the addresses of a name, and their answers (RFC 1035, RFC 3596).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::field::{read_array, read_u16};

const HEADER: usize = 12;
const RECURSION_DESIRED: u8 = 1;
const IS_RESPONSE: u8 = 0x80;
const FAILURE: u8 = 0x0f;
const INTERNET: u16 = 1;
/// Largest number of addresses read from one answer.
const ADDRESSES_MOST: usize = 16;
const RECORDS_MOST: usize = 64;

/// The kind of address that a query asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressKind {
    /// Records of type A.
    V4,
    /// Records of type AAAA.
    V6,
}

impl AddressKind {
    fn code(self) -> u16 {
        match self {
            Self::V4 => 1,
            Self::V6 => 28,
        }
    }
}

/// Returns the query for the addresses of `name`; `id` should be hard to guess. `None` if `name` is no valid DNS name.
pub fn question(id: u16, name: &str, kind: AddressKind) -> Option<Vec<u8>> {
    let [high, low] = id.to_be_bytes();
    let mut message = vec![high, low, RECURSION_DESIRED, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    let name = name.strip_suffix('.').unwrap_or(name);
    if !name.is_ascii() || name.len() > 253 {
        return None;
    }
    for label in name.split('.') {
        if label.is_empty() || label.len() > 63 {
            return None;
        }
        message.push(label.len() as u8);
        message.extend(label.as_bytes());
    }
    message.push(0);
    message.extend(kind.code().to_be_bytes());
    message.extend(INTERNET.to_be_bytes());
    Some(message)
}

/// Returns the addresses in a message that answers `question`, an empty list if the name has none; `None` if the
/// message does not answer that question, or reports a server failure.
pub fn answer(message: &[u8], question: &[u8]) -> Option<Vec<IpAddr>> {
    let asked = question.get(HEADER..)?;
    let repeated = message.get(HEADER..HEADER + asked.len())?;
    let answers = message[..2] == question[..2] && repeated.eq_ignore_ascii_case(asked);
    if !answers || message[2] & IS_RESPONSE == 0 || message[3] & FAILURE != 0 {
        return None;
    }
    let kind = read_u16(asked, asked.len().checked_sub(4)?);
    let records = usize::from(read_u16(message, 6)).min(RECORDS_MOST);
    let (mut at, mut addresses) = (HEADER + asked.len(), Vec::new());
    for _ in 0..records {
        at = after_name(message, at)?;
        let fields = message.get(at..at + 10)?;
        let (found, length) = (read_u16(fields, 0), usize::from(read_u16(fields, 8)));
        let data = message.get(at + 10..at + 10 + length)?;
        at += 10 + length;
        if found != kind || read_u16(fields, 2) != INTERNET || addresses.len() == ADDRESSES_MOST {
            continue;
        }
        match (kind == AddressKind::V4.code(), length) {
            (true, 4) => addresses.push(Ipv4Addr::from(read_array::<4>(data, 0)).into()),
            (false, 16) => addresses.push(Ipv6Addr::from(read_array::<16>(data, 0)).into()),
            _ => {}
        }
    }
    Some(addresses)
}

/// Returns the offset after a name, which may end in a compression pointer.
fn after_name(message: &[u8], mut at: usize) -> Option<usize> {
    loop {
        match *message.get(at)? {
            0 => return Some(at + 1),
            0xc0.. => return Some(at + 2),
            length @ 1..=63 => at += 1 + usize::from(length),
            64..0xc0 => return None,
        }
    }
}
