//! A mobile host with the right key, which sends what it likes in the place of MTCP.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use bytes::Bytes;
use edges::clock;
use mtcp::packet::{Cid, Control, Data, Flags, Holes, Kind};
use mtcp::{Addresses, Packet, Profile};
use redirector::Chunks;
use rig::{RawIdentity, RawMobile};
use session::{DATA_HEADER_BYTES, DATA_OVERHEAD_BYTES, PrivateKey, PublicKey};
use units::Instant;
use wire::hop::{AckFields, Chunk, Frame, FrameWriter};
use wire::packet::PacketBuffer;

use crate::support::Hosts;

/// Its inner address.
pub(crate) const ADDRESS: &str = "10.73.0.9";
/// The longest frame that it sends, in bytes.
const FRAME: usize = 1_300;

/// It keeps its session as a mobile host does, and acknowledges every frame.
pub(crate) struct Intruder {
    pub(crate) profile: Profile,
    raw: RawMobile,
    /// Frames sent, and the number of the last that came.
    sent: u64,
    largest: Option<u64>,
    /// Packets of MTCP that came.
    heard: VecDeque<Vec<u8>>,
    /// Bytes of MTCP that it has sent, and got.
    pub(crate) bytes: [usize; 2],
}

/// Its key; the same each time.
fn private_key() -> PrivateKey {
    RawIdentity::key_named("intruder")
}

/// Whom a gateway has to know.
pub(crate) fn public_key() -> PublicKey {
    private_key().public_key()
}

impl Intruder {
    /// Connects from the mobile host's place.
    pub(crate) fn connect(hosts: &Hosts, profile: Profile, gateway: PublicKey) -> Self {
        let identity = RawIdentity::new(private_key(), gateway);
        let address = "10.1.0.1:51830".parse().unwrap();
        Self {
            profile,
            raw: RawMobile::connect(&hosts.mobile, address, identity).unwrap(),
            sent: 0,
            largest: None,
            heard: VecDeque::new(),
            bytes: [0; 2],
        }
    }

    /// Hears what comes for so long, and acknowledges it.
    pub(crate) fn listen(&mut self, span: Duration) {
        let deadline = clock::monotonic() + span.into();
        loop {
            let now = clock::monotonic();
            let mut came = None;
            let received = self
                .raw
                .receive(|plaintext| came = Some(plaintext.to_vec()));
            if let Some(plaintext) = came {
                self.receive(&plaintext);
            }
            if !received {
                self.acknowledge(now);
            }
            if now >= deadline {
                self.acknowledge(now);
                return;
            }
        }
    }

    fn receive(&mut self, plaintext: &[u8]) {
        let Ok(frame) = Frame::parse(plaintext) else {
            return;
        };
        let number = u64::from(frame.number);
        self.largest = Some(self.largest.map_or(number, |largest| largest.max(number)));
        for chunk in frame.chunks().flatten() {
            if let Chunk::Transport(packet) = chunk {
                self.bytes[1] += packet.len();
                self.heard.push_back(packet.to_vec());
            }
        }
    }

    /// Acknowledges everything, also what was lost.
    fn acknowledge(&mut self, now: Instant) {
        let Some(largest) = self.largest else {
            return;
        };
        let fields = AckFields {
            largest,
            arrival: now.since_origin().as_micros() as u32,
            delay: 0,
            counts: None,
        };
        let mut frame = self.frame();
        frame.ack(fields, [(0, largest)], 64);
        self.seal(frame);
    }

    fn frame(&mut self) -> FrameWriter {
        let buffer = PacketBuffer::with_room(FRAME + DATA_OVERHEAD_BYTES, DATA_HEADER_BYTES);
        let number = self.sent;
        self.sent += 1;
        FrameWriter::new(buffer, number, FRAME)
    }

    fn seal(&mut self, frame: FrameWriter) {
        assert!(self.raw.send(&frame.finish()), "it has no keys");
    }

    /// Sends packets, many to a frame, and listens now and then, so that the session lives.
    pub(crate) fn send(&mut self, packets: impl IntoIterator<Item = Vec<u8>>) {
        let mut frames = 0;
        let mut packets = packets.into_iter().peekable();
        while packets.peek().is_some() {
            let mut frame = self.frame();
            while let Some(packet) =
                packets.next_if(|packet| packet.len() <= frame.transport_room())
            {
                self.bytes[0] += packet.len();
                frame.transport(packet.len(), |out| out.copy_from_slice(&packet));
            }
            self.seal(frame);
            frames += 1;
            if frames % 16 == 0 {
                self.listen(Duration::from_millis(1));
            }
        }
    }

