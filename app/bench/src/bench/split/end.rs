//! The programs inside the hosts: the ends of a connection, and loads for the check of the method. They print their
//! results, and do nothing else while they are measured.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use socket2::{Domain, Socket, Type};

use crate::failure::Failure;

/// Largest number of bytes read at once.
const AT_ONCE: usize = 65_536;
/// Period of a spin and its rest.
const PERIOD: Duration = Duration::from_millis(100);

/// The program to run.
#[derive(clap::Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    work: Work,
}

#[derive(clap::Subcommand)]
enum Work {
    /// One end of a connection, which takes the commands `go`, `count`, `stop` and `check` on standard input.
    Stream(StreamOptions),
    /// Uses the processor for a share of the time.
    Spin {
        /// Share of the processor, in per cent
        #[arg(long)]
        share: u32,
    },
    /// Sends datagrams of 1,000 bytes, after any input on standard input.
    Datagrams {
        #[arg(long)]
        to: SocketAddr,
        #[arg(long)]
        count: u32,
        /// Milliseconds between two datagrams
        #[arg(long)]
        each_ms: u32,
    },
}

#[derive(clap::Args)]
struct StreamOptions {
    /// Wait at the address for the other end; else connect to it
    #[arg(long)]
    listen: bool,
    #[arg(long)]
    address: SocketAddr,
    /// The congestion control
    #[arg(long)]
    sender: String,
    /// Bytes to send
    #[arg(long)]
    send: usize,
    /// Bytes to wait for
    #[arg(long)]
    expect: usize,
}

/// Runs the program until it is done or killed.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let done = match &options.work {
        Work::Stream(stream) => End::new(stream).and_then(End::obey),
        Work::Spin { share } => spin(*share),
        Work::Datagrams { to, count, each_ms } => datagrams(*to, *count, *each_ms),
    };
    done.map_err(|error| Failure::Found(format!("an end cannot go on: {error}")))
}

fn say(word: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{word}")?;
    out.flush()
}

/// Returns bytes that are equal at both ends, for any length (xorshift, Marsaglia 2003).
fn content(length: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let words = (0..length.div_ceil(8)).flat_map(|_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    });
    let mut bytes: Vec<u8> = words.collect();
    bytes.truncate(length);
    bytes
}

/// One end of a connection.
struct End {
    /// The socket, until it is used.
    socket: Option<Socket>,
    address: SocketAddr,
    listens: bool,
    shared: Arc<Shared>,
    /// The reading thread. It stays until the sender is dropped: the processor time of an ended thread cannot be read.
    reader: Option<(JoinHandle<Vec<u8>>, Sender<()>)>,
    /// Data that the reader does not have yet: a buffer, and the bytes to send.
    start: Option<(Vec<u8>, Vec<u8>)>,
}

#[derive(Default)]
struct Shared {
    received: AtomicUsize,
    stream: Mutex<Option<TcpStream>>,
}

impl End {
    fn new(stream: &StreamOptions) -> io::Result<Self> {
        let socket = Socket::new(Domain::for_address(stream.address), Type::STREAM, None)?;
        // A namespace has the default of the machine, and not every other one may be set there for all.
        socket.set_tcp_congestion(stream.sender.as_bytes())?;
        if stream.listen {
            socket.bind(&stream.address.into())?;
            socket.listen(1)?;
        }
        Ok(Self {
            socket: Some(socket),
            address: stream.address,
            listens: stream.listen,
            shared: Arc::default(),
            reader: None,
            // The buffer is filled, so that no page is first touched during the measurement.
            start: Some((vec![1; stream.expect], content(stream.send))),
        })
    }

