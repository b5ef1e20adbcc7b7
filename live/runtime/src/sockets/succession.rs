//! Sockets of split connections that pass from one process of a gateway to the next one.

use std::io;

use bytes::Bytes;
use edges::parcel::Space;
use edges::transparent::TransparentStream;
use hosts::{Handover, Input};
use redirector::{Chunks, Content};
use serde::{Deserialize, Serialize};
use split::{Side, SocketEvent, SocketId};

use super::Sockets;
use super::connection::{Connection, Stream};
use crate::succession::{Given, Succession};
use edges::repair;

/// State of a socket with which the next process goes on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SocketState {
    id: SocketId,
    /// Data that the kernel had no room for yet.
    pub(super) pending: Chunks,
    /// True if nothing follows the pending data.
    pub(super) is_finishing: bool,
    /// True if its sending direction is closed.
    pub(super) is_finished: bool,
}

impl SocketState {
    /// Returns the side of its connection.
    pub(crate) fn side(&self) -> Side {
        self.id.side
    }

    /// Has what the kernel of another machine had not sent written again, here, and the end behind it, if it was not
    /// acknowledged: no kernel can be given these.
    pub(crate) fn write_again(&mut self, unsent: Bytes, kernel: repair::State) {
        let pending = std::mem::replace(&mut self.pending, unsent.into());
        self.pending.append(pending);
        self.is_finishing |= kernel.is_finishing;
        self.is_finished = kernel.is_finished;
    }
}

impl Sockets {
    /// Takes the sockets of these connections out, for the next process. All others are reset.
    pub(crate) fn hand_over(&mut self, connections: Handover) {
        let mut succession = Succession::of(connections);
        for id in succession.sockets() {
            let taken = self.connections.remove(&id).map(Connection::into_parts);
            let Some((Stream::Kernel(socket), pending, [is_finishing, is_finished])) = taken else {
                continue;
            };
            let state = SocketState {
                id,
                pending,
                is_finishing,
                is_finished,
            };
            succession.add(state, socket.into_descriptor());
        }
        self.succession = Some(succession);
    }

    /// Returns what was taken out for the next process, and space for its state.
    pub(crate) fn take_succession(&mut self) -> Option<(Succession, Space)> {
        self.succession.take().zip(self.options.space.take())
    }

    /// Goes on with the connections of a former process; returns the input with which its host does.
    ///
    /// # Errors
    /// System errors: a descriptor is no socket of TCP.
    pub fn take_over(&mut self, succession: Succession) -> io::Result<Input> {
        let (connections, sockets) = succession.into_parts();
        for (state, given) in sockets {
            let id = state.id;
            let (descriptor, has_ended) = match given {
                Given::Open {
                    descriptor,
                    has_ended,
                } => (descriptor, has_ended),
                Given::Ended => {
                    self.report(id, SocketEvent::Finished);
                    continue;
                }
                Given::Failed => {
                    self.fail(id, &io::ErrorKind::ConnectionReset.into());
                    continue;
                }
            };
            let socket = TransparentStream::resume(descriptor)?;
            let mut connection = Connection::resumed(socket, &state);
            connection.has_ended = has_ended;
            self.insert(id, connection);
            // What is pending is written first, and then there is room.
            self.change(id, |_| ());
            if has_ended {
                self.look(id);
            }
        }
        Ok(Input::TakeOver(Box::new(connections)))
    }
}

impl Connection {
    /// Returns a connection of a former process.
    fn resumed(socket: TransparentStream, state: &SocketState) -> Self {
        let mut connection = Self::accepted(socket);
        connection.write(&state.pending);
        connection.is_finishing = state.is_finishing;
        connection.is_finished = state.is_finished;
        connection
    }

    /// Returns its stream, the data that are not written yet, whether its end follows them, and whether that was sent.
    fn into_parts(self) -> (Stream, Chunks, [bool; 2]) {
        let mut pending = Chunks::default();
        for bytes in self.pending {
            pending.append(bytes.into());
        }
        let state = [self.is_finishing, self.is_finished];
        (self.stream, pending, state)
    }
}
