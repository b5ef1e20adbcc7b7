//! Datagrams in a stream of bytes: each after its length, 16 bits in network order.

use std::io::{self, Read};

/// Longest datagram, in bytes: that of a link with jumbo frames.
pub(super) const LONGEST: usize = 9_216;
/// Bytes of the length.
const LENGTH: usize = 2;

/// Appends a datagram to `stream`; returns false if it is empty or too long.
pub(super) fn append(stream: &mut Vec<u8>, datagram: &[u8]) -> bool {
    if datagram.is_empty() || datagram.len() > LONGEST {
        return false;
    }
    stream.extend((datagram.len() as u16).to_be_bytes());
    stream.extend(datagram);
    true
}

/// The received begin of a datagram that is not complete.
#[derive(Debug, Default)]
pub(super) struct Incoming(Vec<u8>);

impl Incoming {
    /// Reads `count` bytes, which must be there, and gives each complete datagram to `sink`; returns their number.
    ///
    /// # Errors
    /// A length that no datagram has.
    pub(super) fn read(
        &mut self,
        reader: &mut impl Read,
        count: usize,
        sink: &mut dyn FnMut(&mut [u8]),
    ) -> io::Result<usize> {
        let Self(bytes) = self;
        let start = bytes.len();
        bytes.resize(start + count, 0);
        reader.read_exact(&mut bytes[start..])?;
        let (mut at, mut datagrams) = (0, 0);
        while let Some((length, rest)) = bytes[at..].split_first_chunk_mut::<LENGTH>() {
            let length = usize::from(u16::from_be_bytes(*length));
            if length == 0 || length > LONGEST {
                let what = "the stream holds no datagrams";
                return Err(io::Error::new(io::ErrorKind::InvalidData, what));
            }
            let Some(datagram) = rest.get_mut(..length) else {
                break;
            };
            sink(datagram);
            at += LENGTH + length;
            datagrams += 1;
        }
        bytes.drain(..at);
        Ok(datagrams)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn datagrams_come_out_as_they_went_in(
            lengths in proptest::collection::vec(1..=LONGEST, 1..8),
            pieces in proptest::collection::vec(1..20_000_usize, 1..20),
        ) {
            let mut stream = Vec::new();
            let datagram = |(number, length): (usize, &usize)| vec![number as u8; *length];
            let sent: Vec<_> = lengths.iter().enumerate().map(datagram).collect();
            for datagram in &sent {
                prop_assert!(append(&mut stream, datagram));
            }
            let (mut incoming, mut received) = (Incoming::default(), Vec::new());
            let mut rest = &stream[..];
            for piece in pieces.into_iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let count = piece.min(rest.len());
                let mut sink = |datagram: &mut [u8]| received.push(datagram.to_vec());
                incoming.read(&mut rest, count, &mut sink).unwrap();
                prop_assert!(incoming.0.len() < LENGTH + LONGEST);
            }
            prop_assert_eq!(received, sent);
        }
    }

    #[test]
    fn lengths_of_no_datagram_are_refused() {
        for length in [0, LONGEST + 1, 0xffff] {
            let bytes = (length as u16).to_be_bytes();
            let mut incoming = Incoming::default();
            assert!(
                incoming
                    .read(&mut &bytes[..], 2, &mut |_| panic!())
                    .is_err()
            );
        }
        let mut stream = Vec::new();
        assert!(!append(&mut stream, &[]) && !append(&mut stream, &[0; LONGEST + 1]));
        assert!(stream.is_empty());
    }
}