    /// Carries out commands until the input ends.
    fn obey(mut self) -> io::Result<()> {
        if self.listens {
            self.go();
        }
        say("ready")?;
        for line in io::stdin().lines() {
            match line?.as_str() {
                "go" => self.go(),
                "count" => {
                    let count = self.shared.received.load(Ordering::Acquire);
                    say(&format!("received {count}"))?;
                }
                "stop" => self.stop(),
                "check" => {
                    let intact = self.check();
                    say(if intact {
                        "content intact"
                    } else {
                        "content different"
                    })?;
                }
                other => return Err(io::Error::other(format!("'{other}' is no command"))),
            }
        }
        Ok(())
    }

    fn go(&mut self) {
        let (Some(socket), Some((room, bytes))) = (self.socket.take(), self.start.take()) else {
            return;
        };
        let (listens, address) = (self.listens, self.address);
        let shared = Arc::clone(&self.shared);
        let (stay, gone) = mpsc::channel();
        let reader = thread::spawn(move || {
            let connected = if listens {
                socket.accept().map(|(stream, _)| stream)
            } else {
                socket.connect(&address.into()).map(|()| socket)
            };
            let got = match connected {
                Ok(stream) => exchange(&shared, stream.into(), room, bytes),
                Err(_) => room,
            };
            let _: Result<(), _> = gone.recv();
            got
        });
        self.reader = Some((reader, stay));
    }

    fn stream(&self) -> Option<TcpStream> {
        let stream = self.shared.stream.lock();
        stream.unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Ends the connection in any state.
    fn stop(&mut self) {
        if let Some(stream) = self.stream() {
            // It may have ended already.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Returns true if all received bytes are equal to the sent ones.
    fn check(&mut self) -> bool {
        let count = self.shared.received.load(Ordering::Acquire);
        if count == 0 {
            // The connection may not be accepted yet, while the reader still waits.
            return true;
        }
        self.stop();
        let got = self.reader.take().and_then(|(reader, stay)| {
            drop(stay);
            reader.join().ok()
        });
        let count = self.shared.received.load(Ordering::Acquire);
        got.is_some_and(|got| got[..count] == content(count))
    }
}

/// Sends and receives; returns the received bytes.
fn exchange(shared: &Shared, stream: TcpStream, mut room: Vec<u8>, bytes: Vec<u8>) -> Vec<u8> {
    let (Ok(stop), Ok(mut out)) = (stream.try_clone(), stream.try_clone()) else {
        return room;
    };
    *shared.stream.lock().unwrap_or_else(PoisonError::into_inner) = Some(stop);
    if !bytes.is_empty() {
        // The other end shows if all was sent.
        thread::spawn(move || out.write_all(&bytes));
    }
    let (mut stream, mut got) = (stream, 0);
    while got < room.len() {
        let end = room.len().min(got + AT_ONCE);
        match stream.read(&mut room[got..end]) {
            Ok(0) => break,
            Ok(count) => {
                got += count;
                shared.received.store(got, Ordering::Release);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    if got > 0 && got == room.len() {
        // If this line is lost, the bench requests the count.
        let _ = say("done");
    }
    room
}

fn spin(share: u32) -> io::Result<()> {
    let busy = PERIOD * share / 100;
    say("ready")?;
    let mut begun = Instant::now();
    loop {
        while begun.elapsed() < busy {
            std::hint::spin_loop();
        }
        begun += PERIOD;
        thread::sleep(begun.saturating_duration_since(Instant::now()));
    }
}

fn datagrams(to: SocketAddr, count: u32, each_ms: u32) -> io::Result<()> {
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    say("ready")?;
    io::stdin().lines().next().transpose()?;
    let begun = Instant::now();
    for number in 0..count {
        socket.send_to(&[0; 1_000], to)?;
        let next = begun + Duration::from_millis(1) * each_ms * number;
        thread::sleep(next.saturating_duration_since(Instant::now()));
    }
    say("done")
}

#[cfg(test)]
mod tests {
    use super::content;

    #[test]
    fn the_content_begins_alike_whatever_its_length() {
        let long = content(1_000);
        assert_eq!(long.len(), 1_000);
        assert_eq!(content(13)[..], long[..13]);
        assert_ne!(long[..8], long[8..16]);
    }
}
