//! What a process leaves to its successor: its state and its open sockets, in one descriptor, which somebody else can
//! hold meanwhile, e.g. the supervisor (`FDSTORE` of `sd_notify(3)`).
//!
//! A parcel is one end of a pair of Unix sockets. The descriptors wait in its queue, where the kernel keeps them open:
//! a peer of a connection sees no end. If the last copy of a parcel is closed, all that is in it is closed too.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, PoisonError};

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::{Errno, FdFlags, fcntl_setfd, retry_on_intr};
use rustix::net::sockopt::{
    set_socket_send_buffer_size, set_socket_send_buffer_size_force, socket_domain,
    socket_send_buffer_size, socket_type,
};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags,
    SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg,
    sendmsg, socketpair,
};
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// Largest number of descriptors in one message; Linux takes 253 (`SCM_MAX_FD`).
const FILES_PER_MESSAGE: usize = 250;
/// Space for the descriptors of one message.
const CONTROL: usize = rustix::cmsg_space!(ScmRights(FILES_PER_MESSAGE));
/// At least the number of bytes that a small message takes from the buffer of its sender, with the kernel's overhead.
const COST_OF_MESSAGE: usize = 2_048;
/// Largest state, in bytes.
const LARGEST_STATE: usize = 2 << 30;
/// First bytes of a parcel.
const MAGIC: [u8; 8] = *b"lhparcel";
/// Number of the format that is written and read.
const FORMAT: u32 = 1;
/// Number of the first descriptor that a supervisor passes (`SD_LISTEN_FDS_START` of `sd_listen_fds(3)`).
const FIRST_INHERITED: RawFd = 3;

/// Content of the first message, in the byte order of this host. The message carries two descriptors: the file with the
/// state, and the sending end of the pair.
#[derive(FromBytes, IntoBytes, Immutable)]
#[repr(C)]
struct Header {
    magic: [u8; 8],
    format: u32,
    files: u32,
    state_bytes: u64,
}

/// Space for the state of a parcel. A process that is confined makes no files in memory, so it needs one from before.
#[derive(Debug)]
pub struct Space(File);

impl Space {
    /// Returns an empty space.
    ///
    /// # Errors
    /// System errors.
    pub fn new() -> io::Result<Self> {
        Ok(Self(create_memory()?.into()))
    }

    /// Packs a state of at most 2 GiB and any number of files, whose order is kept. This process closes its copies of
    /// the files, even if it fails.
    ///
    /// # Errors
    /// System errors. `ETOOMANYREFS` means that more of this user's descriptors wait in sockets than a process may
    /// open, and the caller has neither `CAP_SYS_RESOURCE` nor `CAP_SYS_ADMIN`.
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) means that the files take more room than the system gives to a socket
    /// (`net.core.wmem_max`).
    pub fn pack(mut self, state: &[u8], files: Vec<OwnedFd>) -> io::Result<Parcel> {
        let count = u32::try_from(files.len());
        let (true, Ok(count)) = (state.len() <= LARGEST_STATE, count) else {
            let reason = "it is too large for a parcel";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
        };
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let (sender, parcel) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
        make_room(&sender, 1 + files.len().div_ceil(FILES_PER_MESSAGE))?;
        self.0.write_all(state)?;
        let header = Header {
            magic: MAGIC,
            format: FORMAT,
            files: count,
            state_bytes: state.len() as u64,
        };
        // With the sending end inside, the pair stays open. A supervisor drops a descriptor whose other end is closed.
        let first = [self.0.as_fd(), sender.as_fd()];
        pass(&sender, header.as_bytes(), &first)?;
        let mut files = files.into_iter();
        while files.len() > 0 {
            let group: Vec<OwnedFd> = files.by_ref().take(FILES_PER_MESSAGE).collect();
            let borrowed: Vec<BorrowedFd<'_>> = group.iter().map(AsFd::as_fd).collect();
            pass(&sender, &[0], &borrowed)?;
        }
        Ok(Parcel(parcel))
    }
}

/// State and sockets of a process, in one descriptor.
#[derive(Debug)]
pub struct Parcel(OwnedFd);

impl Parcel {
    /// Packs a state and files, as [`Space::pack`] does, in a space that is made now.
    ///
    /// # Errors
    /// Those of [`Space::new`] and [`Space::pack`].
    pub fn pack(state: &[u8], files: Vec<OwnedFd>) -> io::Result<Self> {
        Space::new()?.pack(state, files)
    }

