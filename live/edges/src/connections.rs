//! The kernel's TCP connections.

use std::io;
use std::net::{IpAddr, SocketAddr};

use wire::flow::Ends;

/// States of an open connection that may only wait: ESTABLISHED, FIN-WAIT-2 and CLOSE-WAIT, in the numbers of Linux.
const OPEN: [&str; 3] = ["01", "05", "08"];

/// Returns the open TCP connections in the calling thread's network namespace, with this host's end as the
/// destination.
///
/// # Errors
/// System errors.
pub fn open_connections() -> io::Result<Vec<Ends>> {
    let mut all = read(&std::fs::read_to_string("/proc/thread-self/net/tcp")?);
    match std::fs::read_to_string("/proc/thread-self/net/tcp6") {
        Ok(table) => all.extend(read(&table)),
        // A kernel without IPv6 has none.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    Ok(all)
}

/// Returns the open connections of a table in the form of `/proc/net/tcp` (`proc_pid_net(5)`).
fn read(table: &str) -> Vec<Ends> {
    let line = |line: &str| {
        let mut fields = line.split_whitespace().skip(1);
        let (local, remote, state) = (fields.next()?, fields.next()?, fields.next()?);
        OPEN.contains(&state).then_some(())?;
        Some(Ends {
            source: address(remote)?,
            destination: address(local)?,
        })
    };
    table.lines().skip(1).filter_map(line).collect()
}

/// Returns the address in `text`: words in the byte order of this host, and a port, as hexadecimal numbers.
fn address(text: &str) -> Option<SocketAddr> {
    let (words, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let mut bytes = Vec::with_capacity(16);
    for start in (0..words.len()).step_by(8) {
        let word = u32::from_str_radix(words.get(start..start + 8)?, 16).ok()?;
        bytes.extend(word.to_ne_bytes());
    }
    let ip = match <[u8; 4]>::try_from(&bytes[..]) {
        Ok(ipv4) => IpAddr::from(ipv4),
        Err(_) => IpAddr::from(<[u8; 16]>::try_from(&bytes[..]).ok()?),
    };
    Some((ip.to_canonical(), port).into())
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn connections_are_found_with_both_families() {
        for listen in ["127.0.0.1:0", "[::1]:0", "[::]:0"] {
            let Ok(listener) = TcpListener::bind(listen) else {
                assert!(listen.starts_with('['), "a host without IPv6");
                continue;
            };
            let port = listener.local_addr().expect("an address").port();
            let host = if listen.contains("::1") {
                "[::1]"
            } else {
                "127.0.0.1"
            };
            let stream = TcpStream::connect(format!("{host}:{port}")).expect("a connection");
            let (accepted, source) = listener.accept().expect("a connection");
            let destination = stream.peer_addr().expect("an address");
            let ends = Ends {
                source: SocketAddr::new(source.ip().to_canonical(), source.port()),
                destination,
            };
            assert!(
                open_connections().expect("a table").contains(&ends),
                "{listen}"
            );
            drop((accepted, stream));
            // In TIME-WAIT, no longer open.
            assert!(
                !open_connections().expect("a table").contains(&ends),
                "{listen}"
            );
        }
    }

    #[test]
    fn broken_lines_are_left_out() {
        let good = "   0: 0100007F:1F90 0200007F:0050 01 00000000:00000000 00:00000000\n";
        let bad = [
            "   0: 0100007F:1F90 0200007F:0050 0A\n",
            "   0: 0100007F 0200007F:0050 01\n",
            "   0: 01007F:1F90 0200007F:0050 01\n",
            "   0: 0100007F01:1F90 0200007F:0050 01\n",
            "   0: \u{e9}00007F:1F90 0200007F:0050 01\n",
            "   0:\n",
        ];
        let table = format!("  sl  local_address\n{}{good}", bad.concat());
        assert_eq!(read(&table).len(), 1);
        assert_eq!(read(&table)[0].destination.port(), 8_080);
    }
}
