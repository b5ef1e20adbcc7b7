//! Two sockets at one port, among which the kernel divides datagrams by their first byte: `SO_REUSEPORT` (socket(7))
//! with a classic BPF program.

use std::io;
use std::os::fd::AsRawFd;

use socket2::Socket;

use crate::socket::{context, set_option};

/// Positions of the sockets in their group.
const FIRST: u32 = 0;
const SECOND: u32 = 1;

/// Lets sockets that are shared, too, bind the same port.
pub(super) fn share(socket: &Socket) -> io::Result<()> {
    set_option(socket, libc::SOL_SOCKET, libc::SO_REUSEPORT, 1)
        .map_err(|error| context(&error, "cannot share a UDP port"))
}

/// Leads datagrams of at least `least` bytes that begin with `byte` to the first socket of the group, and all others to
/// the second.
pub(super) fn divide(first: &Socket, byte: u8, least: usize) -> io::Result<()> {
    let load = |code: u32| code as u16;
    let statement = |code, k| libc::sock_filter {
        code,
        jt: 0,
        jf: 0,
        k,
    };
    // Where the condition holds the next statement follows, and else the one after `otherwise` others.
    let condition = |code, k, otherwise| libc::sock_filter {
        code,
        jt: 0,
        jf: otherwise,
        k,
    };
    let mut program = [
        statement(load(libc::BPF_LD | libc::BPF_W | libc::BPF_LEN), 0),
        condition(
            load(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K),
            least as u32,
            3,
        ),
        statement(load(libc::BPF_LD | libc::BPF_B | libc::BPF_ABS), 0),
        condition(
            load(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K),
            byte.into(),
            1,
        ),
        statement(load(libc::BPF_RET | libc::BPF_K), FIRST),
        statement(load(libc::BPF_RET | libc::BPF_K), SECOND),
    ];
    let program = libc::sock_fprog {
        len: program.len() as u16,
        filter: program.as_mut_ptr(),
    };
    // SAFETY: the call copies the structure and the program of the length that it says; both live through the call.
    let result = unsafe {
        libc::setsockopt(
            first.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ATTACH_REUSEPORT_CBPF,
            (&raw const program).cast(),
            size_of_val(&program) as _,
        )
    };
    match result {
        0 => Ok(()),
        _ => Err(context(
            &io::Error::last_os_error(),
            "cannot divide the datagrams of a UDP port",
        )),
    }
}
