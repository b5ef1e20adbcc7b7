//! Streams and system requests of the splitter.

use std::collections::BTreeMap;

use crate::streams::{Handover, MobileHandover, Suspended};
use crate::{EventKind, Output, Profile, Role, terms};
use association::{Reason, StreamAddresses, StreamNews, StreamRequest};
use machine::Machine;
use planted::Bug;
use redirector::Chunks;
use session::PublicKey;
use split::{Choice, Origin, Scope, SplitStatus, Splitter, SystemEvent};
use units::Instant;
use wire::packet::Packet;

use super::Host;

impl Host {
    /// Begins the streams of a peer whose association has begun anew, in this epoch and with these features. Those from
    /// before go on if both ends have them still; otherwise they are gone.
    pub(crate) fn renew_streams(
        &mut self,
        now: Instant,
        index: usize,
        profile: Option<Profile>,
        epoch: u64,
        features: u64,
    ) {
        let streams = &mut self.peers[index].streams;
        if !streams.go_on(profile, features) {
            self.end_streams(now, index);
        }
        let streams = &mut self.peers[index].streams;
        streams.life += 1;
        streams.profile = profile;
        let suspended = streams.suspended.take();
        if profile.is_some() && streams.tag == 0 {
            self.tag_streams(index, terms::tag_of_epoch(epoch));
        }
        let scope = self.peers[index].scope();
        if let (Some(splitter), Some(profile)) = (&mut self.splitter, profile) {
            let began = split::Input::StreamsBegan {
                peer: index,
                profile,
                scope,
            };
            splitter.handle_input(now, began);
        }
        if let Some(suspended) = suspended {
            let association = self.associated(now, index);
            association.resume_streams(now, suspended.streams);
            for request in suspended.requests {
                association.handle_input(now, association::Input::Streams(request));
            }
            self.forward(now, index);
        }
    }

    /// Ends all streams of a peer.
    pub(crate) fn end_streams(&mut self, now: Instant, index: usize) {
        self.tag_streams(index, 0);
        let streams = &mut self.peers[index].streams;
        streams.suspended = None;
        if let (Some(_), Some(splitter)) = (streams.profile.take(), &mut self.splitter) {
            splitter.handle_input(now, split::Input::StreamsEnded { peer: index });
        }
    }

    /// Sets the tag by which a peer knows its streams, and shows it in the next handshake.
    fn tag_streams(&mut self, index: usize, tag: u32) {
        let peer = &mut self.peers[index];
        peer.streams.tag = tag;
        // It is known, and only others are refused.
        let _ = self
            .endpoint
            .change_features(peer.id, |features| terms::with_streams_tag(features, tag));
    }

    /// Takes the streams of a peer out of their association, until the next one, which must come by `until` if that is
    /// given.
    pub(crate) fn suspend_streams(&mut self, now: Instant, index: usize, until: Option<Instant>) {
        let peer = &mut self.peers[index];
        if peer.streams.suspended.is_some() {
            return;
        }
        let association = peer.association.as_mut();
        let Some((streams, lost)) = association.and_then(|its| its.suspend_streams(now)) else {
            return;
        };
        let requests = Vec::new();
        peer.streams.suspended = Some(Box::new(Suspended { streams, requests }));
        let Some(splitter) = &mut self.splitter else {
            return;
        };
        let peer = index;
        splitter.handle_input(now, split::Input::StreamsSuspended { peer, until });
        for id in lost {
            let news = StreamNews::Reset(id, Reason::TimedOut);
            splitter.handle_input(now, split::Input::Stream { peer, news });
        }
    }

    /// Hands all split connections over to another process.
    pub(crate) fn hand_over(&mut self, now: Instant) {
        let indices = self.peers.indices();
        for index in &indices {
            self.suspend_streams(now, *index, None);
        }
        let mut connections: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (index, connection) in self.splitter.iter_mut().flat_map(Splitter::take_out) {
            connections.entry(index).or_default().push(connection);
        }
        let mobile = |index: usize| {
            let peer = &mut self.peers[index];
            let mobile = MobileHandover {
                key: *peer.settings.public.bytes(),
                tag: peer.streams.tag,
                streams: peer.streams.suspended.take().map(|streams| *streams),
                connections: connections.remove(&index).unwrap_or_default(),
            };
            (mobile.streams.is_some() || !mobile.connections.is_empty()).then_some(mobile)
        };
        let mobiles = indices.into_iter().filter_map(mobile).collect();
        let handover = Box::new(Handover { mobiles });
        self.outputs.push_back(Output::HandedOver(handover));
    }