    /// Unpacks the state and the files. The other copies of this parcel are empty from now on.
    ///
    /// # Errors
    /// [`UnexpectedEof`](io::ErrorKind::UnexpectedEof) if it was unpacked before;
    /// [`InvalidData`](io::ErrorKind::InvalidData) if it is no parcel, or not complete, or this process may not open so
    /// many files ([`allow_open_files`](crate::process::allow_open_files)); system errors. What is left is then lost,
    /// unless somebody has a copy of the parcel.
    pub fn unpack(self) -> io::Result<(Vec<u8>, Vec<OwnedFd>)> {
        let kind = (socket_domain(&self.0), socket_type(&self.0));
        if kind != (Ok(AddressFamily::UNIX), Ok(SocketType::SEQPACKET)) {
            return Err(broken("it is no parcel: another kind of descriptor"));
        }
        let (header, memory) = self.open()?;
        let mut files = Vec::new();
        while files.len() < header.files as usize {
            match receive(&self.0, &mut [0], RecvFlags::DONTWAIT) {
                Ok((1.., more)) if !more.is_empty() => files.extend(more),
                Ok(_) => return Err(broken("the parcel is not complete: files are missing")),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Err(broken("the parcel is not complete: it is still open"));
                }
                Err(error) => return Err(error),
            }
        }
        if files.len() != header.files as usize {
            return Err(broken("the parcel has more files than it says"));
        }
        Ok((read_state(&memory, header.state_bytes)?, files))
    }

    /// Receives the first message, and closes the sending end that is in it.
    fn open(&self) -> io::Result<(Header, File)> {
        let none = || broken("it is no parcel: it begins with something else");
        let mut bytes = [0; size_of::<Header>()];
        let (length, files) = match receive(&self.0, &mut bytes, RecvFlags::DONTWAIT) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Err(none()),
            received => received?,
        };
        if length == 0 {
            let reason = "the parcel is empty: it was unpacked before";
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, reason));
        }
        let header = Header::read_from_bytes(&bytes[..length]).map_err(|_| none())?;
        if header.magic != MAGIC {
            return Err(none());
        }
        if header.format != FORMAT {
            let format = header.format;
            return Err(broken(&format!(
                "the parcel has the unknown format {format}"
            )));
        }
        let [memory, _sender] = <[OwnedFd; 2]>::try_from(files).map_err(|_| none())?;
        Ok((header, File::from(memory)))
    }

    /// Sends it to a process that waits in [`receive`](Self::receive). If nobody receives it any more, it is dropped.
    ///
    /// # Errors
    /// System errors, e.g. if the other end is closed.
    pub fn send(self, to: &UnixStream) -> io::Result<()> {
        pass(to, &[0], &[self.as_fd()])
    }

    /// Waits for a parcel, at most for the stream's read timeout. Returns none if the stream ends without one.
    ///
    /// # Errors
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) after the timeout; [`InvalidData`](io::ErrorKind::InvalidData) if
    /// something else comes; system errors.
    pub fn receive(from: &UnixStream) -> io::Result<Option<Self>> {
        let (length, files) = receive(from, &mut [0], RecvFlags::empty())?;
        if length == 0 {
            return Ok(None);
        }
        let [file] = <[OwnedFd; 1]>::try_from(files)
            .map_err(|_| broken("the other process sends something, but no parcel"))?;
        Ok(Some(Self(file)))
    }

    /// Returns the parcel with this name that the supervisor has kept for this process, if there is one
    /// (`sd_listen_fds(3)`: `LISTEN_PID`, `LISTEN_FDS`, `LISTEN_FDNAMES`). The supervisor keeps its own copy. A second
    /// call returns none, as the first one has taken it.
    pub fn inherited(name: &str) -> Option<Self> {
        static TAKEN: Mutex<BTreeSet<RawFd>> = Mutex::new(BTreeSet::new());
        let variable = |variable: &str| std::env::var(variable).ok();
        let number = inherited_from(variable, std::process::id(), name)?;
        let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        if !taken.insert(number) {
            return None;
        }
        // SAFETY: it is borrowed for one call, which fails if it is not open.
        let borrowed = unsafe { BorrowedFd::borrow_raw(number) };
        fcntl_setfd(borrowed, FdFlags::CLOEXEC).ok()?;
        // SAFETY: it is open, and the environment says that it was passed to this very process, so no other part of the
        // program has opened it; it is taken only once.
        Some(Self(unsafe { OwnedFd::from_raw_fd(number) }))
    }
}

