//! The peers of a host, by number.

use std::collections::BTreeMap;
use std::ops::{Index, IndexMut};

use session::{PeerId, PublicKey};

use crate::peer::Peer;
use crate::site::{Directories, Homes, SitePart};

/// Peers by the number of their session. A number never belongs to another peer, so what is late concerns nobody.
#[derive(Debug, Default)]
pub(crate) struct Peers {
    by_number: BTreeMap<usize, Box<Peer>>,
    /// Those that have gone on with another key, by the one that the configuration, or who tells of them, has.
    gone_on: BTreeMap<PublicKey, usize>,
    /// True if any of them has been of a site with several gateways.
    are_of_site: bool,
    /// What this host tells of them.
    pub(crate) directories: Directories,
    /// The homes of mobile hosts that this gateway serves as guests.
    pub(crate) homes: Homes,
}

impl Peers {
    /// Adds a peer; returns its number.
    pub(crate) fn insert(&mut self, peer: Peer) -> usize {
        let index = peer.id.number();
        self.are_of_site |= peer.settings.membership.site != SitePart::Alone;
        self.by_number.insert(index, Box::new(peer));
        index
    }

    /// Returns true if this host is in a site with several gateways.
    pub(crate) fn are_of_site(&self) -> bool {
        self.are_of_site
    }

    pub(crate) fn remove(&mut self, index: usize) -> Option<Box<Peer>> {
        self.is_listed_anew(index);
        self.by_number.remove(&index)
    }

    /// Returns the peer that was listed under this key, and has gone on with another one.
    pub(crate) fn gone_on(&self, listed: &PublicKey) -> Option<usize> {
        self.gone_on.get(listed).copied()
    }

    /// Notes that a peer that is listed under this key has gone on with its present one.
    pub(crate) fn goes_on(&mut self, index: usize, listed: PublicKey) {
        let peer = &mut self[index];
        if peer.settings.public == listed {
            return self.is_listed_anew(index);
        }
        peer.keys.listed = Some(listed);
        self.gone_on.insert(listed, index);
    }

    /// Notes that a peer is listed under its present key.
    pub(crate) fn is_listed_anew(&mut self, index: usize) {
        let peer = self.get_mut(index);
        if let Some(listed) = peer.and_then(|peer| peer.keys.listed.take()) {
            self.gone_on.remove(&listed);
        }
    }

    pub(crate) fn get(&self, index: usize) -> Option<&Peer> {
        self.by_number.get(&index).map(|peer| &**peer)
    }

    pub(crate) fn get_mut(&mut self, index: usize) -> Option<&mut Peer> {
        self.by_number.get_mut(&index).map(|peer| &mut **peer)
    }

    /// Returns the number of the peer with this session, if it is still there.
    pub(crate) fn index_of(&self, id: PeerId) -> Option<usize> {
        let index = id.number();
        self.by_number.contains_key(&index).then_some(index)
    }

    /// Returns the numbers of all peers.
    pub(crate) fn indices(&self) -> Vec<usize> {
        self.by_number.keys().copied().collect()
    }

    /// Returns all peers with their numbers, in the order in which they were added.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &Peer)> {
        self.by_number.iter().map(|(index, peer)| (*index, &**peer))
    }

    /// Returns the peers with this number and higher ones.
    pub(crate) fn iter_from(&self, from: usize) -> impl Iterator<Item = (usize, &Peer)> {
        self.by_number
            .range(from..)
            .map(|(index, peer)| (*index, &**peer))
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (usize, &mut Peer)> {
        self.by_number
            .iter_mut()
            .map(|(index, peer)| (*index, &mut **peer))
    }
}

impl Index<usize> for Peers {
    type Output = Peer;

    fn index(&self, index: usize) -> &Peer {
        self.get(index).expect("a peer that is still there")
    }
}

impl IndexMut<usize> for Peers {
    fn index_mut(&mut self, index: usize) -> &mut Peer {
        self.get_mut(index).expect("a peer that is still there")
    }
}
