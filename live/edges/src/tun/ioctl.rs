//! Safe wrappers of the control calls of `linux/if_tun.h` that TUN devices need.

use std::io;
use std::os::fd::AsFd;

use rustix::ioctl::{self, Opcode};

const SET_INTERFACE: Opcode = libc::TUNSETIFF as Opcode;
const GET_INTERFACE: Opcode = libc::TUNGETIFF as Opcode;
const SET_OFFLOAD: Opcode = libc::TUNSETOFFLOAD as Opcode;
const SET_HEADER_SIZE: Opcode = libc::TUNSETVNETHDRSZ as Opcode;

/// Length of the longest interface name, in bytes (`IFNAMSIZ` without the terminator).
const LONGEST_NAME: usize = 15;

/// `struct ifreq` with the only member of its union that is used here, an integer. Flags are its lower half on
/// little-endian machines, so it is written as two halves.
#[repr(C)]
struct InterfaceRequest {
    name: [u8; LONGEST_NAME + 1],
    value: Value,
    padding: [u64; 2],
}

/// The first eight bytes of the union, as 16-bit units.
type Value = [u16; 4];

const _: () = assert!(size_of::<InterfaceRequest>() == size_of::<libc::ifreq>());

impl InterfaceRequest {
    fn new(name: &str) -> io::Result<Self> {
        let bytes = name.as_bytes();
        if bytes.is_empty() || bytes.len() > LONGEST_NAME || bytes.contains(&0) {
            let message = format!("interface name {name:?}: give 1 to {LONGEST_NAME} bytes");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        let mut request = Self {
            name: [0; LONGEST_NAME + 1],
            value: [0; 4],
            padding: [0; 2],
        };
        request.name[..bytes.len()].copy_from_slice(bytes);
        Ok(request)
    }

    fn name(&self) -> String {
        let length = self
            .name
            .iter()
            .position(|byte| *byte == 0)
            .unwrap_or(LONGEST_NAME);
        String::from_utf8_lossy(&self.name[..length]).into_owned()
    }
}

/// Makes `file`, an open `/dev/net/tun`, the device `name` with `IFF_*` flags; returns the name that the kernel chose.
pub(super) fn set_interface(file: impl AsFd, name: &str, flags: u16) -> io::Result<String> {
    let mut request = InterfaceRequest::new(name)?;
    request.value[0] = flags;
    // SAFETY: TUNSETIFF reads and writes one `struct ifreq`, whose layout `InterfaceRequest` has.
    unsafe {
        let call = ioctl::Updater::<SET_INTERFACE, InterfaceRequest>::new(&mut request);
        ioctl::ioctl(file, call)?;
    }
    Ok(request.name())
}

/// Returns the name and the `IFF_*` flags of the TUN device behind `file`.
pub(super) fn interface(file: impl AsFd) -> io::Result<(String, u16)> {
    let mut request = InterfaceRequest::new("?")?;
    // SAFETY: TUNGETIFF writes one `struct ifreq`, whose layout `InterfaceRequest` has.
    unsafe {
        let call = ioctl::Updater::<GET_INTERFACE, InterfaceRequest>::new(&mut request);
        ioctl::ioctl(file, call)?;
    }
    Ok((request.name(), request.value[0]))
}

/// Sets the `TUN_F_*` offloads that this program accepts.
pub(super) fn set_offload(file: impl AsFd, offloads: u32) -> io::Result<()> {
    // SAFETY: TUNSETOFFLOAD takes its argument by value.
    unsafe {
        let call = ioctl::IntegerSetter::<SET_OFFLOAD>::new_usize(offloads as usize);
        ioctl::ioctl(file, call)?;
    }
    Ok(())
}

/// Sets the length of the header before each packet when `IFF_VNET_HDR` is on, in bytes.
pub(super) fn set_header_size(file: impl AsFd, size: usize) -> io::Result<()> {
    // SAFETY: TUNSETVNETHDRSZ reads one C integer.
    unsafe {
        let call = ioctl::Setter::<SET_HEADER_SIZE, libc::c_int>::new(size as libc::c_int);
        ioctl::ioctl(file, call)?;
    }
    Ok(())
}
