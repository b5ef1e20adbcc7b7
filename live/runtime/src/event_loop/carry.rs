//! Execution of the host's outputs.

use std::io;

use edges::bearer::DatagramBearer;
use edges::clock;
use edges::tun::PacketDevice;
use hosts::{Event, EventKind, Input, Output};
use units::Instant;
use wire::capture::CaptureDirection;
use wire::packet::Packet;

use super::capture::take_copies;
use super::fades::{FadeLine, FadeLog};
use super::{EventLoop, Work, told};
use crate::changes::{Change, Exit};
use crate::finder::Errand;
use crate::host::DrivenHost;
use crate::reloader::KeyClaim;
use crate::sockets::Sockets;

impl<H: DrivenHost, D: PacketDevice, B: DatagramBearer> EventLoop<H, D, B> {
    /// Notifies the host that its network has changed, and has its surroundings examined.
    pub(super) fn link_up(&mut self, now: Instant) {
        self.look();
        self.tell(now, Input::LinkUp);
    }

    /// Has the surroundings of this host examined.
    pub(super) fn look(&self) {
        if let Some(finder) = &self.work.finder {
            finder.send(Errand::Look);
        }
    }

    /// Passes what was found out, and changed, to the host.
    pub(super) fn take_found(&mut self) -> io::Result<()> {
        let found = self.work.finder.iter().map(|finder| &finder.found);
        let changed = self.work.changes.iter().map(|changes| &changes.done);
        let mut inputs = Vec::new();
        for results in found.chain(changed) {
            inputs.extend(results.take()?);
        }
        for input in inputs {
            tracing::debug!(?input, "found out");
            self.tell(clock::monotonic(), input);
        }
        Ok(())
    }
}

/// Carries out the host's outputs: packets go to the device at once, datagrams are collected.
pub(super) fn carry_out<H: DrivenHost>(
    host: &mut H,
    device: &mut impl PacketDevice,
    work: &mut Work,
) {
    loop {
        // The frame that brought a packet comes before it.
        take_copies(host, work);
        drain(host, device, work);
        while let Some(mut packet) = work.sockets.as_mut().and_then(Sockets::poll_packet) {
            deliver(&mut packet, host, device, work);
        }
        let Some(event) = work.sockets.as_mut().and_then(Sockets::poll_event) else {
            return;
        };
        host.handle_input(clock::monotonic(), Input::System(event));
    }
}

fn drain<H: DrivenHost>(host: &mut H, device: &mut impl PacketDevice, work: &mut Work) {
    while let Some(output) = host.poll_output() {
        match output {
            Output::Packet(mut packet) => deliver(&mut packet, host, device, work),
            Output::Datagram { to, buffer, ecn } => work.outbox.push(to, ecn, buffer),
            Output::System(request) => {
                if let Some(sockets) = &mut work.sockets {
                    sockets.carry_out(request);
                }
            }
            Output::Seek { peer } => {
                if let Some(finder) = &work.finder {
                    finder.send(Errand::Seek(peer));
                }
            }
            Output::Claim { of, key } => work.claims.push(KeyClaim { of, key }),
            Output::Resolvers(resolvers) => {
                if let Some(names) = &work.names {
                    names.offered(resolvers);
                }
            }
            Output::Exits { prefixes, change } => {
                if let Some(changes) = &work.changes {
                    changes.make(Change::Exit(Exit::of(&prefixes, change)));
                }
            }
            Output::HandedOver(connections) => {
                if let Some(sockets) = &mut work.sockets {
                    sockets.hand_over(*connections);
                }
            }
            Output::Told => {
                let due = clock::monotonic() + told::PAUSE;
                work.told_due.get_or_insert(due);
            }
            Output::Event(event) => {
                log_event(&event, &mut work.fades);
                let is_up = event.kind == EventKind::Established { fresh: true };
                if let Some(sockets) = work.sockets.as_mut().filter(|_| is_up) {
                    sockets.examine_former();
                }
                if let (Some(changes), Some(change)) = (&work.changes, Change::of(&event.kind)) {
                    changes.make(change);
                }
                if let Some(names) = &work.names {
                    names.follow(&event.kind);
                }
                work.events.push(event);
            }
        }
    }
}

/// Writes an event to the log.
fn log_event(event: &Event, fades: &mut FadeLog) {
    let (now, peer) = (clock::monotonic(), &event.peer);
    let line = if event.kind == EventKind::FadeBegan {
        fades.began(now, peer)
    } else if let EventKind::FadeEnded { lasted, .. } = event.kind {
        fades.ended(now, peer, lasted)
    } else {
        if let EventKind::Trouble(_) = event.kind {
            tracing::warn!(peer, event = event.kind.name(), "{event}");
        } else {
            tracing::info!(peer, event = event.kind.name(), "{event}");
        }
        None
    };
    line.iter().for_each(FadeLine::log);
}

/// Sends a packet to the device. If it does not accept the packet, the packet is lost, as in any full queue; the hop
/// repairs only losses of its own.
fn deliver<H: DrivenHost>(
    packet: &mut Packet,
    host: &H,
    device: &mut impl PacketDevice,
    work: &mut Work,
) {
    if let Some(tap) = &mut work.tap {
        let peer = |address| host.peer_at(address);
        tap.packet(CaptureDirection::Inbound, packet, peer);
    }
    work.written += 1;
    let counters = &mut work.counters;
    let Err(error) = device.send(packet) else {
        return;
    };
    let no_room = error.kind() == io::ErrorKind::WouldBlock
        || rustix::io::Errno::from_io_error(&error) == Some(rustix::io::Errno::NOBUFS);
    if no_room {
        counters.packets_without_room += 1;
    } else {
        counters.packets_refused += 1;
        tracing::debug!("the TUN device refused a packet: {error}");
    }
}
