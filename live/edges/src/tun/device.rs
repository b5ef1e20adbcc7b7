//! A TUN device of the kernel.

use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;

use rustix::io::Errno;
use units::Instant;
use wire::packet::{Checksum, HEADROOM, Packet, PacketBuffer};
use wire::segment::Segments;

use super::header::{self, Header, InvalidHeader};
use super::{DeviceCounters, PacketDevice, ioctl};
use crate::lease::{Renewals, renewal};
use crate::netlink::Netlink;

/// Size of the largest IP packet, in bytes.
const LARGEST_PACKET: usize = 65_535;

const NOT_IP: &str = "the packet is not one of IP";

const CONTROL_FILE: &str = "/dev/net/tun";
const PLAIN_FLAGS: u16 = (libc::IFF_TUN | libc::IFF_NO_PI) as u16;
const HEADER_FLAG: u16 = libc::IFF_VNET_HDR as u16;
const TCP_OFFLOADS: u32 =
    libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO6 | libc::TUN_F_TSO_ECN;
const UDP_OFFLOADS: u32 = libc::TUN_F_USO4 | libc::TUN_F_USO6;

/// Work that kernel and program leave to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offload {
    /// None: every packet fits the MTU and has its checksum.
    None,
    /// Checksums and segmentation: packets of up to 64 KiB stand for many packets.
    Segments,
}

/// Options of a [`TunDevice`].
#[derive(Debug, Clone)]
pub struct TunOptions {
    /// Name of the interface, or a template such as `lasthop%d`, of at most 15 bytes.
    pub name: String,
    /// Work that is left to the other side.
    pub offload: Offload,
    /// Largest number of packets that wait to be received; the kernel drops more. A packet may be a burst of 64 KiB;
    /// but a sender that was held back may send a megabyte at once, in small packets.
    pub queue_length: u32,
}

impl TunOptions {
    /// Returns options for a device called `name` with segmentation offload and a queue of 1,000 packets.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            offload: Offload::Segments,
            queue_length: 1_000,
        }
    }
}

/// A TUN device of the kernel: non-blocking, without packet information. It is removed when dropped.
#[derive(Debug)]
pub struct TunDevice {
    file: File,
    name: String,
    offload: Offload,
    /// True if the kernel accepts trains of UDP datagrams.
    udp_trains: bool,
    counters: DeviceCounters,
    /// Renewals of the lease of addresses, if there is one.
    renewals: Option<Renewals>,
}

