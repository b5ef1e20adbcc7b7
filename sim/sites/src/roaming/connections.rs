//! The TCP connection of the mobile host.

use hosts::{GuestExits, Input};
use tcp::Counters;
use units::Duration;
use wire::packet::Packet;

use super::{HOME, Roaming};
use crate::MOBILE;
use crate::ends::Ends;
use crate::flows::Connection;
use crate::splitting::Sockets;

impl Roaming {
    /// Begins a connection over which the fixed host sends without end; its request leaves at the next event.
    pub fn connect(&mut self, ends: Ends) {
        let is_untranslated = self.network.setting.exits == GuestExits::Untranslated;
        self.connection = Some(Connection::new(self.now, ends, is_untranslated));
    }

    /// Begins such a connection, whose request leaves at once.
    pub fn connect_now(&mut self, ends: Ends) {
        self.connect(ends);
        self.carry_segments();
    }

    /// Begins a download over a connection that the hosts split.
    pub fn download_split(&mut self, number: u16) {
        let (sockets, syn) = Sockets::download(self.now, number);
        self.sockets = Some(sockets);
        self.input(MOBILE, Input::Packet(syn));
        self.hand_in_events();
    }

    /// Gives the hosts what has happened on their sockets, until nothing does.
    pub(super) fn hand_in_events(&mut self) {
        for host in [MOBILE, HOME, MOBILE] {
            while let Some(sockets) = &mut self.sockets
                && let Some(event) = sockets.poll_event(host)
            {
                self.input(host, Input::System(event));
            }
        }
        if let Some(sockets) = &mut self.sockets {
            sockets.note(self.now);
        }
    }

    /// A gateway announces the mobile host's address, if nobody translates it.
    pub(super) fn announced_by(&mut self, gateway: usize) {
        if let Some(connection) = &mut self.connection {
            connection.announced_by(gateway);
        }
    }

    /// Returns the gateway at which the connection leaves.
    pub fn exit(&self) -> Option<usize> {
        self.connection.as_ref().map(|connection| connection.exit)
    }

    /// Returns the number of bytes that the mobile host has read of its connection.
    pub fn read(&self) -> u64 {
        let whole = self.connection.as_ref().map(|connection| &connection.meter);
        let split = self.sockets.as_ref().map(|sockets| &sockets.meter);
        whole.or(split).map_or(0, |meter| meter.read)
    }

    /// Returns the time until the mobile host has read so many more bytes of its connection, or `most`.
    pub fn time_to_read(&mut self, bytes: u64, most: Duration) -> Duration {
        let (began, before) = (self.now, self.read());
        while self.read() < before + bytes && self.now.since(began) < most {
            self.run(Duration::from_millis(10), true);
        }
        self.now.since(began)
    }

    /// Returns the counters of an end of the connection, if that crosses whole.
    pub fn counters(&self, end: usize) -> Option<Counters> {
        let connection = self.connection.as_ref();
        connection.map(|connection| connection.ends.counters(end))
    }

    /// Returns true if the connection goes on at both ends, and every byte is what it should be.
    pub fn is_connected(&self) -> bool {
        if let Some(sockets) = &self.sockets {
            return sockets.is_connected();
        }
        let ends = self.connection.as_ref().map(|connection| &connection.ends);
        ends.is_some_and(|ends| ends.reset == [false; 2] && ends.wrong == 0)
    }

    /// Returns the longest time in which the mobile host has read nothing of the connection, since the last call.
    pub fn take_stall(&mut self) -> Duration {
        let now = self.now;
        let whole = self
            .connection
            .as_mut()
            .map(|connection| &mut connection.meter);
        let split = self.sockets.as_mut().map(|sockets| &mut sockets.meter);
        whole
            .or(split)
            .map_or(Duration::ZERO, |meter| meter.take_stall(now))
    }

    pub(super) fn take_segment(&mut self, host: usize, packet: &Packet) {
        if let Some(sockets) = self
            .sockets
            .as_mut()
            .filter(|_| [MOBILE, HOME].contains(&host))
        {
            return sockets.take(host, packet);
        }
        if let Some(connection) = &mut self.connection {
            connection.take(self.now, host, packet, self.may_reset);
        }
    }

    /// Carries what the ends of the connection send.
    pub(super) fn carry_segments(&mut self) {
        while let Some(connection) = &mut self.connection
            && let Some((host, packet)) = connection.poll_packet(self.now)
        {
            self.input(host, Input::Packet(packet));
        }
        if let Some(connection) = &mut self.connection {
            connection.note(self.now);
        }
    }
}
