//! The programs inside the hosts: one that serves, one that downloads, one that asks small questions.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use socket2::SockRef;

use crate::failure::Failure;

/// A small request, and its answer, in bytes.
const SMALL: usize = 200;
const EVERY: Duration = Duration::from_millis(100);
/// How long a server may take to be there.
const PATIENCE: Duration = Duration::from_secs(20);

/// What to be.
#[derive(clap::Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    work: Work,
}

#[derive(clap::Subcommand)]
enum Work {
    /// Answers whoever comes.
    Serve {
        #[arg(long)]
        address: SocketAddr,
    },
    /// Downloads all that comes.
    Fetch {
        #[command(flatten)]
        visit: Visit,
        /// The server's congestion control
        #[arg(long)]
        sender: String,
    },
    /// Asks for 200 bytes with as many, each 100 ms.
    Ask {
        #[command(flatten)]
        visit: Visit,
    },
}

#[derive(clap::Args)]
struct Visit {
    #[arg(long)]
    address: SocketAddr,
    /// Seconds that do not count
    #[arg(long)]
    skip: u64,
    /// Seconds that do
    #[arg(long)]
    time: u64,
}

/// What a visitor has to tell, as JSON.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Told {
    /// Bytes that came in the time that counts.
    pub(super) bytes: u64,
    /// How long each request of that time took, in microseconds; one that was not answered counts until the end.
    pub(super) delays_us: Vec<u64>,
}

/// Does the work until it is done, or killed.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let told = match &options.work {
        Work::Serve { address } => serve(*address).map(|()| Told::default()),
        Work::Fetch { visit, sender } => fetch(visit, sender),
        Work::Ask { visit } => ask(visit),
    };
    let told = told.map_err(|error| Failure::Found(format!("an end cannot go on: {error}")))?;
    println!(
        "{}",
        serde_json::to_string(&told).expect("numbers under names")
    );
    Ok(())
}

fn serve(address: SocketAddr) -> io::Result<()> {
    let listener = TcpListener::bind(address)?;
    for stream in listener.incoming() {
        let stream = stream?;
        // One that ends is nobody else's matter.
        thread::spawn(move || answer(stream));
    }
    Ok(())
}

/// The first line says what is wanted: `ask`, or a congestion control to be sent to with.
fn answer(mut stream: TcpStream) -> io::Result<()> {
    let mut line = String::new();
    let mut reader = BufReader::new(stream.try_clone()?.take(1 << 40));
    reader.read_line(&mut line)?;
    stream.set_nodelay(true)?;
    if line.trim() == "ask" {
        let mut request = [0; SMALL];
        loop {
            reader.read_exact(&mut request)?;
            stream.write_all(&request)?;
        }
    }
    SockRef::from(&stream).set_tcp_congestion(line.trim().as_bytes())?;
    let bytes = vec![0x5a; 1 << 16];
    loop {
        stream.write_all(&bytes)?;
    }
}

/// Connects, as soon as somebody is there, and says what is wanted.
fn connect(address: SocketAddr, wish: &str) -> io::Result<TcpStream> {
    let begun = Instant::now();
    loop {
        match TcpStream::connect_timeout(&address, Duration::from_secs(10)) {
            Ok(mut stream) => {
                stream.set_nodelay(true)?;
                writeln!(stream, "{wish}")?;
                return Ok(stream);
            }
            Err(error) if begun.elapsed() > PATIENCE => return Err(error),
            Err(_) => thread::sleep(Duration::from_millis(50)),
        }
    }
}

fn fetch(visit: &Visit, sender: &str) -> io::Result<Told> {
    let begun = Instant::now();
    let (first, last) = bounds(visit);
    let mut stream = connect(visit.address, sender)?;
    let mut room = vec![0; 1 << 16];
    let mut told = Told::default();
    loop {
        let left = last.saturating_sub(begun.elapsed());
        if left.is_zero() {
            return Ok(told);
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut room) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) if begun.elapsed() >= first => told.bytes += count as u64,
            Ok(_) => {}
            Err(error) if is_late(&error) => return Ok(told),
            Err(error) => return Err(error),
        }
    }
}

/// Until when nothing counts, and until when all does.
fn bounds(visit: &Visit) -> (Duration, Duration) {
    let first = Duration::from_secs(visit.skip);
    (first, first + Duration::from_secs(visit.time))
}

fn is_late(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), Interrupted | TimedOut | WouldBlock)
}

fn ask(visit: &Visit) -> io::Result<Told> {
    let begun = Instant::now();
    let (first, last) = bounds(visit);
    let mut stream = connect(visit.address, "ask")?;
    let mut answers = stream.try_clone()?;
    // Requests are made on time, whether or not the ones before are answered.
    thread::spawn(move || {
        let mut next = begun.elapsed();
        loop {
            thread::sleep(next.saturating_sub(begun.elapsed()));
            next += EVERY;
            if stream.write_all(&[0x33; SMALL]).is_err() {
                return;
            }
        }
    });
    let start = begun.elapsed();
    let mut told = Told::default();
    let mut count = 0;
    let mut got = 0;
    let mut room = [0; SMALL];
    while begun.elapsed() < last {
        let left = last.saturating_sub(begun.elapsed());
        answers.set_read_timeout(Some(left.max(Duration::from_millis(1))))?;
        match answers.read(&mut room[got..]) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(more) => got += more,
            Err(error) if is_late(&error) => {}
            Err(error) => return Err(error),
        }
        if got == SMALL {
            got = 0;
            note(&mut told, start + EVERY * count, (first, begun.elapsed()));
            count += 1;
        }
    }
    // Those that nobody has answered.
    while start + EVERY * count < last {
        note(&mut told, start + EVERY * count, (first, last));
        count += 1;
    }
    Ok(told)
}

/// A request that was made at `at` was answered, or given up.
fn note(told: &mut Told, at: Duration, (first, now): (Duration, Duration)) {
    if at >= first {
        told.delays_us
            .push(now.saturating_sub(at).as_micros() as u64);
    }
}
