//! The keys of one session, which seal and open in place.

use planted::Bug;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use units::Instant;
use zeroize::Zeroizing;

use crate::identity::Addressed;
use crate::key_text::KEY_BYTES;
use crate::lineage::Lineage;
use crate::message::{DATA_HEADER_BYTES, DATA_OVERHEAD_BYTES, TAG_BYTES, write_data_header};
use crate::number::expand;
use crate::output::DropCause;
use crate::replay::ReplayWindow;

/// Path ID of all datagrams until a host has several paths: the first 32 bits of the nonce.
const PATH_ID: u32 = 0;
/// First number that is never used, so that no number wraps around.
const NUMBER_END: u64 = u64::MAX - (1 << 16);
/// Number of forgeries after which a key is given up: the integrity limit of ChaCha20-Poly1305 (RFC 9001 §6.6).
const FORGERIES_MAX: u64 = 1 << 36;

/// Parameters of a session besides its keys, agreed in the handshake.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terms {
    pub(crate) local_index: u32,
    pub(crate) remote_index: u32,
    pub(crate) lineage: Lineage,
    pub(crate) peer_features: u64,
    /// Key of this host to which the initiation was addressed, if it is the responder.
    pub(crate) to: Addressed,
    /// Time at which the initiation was made (at its sender) or arrived (at its receiver); the age of the keys counts
    /// from it.
    pub(crate) created: Instant,
}

/// One session: a key, a counter and a replay window for each direction.
pub(crate) struct Transport {
    pub(crate) terms: Terms,
    send_key: LessSafeKey,
    receive_key: LessSafeKey,
    next_number: u64,
    window: ReplayWindow,
    forgeries: u64,
}

/// Result of opening an authentic datagram.
pub(crate) struct Opened {
    pub(crate) number: u64,
    pub(crate) newest: bool,
    /// Length of the plaintext, which begins after the clear header, in bytes.
    pub(crate) length: usize,
}

impl Transport {
    /// Returns a session with the keys `send` and `receive` of this host's two directions.
    pub(crate) fn new(
        terms: Terms,
        send: &Zeroizing<[u8; KEY_BYTES]>,
        receive: &Zeroizing<[u8; KEY_BYTES]>,
    ) -> Self {
        Self {
            terms,
            send_key: cipher(send),
            receive_key: cipher(receive),
            next_number: 0,
            window: ReplayWindow::new(),
            forgeries: 0,
        }
    }

    /// Returns the number of packet numbers used so far.
    pub(crate) fn sent(&self) -> u64 {
        self.next_number
    }

    /// Returns true once the key must not be used for another datagram, whatever its age.
    pub(crate) fn is_worn_out(&self) -> bool {
        self.next_number >= NUMBER_END || self.forgeries >= FORGERIES_MAX
    }

    /// Seals `[header][plaintext][tag]` in place, under a number that no other datagram of this key has.
    ///
    /// The buffer is at least [`DATA_OVERHEAD_BYTES`] long and the key is not worn out.
    pub(crate) fn seal(&mut self, buffer: &mut [u8]) {
        let number = self.next_number;
        let is_numbered = !planted::is(Bug::EmptyHasNoNumber) || buffer.len() > DATA_OVERHEAD_BYTES;
        self.next_number += u64::from(is_numbered);
        let (header, rest) = buffer.split_at_mut(DATA_HEADER_BYTES);
        let (plaintext, tag) = rest.split_at_mut(rest.len() - TAG_BYTES);
        write_data_header(header, self.terms.remote_index, number);
        let sealed = self
            .send_key
            .seal_in_place_separate_tag(nonce(number), Aad::from(&*header), plaintext)
            .expect("a datagram is far below the cipher's 256 GiB");
        tag.copy_from_slice(sealed.as_ref());
    }

    /// Opens a data datagram whose header ended in `low`, in place.
    pub(crate) fn open(&mut self, datagram: &mut [u8], low: u32) -> Result<Opened, DropCause> {
        let number = expand(self.window.expected(), low);
        if number >= NUMBER_END || !self.window.is_fresh(number) {
            return Err(DropCause::Replayed);
        }
        let (header, sealed) = datagram.split_at_mut(DATA_HEADER_BYTES);
        let opened = self
            .receive_key
            .open_in_place(nonce(number), Aad::from(&*header), sealed);
        if opened.is_err() {
            self.forgeries += 1;
            return Err(DropCause::BadSeal);
        }
        Ok(Opened {
            number,
            newest: self.window.commit(number),
            length: datagram.len() - DATA_OVERHEAD_BYTES,
        })
    }
}

fn cipher(key: &Zeroizing<[u8; KEY_BYTES]>) -> LessSafeKey {
    let unbound = UnboundKey::new(&CHACHA20_POLY1305, &**key).expect("the key has 32 bytes");
    LessSafeKey::new(unbound)
}

/// Returns the nonce: the path ID, then the full number; for path 0 this is the nonce of Noise (§12.3) and
/// `WireGuard`.
fn nonce(number: u64) -> Nonce {
    let mut bytes = [0; 12];
    bytes[..4].copy_from_slice(&PATH_ID.to_le_bytes());
    bytes[4..].copy_from_slice(&number.to_le_bytes());
    Nonce::assume_unique_for_key(bytes)
}
