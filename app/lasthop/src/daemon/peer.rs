//! Configurations of peers for a host.

use std::path::Path;

use hosts::{Caps, Membership, ResolverTerms, SitePart, TcpMethod, TcpTerms};
use ipnet::IpNet;
use session::PublicKey;

use crate::config::Source;
use crate::config::site::SiteGateway;
use crate::failure::Failure;

/// Returns a peer without a known address, with the secret in `preshared_key_file`, if any, and with its choice of TCP
/// handling.
pub(super) fn peer(
    name: &str,
    public: PublicKey,
    preshared_key_file: Option<&Path>,
    source: &Source,
) -> Result<hosts::Peer, Failure> {
    let preshared = preshared_key_file
        .map(|path| source.secret(path))
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
        resolver: ResolverTerms::Silent,
        tls_port: None,
        membership: Membership::default(),
        weight: 1,
    })
}

/// Returns a gateway of the site.
pub(super) fn site_gateway(gateway: &SiteGateway, source: &Source) -> Result<hosts::Peer, Failure> {
    let secret = gateway.preshared_key_file.as_deref();
    let mut addresses = gateway.addresses(source)?;
    let elsewhere = addresses.split_off(1).into();
    Ok(hosts::Peer {
        endpoint: addresses.pop(),
        tcp: TcpTerms::Choose(TcpMethod::Arq),
        membership: Membership {
            site: SitePart::Gateway,
            for_mobiles: gateway.mobile_address(source)?,
            elsewhere,
            ..Membership::default()
        },
        ..peer(gateway.name(), gateway.key(), secret, source)?
    })
}

/// Converts prefixes to the form of a host's configuration.
pub(super) fn prefixes(networks: impl Iterator<Item = IpNet>) -> Vec<(std::net::IpAddr, u8)> {
    networks
        .map(|network| (network.network(), network.prefix_len()))
        .collect()
}
