//! What is asked for, and how the other host answers.

use std::io;
use std::net::{IpAddr, SocketAddr};

use edges::clock;
use edges::transparent::{Asks, Ends, TransparentStream, is_local};
use hosts::{Scope, StreamLane};
use mtcp::{Addresses, ConnectionId, Reason};
use redirector::{BindingId, Input, Side, Stream as StreamId};
use rustix::io::Errno;
use units::{Duration, Instant};

use super::super::hop::HopStream;
use super::super::joint::{Asker, Joint, Stage};
use super::super::kernel::KernelStream;
use super::super::refusal::{reason, refusal};
use super::super::stream::Stream;
use super::super::{End, Heard, Mobile, Request, Verdict, WAITING};
use super::{Worker, stream};

/// How long a connection that was let in may take to be accepted: as long as a kernel waits for the third segment of a
/// handshake (Linux: five repetitions of the second).
const ACCEPTING: Duration = Duration::from_secs(63);

impl Worker {
    /// Takes in what is asked for.
    pub(super) fn hear(&mut self, now: Instant) {
        // Silent first: what is rung from here on is heard by the next wait.
        let _ = self.ports.heard.hear();
        while let Some(heard) = self.ports.heard.next() {
            match heard {
                Heard::Request(request) => self.ask_for_packet(now, request),
                Heard::NoWay(ends, error) => self.no_way(ends, error),
                Heard::Proven(host) => self.guard.know(now, host),
            }
        }
    }

    /// There is no way to who was asked for a connection between these ends.
    fn no_way(&mut self, ends: Ends, error: Errno) {
        let id = self.by_ends.get(&ends).copied();
        let joint = id.and_then(|id| Some((id, self.joints.get(&id)?)));
        if let Some((id, joint)) = joint
            && matches!(joint.stage, Stage::Asking(_))
        {
            self.refuse(stream(id, joint.asker.other()), &error.into());
        }
    }

    fn ask_for_packet(&mut self, now: Instant, request: Request) {
        let ends = request.ends;
        let known = self.by_ends.get(&ends).and_then(|id| self.joints.get(id));
        match known.map(|joint| &joint.stage) {
            // It is asked for again while nobody has answered.
            Some(Stage::Asking(Asker::Packet { sequence, .. }))
                if *sequence == request.sequence =>
            {
                return;
            }
            // That is what we ask a mobile host with, in the name of who asks us.
            Some(Stage::Asking(_)) => return self.decide(Verdict::ToHop(request.packet)),
            // The listener knows it.
            Some(_) => return self.decide(Verdict::ToDevice(request.packet)),
            None => {}
        }
        let needs_stream = matches!(self.options.end, End::Mobile { .. })
            || self.ports.crossings[request.owner].scope() == Scope::Chosen;
        if needs_stream && self.lane(request.owner, &ends).is_none() {
            // The streams are gone that it was taken for.
            return self.decide(Verdict::ToHop(request.packet));
        }
        if request.asker == Side::Fixed
            && self.options.end.hop_side() == Side::Mobile
            && !self.guard.admits(now, ends.source.ip())
        {
            self.counters.challenged += 1;
            let asked = (&ends, request.sequence);
            let challenge = self.ports.secret.challenge(&request.packet, asked);
            return challenge.map_or((), |packet| self.decide(Verdict::ToDevice(packet)));
        }
        let asker = Asker::Packet {
            sequence: request.sequence,
            packet: request.packet,
        };
        // A packet for which there is no room comes again, and then there may be some.
        self.ask(ends, (request.asker, request.owner), asker);
    }

