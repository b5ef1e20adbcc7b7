//! The part of a status that says why a hop is not connected.

use hosts::Trouble;

/// Describes what keeps this host from a peer.
pub(super) fn words(trouble: &Trouble) -> String {
    format!("{} ({})", trouble.words, trouble.code)
}
