//! The common part of both ends' configurations.

use std::num::NonZeroU16;
use std::path::PathBuf;

use hosts::BearerMtu;
use ipnet::IpNet;
use serde::Deserialize;
use toml::Spanned;

use super::Source;
use super::carrier::{Carrier, Choice, EtherType, Kind};
pub(crate) use super::values::{Cache, LongestPacket, Mtu, Network, Rate, Routes, TcpPort};
use crate::failure::Failure;

/// Default of the inner MTU.
const USUAL_MTU: Mtu = Mtu(1500);
/// Least size to try even if interfaces carry less, because they may change later; and largest size to try.
const USUAL: usize = 1_500;
const WIDEST: usize = 9_216;

/// The device with this end's inner addresses.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tun {
    /// Name of the interface.
    #[serde(default = "tun_name")]
    pub(crate) name: String,
    /// Inner addresses of this end, with the prefix length of their subnet.
    pub(crate) addresses: Spanned<Vec<Network>>,
    /// Largest inner packet in bytes.
    #[serde(default = "usual_mtu")]
    pub(crate) mtu: Mtu,
}

impl Tun {
    /// Returns the inner addresses of this end, with the prefix length of their subnet.
    pub(crate) fn own(&self) -> impl Iterator<Item = IpNet> {
        self.addresses.get_ref().iter().map(|Network(own)| *own)
    }

    /// Refuses a device without any address.
    pub(crate) fn check(&self, source: &Source) -> Result<(), Failure> {
        if self.addresses.get_ref().is_empty() {
            let what = "this end needs an inner address; write one like [\"10.73.0.1/24\"]";
            return Err(source.wrong(Some(self.addresses.span()), what));
        }
        Ok(())
    }
}

/// The hop.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Hop {
    /// Rate from this end; measured if missing.
    pub(crate) rate: Rate,
    /// Largest IP packet, or payload of an Ethernet frame, that crosses the hop: measured, or measured up to a limit.
    bearer_mtu: LongestPacket,
    bearer: Option<Spanned<Kind>>,
    interface: Option<Spanned<String>>,
    ethertype: Option<Spanned<EtherType>>,
    /// TCP port of the gateway for TLS, where networks let no UDP through; without one UDP is the only way.
    tls_port: Option<Spanned<TcpPort>>,
}

impl Hop {
    /// Returns true if frames cross in UDP datagrams.
    pub(crate) fn is_udp(&self) -> bool {
        self.bearer
            .as_ref()
            .is_none_or(|kind| *kind.get_ref() == Kind::Udp)
    }

    /// Returns the bearer.
    pub(crate) fn carrier(&self, source: &Source) -> Result<Carrier, Failure> {
        let choice = Choice {
            kind: self.bearer.as_ref(),
            interface: self.interface.as_ref(),
            ether_type: self.ethertype.as_ref(),
        };
        let carrier = choice.settle(source)?;
        match (&carrier, &self.tls_port) {
            (Carrier::Ethernet { .. }, Some(given)) => {
                let what = "TLS stands in for UDP; remove this line, or set `bearer = \"udp\"`";
                Err(source.wrong(Some(given.span()), what))
            }
            (Carrier::Ethernet { .. }, None) | (Carrier::Udp, _) => Ok(carrier),
        }
    }

    /// Returns the TCP port of the gateway for TLS, if it has one.
    pub(crate) fn tls_port(&self) -> Option<NonZeroU16> {
        self.tls_port.as_ref().map(|given| given.get_ref().0)
    }

    /// Returns the limits of packets across a link of its own; or across networks, from a host whose widest interface
    /// carries this much.
    pub(crate) fn bearer_mtu(&self, reach: Reach) -> BearerMtu {
        let given = self.bearer_mtu.0.map(|given| usize::from(given.0));
        let within = |most: usize| given.map_or(most, |given| given.min(most));
        match reach {
            Reach::Link(mtu) => BearerMtu::of_link(within(mtu)),
            Reach::Networks { widest } => BearerMtu::up_to(within(widest.clamp(USUAL, WIDEST))),
        }
    }
}

/// The network that a bearer crosses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// One link, with its largest frame in bytes.
    Link(usize),
    /// Any networks.
    Networks {
        /// Largest packet of the widest interface, in bytes.
        widest: usize,
    },
}

/// Settings of the snoop protocol.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Snoop {
    /// Limit of its cache for each peer.
    pub(crate) cache: Cache,
}

/// Returns the folder of sockets and undo files.
pub(super) fn state_folder() -> PathBuf {
    edges::undo::STATE_FOLDER.into()
}

fn tun_name() -> String {
    "lasthop0".into()
}

fn usual_mtu() -> Mtu {
    USUAL_MTU
}