impl TunDevice {
    /// Creates a device in the network namespace of this thread. It is down and has no address yet.
    ///
    /// # Errors
    /// An error names the device and, if it is known, the remedy.
    pub fn open(options: &TunOptions) -> io::Result<Self> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC)
            .open(CONTROL_FILE)
            .map_err(|error| refused(&error, &options.name))?;
        let flags = match options.offload {
            Offload::None => PLAIN_FLAGS,
            Offload::Segments => PLAIN_FLAGS | HEADER_FLAG,
        };
        let name = ioctl::set_interface(&file, &options.name, flags)
            .map_err(|error| refused(&error, &options.name))?;
        // By netlink: the ioctl for it is refused in a user namespace, but netlink is not.
        Netlink::open()
            .and_then(|mut netlink| netlink.set_transmit_queue_length(&name, options.queue_length))
            .map_err(io::Error::other)?;
        Self::with_file(file, name, options.offload)
    }

    /// Returns the device, which renews a [`Lease`](crate::lease::Lease) from now on.
    #[must_use]
    pub fn with_lease(self) -> Self {
        Self {
            renewals: Some(Renewals::default()),
            ..self
        }
    }

    /// Takes over a device that was opened in another namespace or process.
    ///
    /// # Errors
    /// If the descriptor is not one of a TUN device without packet information.
    pub fn from_descriptor(descriptor: OwnedFd) -> io::Result<Self> {
        let file = File::from(descriptor);
        let (name, flags) = ioctl::interface(&file)?;
        if flags & PLAIN_FLAGS != PLAIN_FLAGS {
            let message = format!("{name} is not a TUN device without packet information");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        rustix::io::ioctl_fionbio(&file, true)?;
        let offload = if flags & HEADER_FLAG == 0 {
            Offload::None
        } else {
            Offload::Segments
        };
        Self::with_file(file, name, offload)
    }

    fn with_file(file: File, name: String, offload: Offload) -> io::Result<Self> {
        let mut udp_trains = false;
        if offload == Offload::Segments {
            ioctl::set_header_size(&file, header::LENGTH)?;
            udp_trains = ioctl::set_offload(&file, TCP_OFFLOADS | UDP_OFFLOADS).is_ok();
            if !udp_trains {
                ioctl::set_offload(&file, TCP_OFFLOADS)?;
            }
        }
        Ok(Self {
            file,
            name,
            offload,
            udp_trains,
            counters: DeviceCounters::default(),
            renewals: None,
        })
    }

    /// Returns the interface's name at the time of opening.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the descriptor, for [`TunDevice::from_descriptor`] elsewhere.
    pub fn into_descriptor(self) -> OwnedFd {
        self.file.into()
    }

    /// Returns the length of the header before each packet, in bytes.
    fn header_length(&self) -> usize {
        match self.offload {
            Offload::None => 0,
            Offload::Segments => header::LENGTH,
        }
    }

    /// Reads one packet; returns `None` if there is none.
    fn read(&mut self) -> io::Result<Option<Result<Packet, InvalidHeader>>> {
        let before = self.header_length();
        let mut buffer = PacketBuffer::with_room(HEADROOM + LARGEST_PACKET, HEADROOM - before);
        let length = match rustix::io::read(&self.file, buffer.grow(before + LARGEST_PACKET)) {
            Ok(length) => length,
            Err(Errno::AGAIN | Errno::INTR) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        buffer.truncate(length);
        Ok(Some(unpack(buffer, before)))
    }

    /// Writes `packet` to a kernel that accepts only single, complete packets.
    fn write_segments(&self, packet: &mut Packet) -> io::Result<()> {
        if packet.segment_size == 0 {
            if packet.checksum == Checksum::Partial {
                packet.fill_checksum().ok_or_else(|| invalid(NOT_IP))?;
            }
            return self.write(packet);
        }
        let ip = packet.ip().ok_or_else(|| invalid(NOT_IP))?;
        let segments = Segments::of(&ip, packet.segment_size).map_err(invalid)?;
        let mut segment = PacketBuffer::with_room(segments.length(0), 0);
        for index in 0..segments.count() {
            segment.truncate(0);
            let length = segments.length(index);
            segments.write(index, segment.grow(length));
            self.write(&segment)?;
        }
        Ok(())
    }

    /// Writes one complete packet.
    fn write(&self, packet: &[u8]) -> io::Result<()> {
        match self.offload {
            Offload::None => rustix::io::write(&self.file, packet)?,
            Offload::Segments => self.write_with(Header::default(), packet)?,
        };
        Ok(())
    }

    fn write_with(&self, header: Header, packet: &[u8]) -> io::Result<usize> {
        let header = header.bytes();
        let parts = [IoSlice::new(&header), IoSlice::new(packet)];
        Ok(rustix::io::writev(&self.file, &parts)?)
    }
}

impl PacketDevice for TunDevice {
    fn receive(&mut self) -> io::Result<Option<Packet>> {
        while let Some(packet) = self.read()? {
            match packet {
                Ok(packet) => {
                    self.counters.received += 1;
                    return Ok(Some(packet));
                }
                Err(InvalidHeader) => self.counters.malformed += 1,
            }
        }
        Ok(None)
    }

    fn send(&mut self, packet: &mut Packet) -> io::Result<()> {
        if self.offload == Offload::None {
            self.write_segments(packet)?;
        } else {
            let what = "the packet is not what its segment size or checksum state claims";
            let header = Header::for_packet(packet).map_err(|InvalidHeader| invalid(what))?;
            if header.is_udp_train() && !self.udp_trains {
                self.write_segments(packet)?;
            } else {
                self.write_with(header, packet)?;
            }
        }
        self.counters.sent += 1;
        Ok(())
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.renewals.map(Renewals::poll_timeout)
    }

    fn handle_timeout(&mut self, now: Instant) {
        let is_due = self
            .renewals
            .as_mut()
            .is_some_and(|renewals| renewals.is_due(now));
        // If this fails, it is tried again at the next time.
        if is_due && let Err(error) = self.send(&mut renewal()) {
            tracing::debug!("the lease of addresses is not renewed: {error}");
        }
    }

    fn counters(&self) -> DeviceCounters {
        self.counters
    }
}

impl AsFd for TunDevice {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Returns the packet in `buffer`, after its header of `before` bytes.
fn unpack(mut buffer: PacketBuffer, before: usize) -> Result<Packet, InvalidHeader> {
    let header = match before {
        0 => Header::default(),
        _ => Header::parse(*buffer.first_chunk().ok_or(InvalidHeader)?),
    };
    if buffer.len() <= before {
        return Err(InvalidHeader);
    }
    buffer.advance(before);
    let mut packet = Packet::new(buffer.right_sized());
    header.describe(&mut packet)?;
    Ok(packet)
}

fn invalid(what: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what)
}

/// Returns the error for device `name`, with the remedy.
fn refused(error: &io::Error, name: &str) -> io::Error {
    let remedy = match Errno::from_io_error(error) {
        Some(Errno::NOENT | Errno::NODEV | Errno::NXIO) => {
            " (is there a TUN driver? try `modprobe tun`)"
        }
        Some(Errno::PERM | Errno::ACCESS) => " (run as root, or with CAP_NET_ADMIN)",
        Some(Errno::BUSY) => " (another program uses it: choose another name, or end that program)",
        _ => "",
    };
    io::Error::new(
        error.kind(),
        format!("cannot open TUN device {name}: {error}{remedy}"),
    )
}