    /// A connection of the mobile host `owner` is asked for; gives its name, if there is room for it.
    pub(super) fn ask(
        &mut self,
        ends: Ends,
        (side, owner): (Side, usize),
        asker: Asker,
    ) -> Option<BindingId> {
        let id = BindingId(self.counters.asked);
        self.counters.asked += 1;
        let now = clock::monotonic();
        let host = match side {
            Side::Mobile => ends.destination.ip(),
            Side::Fixed => ends.source.ip(),
        };
        if side == Side::Mobile
            && let Some(other) = self.shares.make_room(now, owner, host)
        {
            self.give_up(other);
        }
        if !self.shares.take(now, (id, owner), (side, host)) {
            self.counters.without_room += 1;
            return None;
        }
        self.by_ends.insert(ends, id);
        self.news.push_back(Input::Arrived {
            stream: stream(id, side),
            destination: ends.destination,
        });
        self.joints
            .insert(id, Joint::asked(ends, (side, owner), asker));
        Some(id)
    }

    /// A connection makes room for another one before anybody has answered it. Who asked by a packet asks again.
    fn give_up(&mut self, id: BindingId) {
        self.counters.without_room += 1;
        let Some(joint) = self.joints.get(&id) else {
            return;
        };
        if let Stage::Asking(Asker::Hop((lane, name))) = &joint.stage {
            let refuse = mtcp::Input::Refuse(*name, Reason::Busy);
            self.ports.streams.ask(*lane, refuse);
        }
        self.news
            .push_back(Input::Reset(stream(id, joint.asker.other())));
    }

    pub(super) fn decide(&self, verdict: Verdict) {
        // A verdict that finds no room is lost; the request comes again.
        let _ = self.ports.verdicts.put_within(WAITING, verdict);
    }

    /// Begins the connection to who is asked.
    pub(super) fn connect(&mut self, id: StreamId, destination: SocketAddr) {
        let Some(joint) = self.joints.get(&id.binding) else {
            return;
        };
        let (owner, ends) = (joint.owner, joint.ends);
        let across_the_hop = id.side == self.options.end.hop_side();
        if across_the_hop && let Some(lane) = self.lane(owner, &ends) {
            return self.open(id, lane);
        }
        let (end, source) = (&self.options.end, ends.source);
        let asks = match end {
            End::Gateway { .. } if !across_the_hop && self.is_for_packets(destination.ip()) => {
                return self.refuse(id, &Errno::OPNOTSUPP.into());
            }
            // To a mobile host in the name of who asks, as if nobody stood between.
            End::Gateway { transparent } => Asks {
                source: (*transparent || across_the_hop).then_some(source),
                congestion_control: self
                    .options
                    .congestion_control
                    .as_deref()
                    .filter(|_| across_the_hop),
                mark: None,
            },
            End::Mobile { .. } if !is_local(destination.ip()) => {
                return self.refuse(id, &Errno::HOSTUNREACH.into());
            }
            // The mark has the answers of its server led here.
            End::Mobile { diversion } => Asks {
                source: Some(source),
                congestion_control: None,
                mark: Some(diversion.mark),
            },
        };
        match TransparentStream::connect(destination, &asks) {
            Ok(socket) => {
                if let Some(joint) = self.joints.get_mut(&id.binding) {
                    *joint.stream(id.side) = Some(Stream::Kernel(KernelStream::new(socket)));
                }
                self.fresh.push(id);
            }
            Err(error) => self.refuse(id, &error),
        }
    }

    /// Whether an address is left to packets: those of this host, which has a firewall for who comes from elsewhere,
    /// and programs that listen for itself alone; and with address translation those of mobile hosts, who would take
    /// whoever asks for the gateway.
    fn is_for_packets(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        let translates = matches!(self.options.end, End::Gateway { transparent: false });
        let mut mobiles = self.options.mobiles.iter();
        let has = |mobile: &Mobile| mobile.networks.iter().any(|one| one.contains(&address));
        is_local(address) || (translates && mobiles.any(has))
    }

    /// The streams of a mobile host, if there are any that can carry a connection between these ends.
    fn lane(&self, owner: usize, ends: &Ends) -> Option<StreamLane> {
        let carries = self.ports.crossings[owner].carries(ends.source.ip());
        self.hop.lane(owner).filter(|_| carries)
    }

