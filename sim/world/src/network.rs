//! The networks between the hosts: addresses, translators, paths, and what an attacker has recorded.

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};

use units::Instant;
use wire::address::HopAddress;

use crate::path::Path;

/// Most datagrams that an attacker has recorded.
const RECORDED: usize = 64;

/// A datagram between two addresses.
#[derive(Debug, Clone)]
pub(crate) struct Datagram {
    pub(crate) from: HopAddress,
    pub(crate) to: HopAddress,
    pub(crate) bytes: Vec<u8>,
}

/// Place of a mobile host in the network, as its gateway sees it.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    /// Index of its process.
    pub(crate) process: usize,
    pub(crate) path: Path,
    /// Number of its address and of its port, which grow with each change.
    moves: u8,
    bindings: u16,
    /// False while its translator does not know it.
    pub(crate) is_bound: bool,
    /// Number of datagrams whose source an attacker changes.
    pub(crate) redirected: u8,
}

impl Place {
    fn address(&self) -> HopAddress {
        let host = Ipv4Addr::new(198, 18, self.process as u8, self.moves);
        SocketAddr::from((host, 5_000 + self.bindings)).into()
    }

    /// Changes the address.
    pub(crate) fn change_address(&mut self) {
        self.moves = self.moves.wrapping_add(1);
    }

    /// Changes the port.
    pub(crate) fn rebind(&mut self) {
        self.bindings = (self.bindings + 1) % 50_000;
    }
}

/// The networks between the hosts.
#[derive(Debug)]
pub(crate) struct Network {
    places: Vec<Place>,
    /// Process that has the gateway's address.
    pub(crate) gateway: usize,
    /// Number of times that this address has changed.
    readdressed: u8,
    recorded: VecDeque<Datagram>,
    /// Bytes from and to the victim's address.
    pub(crate) from_victim: u64,
    pub(crate) to_victim: u64,
    /// Datagrams that all hosts have sent, the hostile one aside.
    pub(crate) sent: u64,
}

impl Network {
    pub(crate) fn new() -> Self {
        Self {
            places: Vec::new(),
            gateway: 0,
            readdressed: 0,
            recorded: VecDeque::new(),
            from_victim: 0,
            to_victim: 0,
            sent: 0,
        }
    }

    /// Returns the address of the gateway.
    pub(crate) fn gateway_address(&self) -> HopAddress {
        gateway_at(self.readdressed)
    }

    /// Returns true if the gateway has another address than at the start.
    pub(crate) fn is_readdressed(&self) -> bool {
        self.readdressed > 0
    }

    /// Gives the gateway another address.
    pub(crate) fn readdress(&mut self) {
        self.readdressed = (self.readdressed + 1) % 100;
    }

    /// Adds a place for a process that is a mobile host.
    pub(crate) fn add(&mut self, process: usize, path: Path) {
        self.places.push(Place {
            process,
            path,
            moves: 0,
            bindings: 0,
            is_bound: true,
            redirected: 0,
        });
    }

    /// Returns the place of a process, if it is a mobile host.
    pub(crate) fn place(&mut self, process: usize) -> Option<&mut Place> {
        self.places
            .iter_mut()
            .find(|place| place.process == process)
    }

    /// Returns the source address of a datagram of a mobile host; a translator learns of it.
    pub(crate) fn source(&mut self, process: usize) -> HopAddress {
        match self.place(process) {
            None => self.gateway_address(),
            Some(place) => {
                if !place.is_bound {
                    place.is_bound = true;
                    place.rebind();
                }
                place.address()
            }
        }
    }

    /// Returns the process that gets datagrams for an address.
    pub(crate) fn owner(&self, address: HopAddress) -> Option<usize> {
        if address == self.gateway_address() {
            return Some(self.gateway);
        }
        let mut places = self.places.iter();
        let place = places.find(|place| place.is_bound && place.address() == address);
        place.map(|place| place.process)
    }

    /// Records a datagram.
    pub(crate) fn record(&mut self, datagram: &Datagram) {
        if self.recorded.len() == RECORDED {
            self.recorded.pop_front();
        }
        self.recorded.push_back(datagram.clone());
    }

    /// Returns a recorded datagram, counted from the newest.
    pub(crate) fn recorded(&self, number: usize) -> Option<&Datagram> {
        let place = self.recorded.len().checked_sub(1 + number)?;
        self.recorded.get(place)
    }

    /// Ends all faults of all paths; they may carry a queue for some time.
    pub(crate) fn heal(&mut self, now: Instant, path: Path) {
        for place in &mut self.places {
            place.path = path;
            place.redirected = 0;
            place.path.way(crate::path::Direction::Up).faded_until = now;
        }
    }
}

fn gateway_at(readdressed: u8) -> HopAddress {
    SocketAddr::from(([192, 0, 2, 100 + readdressed], 5_000)).into()
}

/// Returns the address of a host that takes no part, and never answers.
pub(crate) fn victim() -> HopAddress {
    SocketAddr::from(([203, 0, 113, 66], 5_000)).into()
}
