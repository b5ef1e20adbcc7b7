//! The kernel's TCP connections.

use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::net::{IpAddr, SocketAddr};

use wire::flow::Ends;

/// States in which an application may wait for data: ESTABLISHED, FIN-WAIT-1, FIN-WAIT-2 and CLOSE-WAIT, in the numbers
/// of Linux.
const OPEN: [&str; 4] = ["01", "04", "05", "08"];

/// The kernel's tables of TCP connections of one network namespace. They can be read again after the process has given
/// up its access to files.
#[derive(Debug)]
pub struct ConnectionTables(Vec<File>);

impl ConnectionTables {
    /// Opens the tables of the calling thread's network namespace.
    ///
    /// # Errors
    /// System errors.
    pub fn open() -> io::Result<Self> {
        let mut files = vec![File::open("/proc/thread-self/net/tcp")?];
        match File::open("/proc/thread-self/net/tcp6") {
            Ok(file) => files.push(file),
            // A kernel without IPv6 has none.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        Ok(Self(files))
    }

    /// Returns the connections that are open now, with this host's end as the destination.
    ///
    /// # Errors
    /// System errors.
    pub fn open_connections(&mut self) -> io::Result<Vec<Ends>> {
        let mut all = Vec::new();
        for file in &mut self.0 {
            file.rewind()?;
            let mut table = String::new();
            file.read_to_string(&mut table)?;
            all.extend(read(&table));
        }
        Ok(all)
    }
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
    use std::net::{Shutdown, TcpListener, TcpStream};
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn connections_are_found_with_both_families() {
        let mut tables = ConnectionTables::open().expect("tables");
        let mut is_open = |ends: &Ends| {
            let all = tables.open_connections().expect("tables");
            all.contains(ends)
        };
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
            assert!(is_open(&ends), "{listen}");
            stream.shutdown(Shutdown::Write).expect("an end");
            assert!(is_open(&ends), "{listen}: it may wait for data");
            drop((accepted, stream));
            // In TIME-WAIT, no longer open. A busy kernel takes a moment for the last segments.
            let end = Instant::now() + Duration::from_secs(10);
            while is_open(&ends) {
                assert!(Instant::now() < end, "{listen}");
                std::thread::sleep(Duration::from_millis(1));
            }
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
