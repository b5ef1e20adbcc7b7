//! The system beside a splitter, as a tape moves it: what crosses may be anything, so no content is checked.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use redirector::Chunks;
use split::{Refusal, SocketEvent, SocketId, SocketRequest, SystemEvent, SystemRequest};
use wire::flow::Ends;
use wire::ip::Transport;
use wire::packet::Packet;

use crate::cursor::Cursor;
use crate::outcome::note;

/// Bytes that a socket takes at a time.
const ROOM: u64 = 64 << 10;

#[derive(Default)]
struct Socket {
    is_open: bool,
    has_ended: bool,
    readable: u64,
    /// Bytes that were written since there was last room for more.
    written: u64,
}

#[derive(Default)]
pub(super) struct Sockets {
    sockets: BTreeMap<SocketId, Socket>,
    events: VecDeque<SystemEvent<Chunks>>,
}

impl Sockets {
    pub(super) fn poll_event(&mut self) -> Option<SystemEvent<Chunks>> {
        self.events.pop_front()
    }

    /// Handles a packet to the host's own stack: a connection request is accepted.
    pub(super) fn packet(&mut self, packet: &Packet) {
        if let Some(ip) = packet.ip()
            && let Transport::Tcp(tcp) = ip.transport()
            && tcp.asks_for_connection()
        {
            let accepted = SystemEvent::Accepted(Ends::of(&ip));
            self.events.push_back(accepted);
        }
    }

    /// Carries out a request of the splitter.
    pub(super) fn carry_out(&mut self, request: SystemRequest<Chunks>) {
        match request {
            SystemRequest::Locate { number, address } => {
                let is_local = address.is_loopback() || address.to_string() == "10.9.0.1";
                let located = SystemEvent::Located { number, is_local };
                self.events.push_back(located);
            }
            SystemRequest::Divert | SystemRequest::Dismiss(_) => {}
            SystemRequest::Adopt(_, id) => self.open(id),
            SystemRequest::Socket(id, request) => self.ask(id, request),
        }
    }

    fn open(&mut self, id: SocketId) {
        let socket = Socket {
            is_open: true,
            ..Socket::default()
        };
        self.sockets.insert(id, socket);
        self.report(id, SocketEvent::Writable(ROOM));
    }

    fn report(&mut self, id: SocketId, event: SocketEvent<Chunks>) {
        self.events.push_back(SystemEvent::Socket(id, event));
    }

    fn ask(&mut self, id: SocketId, request: SocketRequest<Chunks>) {
        note(&request);
        match request {
            SocketRequest::Connect(connect) => {
                let to = connect.destination.ip();
                assert!(!to.is_loopback(), "a peer reaches {to}");
                self.sockets.insert(id, Socket::default());
            }
            SocketRequest::Read(count) => {
                if let Some(socket) = self.sockets.get_mut(&id) {
                    let count = count.min(socket.readable);
                    socket.readable -= count;
                    let is_over = socket.has_ended && socket.readable == 0;
                    let data = Bytes::from(vec![7; count as usize]);
                    self.report(id, SocketEvent::Data(data.into()));
                    if is_over {
                        self.report(id, SocketEvent::Finished);
                    }
                }
            }
            SocketRequest::Write(content) => {
                if let Some(socket) = self.sockets.get_mut(&id) {
                    socket.written += content.iter().map(|bytes| bytes.len() as u64).sum::<u64>();
                    assert!(socket.written <= ROOM, "more than there is room for");
                }
            }
            SocketRequest::Finish => self.report(id, SocketEvent::Flushed),
            SocketRequest::Reset | SocketRequest::Release => drop(self.sockets.remove(&id)),
        }
    }

    /// Lets something happen to a socket.
    pub(super) fn step(&mut self, cursor: &mut Cursor<'_>) {
        let (place, kind, number) = (cursor.byte(), cursor.byte(), cursor.short());
        let count = self.sockets.len().max(1);
        let Some((id, socket)) = self.sockets.iter_mut().nth(usize::from(place) % count) else {
            return;
        };
        let id = *id;
        match (socket.is_open, kind % 8) {
            (_, 0) => {
                self.sockets.remove(&id);
                self.report(id, SocketEvent::Failed(Refusal::Refused));
            }
            (false, _) => {
                self.report(id, SocketEvent::Connected);
                self.open(id);
            }
            (true, 1) if !socket.has_ended => {
                socket.has_ended = true;
                if socket.readable == 0 {
                    self.report(id, SocketEvent::Finished);
                }
            }
            (true, 2..=4) => {
                socket.written = 0;
                self.report(id, SocketEvent::Writable(ROOM));
            }
            (true, _) if !socket.has_ended => {
                socket.readable = (socket.readable + u64::from(number)).min(ROOM);
                let readable = socket.readable;
                self.report(id, SocketEvent::Readable(readable));
            }
            (true, _) => {}
        }
    }
}