    /// Asks across the hop.
    fn open(&mut self, id: StreamId, lane: StreamLane) {
        let Some(joint) = self.joints.get_mut(&id.binding) else {
            return;
        };
        let ends = joint.ends;
        let Some(addresses) = Addresses::new(ends.destination, ends.source) else {
            return self.refuse(id, &Errno::AFNOSUPPORT.into());
        };
        let number = id.binding.0;
        let name = (lane, ConnectionId::Opened(number));
        let streams = &self.ports.streams;
        streams.ask(lane, mtcp::Input::Open { number, addresses });
        let stream = HopStream::new(name, streams.clone(), self.options.buffer.get());
        joint.on_the_hop = Some(name);
        *joint.stream(id.side) = Some(Stream::Hop(stream));
        self.hop.know(name, id.binding);
    }

    /// Who was asked, or the way there, has refused.
    pub(super) fn refuse(&mut self, id: StreamId, error: &io::Error) {
        self.counters.refused += 1;
        if let Some(joint) = self.joints.get(&id.binding)
            && let Stage::Asking(asker) = &joint.stage
        {
            match asker {
                Asker::Packet { packet, .. } => {
                    if let Some(refusal) = refusal(packet, error) {
                        self.decide(if joint.asker == self.options.end.hop_side() {
                            Verdict::ToHop(refusal)
                        } else {
                            Verdict::ToDevice(refusal)
                        });
                    }
                }
                Asker::Hop((lane, id)) => {
                    let refuse = mtcp::Input::Refuse(*id, reason(error));
                    self.ports.streams.ask(*lane, refuse);
                }
            }
        }
        self.news.push_back(Input::Reset(id));
    }

    /// Takes in those that were let in.
    pub(super) fn accept(&mut self) {
        loop {
            let (socket, ends) = match self.listener.accept() {
                Ok(Some(accepted)) => accepted,
                Ok(None) => return,
                Err(error) => return tracing::warn!("a connection could not be accepted: {error}"),
            };
            let id = self.by_ends.get(&ends).copied();
            let joint = id.and_then(|id| Some((id, self.joints.get_mut(&id)?)));
            let Some((id, joint)) = joint.filter(|(_, joint)| matches!(joint.stage, Stage::LetIn))
            else {
                self.counters.strangers += 1;
                continue;
            };
            let stream = stream(id, joint.asker);
            self.fresh.push(stream);
            self.join(stream, Stream::Kernel(KernelStream::new(socket)));
        }
    }

    /// Who asked has its stream.
    fn join(&mut self, id: StreamId, joined: Stream) {
        let Some(joint) = self.joints.get_mut(&id.binding) else {
            return;
        };
        joint.stage = Stage::Joined;
        let (room, finished_early) = (joined.room(), joint.finished_early);
        *joint.stream(id.side) = Some(joined);
        self.shares.stands(id.binding, joint.owner);
        self.counters.joined += 1;
        self.counters.on_streams += u64::from(joint.on_the_hop.is_some());
        self.set_deadline(id.binding, None);
        self.news.push_back(Input::Writable { stream: id, room });
        if finished_early {
            self.finish(id);
        }
    }

    /// Who was asked has answered.
    pub(super) fn let_in(&mut self, now: Instant, id: BindingId) {
        let Some(joint) = self.joints.get_mut(&id) else {
            return;
        };
        let stream = stream(id, joint.asker);
        match std::mem::replace(&mut joint.stage, Stage::LetIn) {
            Stage::Asking(Asker::Packet { packet, .. }) => {
                self.decide(Verdict::ToDevice(packet));
                self.set_deadline(id, Some(now + ACCEPTING));
            }
            Stage::Asking(Asker::Hop(name)) => {
                let (streams, leave) = (self.ports.streams.clone(), self.options.buffer.get());
                streams.ask(name.0, mtcp::Input::Accept(name.1));
                let joined = HopStream::new(name, streams, leave);
                self.join(stream, Stream::Hop(joined));
            }
            // It was asked for only once.
            stage => joint.stage = stage,
        }
    }
}
