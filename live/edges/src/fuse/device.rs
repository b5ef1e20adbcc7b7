//! The device `/dev/fuse`, which gives requests and takes answers.

use std::io::{self, IoSlice};
use std::mem::size_of;
use std::os::fd::{AsFd, OwnedFd};

use bytes::Bytes;
use mount::{Answer, Node, Request, RequestId};
use polyfuse_kernel as abi;
use rustix::io::Errno;
use zerocopy::FromBytes;

use super::answer::Message;
use super::request::{self, Unusable};

/// The kernel's page size in bytes, on which the room for requests depends.
const PAGE: u32 = 4_096;
/// Room for the head of a request, in bytes.
const HEAD: usize = 4_096;
/// Capabilities that the kernel may use.
const ABILITIES: u32 = abi::FUSE_ASYNC_READ
    | abi::FUSE_ATOMIC_O_TRUNC
    | abi::FUSE_BIG_WRITES
    | abi::FUSE_AUTO_INVAL_DATA
    | abi::FUSE_DO_READDIRPLUS
    | abi::FUSE_READDIRPLUS_AUTO
    | abi::FUSE_ASYNC_DIO
    | abi::FUSE_PARALLEL_DIROPS
    | abi::FUSE_MAX_PAGES
    | abi::FUSE_CACHE_SYMLINKS;

/// Limits of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Largest write, in bytes: whole pages, at most 1 MiB.
    pub write: u32,
    /// Largest read-ahead, in bytes.
    pub read_ahead: u32,
    /// Largest number of background requests, for which no process waits (such as those of read-ahead).
    pub background: u16,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            write: 1 << 20,
            read_ahead: 1 << 20,
            background: 64,
        }
    }
}

/// The device of one mounted file system.
#[derive(Debug)]
pub struct Device {
    file: OwnedFd,
    /// Size of the largest request, in bytes.
    room: usize,
}

impl Device {
    /// Negotiates the protocol with the kernel, over the descriptor by which a file system was mounted. Until then,
    /// processes that access it wait.
    ///
    /// # Errors
    /// If the file system was unmounted meanwhile, or the kernel uses another protocol version.
    pub fn start(file: OwnedFd, limits: Limits) -> io::Result<Self> {
        let write = limits.write.clamp(2 * PAGE, 1 << 20).next_multiple_of(PAGE);
        let device = Self {
            file,
            room: HEAD + write as usize,
        };
        let gone = || io::Error::new(io::ErrorKind::NotConnected, "it was unmounted already");
        let message = device.receive(&mut Vec::new())?.ok_or_else(gone)?;
        let unknown = || io::Error::new(io::ErrorKind::InvalidData, "the kernel begins unusually");
        let (header, rest) =
            abi::fuse_in_header::read_from_prefix(&message).map_err(|_| unknown())?;
        let (wish, _) = abi::fuse_init_in::read_from_prefix(rest).map_err(|_| unknown())?;
        if header.opcode != abi::FUSE_INIT || wish.major != abi::FUSE_KERNEL_VERSION {
            return Err(unknown());
        }
        let terms = abi::fuse_init_out {
            minor: wish.minor.min(abi::FUSE_KERNEL_MINOR_VERSION),
            max_readahead: limits.read_ahead.min(wish.max_readahead),
            flags: ABILITIES & wish.flags,
            max_background: limits.background,
            congestion_threshold: limits.background / 4 * 3,
            max_write: write,
            time_gran: 1,
            max_pages: (write / PAGE) as u16,
            ..abi::fuse_init_out::default()
        };
        let message = Message::initialize(RequestId(header.unique), &terms);
        device.send(&message.pieces())?;
        Ok(device)
    }

    /// Reads one message; returns `None` once the file system is not mounted any more.
    fn receive(&self, buffer: &mut Vec<u8>) -> io::Result<Option<Bytes>> {
        buffer.resize(self.room, 0);
        loop {
            match rustix::io::read(&self.file, buffer.as_mut_slice()) {
                Ok(length) => return Ok(Some(Bytes::copy_from_slice(&buffer[..length]))),
                // The request was interrupted before it was read, or a signal arrived for us.
                Err(Errno::NOENT | Errno::INTR) => {}
                // Unmounted or aborted.
                Err(Errno::NODEV | Errno::CONNABORTED) => return Ok(None),
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn send(&self, pieces: &[IoSlice<'_>]) -> Result<(), Errno> {
        rustix::io::writev(&self.file, pieces).map(drop)
    }

    /// Makes [`next_request`](Self::next_request) fail with `WouldBlock` instead of waiting.
    ///
    /// # Errors
    /// System errors.
    pub fn set_nonblocking(&self) -> io::Result<()> {
        Ok(rustix::io::ioctl_fionbio(&self.file, true)?)
    }

    /// Waits for the next request; returns `None` after the file system was unmounted or aborted. `buffer` is reusable
    /// storage.
    ///
    /// # Errors
    /// If reading from the kernel fails.
    pub fn next_request(&self, buffer: &mut Vec<u8>) -> io::Result<Option<Request>> {
        while let Some(message) = self.receive(buffer)? {
            let (id, error) = match request::parse(message) {
                Ok(request) => return Ok(Some(request)),
                Err(Unusable::Unreadable) => continue,
                Err(Unusable::Unsupported(id)) => (id, mount::Errno::NOSYS),
                Err(Unusable::Malformed(id)) => (id, mount::Errno::INVAL),
            };
            self.answer(id, &Answer::Error(error));
        }
        Ok(None)
    }

    /// Answers a request; returns false if the kernel no longer waits for it, so that it does not own what the answer
    /// contains (a reference to a node, an open file).
    pub fn answer(&self, request: RequestId, answer: &Answer) -> bool {
        match self.send(&Message::answer(request, answer).pieces()) {
            Ok(()) => true,
            // No process waits any more, or nothing is mounted.
            Err(Errno::NOENT | Errno::NODEV | Errno::PERM) => false,
            Err(error) => {
                tracing::error!("cannot answer the kernel: {error}");
                // Without any answer the process would wait for ever.
                let sorry = Answer::Error(mount::Errno::IO);
                let _ = self.send(&Message::answer(request, &sorry).pieces());
                false
            }
        }
    }

    /// Makes the kernel request a file's attributes before it uses them again. Its cached content stays, or is dropped
    /// if the attributes differ: dropping it from here could wait for a request that waits for us.
    pub fn forget_attributes(&self, node: Node) {
        // The kernel may have nothing cached for this file.
        let _ = self.send(&Message::forget_attributes(node).pieces());
    }
}

impl AsFd for Device {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Size check of the smallest message of the kernel.
const _: () = assert!(size_of::<abi::fuse_in_header>() <= HEAD);
