//! Split connections on their way to a gateway on another machine.

use std::io;
use std::net::SocketAddr;

use edges::repair::{Frozen, Image, ends};
use edges::transparent::is_local;
use hosts::Handover;
use serde::{Deserialize, Serialize};
use split::Side;

use super::{Given, Succession, read, write};
use crate::sockets::SocketState;

/// What crosses.
#[derive(Serialize, Deserialize)]
struct Content {
    connections: Handover,
    sockets: Vec<(SocketState, Carried)>,
}

/// What crosses of a socket.
#[derive(Serialize, Deserialize)]
enum Carried {
    Image(Box<Image>),
    /// Both directions have ended.
    Ended,
    /// It was reset.
    Failed,
}

/// Connections that stand still here until another machine has them.
///
/// When dropped, they disappear, and their other ends get no segment.
#[derive(Debug)]
pub struct Transfer {
    bytes: Vec<u8>,
    frozen: Vec<Frozen>,
}

impl Transfer {
    /// Returns what crosses to the other machine.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the number of sockets that cross.
    pub fn count(&self) -> usize {
        self.frozen.len()
    }

    /// Resets the connections, as nobody has taken them.
    pub fn reset(self) {
        self.frozen.into_iter().for_each(Frozen::reset);
    }
}

impl Succession {
    /// Returns the two ends of each connection that is not over, this host's first. Packets to these are to be dropped
    /// before [`freeze`](Self::freeze).
    pub fn ends(&self) -> Vec<[SocketAddr; 2]> {
        let open = self.sockets.iter().filter_map(|(_, given)| match given {
            Given::Open { descriptor, .. } => ends(descriptor),
            _ => None,
        });
        open.collect()
    }

    /// Freezes the connections. It needs `CAP_NET_ADMIN`.
    ///
    /// # Errors
    /// System errors; all connections are reset then.
    pub fn freeze(self) -> io::Result<Transfer> {
        let mut transfer = Transfer {
            bytes: Vec::new(),
            frozen: Vec::new(),
        };
        match self.freeze_into(&mut transfer) {
            Ok(()) => Ok(transfer),
            Err(error) => {
                transfer.reset();
                Err(error)
            }
        }
    }

    fn freeze_into(self, transfer: &mut Transfer) -> io::Result<()> {
        let mut sockets = Vec::new();
        for (mut state, given) in self.sockets {
            let Given::Open { descriptor, .. } = given else {
                continue;
            };
            let socket = Frozen::new(descriptor)?;
            let carried = match socket.image() {
                Ok(Some(mut image)) => {
                    state.write_again(image.take_unsent(), image.state());
                    transfer.frozen.push(socket);
                    Carried::Image(image.into())
                }
                Ok(None) => Carried::Ended,
                Err(error) => {
                    tracing::warn!("a connection cannot leave this machine: {error}");
                    socket.reset();
                    Carried::Failed
                }
            };
            sockets.push((state, carried));
        }
        let content = Content {
            connections: self.connections,
            sockets,
        };
        transfer.bytes = write(&content)?;
        Ok(())
    }

    /// Goes on with the connections of another machine. One that cannot go on here is reset later, and the log says
    /// why: unless `transparent`, those with fixed hosts have an address of the gateway itself, which has to be here.
    /// It needs `CAP_NET_ADMIN`.
    ///
    /// # Errors
    /// `InvalidData` if it is not what a gateway of this version sends; system errors.
    pub fn restore(bytes: &[u8], transparent: bool) -> io::Result<Self> {
        let content: Content = read(bytes)?;
        let mut succession = Self::of(content.connections);
        for (state, carried) in content.sockets {
            let given = match carried {
                Carried::Image(image) => {
                    let has_own = !transparent && state.side() == Side::Fixed;
                    restored(&image, has_own)
                }
                Carried::Ended => Given::Ended,
                Carried::Failed => Given::Failed,
            };
            succession.sockets.push((state, given));
        }
        Ok(succession)
    }
}

fn restored(image: &Image, has_own_address: bool) -> Given {
    let local = image.local().ip();
    let is_elsewhere = has_own_address && !is_local(local);
    let restored = if is_elsewhere {
        let reason = format!("this machine has not the address {local}");
        Err(io::Error::new(io::ErrorKind::AddrNotAvailable, reason))
    } else {
        image.restore()
    };
    match restored {
        Ok(stream) => Given::Open {
            descriptor: stream.into_descriptor(),
            has_ended: image.state().has_ended,
        },
        Err(error) => {
            tracing::warn!("a connection of the other machine cannot go on here: {error}");
            Given::Failed
        }
    }
}
