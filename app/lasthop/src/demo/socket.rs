//! TCP sockets in a namespace, with a chosen congestion control.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use socket2::{Domain, Socket, Type};

/// Opens a listener at `address` whose connections send with `congestion_control`.
pub(crate) fn listen(address: SocketAddr, congestion_control: &str) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    socket.set_tcp_congestion(congestion_control.as_bytes())?;
    socket.bind(&address.into())?;
    socket.listen(16)?;
    Ok(socket.into())
}

/// Opens a connection to `address` that sends with `congestion_control`.
pub(crate) fn connect(
    address: SocketAddr,
    congestion_control: &str,
    patience: Duration,
) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    socket.set_tcp_congestion(congestion_control.as_bytes())?;
    socket.connect_timeout(&address.into(), patience)?;
    Ok(socket.into())
}

/// Returns the names of the congestion controls that this kernel has.
pub(crate) fn congestion_controls() -> Vec<String> {
    let all = edges::sysctl::read("net/ipv4/tcp_available_congestion_control").unwrap_or_default();
    all.split_whitespace().map(str::to_owned).collect()
}