    /// Goes on with the split connections of another process.
    pub(crate) fn take_over(&mut self, now: Instant, handover: Handover) {
        for mobile in handover.mobiles {
            // No peer has this number; its connections are reset.
            let key = PublicKey::from_bytes(mobile.key);
            let index = self.index_with(&key).unwrap_or(usize::MAX);
            if let (Some(streams), Some(peer)) = (mobile.streams, self.peers.get_mut(index)) {
                peer.streams.profile = Some(streams.streams.profile);
                peer.streams.suspended = Some(Box::new(streams));
                self.tag_streams(index, mobile.tag);
            }
            for state in mobile.connections {
                if let Some(splitter) = &mut self.splitter {
                    let owner = index;
                    splitter.handle_input(now, split::Input::Resume { owner, state });
                }
            }
        }
    }

    /// Returns the way across the hop for new connections with a peer, if that is chosen for each.
    pub fn choice(&self, index: usize) -> Option<Choice> {
        let peer = self.peers.get(index)?;
        (peer.streams.profile.is_some() && peer.scope() == Scope::Chosen).then(|| peer.choice())
    }

    /// Returns the status of split connections, if TCP is split.
    pub fn split_status(&self) -> Option<SplitStatus> {
        self.splitter.as_ref().map(Splitter::status)
    }

    /// Passes a packet to the splitter if it concerns it; returns true if the packet ends there.
    pub(crate) fn split(&mut self, now: Instant, origin: Origin, packet: &Packet) -> bool {
        let Some(splitter) = &mut self.splitter else {
            return false;
        };
        let choose = |peer: usize| self.peers[peer].choice();
        let Some(found) = splitter.examine(origin, packet, choose) else {
            return false;
        };
        // The request of a mobile host whose TCP crosses as packets reaches another mobile host as a packet too.
        let requester = found.requester_of_mobile();
        let other = requester.and_then(|address| self.routes.owner(address));
        if other.is_some_and(|peer| !splitter.splits_every_request(peer)) {
            return false;
        }
        let is_held = found.holds_packet();
        splitter.handle_input(now, split::Input::Found(found));
        is_held
    }

    /// Passes on news of a peer's streams. Connections from addresses that are not the peer's own are refused, and at a
    /// mobile host those to addresses that are not its own: a gateway reaches nothing else of this host, such as the
    /// services of the loopback interface.
    pub(crate) fn stream_news(&mut self, now: Instant, peer: usize, news: StreamNews<Chunks>) {
        if let StreamNews::Arrived(id, addresses) = &news
            && (self.splitter.is_none() || self.is_foreign(peer, addresses))
        {
            self.peers[peer].foreign.packets += 1;
            if self.role == Role::Mobile && self.splitter.is_some() {
                let to = addresses.destination();
                self.announce(peer, EventKind::ForeignRequest { to });
            }
            let refuse = StreamRequest::Refuse(*id, Reason::Unreachable);
            let input = association::Input::Streams(refuse);
            self.associated(now, peer).handle_input(now, input);
        } else if let Some(splitter) = &mut self.splitter {
            splitter.handle_input(now, split::Input::Stream { peer, news });
        }
    }

    fn is_foreign(&self, peer: usize, addresses: &StreamAddresses) -> bool {
        let is_own = |address| {
            self.splitter
                .as_ref()
                .is_some_and(|own| own.serves(address))
        };
        match self.role {
            Role::Gateway => self.routes.owner(addresses.source().ip()) != Some(peer),
            Role::Mobile if planted::is(Bug::LoopbackIsReached) => false,
            Role::Mobile => !is_own(addresses.destination().ip()),
        }
    }

    /// Passes on an event in the driver's system.
    pub(crate) fn system(&mut self, now: Instant, event: SystemEvent<Chunks>) {
        if let Some(splitter) = &mut self.splitter {
            splitter.handle_input(now, split::Input::System(event));
        }
    }

    /// Carries out the outputs of the splitter, and shares the air, until both are at rest.
    pub(crate) fn settle(&mut self, now: Instant) {
        loop {
            self.share(now);
            if !self.follow_splitter(now) {
                return;
            }
        }
    }

    /// Carries out the outputs of the splitter; returns true if there were any.
    pub(super) fn follow_splitter(&mut self, now: Instant) -> bool {
        let mut has_asked = false;
        while let Some(output) = self.splitter.as_mut().and_then(Splitter::poll_output) {
            has_asked = true;
            match output {
                split::Output::ToHost(packet) => self.outputs.push_back(Output::Packet(packet)),
                split::Output::ToHop(packet) => self.route(now, packet),
                // What goes to streams of a peer that was revoked is late.
                split::Output::Stream { peer, .. } if self.peers.get(peer).is_none() => {}
                split::Output::Stream { peer, request } => {
                    if let Some(suspended) = &mut self.peers[peer].streams.suspended {
                        if !planted::is(Bug::RequestsAreDropped) {
                            suspended.requests.push(request);
                        }
                        continue;
                    }
                    let input = association::Input::Streams(request);
                    self.associated(now, peer).handle_input(now, input);
                    self.forward(now, peer);
                }
                split::Output::System(request) => self.outputs.push_back(Output::System(request)),
            }
        }
        has_asked
    }
}
