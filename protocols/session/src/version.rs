//! Version replies: a host that does not speak the version of an initiation answers which ones it speaks.

use blake2::digest::{Mac, consts::U16};
use blake2::{Blake2s256, Blake2sMac, Digest};

use crate::endpoint::Endpoint;
use crate::keys::PublicKey;
use crate::message::{
    HANDSHAKE_HEADER, INITIATION_TYPE, LEAST_INITIATION, MAC_BYTES, VERSION, VERSION_REPLY_BYTES,
    VERSION_REPLY_TYPE, mac1_of,
};
use crate::output::{DropCause, Event};

/// Bytes of a version reply that its mac covers.
const COVERED: usize = VERSION_REPLY_BYTES - MAC_BYTES;

impl Endpoint {
    /// Writes the version reply to an initiation of another version over it, if its sender knows this host's public
    /// key; returns the bytes to send to its source, which are fewer.
    pub(crate) fn reply_with_version<'a>(&self, datagram: &'a mut [u8]) -> Option<&'a mut [u8]> {
        // In all versions an initiation has this type, and ends with two macs.
        let is_initiation = datagram.first() == Some(&INITIATION_TYPE);
        if !is_initiation || datagram.len() < LEAST_INITIATION {
            return None;
        }
        let to = self.identity.addressed(datagram)?;
        let mac1 = *mac1_of(datagram);
        let reply = &mut datagram[..VERSION_REPLY_BYTES];
        reply[..HANDSHAKE_HEADER].copy_from_slice(&[VERSION_REPLY_TYPE, VERSION, VERSION, 0]);
        reply[HANDSHAKE_HEADER..COVERED].copy_from_slice(&mac1);
        let mac = mac_over(&self.identity.addressee(to).public, &reply[..COVERED]).finalize();
        reply[COVERED..].copy_from_slice(&mac.into_bytes());
        Some(reply)
    }

    /// Handles a version reply to the initiation in flight that it names. Who saw the initiation and knows the public
    /// key of its receiver can forge it, so it is only reported.
    pub(crate) fn handle_version_reply(
        &mut self,
        reply: &[u8; VERSION_REPLY_BYTES],
    ) -> Result<(), DropCause> {
        let (covered, mac) = reply.split_at(COVERED);
        let id = self.initiator_with(&covered[HANDSHAKE_HEADER..]);
        let id = id.ok_or(DropCause::UnexpectedHandshake)?;
        let peer = self.peers.get(&id).ok_or(DropCause::UnexpectedHandshake)?;
        let is_authentic = mac_over(&peer.public_key, covered).verify_slice(mac);
        is_authentic.map_err(|_| DropCause::BadMac)?;
        let (newest, oldest) = (covered[1], covered[2]);
        if (oldest..=newest).contains(&VERSION) {
            return Err(DropCause::UnexpectedHandshake);
        }
        self.announce(Event::OtherVersion {
            peer: id,
            is_older: newest < VERSION,
        });
        Ok(())
    }
}

fn mac_over(sender: &PublicKey, covered: &[u8]) -> Blake2sMac<U16> {
    let key = Blake2s256::new()
        .chain_update(b"version-")
        .chain_update(sender.bytes())
        .finalize();
    Blake2sMac::new_from_slice(&key)
        .expect("BLAKE2s takes keys of 32 bytes")
        .chain_update(covered)
}
