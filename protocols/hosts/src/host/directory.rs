//! Peers that gateways of a site tell each other and their mobile hosts of.
//!
//! What the configuration of a host says comes first. A gateway tells the others of the mobile hosts with their home
//! there and of the gateways that its operator has named; so a gateway knows those, too, that a known one names.

use std::net::IpAddr;

use association::TcpMethod;
use session::PublicKey;
use units::Instant;
use wire::address::HopAddress;

use super::{AdmitError, Host};
use crate::peer::Peer;
use crate::site::{Directory, Entry, Key, Mark, Member, Portion, Replica, SiteMessage};
use crate::{
    Caps, Event, EventKind, Membership, Output, ResolverTerms, Role, SitePart, SplitTerms,
    TcpTerms, terms,
};

/// Longest name of a peer that another gateway tells of, in bytes.
const LONGEST_NAME: usize = 64;

impl Host {
    /// Puts a peer into the directories of this gateway that have it.
    pub(super) fn list(&mut self, now: Instant, index: usize) {
        let peer = &self.peers[index];
        let (key, is_own) = (*peer.settings.public.bytes(), peer.site.teller.is_none());
        let entry = (self.role == Role::Gateway)
            .then(|| entry_of(peer))
            .flatten();
        let for_gateways = entry.clone().filter(|_| is_own);
        self.set_entries(now, key, for_gateways, entry.and_then(Entry::for_mobiles));
    }

    /// Replaces the key of a peer in the directories that have it.
    pub(super) fn relist(&mut self, now: Instant, index: usize, former: Key) {
        self.set_entries(now, former, None, None);
        self.list(now, index);
    }

    /// Takes a peer that is removed out of the directories, and forgets what it has told.
    pub(super) fn unlist(&mut self, now: Instant, index: usize) {
        let key = self.key_of(index);
        self.peers.directories.due.clear(index);
        self.peers.directories.has_room = true;
        self.set_entries(now, key, None, None);
        if !matches!(self.peers[index].site.member, Member::Gateway) {
            return;
        }
        self.store_told();
        let told = |(told, peer): (usize, &Peer)| (peer.site.teller == Some(index)).then_some(told);
        let all: Vec<_> = self.peers.iter().filter_map(told).collect();
        for told in all {
            // One of them may have been removed with a gateway among them.
            if self.peers.get(told).is_some() {
                self.let_go(now, told, index);
            }
        }
        self.leave_place(index);
    }

    /// Sets what the directories for gateways and for mobile hosts have of a peer, and tells these if that is news.
    fn set_entries(
        &mut self,
        now: Instant,
        key: Key,
        for_gateways: Option<Entry>,
        for_mobiles: Option<Entry>,
    ) {
        if self.peers.directories.for_gateways.set(key, for_gateways) {
            self.tell_all(now, true);
        }
        if self.peers.directories.for_mobiles.set(key, for_mobiles) {
            self.tell_all(now, false);
        }
    }

    /// Tells the other gateways, or the mobile hosts, what has changed.
    fn tell_all(&mut self, now: Instant, gateways: bool) {
        if !self.mobile.begun {
            // Nobody has keys yet.
            return;
        }
        let is_one = |peer: &Peer| matches!(peer.site.member, Member::Gateway) == gateways;
        let readers = self.peers.iter().filter(|(_, peer)| is_one(peer));
        for index in readers.map(|(index, _)| index).collect::<Vec<_>>() {
            self.begin_to_tell(now, index);
        }
    }

    /// Tells a peer with these features, which has new keys, what it does not know.
    pub(super) fn begin_with_reader(&mut self, now: Instant, index: usize, features: u64) {
        self.peers[index].site.reader.understands = terms::knows_sites(features);
        self.begin_to_tell(now, index);
    }

    /// Tells a peer what it does not know of its directory.
    fn begin_to_tell(&mut self, now: Instant, index: usize) {
        if self.directory_for(index).is_some_and(|its| !its.is_blank()) {
            self.tell_directory(now, index);
        }
    }

    /// Tells a peer what it does not know of its directory, also if that has never had a peer.
    pub(super) fn tell_directory(&mut self, now: Instant, index: usize) {
        let reader = &mut self.peers[index].site.reader;
        if reader.understands {
            reader.begin();
            self.peers.directories.due.set(index, now);
        }
    }

