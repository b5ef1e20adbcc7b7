//! What the configurations of both ends have in common.

use std::path::PathBuf;

use hosts::BearerMtu;
use serde::Deserialize;
use toml::Spanned;

use super::Source;
use super::carrier::{Carrier, Choice, EtherType, Kind};
pub(crate) use super::values::{Cache, LongestPacket, Mtu, Network, Rate, Routes};
use crate::failure::Failure;

/// The inner MTU, unless the configuration says otherwise.
const USUAL_MTU: Mtu = Mtu(1500);
/// What is tried at least where interfaces carry less: they may be others later; and at most.
const USUAL: usize = 1_500;
const WIDEST: usize = 9_216;

/// The device that holds this end's inner addresses.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tun {
    /// The interface's name.
    #[serde(default = "tun_name")]
    pub(crate) name: String,
    /// This end's inner addresses, with the length of their subnet's prefix.
    pub(crate) addresses: Spanned<Vec<Network>>,
    /// The largest inner packet in bytes.
    #[serde(default = "usual_mtu")]
    pub(crate) mtu: Mtu,
}

impl Tun {
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
    /// The rate from here; measured unless given.
    pub(crate) rate: Rate,
    /// The largest IP packet, or payload of an Ethernet frame, that crosses the hop: found, or found up to a bound.
    bearer_mtu: LongestPacket,
    bearer: Option<Spanned<Kind>>,
    interface: Option<Spanned<String>>,
    ethertype: Option<Spanned<EtherType>>,
}

impl Hop {
    /// What carries frames.
    pub(crate) fn carrier(&self, source: &Source) -> Result<Carrier, Failure> {
        let choice = Choice {
            kind: self.bearer.as_ref(),
            interface: self.interface.as_ref(),
            ether_type: self.ethertype.as_ref(),
        };
        choice.settle(source)
    }

    /// How long packets may be across a link of its own; or across networks, from a host whose widest interface carries
    /// so much.
    pub(crate) fn bearer_mtu(&self, reach: Reach) -> BearerMtu {
        let given = self.bearer_mtu.0.map(|given| usize::from(given.0));
        let within = |most: usize| given.map_or(most, |given| given.min(most));
        match reach {
            Reach::Link(mtu) => BearerMtu::of_link(within(mtu)),
            Reach::Networks { widest } => BearerMtu::up_to(within(widest.clamp(USUAL, WIDEST))),
        }
    }
}

/// What a bearer crosses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// One link, which carries so many bytes in a frame.
    Link(usize),
    /// Any networks, by interfaces of which the widest carries so many.
    Networks {
        /// See above.
        widest: usize,
    },
}

/// The snoop protocol, where TCP goes by it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Snoop {
    /// What it may keep for each peer.
    pub(crate) cache: Cache,
}

/// Where sockets and undo files stand.
pub(super) fn state_folder() -> PathBuf {
    edges::undo::STATE_FOLDER.into()
}

fn tun_name() -> String {
    "lasthop0".into()
}

fn usual_mtu() -> Mtu {
    USUAL_MTU
}
