//! The line of a status that says why a hop is not connected.

use hosts::PeerStatus;

/// Describes what keeps this host from the peer, if anything does.
pub(crate) fn describe(peer: &PeerStatus) -> Option<String> {
    let trouble = peer.trouble.as_ref()?;
    Some(format!("{} ({})", trouble.words, trouble.code))
}