    /// Returns the directory of which a peer is told, if it is told of any.
    fn directory_for(&mut self, index: usize) -> Option<&mut Directory> {
        let peer = self
            .peers
            .get(index)
            .filter(|_| self.role == Role::Gateway)?;
        match &peer.site.member {
            Member::Gateway => Some(&mut self.peers.directories.for_gateways),
            Member::Home(_) if entry_of(peer).is_some() => {
                Some(&mut self.peers.directories.for_mobiles)
            }
            Member::Home(_) | Member::Guest(_) => None,
        }
    }

    /// Sends the portions that are due.
    pub(super) fn tell_due(&mut self, now: Instant) {
        let wall = self.endpoint.wall_clock(now);
        while let Some(index) = self.peers.directories.due.pop_due(now) {
            let is_there = |peer: &Peer| peer.presence.keys_age(now).is_some();
            if !self.peers.get(index).is_some_and(is_there) {
                // It is told once it has keys.
                continue;
            }
            let mark = self.peers[index].site.reader.mark;
            let portion = self.directory_for(index).map(|its| its.portion(wall, mark));
            if let Some(portion) = portion {
                let again = self.peers[index].site.reader.repeats_at(now);
                self.peers.directories.due.set(index, again);
                self.send_site_message(now, index, &SiteMessage::Portion(portion));
            }
        }
    }

    /// A peer has told what it has of its directory.
    pub(super) fn has_read(&mut self, now: Instant, index: usize, mark: Mark) {
        let is_all = self
            .directory_for(index)
            .is_none_or(|its| its.is_read(mark));
        let reader = &mut self.peers[index].site.reader;
        let is_news = reader.mark != mark;
        reader.mark = mark;
        if is_all {
            self.peers.directories.due.clear(index);
        } else if is_news {
            self.begin_to_tell(now, index);
        }
    }

    /// Takes what a gateway tells of its peers.
    pub(super) fn is_told(&mut self, now: Instant, teller: usize, portion: Portion) {
        let replica = &mut self.peers[teller].site.replica;
        let changes = replica.take(portion);
        let mark = replica.mark();
        self.follow_changes(now, teller, changes);
        if self.peers.get(teller).is_some() {
            self.send_site_message(now, teller, &SiteMessage::Read(mark));
        }
    }

    /// Takes changes of what a gateway tells of its peers.
    pub(super) fn follow_changes(
        &mut self,
        now: Instant,
        teller: usize,
        changes: Vec<(Key, Option<Entry>)>,
    ) {
        if !changes.is_empty() {
            self.store_told();
        }
        for (key, _) in changes.iter().filter(|(_, entry)| entry.is_some()) {
            self.confirm_key(teller, key);
        }
        for (key, entry) in changes {
            match entry {
                Some(entry) => self.hear_of(now, teller, &key, entry),
                None => self.hear_no_more_of(now, teller, &key),
            }
            // A gateway that it has named may have named it, and was forgotten.
            if self.peers.get(teller).is_none() {
                break;
            }
        }
        self.hear_again(now);
    }

    /// Has a gateway listed under its present key, if who tells of it has that now.
    fn confirm_key(&mut self, teller: usize, key: &Key) {
        let known = self.index_with(&PublicKey::from_bytes(*key));
        if let Some(index) = known.filter(|index| self.peers[*index].site.teller == Some(teller)) {
            self.peers.is_listed_anew(index);
        }
    }

    /// Hears again of peers that were refused, after another one was removed that may have been in their way.
    pub(super) fn hear_again(&mut self, now: Instant) {
        let directories = &mut self.peers.directories;
        let has_room = std::mem::take(&mut directories.has_room);
        if !has_room || !std::mem::take(&mut directories.has_refused) {
            return;
        }
        for teller in self.peers.indices() {
            let replica = self.peers.get(teller).map(|peer| &peer.site.replica);
            let is_missing =
                |(key, _): &(&Key, _)| self.index_listed(&PublicKey::from_bytes(**key)).is_none();
            let entries = replica.into_iter().flat_map(Replica::entries);
            let missing = entries.filter(is_missing);
            let missing: Vec<_> = missing.map(|(key, entry)| (*key, entry.clone())).collect();
            for (key, entry) in missing {
                self.hear_of(now, teller, &key, entry);
            }
        }
    }

