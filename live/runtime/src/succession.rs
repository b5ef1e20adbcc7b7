//! The succession of a gateway's processes: the split connections of one that ends go on with the next one, which has
//! their sockets and their state. It gets both in one [`Parcel`], from the process itself ([`ask_predecessor`]) or from
//! the supervisor, which keeps it meanwhile. A gateway on another machine gets the state of the sockets in their place
//! ([`transfer`]).

pub mod dialogue;
pub mod transfer;

use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;

use edges::parcel::{Parcel, Space};
use hosts::Handover;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use split::SocketId;

use crate::control::{HAND_OVER, STOP_PATIENCE, await_end, process_of};
use crate::sockets::SocketState;

/// Name of the parcel at the supervisor.
pub const STORED_AS: &str = "lasthop-connections";
/// Number of the present format of the state, in its first four bytes. What the state contains, in whatever crate,
/// belongs to the format: who changes it takes the next number.
const FORMAT: u32 = 1;

/// The split connections of a process, with their sockets.
#[derive(Debug)]
pub struct Succession {
    connections: Handover,
    sockets: Vec<(SocketState, Given)>,
}

/// What became of a socket.
#[derive(Debug)]
pub(crate) enum Given {
    /// It is open. If `has_ended`, nothing follows what can be read, though the kernel here does not know that.
    Open {
        descriptor: OwnedFd,
        has_ended: bool,
    },
    /// Both directions have ended, and everything was read.
    Ended,
    /// It was reset, or could not be carried over.
    Failed,
}

/// What a parcel contains besides descriptors.
#[derive(Serialize, Deserialize)]
struct State {
    connections: Handover,
    sockets: Vec<SocketState>,
}

impl Succession {
    /// Returns these connections, without their sockets.
    pub(crate) fn of(connections: Handover) -> Self {
        Self {
            connections,
            sockets: Vec::new(),
        }
    }

    /// Returns the identifiers of all sockets that belong to it.
    pub(crate) fn sockets(&self) -> Vec<SocketId> {
        self.connections.sockets().collect()
    }

    /// Adds a socket.
    pub(crate) fn add(&mut self, state: SocketState, descriptor: OwnedFd) {
        let has_ended = false;
        let given = Given::Open {
            descriptor,
            has_ended,
        };
        self.sockets.push((state, given));
    }

    /// Returns the number of sockets.
    pub fn count(&self) -> usize {
        self.sockets.len()
    }

    /// Returns the connections, and each socket with its state.
    pub(crate) fn into_parts(self) -> (Handover, Vec<(SocketState, Given)>) {
        (self.connections, self.sockets)
    }

    /// Packs it.
    ///
    /// # Errors
    /// Those of [`Space::pack`]. All connections are reset then.
    pub(crate) fn pack(self, space: Space) -> io::Result<Parcel> {
        let (mut sockets, mut descriptors) = (Vec::new(), Vec::new());
        for (state, given) in self.sockets {
            if let Given::Open { descriptor, .. } = given {
                sockets.push(state);
                descriptors.push(descriptor);
            }
        }
        let state = State {
            connections: self.connections,
            sockets,
        };
        space.pack(&write(&state)?, descriptors)
    }

    /// Unpacks what another process has packed.
    ///
    /// # Errors
    /// Those of [`Parcel::unpack`], and `InvalidData` if the state has another format. All connections are reset then.
    pub fn unpack(parcel: Parcel) -> io::Result<Self> {
        let (bytes, descriptors) = parcel.unpack()?;
        let State {
            connections,
            sockets,
        } = read(&bytes)?;
        if sockets.len() != descriptors.len() {
            let [said, had] = [sockets.len(), descriptors.len()];
            return Err(broken(format!("it has {had} sockets in place of {said}")));
        }
        let mut succession = Self::of(connections);
        for (state, descriptor) in sockets.into_iter().zip(descriptors) {
            succession.add(state, descriptor);
        }
        Ok(succession)
    }
}

/// Returns a state as bytes, with the number of its format.
fn write<S: Serialize>(state: &S) -> io::Result<Vec<u8>> {
    postcard::to_extend(state, FORMAT.to_le_bytes().to_vec()).map_err(io::Error::other)
}

/// Returns the state that [`write`] has given.
fn read<S: DeserializeOwned>(bytes: &[u8]) -> io::Result<S> {
    let (format, rest) = bytes
        .split_first_chunk()
        .ok_or_else(|| broken("it has no format"))?;
    let format = u32::from_le_bytes(*format);
    if format != FORMAT {
        let what = format!("it has format {format}, and this version reads format {FORMAT}");
        return Err(broken(what));
    }
    postcard::from_bytes(rest).map_err(|error| broken(error.to_string()))
}

fn broken(what: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.into())
}

/// A process that waits for the end of this one.
#[derive(Debug)]
pub struct Successor {
    pub(crate) stream: UnixStream,
    pub(crate) parcel: Option<Parcel>,
}

impl Successor {
    /// Lets it begin. To be called at the very end, when nothing is in its way any more.
    ///
    /// # Errors
    /// If it has gone. The connections are reset then.
    pub fn begin(self) -> io::Result<()> {
        match self.parcel {
            Some(parcel) => parcel.send(&self.stream),
            None => Ok(()),
        }
    }
}

/// Has the gateway with the control socket at `path` end, and hand its connections over; `None` if none runs there, or
/// it has none to hand over.
///
/// # Errors
/// `WouldBlock` if it does not end in time, `InvalidData` if it cannot hand over; system errors.
pub fn ask_predecessor(path: &Path) -> io::Result<Option<Parcel>> {
    let mut stream = match UnixStream::connect(path) {
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused
            ) =>
        {
            return Ok(None);
        }
        connected => connected?,
    };
    stream.set_read_timeout(Some(STOP_PATIENCE))?;
    stream.set_write_timeout(Some(STOP_PATIENCE))?;
    let process = process_of(&stream)?;
    stream.write_all(format!("{HAND_OVER}\n").as_bytes())?;
    let parcel = Parcel::receive(&stream)?;
    // What it leaves in the system belongs to nobody only then.
    await_end(&process)?;
    Ok(parcel)
}
