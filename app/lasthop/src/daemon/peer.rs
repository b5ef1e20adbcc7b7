//! Peers, as a host wants them.

use std::path::Path;

use hosts::{Caps, TcpTerms};
use ipnet::IpNet;
use session::PublicKey;

use crate::config::Source;
use crate::failure::Failure;
use crate::key_file;

/// A peer of which nobody knows yet where it is, with the secret in `preshared_key_file`, if any; it may
/// choose how TCP crosses.
pub(super) fn peer(
    name: &str,
    public: PublicKey,
    preshared_key_file: Option<&Path>,
    source: &Source,
) -> Result<hosts::Peer, Failure> {
    let preshared = preshared_key_file
        .map(|path| key_file::read(&source.file(path)))
        .transpose()?;
    let (endpoint, prefixes) = (None, Vec::new());
    Ok(hosts::Peer {
        name: name.into(),
        public,
        preshared,
        endpoint,
        prefixes,
        tcp: TcpTerms::Follow,
        split: hosts::SplitTerms::Never,
        caps: Caps::default(),
        weight: 1,
    })
}

/// Prefixes, as a host wants them.
pub(super) fn prefixes(networks: impl Iterator<Item = IpNet>) -> Vec<(std::net::IpAddr, u8)> {
    networks
        .map(|network| (network.network(), network.prefix_len()))
        .collect()
}