    /// Adds or changes a peer that another gateway has told of.
    fn hear_of(&mut self, now: Instant, teller: usize, key: &Key, entry: Entry) {
        let known = self.index_listed(&PublicKey::from_bytes(*key));
        let is_from_another = |index: usize| self.peers[index].site.teller != Some(teller);
        if known.is_some_and(is_from_another) {
            return;
        }
        let Some(settings) = self.settings_of(teller, key, entry) else {
            return;
        };
        let listed = settings.public;
        let is_present =
            |index: usize| self.is_in_use(index) || self.peers[index].has_settings(&settings);
        if known.is_some_and(is_present) {
            return;
        }
        // One that was revoked here stays away, whoever tells of it.
        let is_unwanted = self.endpoint.is_own_key(&listed) || self.endpoint.declines(&listed);
        if known.is_none() && is_unwanted {
            return;
        }
        if known.is_none() && self.has_gateway_at(settings.endpoint) {
            self.peers.directories.has_refused = true;
            return;
        }
        if !self.has_way_for(&settings, known) {
            self.peers.directories.has_refused = true;
            let kind = EventKind::NotAdmitted(AdmitError::Taken);
            let peer = settings.name;
            return self.outputs.push_back(Output::Event(Event { peer, kind }));
        }
        self.admit(now, settings, None);
        if let Some(index) = self.index_listed(&listed) {
            self.peers[index].site.teller = Some(teller);
            self.list(now, index);
            if self.role == Role::Mobile {
                self.joins_site(now, teller);
            }
        }
    }

    /// Returns true if there are keys with a gateway at this address: it will itself vouch for another one, if it has
    /// one now.
    fn has_gateway_at(&self, endpoint: Option<HopAddress>) -> bool {
        let is_there = |(_, peer): (usize, &Peer)| {
            peer.settings.endpoint == endpoint && peer.presence.is_linked()
        };
        endpoint.is_some() && self.peers.iter().any(is_there)
    }

    /// Returns true if no other mobile host has inner addresses of this one, whose index may be known.
    fn has_way_for(&self, settings: &crate::Peer, known: Option<usize>) -> bool {
        let networks = settings.prefixes.iter();
        let mut owners =
            networks.flat_map(|(network, length)| self.routes.overlapping(*network, *length));
        self.role == Role::Mobile || owners.all(|owner| Some(owner) == known)
    }

    /// A gateway tells no more of a peer.
    fn hear_no_more_of(&mut self, now: Instant, teller: usize, key: &Key) {
        let known = self.index_listed(&PublicKey::from_bytes(*key));
        if let Some(index) = known.filter(|index| self.peers[*index].site.teller == Some(teller)) {
            self.let_go(now, index, teller);
        }
    }

    /// Removes a peer that this gateway has told of, unless it is a gateway that another one names, too.
    fn let_go(&mut self, now: Instant, index: usize, teller: usize) {
        let (listed, present) = (*self.listed_key(index).bytes(), self.key_of(index));
        let names_it = |(other, peer): (usize, &Peer)| {
            let replica = &peer.site.replica;
            let entry = replica.get(&present).or_else(|| replica.get(&listed));
            let names = matches!(entry, Some(Entry::Gateway { .. }));
            let is_apart = ![teller, index].contains(&other) && !self.is_told_by(other, index);
            (names && is_apart && !self.is_told_by(other, teller)).then_some(other)
        };
        let other = self.peers.iter().find_map(names_it);
        match other {
            Some(other) => {
                self.peers[index].site.teller = Some(other);
                if self.peers[other].site.replica.get(&present).is_some() {
                    self.peers.is_listed_anew(index);
                }
            }
            None => self.forget(now, index),
        }
    }

    /// Returns true if a peer is known through this gateway only: that has told of it, or of who has.
    fn is_told_by(&self, mut peer: usize, gateway: usize) -> bool {
        while let Some(teller) = self.peers.get(peer).and_then(|peer| peer.site.teller) {
            if teller == gateway {
                return true;
            }
            peer = teller;
        }
        false
    }

    /// Removes a peer of which nobody tells any more, unless it is in use.
    pub(super) fn forget(&mut self, now: Instant, index: usize) {
        if !self.is_in_use(index) {
            self.announce(index, EventKind::Revoked);
            self.remove(now, index);
        }
    }

    /// Returns true if a gateway serves this mobile host, or is asked to: it stays as it is until that has moved.
    pub(super) fn is_in_use(&self, index: usize) -> bool {
        let is_present = [self.mobile.gateway, self.attached_to()].contains(&index);
        let is_it = is_present || self.mobile.moves_to() == Some(index);
        self.role == Role::Mobile && is_it
    }

