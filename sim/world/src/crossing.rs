//! What crosses between the hosts: datagrams, and the packets that daemons release.

use hosts::{Input, PathReport};
use wire::address::HopAddress;
use wire::flow::Ends;
use wire::ip::{Ecn, Transport};
use wire::packet::{Packet, PacketBuffer};

use crate::network::{Datagram, victim};
use crate::path::{Direction, Fate};
use crate::probes::Probes;
use crate::process::Identity;
use crate::stranger::{HOSTILE, flip, stranger};
use crate::world::{Connection, Event, FIRST_PORT, World};

impl World {
    /// Sends a datagram of a process, or of the hostile peer.
    pub(crate) fn launch(&mut self, process: usize, to: HopAddress, bytes: Vec<u8>) {
        self.note(process, &bytes);
        if let Err((promise, text)) = self.ledger.keys.check(self.now, process, &bytes) {
            self.fail(promise, text);
        }
        let from = self.network.source(process);
        let is_down = from == self.network.gateway_address();
        let mobile = if is_down {
            self.network.owner(to)
        } else {
            Some(process)
        };
        self.network.sent += u64::from(mobile != Some(HOSTILE));
        if is_down && process != self.network.gateway {
            return;
        }
        if to == victim() {
            self.network.to_victim += bytes.len() as u64;
            let (sent, received) = (self.network.to_victim, self.network.from_victim);
            if sent > 3 * received {
                let text =
                    format!("{sent} bytes to an address that sent {received} and never answered");
                self.fail("S3", text);
            }
        }
        if to == stranger() {
            self.fail("S1", "an answer to a datagram without a key");
        }
        if let Some(place) = mobile.and_then(|mobile| self.network.place(mobile)) {
            let direction = if is_down {
                Direction::Down
            } else {
                Direction::Up
            };
            let fate = place
                .path
                .send(self.now, direction, bytes.len(), &mut self.random);
            let is_redirected = !is_down && place.redirected > 0;
            place.redirected -= u8::from(is_redirected);
            let from = if is_redirected { victim() } else { from };
            self.cross(process, &Datagram { from, to, bytes }, fate);
        }
    }

    /// Lets a datagram meet its fate.
    fn cross(&mut self, process: usize, datagram: &Datagram, fate: Fate) {
        self.network.record(datagram);
        match fate {
            Fate::Arrives(arrivals) => {
                for (at, has_error) in arrivals {
                    let mut datagram = datagram.clone();
                    if has_error {
                        flip(&mut datagram.bytes, &mut self.random);
                    }
                    self.schedule(at.since(self.now), Event::Arrives(datagram));
                }
            }
            Fate::TooLong(Some(mtu)) if process != HOSTILE => {
                let news = PathReport::Said(mtu.into());
                let to = datagram.to;
                self.inbox.push_back((process, Input::Path { to, news }));
            }
            Fate::Lost | Fate::TooLong(_) => {}
        }
    }

    /// Delivers a datagram to the host that has its destination address now.
    pub(crate) fn arrives(&mut self, datagram: Datagram) {
        if datagram.from == victim() {
            self.network.from_victim += datagram.bytes.len() as u64;
        }
        match self.network.owner(datagram.to) {
            Some(HOSTILE) => {
                self.hostile.arrived(self.now, datagram.bytes);
                self.drain_hostile();
            }
            Some(process) => {
                let input = Input::Datagram {
                    from: datagram.from,
                    arrived: self.now,
                    ecn: Ecn::NotCapable,
                    buffer: PacketBuffer::copy_of(&datagram.bytes),
                };
                self.inbox.push_back((process, input));
            }
            None => {}
        }
        self.settle();
    }

    /// Sends what the session of the hostile peer wants to send.
    pub(crate) fn drain_hostile(&mut self) {
        while let Some(bytes) = self.hostile.poll_datagram() {
            self.launch(HOSTILE, self.network.gateway_address(), bytes);
        }
    }

    /// Delivers a packet that a daemon has released to the system beside it, or to the wired network.
    pub(crate) fn released(&mut self, process: usize, packet: &Packet) {
        self.note(process, packet);
        let identity = self.processes[process].identity;
        if self.setting.split.is_some() && self.processes[process].system.packet(packet) {
            return;
        }
        let side = usize::from(identity == Identity::Gateway);
        let Some(ip) = packet.ip() else {
            return;
        };
        match ip.transport() {
            Transport::Udp(_) if Probes::is_spoofed(packet) => {
                self.fail(
                    "S13",
                    "a packet of a mobile host crossed with another one's address",
                );
            }
            Transport::Udp(_) if self.file_message(side, process, packet) => {}
            Transport::Udp(_) => match self.probes.arrived(packet) {
                Ok(Some(reply)) if side == 1 => self.packet(1, 0, reply),
                Ok(Some(reply)) => self.inbox.push_back((process, Input::Packet(reply))),
                Ok(None) => {}
                Err(text) => self.fail("S4", text),
            },
            Transport::Tcp(_) if process < self.originals() => {
                let ends = Ends::of(&ip);
                let port = ends.source.port().max(ends.destination.port());
                let number = usize::from(port.wrapping_sub(FIRST_PORT));
                self.segment(number, side, packet);
            }
            _ => {}
        }
    }

    /// Delivers a segment of a connection.
    fn segment(&mut self, number: usize, side: usize, packet: &Packet) {
        if let Some(Connection::Packets(flow)) = self.connections.get_mut(number) {
            let result = flow.arrived(self.now, side, packet);
            self.pump(number);
            if let Err((promise, text)) = result {
                self.fail(promise, text);
            }
        }
    }
}