impl AsFd for Parcel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Sends a message with copies of at most 250 descriptors to a connected Unix socket.
///
/// # Errors
/// System errors; [`InvalidInput`](io::ErrorKind::InvalidInput) if these are too many descriptors.
pub fn pass(socket: impl AsFd, message: &[u8], files: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); CONTROL];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !files.is_empty() && !control.push(SendAncillaryMessage::ScmRights(files)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let pieces = [IoSlice::new(message)];
    let sent = retry_on_intr(|| sendmsg(&socket, &pieces, &mut control, SendFlags::NOSIGNAL))?;
    if sent < message.len() {
        return Err(io::ErrorKind::WriteZero.into());
    }
    Ok(())
}

/// Receives a message, and returns the number of its bytes, 0 at the end, and its descriptors.
fn receive(
    socket: impl AsFd,
    bytes: &mut [u8],
    flags: RecvFlags,
) -> io::Result<(usize, Vec<OwnedFd>)> {
    let flags = flags | RecvFlags::CMSG_CLOEXEC;
    let mut space = [MaybeUninit::uninit(); CONTROL];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut pieces = [IoSliceMut::new(bytes)];
    let received = retry_on_intr(|| recvmsg(&socket, &mut pieces, &mut control, flags))?;
    let mut files = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(descriptors) = message {
            files.extend(descriptors);
        }
    }
    if received.flags.contains(ReturnFlags::CTRUNC) {
        let reason = "not all files arrived: this process may not open so many";
        return Err(broken(reason));
    }
    Ok((received.bytes, files))
}

/// Lets a socket hold this number of messages, as far as allowed.
fn make_room(socket: &OwnedFd, messages: usize) -> io::Result<()> {
    let size = messages * COST_OF_MESSAGE;
    if socket_send_buffer_size(socket)? < size {
        // The first one needs `CAP_NET_ADMIN`.
        set_socket_send_buffer_size_force(socket, size)
            .or_else(|_| set_socket_send_buffer_size(socket, size))?;
    }
    Ok(())
}

/// Creates a file in memory.
fn create_memory() -> Result<OwnedFd, Errno> {
    let create = |flags| memfd_create("parcel", MemfdFlags::CLOEXEC | flags);
    match create(MemfdFlags::NOEXEC_SEAL) {
        // Linux before 6.3.
        Err(Errno::INVAL) => create(MemfdFlags::empty()),
        created => created,
    }
}

fn read_state(memory: &File, length: u64) -> io::Result<Vec<u8>> {
    if length > LARGEST_STATE as u64 {
        return Err(broken("the parcel's state is larger than 2 GiB"));
    }
    if memory.metadata()?.len() != length {
        return Err(broken("the parcel's state has another length than it says"));
    }
    let mut state = vec![0; length as usize];
    memory.read_exact_at(&mut state, 0)?;
    Ok(state)
}

/// Returns the number of the descriptor with this name that these environment variables pass to a process.
fn inherited_from(
    variables: impl Fn(&str) -> Option<String>,
    pid: u32,
    name: &str,
) -> Option<RawFd> {
    let number = |variable| variables(variable)?.parse::<u32>().ok();
    if number("LISTEN_PID")? != pid {
        return None;
    }
    let count = number("LISTEN_FDS")? as usize;
    let names = variables("LISTEN_FDNAMES")?;
    let mut passed = names.split(':').take(count);
    let index = passed.position(|passed| passed == name)?;
    RawFd::try_from(index).ok()?.checked_add(FIRST_INHERITED)
}

