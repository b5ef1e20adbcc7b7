//! The host of the file server.

use std::collections::VecDeque;
use std::net::SocketAddrV4;

use fileserver::{Fault, Input as Heard, Output as Said, Peer, Server};
use machine::{Machine, earlier};
use simulator::{Input, Output};
use units::Instant;

use super::interface::{Event, WIRED};
use super::internet::Internet;
use super::packet::Packet;

/// The host of the server on the wired network.
#[derive(Debug)]
pub(crate) struct ServerHost {
    server: Server,
    internet: Internet,
    /// Clients, by their number at the server.
    clients: Vec<SocketAddrV4>,
    leaving: VecDeque<Packet>,
    /// Beginning and end of the period in which the server receives nothing.
    silence: Option<[Instant; 2]>,
    is_silent: bool,
    datagrams: u64,
}

impl ServerHost {
    /// Creates the host of a server; `silence` is the period in which it receives nothing.
    pub(crate) fn new(server: Server, internet: Internet, silence: Option<[Instant; 2]>) -> Self {
        Self {
            server,
            internet,
            clients: Vec::new(),
            leaving: VecDeque::new(),
            silence,
            is_silent: false,
            datagrams: 0,
        }
    }

    /// Returns the number of datagrams that arrived complete.
    pub(crate) fn datagrams(&self) -> u64 {
        self.datagrams
    }

    /// Returns true if a file with this content is on the server's disk.
    pub(super) fn holds(&self, name: &str, content: &[u8]) -> bool {
        self.server
            .stored(name)
            .is_some_and(|stored| stored == content)
    }

    fn peer(&mut self, address: SocketAddrV4) -> Peer {
        let known = self.clients.iter().position(|known| *known == address);
        let number = known.unwrap_or_else(|| {
            self.clients.push(address);
            self.clients.len() - 1
        });
        Peer(number as u64)
    }

    /// Returns the time at which its silence begins or ends next.
    fn change(&self) -> Option<Instant> {
        let [from, until] = self.silence?;
        Some(if self.is_silent { until } else { from })
    }
}

impl Machine for ServerHost {
    type Input = Input<Packet>;
    type Output = Output<Packet, Event>;

    fn handle_input(&mut self, now: Instant, input: Self::Input) {
        let Input::Packet {
            packet: Packet::Ip { bytes, .. },
            ..
        } = input
        else {
            return;
        };
        if let Some((address, message)) = self.internet.receive(now, &bytes) {
            self.datagrams += 1;
            let from = self.peer(address);
            self.server
                .handle_input(now, Heard::Received { from, message });
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.change().is_some_and(|at| at <= now) {
            self.is_silent = !self.is_silent;
            let fault = Fault::Silent(self.is_silent);
            self.server.handle_input(now, Heard::Fault(fault));
            if !self.is_silent {
                self.silence = None;
            }
        }
        self.internet.handle_timeout(now);
        self.server.handle_timeout(now);
    }

    fn poll_output(&mut self) -> Option<Self::Output> {
        while let Some(Said::Send { to, message }) = self.server.poll_output() {
            if let Some(client) = self.clients.get(to.0 as usize) {
                self.leaving.extend(self.internet.send(*client, &message));
            }
        }
        let packet = self.leaving.pop_front()?;
        Some(Output::Send {
            port: WIRED,
            packet,
        })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let host = earlier(self.internet.poll_timeout(), self.change());
        earlier(self.server.poll_timeout(), host)
    }
}