    /// Asks for a connection under that name; `source` is its own port.
    pub(crate) fn syn(&self, name: u16, source: u16, destination: SocketAddr) -> Vec<u8> {
        let address: IpAddr = match destination {
            SocketAddr::V4(_) => ADDRESS.parse().unwrap(),
            SocketAddr::V6(_) => "fd73::9".parse().unwrap(),
        };
        self.syn_from(name, (address, source).into(), destination)
    }

    /// The same in any name.
    pub(crate) fn syn_from(
        &self,
        name: u16,
        source: SocketAddr,
        destination: SocketAddr,
    ) -> Vec<u8> {
        let addresses = Addresses::new(destination, source).unwrap();
        bytes(&Packet::Control(Control {
            kind: Kind::Syn,
            reverse: Cid(name),
            addresses,
            ..self.control(Cid::NONE)
        }))
    }

    /// A control packet without sense, to be changed.
    pub(crate) fn control(&self, connection: Cid) -> Control {
        let nowhere = ([0, 0, 0, 0], 0).into();
        Control {
            profile: self.profile,
            kind: Kind::Pending,
            lean: false,
            connection,
            reverse: Cid::NONE,
            sequence: 1_000,
            acknowledgment: 0,
            buffer: if self.profile == Profile::Wide {
                32 << 20
            } else {
                32_767
            },
            packet: 1_200,
            shift: 0,
            addresses: Addresses::new(nowhere, nowhere).unwrap(),
        }
    }

    /// A data packet of a connection, to be changed.
    pub(crate) fn data(&self, connection: Cid, content: Vec<u8>) -> Data<Chunks> {
        Data {
            profile: self.profile,
            flags: Flags::default(),
            connection,
            sequence: 1_001,
            acknowledgment: 0,
            window: 32_767,
            negative: 0,
            further: Holes::default(),
            cycle: 0,
            reply: 0,
            content: Bytes::from(content).into(),
        }
    }

    /// What completes a connection that was answered so.
    pub(crate) fn first(&self, answer: &Control) -> Vec<u8> {
        bytes(&Packet::Data(Data {
            acknowledgment: answer.sequence.wrapping_add(1),
            ..self.data(answer.reverse, Vec::new())
        }))
    }

    /// What came since this was asked last; what is no packet is left out.
    pub(crate) fn heard(&mut self) -> Vec<Packet<Vec<u8>>> {
        let heard = self.heard.drain(..);
        heard
            .filter_map(|bytes| Some(Packet::parse(&bytes).ok()?.map(<[u8]>::to_vec)))
            .collect()
    }

    /// The control packets of those.
    pub(crate) fn answers(&mut self) -> Vec<Control> {
        let heard = self.heard().into_iter();
        heard
            .filter_map(|packet| match packet {
                Packet::Control(control) => Some(control),
                Packet::Data(_) => None,
            })
            .collect()
    }

    /// Asks for connections, and gives the answers to all of them, by their names; none where none comes in time.
    pub(crate) fn ask(&mut self, destinations: &[SocketAddr]) -> Vec<Option<Control>> {
        let asked = destinations.iter().zip(1..);
        let asked: Vec<_> = asked
            .map(|(to, name)| self.syn(name, 20_000 + name, *to))
            .collect();
        self.send(asked);
        let mut answers = vec![None; destinations.len()];
        let deadline = clock::monotonic() + Duration::from_secs(8).into();
        while answers.iter().any(Option::is_none) && clock::monotonic() < deadline {
            self.listen(Duration::from_millis(20));
            for answer in self.answers() {
                let place = usize::from(answer.connection.0).wrapping_sub(1);
                if let Some(place) = answers.get_mut(place) {
                    *place = Some(answer);
                }
            }
        }
        answers
    }
}

/// A packet as it crosses.
pub(crate) fn bytes(packet: &Packet<Chunks>) -> Vec<u8> {
    let mut out = vec![0; packet.length()];
    packet.write(&mut out, |content, place| {
        let all: Vec<u8> = content.iter().flatten().copied().collect();
        place.copy_from_slice(&all);
    });
    out
}