fn broken(reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PID: u32 = 77;

    fn find(variables: &[(&str, &str)], name: &str) -> Option<RawFd> {
        let value = |wanted: &str| {
            let found = variables.iter().find(|(name, _)| *name == wanted)?;
            Some(found.1.to_owned())
        };
        inherited_from(value, PID, name)
    }

    fn refusal(parcel: OwnedFd) -> (io::ErrorKind, String) {
        let error = Parcel(parcel).unpack().unwrap_err();
        (error.kind(), error.to_string())
    }

    /// A pair whose first end sends to what looks like a parcel.
    fn pair() -> (OwnedFd, OwnedFd) {
        let (family, flags) = (AddressFamily::UNIX, SocketFlags::CLOEXEC);
        socketpair(family, SocketType::SEQPACKET, flags, None).unwrap()
    }

    fn header(files: u32, state_bytes: u64) -> Header {
        Header {
            magic: MAGIC,
            format: FORMAT,
            files,
            state_bytes,
        }
    }

    /// Unpacks a first message, with an empty state, and what `rest` sends behind it.
    fn refusal_of(header: &Header, rest: impl FnOnce(&OwnedFd)) -> String {
        let (sender, parcel) = pair();
        let memory = create_memory().unwrap();
        let first = [memory.as_fd(), sender.as_fd()];
        pass(&sender, header.as_bytes(), &first).unwrap();
        rest(&sender);
        drop(sender);
        let (kind, words) = refusal(parcel);
        assert_eq!(kind, io::ErrorKind::InvalidData);
        words
    }

    #[test]
    fn an_inherited_parcel_is_found_by_its_name() {
        let (pid, count) = (("LISTEN_PID", "77"), ("LISTEN_FDS", "3"));
        let names = ("LISTEN_FDNAMES", "web:streams:other");
        let all = [pid, count, names];
        assert_eq!(find(&all, "web"), Some(3));
        assert_eq!(find(&all, "streams"), Some(4));
        assert_eq!(find(&all, "stream"), None);
        assert_eq!(find(&all, ""), None);
        // For another process, or not enough of them, or not all that is needed.
        assert_eq!(find(&[("LISTEN_PID", "78"), count, names], "web"), None);
        let one = ("LISTEN_FDS", "1");
        assert_eq!(find(&[pid, one, names], "web"), Some(3));
        assert_eq!(find(&[pid, one, names], "streams"), None);
        assert_eq!(find(&[pid, ("LISTEN_FDS", "-1"), names], "web"), None);
        for missing in 0..all.len() {
            let mut some = all.to_vec();
            some.remove(missing);
            assert_eq!(find(&some, "web"), None);
        }
    }

    #[test]
    fn a_parcel_that_is_not_complete_is_refused() {
        assert!(refusal_of(&header(1, 0), |_| ()).contains("missing"));
        let without_file = |sender: &OwnedFd| pass(sender, &[0], &[]).unwrap();
        assert!(refusal_of(&header(1, 0), without_file).contains("missing"));
        let two_files = |sender: &OwnedFd| {
            pass(sender, &[0], &[sender.as_fd(), sender.as_fd()]).unwrap();
        };
        assert!(refusal_of(&header(1, 0), two_files).contains("more files"));
        assert!(refusal_of(&header(0, 1), |_| ()).contains("another length"));
        assert!(refusal_of(&header(0, 3 << 30), |_| ()).contains("larger"));
        let newer = Header {
            format: 2,
            ..header(0, 0)
        };
        assert!(refusal_of(&newer, |_| ()).contains("format 2"));
    }

    #[test]
    fn a_parcel_whose_sender_is_still_open_is_not_waited_for() {
        let (sender, parcel) = pair();
        let memory = create_memory().unwrap();
        let first = [memory.as_fd(), sender.as_fd()];
        pass(&sender, header(1, 0).as_bytes(), &first).unwrap();
        assert!(refusal(parcel).1.contains("still open"));
        drop(sender);
    }

    #[test]
    fn what_is_no_parcel_is_refused() {
        let no_parcel = |parcel: OwnedFd| {
            let (kind, words) = refusal(parcel);
            assert_eq!(kind, io::ErrorKind::InvalidData);
            assert!(words.contains("no parcel"), "{words}");
        };
        no_parcel(File::open("/dev/null").unwrap().into());
        let (ours, theirs) = UnixStream::pair().unwrap();
        no_parcel(theirs.into());
        drop(ours);

        let (sender, parcel) = pair();
        no_parcel(parcel);
        drop(sender);
        let other = Header {
            magic: *b"somebody",
            ..header(0, 0)
        };
        for bytes in [b"short", other.as_bytes(), &[0; 100]] {
            let (sender, parcel) = pair();
            pass(&sender, bytes, &[]).unwrap();
            no_parcel(parcel);
        }
        // Without its descriptors.
        let (sender, parcel) = pair();
        pass(&sender, header(0, 0).as_bytes(), &[]).unwrap();
        no_parcel(parcel);
    }
}
