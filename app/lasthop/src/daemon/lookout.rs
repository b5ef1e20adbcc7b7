//! What a mobile host finds out about its surroundings while it runs: other addresses of its gateway, and what may keep
//! it from there.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::mpsc::channel;
use std::thread;

use edges::names::Name;
use edges::netlink::{MAIN_TABLE, Netlink};
use hosts::{Circumstance, Input};
use ipnet::IpNet;
use runtime::{Errand, Finder};
use wire::address::HopAddress;
use wire::ip::scope;

use crate::clash;
use crate::failure::Failure;

/// Most addresses of one name.
const OF_NAME: usize = 4;

/// A place where the other end may be.
pub(super) enum Place {
    /// A name, once for each kind of addresses that are wanted.
    Name(Vec<Name>),
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

    fn find(&mut self, errand: Errand, tell: &mut dyn FnMut(Input)) {
        let clash = self.clash();
        self.note(Circumstance::AddressClash, clash, tell);
        if let Errand::Seek(peer) = errand {
            let Resolved {
                is_found,
                unresolved,
                private,
            } = self.resolve(&mut |at| tell(Input::Found { peer, at }));
            let unresolved = (!unresolved.is_empty()).then(|| unresolved.join("; "));
            let (all, some) = if is_found {
                (None, unresolved)
            } else {
                (unresolved, None)
            };
            self.note(Circumstance::NameUnresolved, all, tell);
            self.note(Circumstance::OtherNameUnresolved, some, tell);
            self.note(Circumstance::NamePrivate, private, tell);
        }
    }

    /// Tells of a circumstance, if it has changed.
    fn note(
        &mut self,
        circumstance: Circumstance,
        words: Option<String>,
        tell: &mut dyn FnMut(Input),
    ) {
        let known = match &words {
            Some(words) => self.told.insert(circumstance, words.clone()),
            None => self.told.remove(&circumstance),
        };
        if known != words {
            tell(Input::Circumstance(circumstance, words));
        }
    }

    /// Returns the network of this host that has its inner address, if one does.
    fn clash(&self) -> Option<String> {
        let routes = Netlink::open().and_then(|mut netlink| netlink.routes(MAIN_TABLE));
        let routes = routes.unwrap_or_default();
        clash::find(&routes, &self.own, &self.link).map(clash::words)
    }

    /// Tells the present addresses of the gateway, each as soon as it is known: a name that nobody resolves takes long.
    fn resolve(&self, tell: &mut dyn FnMut(HopAddress)) -> Resolved {
        let mut resolved = Resolved::default();
        thread::scope(|scope| {
            let (send, results) = channel();
            for place in &self.places {
                match place {
                    Place::Address(at) => {
                        resolved.is_found = true;
                        tell(*at);
                    }
                    Place::Name(names) => {
                        let send = send.clone();
                        // The other end waits for all of them.
                        scope.spawn(move || drop(send.send((names, look_up(names)))));
                    }
                }
            }
            drop(send);
            for (names, result) in results {
                resolved.add(&names[0].host, result, tell);
            }
        });
        resolved
    }
}

/// Returns all addresses of a name.
fn look_up(names: &[Name]) -> io::Result<Vec<SocketAddr>> {
    let (mut all, mut failure) = (Vec::new(), None);
    for name in names {
        match name.addresses() {
            Ok(found) => all.extend(found),
            Err(error) => failure = Some(error),
        }
    }
    match failure {
        Some(error) if all.is_empty() => Err(error),
        _ => Ok(all),
    }
}

/// What the places of the gateway lead to.
#[derive(Default)]
struct Resolved {
    /// True if there is an address.
    is_found: bool,
    /// Names that have no address, in words.
    unresolved: Vec<String>,
    /// A name whose addresses are private, in words.
    private: Option<String>,
}

impl Resolved {
    fn add(
        &mut self,
        host: &str,
        result: io::Result<Vec<SocketAddr>>,
        tell: &mut dyn FnMut(HopAddress),
    ) {
        match result {
            Ok(found) if found.is_empty() => {
                let words = format!("the gateway's name '{host}' has no address");
                self.unresolved.push(words);
            }
            Ok(found) => {
                if found.iter().all(|at| is_private(at.ip())) {
                    let at = found[0].ip();
                    self.private = Some(format!("the gateway's name '{host}' leads to {at}"));
                }
                self.is_found = true;
                found
                    .into_iter()
                    .take(OF_NAME)
                    .for_each(|at| tell(HopAddress::Udp(at)));
            }
            Err(error) => {
                let words = format!("the gateway's name '{host}' cannot be resolved: {error}");
                self.unresolved.push(words);
            }
        }
    }
}

/// Starts the thread that looks, if anything is to be looked at; `link` is the device with the inner addresses.
pub(super) fn start(lookout: Option<Lookout>, link: &str) -> Result<Option<Finder>, Failure> {
    let Some(mut lookout) = lookout else {
        return Ok(None);
    };
    lookout.link = link.into();
    let started = Finder::start(move |errand, tell| lookout.find(errand, tell));
    let failed = |error| format!("cannot start the search of the gateway: {error}");
    started
        .map(Some)
        .map_err(|error| Failure::setting(failed(error)))
}

/// Returns true for addresses of private networks (RFC 1918, RFC 4193), of links, and of hosts themselves.
fn is_private(address: IpAddr) -> bool {
    let address = address.to_canonical();
    scope::is_private(address) || scope::is_link_local(address) || address.is_loopback()
}
