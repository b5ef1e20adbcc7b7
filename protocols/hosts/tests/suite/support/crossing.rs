//! The way of datagrams across the channel.

use channel::Direction;
use machine::Machine;
use units::Bytes;
use wire::packet::PacketBuffer;

use super::{AROUND_UDP, Cargo, MOBILE, Pair, datagram};

impl Pair {
    pub(super) fn launch(&mut self, host: usize, buffer: PacketBuffer) {
        self.recent.push_back((1 - host, buffer.clone()));
        self.recent.truncate(64);
        if self.recent.len() == 64 {
            self.recent.pop_front();
        }
        let direction = [Direction::Up, Direction::Down][host];
        let size = Bytes::from(buffer.len() + AROUND_UDP);
        let payload = Cargo::Datagram(1 - host, buffer, self.now);
        let input = channel::Input::Send {
            direction,
            size,
            payload,
        };
        self.channel.handle_input(self.now, input);
        self.drain_channel();
    }

    pub(super) fn drain_channel(&mut self) {
        while let Some(output) = self.channel.poll_output() {
            match output {
                channel::Output::Deliver { payload, .. } => self.delivered(payload),
                channel::Output::DeliverCorrupted { payload, flips, .. } => match payload {
                    Cargo::Datagram(host, mut buffer, sent) => {
                        flips.apply(&mut buffer);
                        self.delivered(Cargo::Datagram(host, buffer, sent));
                    }
                    Cargo::Rival(_) | Cargo::Other => {}
                },
                channel::Output::Drop {
                    direction,
                    payload,
                    cause,
                } => {
                    self.note_drop(direction, &payload, cause);
                    let full =
                        matches!(payload, Cargo::Other) && cause == channel::Cause::QueueFull;
                    self.trouble.others_dropped += u64::from(full);
                }
                channel::Output::State { .. } => {}
            }
        }
        let arrived = self.now;
        while let Some((host, buffer)) = self.trouble.arrived(arrived) {
            if let Some(from) = self.copy_from(host, &buffer) {
                self.input(host, datagram(from, arrived, buffer.clone()));
            }
            let from = self.address(1 - host);
            self.input(host, datagram(from, arrived, buffer));
        }
    }

    fn delivered(&mut self, cargo: Cargo) {
        match cargo {
            Cargo::Datagram(host, buffer, sent) => {
                self.datagrams += 1;
                if let Some(crossings) = self.crossings.as_mut().filter(|_| host == MOBILE) {
                    crossings.push((sent, self.now));
                }
                self.trouble.delay(self.now, (host, buffer));
            }
            Cargo::Rival(crossing) => self.rivals.take(self.now, crossing),
            Cargo::Other => {}
        }
    }
}
