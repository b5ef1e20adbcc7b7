//! Links, addresses, routes and rules of the calling thread's network namespace, by rtnetlink (RFC 3549, rtnetlink(7)),
//! like `ip` does, and its tracked connections.
//!
//! Requests block until the kernel has replied, which it does at once. Links are identified by name, not index: a name
//! survives a move of the link between namespaces, and an undo file of a dead process can still refer to it.

mod addresses;
mod error;
mod links;
mod neighbours;
mod routes;
mod rules;
mod tracking;
mod watch;

use std::fmt::Debug;
use std::io;
use std::marker::PhantomData;

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_DUMP, NLM_F_DUMP_INTR, NLM_F_REQUEST, NetlinkBuffer, NetlinkDeserializable,
    NetlinkMessage, NetlinkPayload, NetlinkSerializable,
};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};

pub use error::NetlinkError;
pub use links::Link;
pub use routes::{MAIN_TABLE, Route, RouteKind};
pub use rules::{IpVersion, Rule};
pub use tracking::ConnectionTracking;
pub use watch::NetworkWatch;

/// Number of times that a listing is repeated when the kernel reports a change during it.
const LISTING_TRIES: usize = 8;
/// Alignment of netlink messages, in bytes.
const ALIGNMENT: usize = 4;

/// A blocking netlink socket for messages of one family. It belongs to the namespace in which it was opened, whichever
/// thread uses it later.
pub struct Channel<M> {
    socket: Socket,
    sequence: u32,
    messages: PhantomData<M>,
}

/// A blocking rtnetlink socket.
pub type Netlink = Channel<RouteNetlinkMessage>;

/// Completeness of a listing, which a change can interrupt.
#[derive(PartialEq, Eq)]
enum Reply {
    Whole,
    Interrupted,
}

impl Netlink {
    /// Opens a socket in the calling thread's namespace.
    pub fn open() -> Result<Self, NetlinkError> {
        Self::of_family(NETLINK_ROUTE)
    }
}

impl<M> Channel<M>
where
    M: NetlinkSerializable + NetlinkDeserializable + Clone + Debug,
    NetlinkMessage<M>: From<M>,
{
    /// Opens a socket of a netlink family in the calling thread's namespace.
    fn of_family(family: isize) -> Result<Self, NetlinkError> {
        let open = || -> io::Result<Socket> {
            let mut socket = Socket::new(family)?;
            socket.bind_auto()?;
            socket.connect(&SocketAddr::new(0, 0))?;
            // The kernel then explains errors in words, and does not send the request back.
            socket.set_ext_ack(true)?;
            socket.set_cap_ack(true)?;
            Ok(socket)
        };
        let socket = open().map_err(NetlinkError::Socket)?;
        Ok(Self {
            socket,
            sequence: 0,
            messages: PhantomData,
        })
    }

    /// Sends a change and waits for the kernel's reply. `operation` completes the sentence "cannot ...".
    fn change(&mut self, message: M, flags: u16, operation: &str) -> Result<(), NetlinkError> {
        let mut answers = Vec::new();
        self.exchange(message, flags | NLM_F_ACK, operation, &mut answers)?;
        Ok(())
    }

    /// Requests one object.
    fn query(&mut self, message: M, operation: &str) -> Result<M, NetlinkError> {
        let mut answers = Vec::new();
        self.exchange(message, NLM_F_ACK, operation, &mut answers)?;
        answers.pop().ok_or_else(|| NetlinkError::Malformed {
            operation: operation.into(),
            detail: "it holds no object".into(),
        })
    }

    /// Requests all objects of a kind.
    fn list(&mut self, message: &M, operation: &str) -> Result<Vec<M>, NetlinkError> {
        for _ in 0..LISTING_TRIES {
            let mut answers = Vec::new();
            let reply = self.exchange(message.clone(), NLM_F_DUMP, operation, &mut answers)?;
            if reply == Reply::Whole {
                return Ok(answers);
            }
        }
        Err(NetlinkError::Malformed {
            operation: operation.into(),
            detail: format!("it changed during each of {LISTING_TRIES} tries; try again"),
        })
    }

    fn exchange(
        &mut self,
        message: M,
        flags: u16,
        operation: &str,
        answers: &mut Vec<M>,
    ) -> Result<Reply, NetlinkError> {
        self.sequence = self.sequence.wrapping_add(1);
        let mut request = NetlinkMessage::from(message);
        request.header.flags = flags | NLM_F_REQUEST;
        request.header.sequence_number = self.sequence;
        request.finalize();
        let mut bytes = vec![0; request.buffer_len()];
        request.serialize(&mut bytes);

        let transport = |source| NetlinkError::Transport {
            operation: operation.into(),
            source,
        };
        self.socket.send(&bytes, 0).map_err(transport)?;
        let mut interrupted = false;
        loop {
            let (datagram, _) = self.socket.recv_from_full().map_err(transport)?;
            let ended = self.read(&datagram, operation, answers, &mut interrupted)?;
            if ended {
                return Ok(if interrupted {
                    Reply::Interrupted
                } else {
                    Reply::Whole
                });
            }
        }
    }

    /// Reads one datagram; returns true if it ends the reply.
    fn read(
        &self,
        mut rest: &[u8],
        operation: &str,
        answers: &mut Vec<M>,
        interrupted: &mut bool,
    ) -> Result<bool, NetlinkError> {
        let malformed = |error: netlink_packet_core::DecodeError| NetlinkError::Malformed {
            operation: operation.into(),
            detail: error.to_string(),
        };
        while !rest.is_empty() {
            let length = NetlinkBuffer::new_checked(rest)
                .map_err(malformed)?
                .length() as usize;
            let message = NetlinkMessage::<M>::deserialize(rest).map_err(malformed)?;
            rest = &rest[length.next_multiple_of(ALIGNMENT).min(rest.len())..];
            // Remaining replies of an earlier request that failed halfway are skipped.
            if message.header.sequence_number != self.sequence {
                continue;
            }
            *interrupted |= message.header.flags & NLM_F_DUMP_INTR != 0;
            match message.payload {
                NetlinkPayload::InnerMessage(answer) => answers.push(answer),
                NetlinkPayload::Done(_) => return Ok(true),
                NetlinkPayload::Error(error) if error.code.is_none() => return Ok(true),
                NetlinkPayload::Error(error) => {
                    return Err(NetlinkError::refused(operation, &error));
                }
                _ => {}
            }
        }
        Ok(false)
    }
}
