//! What a mobile host finds out about its surroundings while it runs: other addresses of its gateway, and what may keep
//! it from there.

use std::collections::BTreeMap;
use std::net::IpAddr;

use edges::names::Name;
use edges::netlink::{MAIN_TABLE, Netlink};
use hosts::{Circumstance, Input};
use ipnet::IpNet;
use runtime::{Errand, Finder};
use wire::address::HopAddress;

use crate::clash;
use crate::failure::Failure;

/// Most addresses of the gateway from one search.
const PLACES: usize = 4;

/// A place where the other end may be.
pub(super) enum Place {
    Name(Name),
    Address(HopAddress),
}

/// The surroundings of a mobile host.
pub(super) struct Lookout {
    /// Places where the gateway may be, unless there is one address alone.
    places: Vec<Place>,
    /// Inner addresses of this host.
    own: Vec<IpNet>,
    /// Name of the device, once it exists.
    link: String,
    /// What the host knows.
    told: BTreeMap<Circumstance, String>,
}

impl Lookout {
    /// Returns what examines whether one of `places` has the gateway, and whether the network has one of the inner
    /// addresses in `own`.
    pub(super) fn new(places: Vec<Place>, own: Vec<IpNet>) -> Self {
        Self {
            places,
            own,
            link: String::new(),
            told: BTreeMap::new(),
        }
    }

    /// Returns true if it resolves names.
    pub(super) fn resolves_names(&self) -> bool {
        let mut places = self.places.iter();
        places.any(|place| matches!(place, Place::Name(_)))
    }

    fn find(&mut self, errand: Errand) -> Vec<Input> {
        let mut inputs = Vec::new();
        let clash = self.clash();
        inputs.extend(self.tell(Circumstance::AddressClash, clash));
        if let Errand::Seek(peer) = errand {
            let (places, unresolved, private) = self.resolve();
            inputs.extend(self.tell(Circumstance::NameUnresolved, unresolved));
            inputs.extend(self.tell(Circumstance::NamePrivate, private));
            let places = places.into_iter().take(PLACES);
            inputs.extend(places.map(|at| Input::Found { peer, at }));
        }
        inputs
    }

    /// Returns the input about a circumstance, if it has changed.
    fn tell(&mut self, circumstance: Circumstance, words: Option<String>) -> Option<Input> {
        let known = match &words {
            Some(words) => self.told.insert(circumstance, words.clone()),
            None => self.told.remove(&circumstance),
        };
        (known != words).then_some(Input::Circumstance(circumstance, words))
    }

    /// Returns the network of this host that has its inner address, if one does.
    fn clash(&self) -> Option<String> {
        let routes = Netlink::open().and_then(|mut netlink| netlink.routes(MAIN_TABLE));
        let routes = routes.unwrap_or_default();
        clash::find(&routes, &self.own, &self.link).map(clash::words)
    }

    /// Returns the present addresses of the gateway. In words: a name that has none, if there is no other place, and a
    /// name whose addresses are private.
    fn resolve(&self) -> (Vec<HopAddress>, Option<String>, Option<String>) {
        let (mut all, mut unresolved, mut private) = (Vec::new(), None, None);
        for place in &self.places {
            let name = match place {
                Place::Address(address) => {
                    all.push(*address);
                    continue;
                }
                Place::Name(name) => name,
            };
            let host = &name.host;
            match name.addresses() {
                Ok(found) if found.is_empty() => {
                    unresolved = Some(format!("the gateway's name '{host}' has no address"));
                }
                Ok(found) => {
                    if found.iter().all(|at| is_private(at.ip())) {
                        let at = found[0].ip();
                        private = Some(format!("the gateway's name '{host}' leads to {at}"));
                    }
                    all.extend(found.into_iter().map(HopAddress::Udp));
                }
                Err(error) => {
                    let words = format!("the gateway's name '{host}' cannot be resolved: {error}");
                    unresolved = Some(words);
                }
            }
        }
        let unresolved = unresolved.filter(|_| all.is_empty());
        (all, unresolved, private)
    }
}

/// Starts the thread that looks, if anything is to be looked at; `link` is the device with the inner addresses.
pub(super) fn start(lookout: Option<Lookout>, link: &str) -> Result<Option<Finder>, Failure> {
    let Some(mut lookout) = lookout else {
        return Ok(None);
    };
    lookout.link = link.into();
    let started = Finder::start(move |errand| lookout.find(errand));
    let failed = |error| format!("cannot start the search of the gateway: {error}");
    started
        .map(Some)
        .map_err(|error| Failure::setting(failed(error)))
}

/// Returns true for addresses of private networks (RFC 1918, RFC 4193), of links, and of hosts themselves.
fn is_private(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => {
            address.is_private() || address.is_link_local() || address.is_loopback()
        }
        IpAddr::V6(address) => {
            address.is_unique_local() || address.is_unicast_link_local() || address.is_loopback()
        }
    }
}
