//! The system calls of a packet socket.

use std::io;
use std::mem::{size_of, size_of_val, zeroed};
use std::os::fd::AsRawFd;

use socket2::Socket;
use units::Duration;
use wire::ethernet::{LENGTH_BYTES, MacAddress, length_of};
use wire::packet::PacketBuffer;

use crate::socket::{receive_messages, send_messages};

/// Number of frames that one system call receives or sends.
pub(super) const BATCH: usize = 64;
/// Room for the payload of a frame, in bytes: more than the longest jumbo frames of network interfaces. A longer one is
/// cut, and so counted as malformed.
pub(super) const ROOM: usize = 10 << 10;

/// A message that the kernel has written into its buffer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Received {
    pub(super) from: MacAddress,
    /// True if it was sent to this station, or to all.
    pub(super) is_for_us: bool,
    /// Length of the payload, in bytes, perhaps with padding.
    pub(super) length: usize,
    /// Wall clock time at which the kernel took it from the device.
    pub(super) stamp: Option<Duration>,
}

impl Default for Received {
    fn default() -> Self {
        Self {
            from: MacAddress::BROADCAST,
            is_for_us: false,
            length: 0,
            stamp: None,
        }
    }
}

/// Room for the only control message requested: the time stamp.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct Control([u8; 64]);

/// Returns the address of a station on the link of an interface.
pub(super) fn link_address(index: u32, ether_type: u16, to: MacAddress) -> libc::sockaddr_ll {
    // SAFETY: zeros are a valid address: of no interface and no type.
    let mut address: libc::sockaddr_ll = unsafe { zeroed() };
    address.sll_family = libc::AF_PACKET as _;
    address.sll_protocol = ether_type.to_be();
    address.sll_ifindex = index as _;
    address.sll_halen = to.0.len() as _;
    address.sll_addr[..to.0.len()].copy_from_slice(&to.0);
    address
}

/// Binds a socket to the interface and type of `address`.
pub(super) fn bind(socket: &Socket, address: &libc::sockaddr_ll) -> io::Result<()> {
    // SAFETY: the call reads one address that lives through it.
    let result = unsafe {
        libc::bind(
            socket.as_raw_fd(),
            (&raw const *address).cast(),
            size_of_val(address) as _,
        )
    };
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Sends at most [`BATCH`] datagrams to one station, each in its frame; returns the number sent.
pub(super) fn send(
    socket: &Socket,
    to: &libc::sockaddr_ll,
    datagrams: &[PacketBuffer],
) -> io::Result<usize> {
    let mut lengths = [[0; LENGTH_BYTES]; BATCH];
    for (length, datagram) in lengths.iter_mut().zip(datagrams) {
        *length = length_of(datagram).ok_or(rustix::io::Errno::MSGSIZE)?;
    }
    let slice = |bytes: &[u8]| libc::iovec {
        iov_base: bytes.as_ptr().cast_mut().cast(),
        iov_len: bytes.len(),
    };
    let mut slices: [[libc::iovec; 2]; BATCH] = std::array::from_fn(|at| {
        let datagram: &[u8] = datagrams.get(at).map_or(&[], |datagram| datagram);
        [slice(&lengths[at]), slice(datagram)]
    });
    let mut headers: [libc::mmsghdr; BATCH] = std::array::from_fn(|at| {
        let mut header = header(&mut slices[at]);
        header.msg_hdr.msg_name = (&raw const *to).cast_mut().cast();
        header.msg_hdr.msg_namelen = size_of_val(to) as _;
        header
    });
    // SAFETY: each header points to the address and to two slices, which point to a length and a datagram's bytes; all
    // of them live through the call, which only reads them.
    unsafe { send_messages(socket, &mut headers[..datagrams.len().min(BATCH)]) }
}

/// Receives up to [`BATCH`] messages, each into [`ROOM`] bytes of `rooms`; returns their number.
pub(super) fn receive(
    socket: &Socket,
    rooms: &mut [u8],
    received: &mut [Received; BATCH],
) -> io::Result<usize> {
    // SAFETY: zeros are a valid address.
    let mut addresses: [libc::sockaddr_ll; BATCH] = unsafe { zeroed() };
    let mut controls = [Control([0; 64]); BATCH];
    let mut rooms = rooms.chunks_exact_mut(ROOM);
    let mut slices: [[libc::iovec; 1]; BATCH] = std::array::from_fn(|_| {
        let room = rooms.next().unwrap_or_default();
        [libc::iovec {
            iov_base: room.as_mut_ptr().cast(),
            iov_len: room.len(),
        }]
    });
    let mut headers: [libc::mmsghdr; BATCH] = std::array::from_fn(|at| {
        let mut header = header(&mut slices[at]);
        header.msg_hdr.msg_name = (&raw mut addresses[at]).cast();
        header.msg_hdr.msg_namelen = size_of::<libc::sockaddr_ll>() as _;
        header.msg_hdr.msg_control = (&raw mut controls[at]).cast();
        header.msg_hdr.msg_controllen = size_of::<Control>() as _;
        header
    });
    // SAFETY: each header points to an address, a control buffer and a slice of a room, with their sizes; all of them
    // live through the call and are borrowed by nobody else.
    let count = unsafe { receive_messages(socket, &mut headers) }?;
    let came = headers.iter().zip(&addresses).take(count);
    for (received, (header, address)) in received.iter_mut().zip(came) {
        *received = Received {
            from: station(address),
            is_for_us: is_for_us(address),
            length: header.msg_len as usize,
            stamp: stamp(&header.msg_hdr),
        };
    }
    Ok(count)
}

/// Returns a message header with some slices.
fn header(slices: &mut [libc::iovec]) -> libc::mmsghdr {
    // SAFETY: zeros are a valid header: no address, no slice, no control data.
    let mut header: libc::mmsghdr = unsafe { zeroed() };
    header.msg_hdr.msg_iov = slices.as_mut_ptr();
    header.msg_hdr.msg_iovlen = slices.len() as _;
    header
}

fn station(address: &libc::sockaddr_ll) -> MacAddress {
    let mut station = [0; 6];
    station.copy_from_slice(&address.sll_addr[..6]);
    MacAddress(station)
}

/// Returns true if the frame is for this station; in promiscuous mode (during a capture, say) the socket also receives
/// others.
fn is_for_us(address: &libc::sockaddr_ll) -> bool {
    matches!(
        address.sll_pkttype,
        libc::PACKET_HOST | libc::PACKET_BROADCAST
    )
}

/// Returns the time stamp among the control messages that the kernel has written.
fn stamp(header: &libc::msghdr) -> Option<Duration> {
    // SAFETY: the kernel has written `msg_controllen` bytes of well-formed control messages into our buffer, which is
    // aligned for them; the walk stays within.
    unsafe {
        let mut message = libc::CMSG_FIRSTHDR(header);
        while let Some(control) = message.as_ref() {
            if (control.cmsg_level, control.cmsg_type) == (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS)
            {
                let time: libc::timespec =
                    std::ptr::read_unaligned(libc::CMSG_DATA(message).cast());
                let seconds = u64::try_from(time.tv_sec).ok()?;
                let nanos = u64::try_from(time.tv_nsec).ok()?;
                return Some(Duration::from_secs(seconds) + Duration::from_nanos(nanos));
            }
            message = libc::CMSG_NXTHDR(header, message);
        }
    }
    None
}