    /// Does what was told of gateways while they were in use.
    pub(super) fn catch_up(&mut self, now: Instant) {
        let told = |(index, peer): (usize, &Peer)| Some((index, peer.site.teller?));
        let told: Vec<_> = self.peers.iter().filter_map(told).collect();
        for (index, teller) in told {
            let Some(key) = self
                .peers
                .get(index)
                .map(|_| *self.listed_key(index).bytes())
            else {
                continue;
            };
            // The teller may have been removed meanwhile.
            let entry = self.peers.get(teller);
            let entry = entry.and_then(|its| its.site.replica.get(&key).cloned());
            match entry {
                Some(entry) => self.hear_of(now, teller, &key, entry),
                None => self.forget(now, index),
            }
        }
        self.hear_again(now);
    }

    /// Returns the settings of a peer that a gateway has told of; `None` if it may not tell that.
    fn settings_of(&self, teller: usize, key: &Key, entry: Entry) -> Option<crate::Peer> {
        let from = &self.peers[teller].settings;
        let is_sound = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        let name = entry.name();
        if name.is_empty() || name.len() > LONGEST_NAME || !name.bytes().all(is_sound) {
            return None;
        }
        let mut settings = crate::Peer {
            name: name.into(),
            public: PublicKey::from_bytes(*key),
            preshared: None,
            endpoint: None,
            tls_port: None,
            prefixes: Vec::new(),
            tcp: TcpTerms::Choose(TcpMethod::Arq),
            split: SplitTerms::Never,
            resolver: ResolverTerms::Silent,
            caps: Caps::default(),
            membership: Membership::default(),
            weight: 1,
        };
        match entry {
            Entry::Gateway {
                at, for_mobiles, ..
            } => {
                settings.membership.for_mobiles = for_mobiles;
                settings.endpoint = Some(HopAddress::Udp(at));
                settings.membership.site = SitePart::Gateway;
                if self.role == Role::Mobile {
                    settings.prefixes.clone_from(&from.prefixes);
                }
            }
            Entry::Mobile {
                prefixes,
                new_flows,
                packets,
                ..
            } => {
                let is_sound = |(address, length): &(IpAddr, u8)| {
                    (1..=if address.is_ipv4() { 32 } else { 128 }).contains(length)
                };
                if self.role == Role::Mobile || !prefixes.iter().all(is_sound) {
                    return None;
                }
                settings.name = format!("{}@{}", settings.name, from.name);
                settings.membership.site = SitePart::Guest(from.public);
                settings.prefixes = prefixes;
                (settings.caps.new_flows, settings.caps.packets) = (new_flows, packets);
            }
        }
        Some(settings)
    }

    /// Makes way for the inner addresses of a peer of the configuration: who was told to have them is forgotten.
    pub(super) fn make_way(&mut self, now: Instant, prefixes: &[(IpAddr, u8)]) {
        if self.role != Role::Gateway {
            return;
        }
        for (network, length) in prefixes {
            while let Some(index) = self.told_within(*network, *length) {
                self.forget(now, index);
            }
        }
    }

    /// Returns a peer that another gateway has told of, with an address in this network.
    fn told_within(&self, network: IpAddr, length: u8) -> Option<usize> {
        let mut owners = self.routes.overlapping(network, length);
        owners.find(|index| self.peers[*index].site.teller.is_some())
    }

    /// This mobile host has learnt that its gateway is its home in a site with others.
    fn joins_site(&mut self, now: Instant, home: usize) {
        let peer = &mut self.peers[home];
        if peer.settings.membership.site == SitePart::Home {
            return;
        }
        peer.settings.membership.site = SitePart::Home;
        peer.site.member = Member::Gateway;
        if peer.presence.is_linked() {
            // The home may take it to be elsewhere, from an earlier life.
            self.gateway_established(now, home, true);
        }
    }
}

/// Returns the entry of a peer in a directory; `None` if it is in none, as it cannot be served elsewhere.
fn entry_of(peer: &Peer) -> Option<Entry> {
    let settings = &peer.settings;
    let name = || settings.name.clone();
    match (settings.membership.site, settings.endpoint) {
        (SitePart::Gateway, Some(HopAddress::Udp(at))) => Some(Entry::Gateway {
            name: name(),
            at,
            for_mobiles: settings.membership.for_mobiles,
        }),
        // One that is invited has no addresses yet.
        (SitePart::Alone, _) => (!settings.prefixes.is_empty()).then(|| Entry::Mobile {
            name: name(),
            prefixes: settings.prefixes.clone(),
            new_flows: settings.caps.new_flows,
            packets: settings.caps.packets,
        }),
        _ => None,
    }
}
