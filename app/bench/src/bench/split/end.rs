//! The programs inside the hosts: the ends of a connection, and what the check of the method needs. They say what they
//! have done on standard output, and do nothing else while it is measured what they use.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use socket2::{Domain, Socket, Type};

use crate::failure::Failure;

/// The most that is read at once, in bytes.
const AT_ONCE: usize = 65_536;
/// How long a spin and its rest last together.
const PERIOD: Duration = Duration::from_millis(100);

/// What to be.
#[derive(clap::Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    work: Work,
}

#[derive(clap::Subcommand)]
enum Work {
    /// One end of a connection, which takes `go`, `count`, `stop` and `check` on standard input.
    PacedTransfer(PacedTransfer),
    /// Uses the processor for a share of the time.
    Spin {
        /// In per cent
        #[arg(long)]
        share: u32,
    },
    /// Sends datagrams of 1,000 bytes, once anything comes on standard input.
    Datagrams {
        #[arg(long)]
        to: SocketAddr,
        #[arg(long)]
        count: u32,
        /// Milliseconds from one to the next
        #[arg(long)]
        each_ms: u32,
    },
}

#[derive(clap::Args)]
struct PacedTransfer {
    /// Waits there for the other end; else connects there
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

/// Does the work until it is done, or killed.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let done = match &options.work {
        Work::PacedTransfer(stream) => End::new(stream).and_then(End::obey),
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

/// Bytes that are the same at both ends, whatever the length (xorshift, Marsaglia 2003).
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
    /// Until it is used.
    socket: Option<Socket>,
    address: SocketAddr,
    listens: bool,
    shared: Arc<Shared>,
    /// It stays until the sender goes: what an ended thread has used cannot be read.
    reader: Option<(JoinHandle<Vec<u8>>, Sender<()>)>,
    /// What is not yet handed to the reader: room, and what to send.
    start: Option<(Vec<u8>, Vec<u8>)>,
}

#[derive(Default)]
struct Shared {
    received: AtomicUsize,
    stream: Mutex<Option<TcpStream>>,
}

impl End {
    fn new(stream: &PacedTransfer) -> io::Result<Self> {
        let socket = Socket::new(Domain::for_address(stream.address), Type::STREAM, None)?;
        // What a namespace has by default is the machine's own, and not every other may be set there for all.
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
            // Filled, so that no page is first touched while it is measured.
            start: Some((vec![1; stream.expect], content(stream.send))),
        })
    }

    /// Does what is said until nothing more is.
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

    /// Ends the connection, wherever it is.
    fn stop(&mut self) {
        if let Some(stream) = self.stream() {
            // It may have ended already.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Whether all that arrived is as it was sent.
    fn check(&mut self) -> bool {
        let count = self.shared.received.load(Ordering::Acquire);
        if count == 0 {
            // Nobody may have answered yet, and the reader still wait.
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

/// Sends and receives; gives what came.
fn exchange(shared: &Shared, stream: TcpStream, mut room: Vec<u8>, bytes: Vec<u8>) -> Vec<u8> {
    let (Ok(stop), Ok(mut out)) = (stream.try_clone(), stream.try_clone()) else {
        return room;
    };
    *shared.stream.lock().unwrap_or_else(PoisonError::into_inner) = Some(stop);
    if !bytes.is_empty() {
        // Whether it all goes shows at the other end.
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
        // Who does not hear it asks for the count.
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
