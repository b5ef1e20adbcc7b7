//! Inner addresses that follow mobile hosts on a LAN: this gateway answers its neighbours there for those that it has,
//! and tells them of each that comes.

use std::collections::BTreeSet;
use std::net::IpAddr;

use edges::lease::Lease;
use edges::neighbours::{Announcements, Announcer};
use edges::undo::{UndoError, UndoLog, UndoStep};
use ipnet::IpNet;

use crate::config::follow::Follow;

/// The addresses that this gateway has on a LAN.
pub(super) struct Proxies<'a> {
    lan: &'a str,
    addresses: BTreeSet<IpAddr>,
}

impl<'a> Proxies<'a> {
    /// Returns those of these networks that follow, if there is a LAN.
    pub(super) fn of(follow: &'a Follow, networks: &[IpNet]) -> Option<Self> {
        Some(Self {
            lan: follow.lan.as_deref()?,
            addresses: follow.addresses(networks.iter()).collect(),
        })
    }

    /// Answers for them, at once: by default the kernel waits for up to 0.8 s, so that others come first. It does so
    /// under the lease of the daemon with this name and TUN device.
    pub(super) fn set_up(
        &self,
        undo: &mut UndoLog,
        instance: &str,
        link: &str,
    ) -> Result<(), UndoError> {
        let lan = self.lan;
        undo.set_sysctl(&format!("net/ipv4/neigh/{lan}/proxy_delay"), "0")?;
        if self.addresses.iter().any(IpAddr::is_ipv6) {
            undo.set_sysctl(&format!("net/ipv6/neigh/{lan}/proxy_delay"), "0")?;
            undo.set_sysctl(&format!("net/ipv6/conf/{lan}/proxy_ndp"), "1")?;
        }
        self.adapt(undo, instance, link)
    }

    /// Answers for these addresses, and no more for others.
    pub(super) fn adapt(
        &self,
        undo: &mut UndoLog,
        instance: &str,
        link: &str,
    ) -> Result<(), UndoError> {
        let lease = Lease {
            instance: instance.into(),
            inner_link: link.into(),
            lan: self.lan.into(),
            addresses: self.addresses.clone(),
        };
        if let Err(error) = undo.install_lease(&lease) {
            tracing::warn!(
                "if this gateway stands still, it answers on {} beside the one that stands in for it: {error}",
                self.lan
            );
        }
        let of_step = |step: &UndoStep| match step {
            UndoStep::RemoveProxy { address, .. } => Some(*address),
            _ => None,
        };
        let present: BTreeSet<_> = undo.steps().filter_map(of_step).collect();
        for address in self.addresses.difference(&present) {
            undo.add_proxy(self.lan, *address)?;
        }
        for address in present.difference(&self.addresses) {
            let link = self.lan.into();
            undo.take_step(&UndoStep::RemoveProxy {
                link,
                address: *address,
            })?;
        }
        Ok(())
    }
}

/// What tells the neighbours on a LAN which addresses are here.
#[derive(Default)]
pub(super) struct Neighbours {
    announcer: Option<Announcer>,
    announcements: Option<Announcements>,
    /// True in a site: another gateway may have announced an address that belongs here, and may still serve its mobile
    /// host, so it is announced once that has attached.
    waits: bool,
    /// Those that are here.
    told: BTreeSet<IpAddr>,
}

impl Neighbours {
    /// Opens the LAN, if there is one, for a gateway of a site or another one. That needs `CAP_NET_RAW`, but not
    /// afterwards.
    pub(super) fn on(lan: Option<&str>, is_of_site: bool) -> Self {
        let announcer = lan.and_then(|lan| match Announcer::open(lan) {
            Ok(announcer) => Some(announcer),
            Err(error) => {
                tracing::warn!("hosts on {lan} notice late that an address is here: {error}");
                None
            }
        });
        Self {
            announcer,
            waits: is_of_site,
            ..Self::default()
        }
    }

    /// Begins to tell, in a thread.
    pub(super) fn start(&mut self) {
        match self.announcer.take().map(Announcer::start) {
            Some(Ok(announcements)) => self.announcements = Some(announcements),
            Some(Err(error)) => tracing::warn!("the neighbours are not told of addresses: {error}"),
            None => {}
        }
    }

    /// Returns true if there are neighbours to tell.
    pub(super) fn are_told(&self) -> bool {
        self.announcements.is_some()
    }

    /// Tells of the addresses in `anew`; outside of a site also of those that were not here before.
    pub(super) fn tell(&mut self, proxies: Option<Proxies<'_>>, anew: &[IpNet]) {
        let addresses = proxies.map(|proxies| proxies.addresses).unwrap_or_default();
        let is_anew = |address: &IpAddr| anew.iter().any(|network| network.contains(address));
        let is_first = |address: &IpAddr| !self.waits && !self.told.contains(address);
        let news = addresses.iter().copied();
        let news = news.filter(|address| is_first(address) || is_anew(address));
        if let Some(announcements) = &self.announcements {
            announcements.announce(news.collect());
        }
        self.told = addresses;
    }
}
