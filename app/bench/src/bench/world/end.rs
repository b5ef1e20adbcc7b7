//! The programs on the hosts: a server, a downloader, and a sender of small requests.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use socket2::SockRef;

/// Bytes of a small request, and of its reply.
const SMALL: usize = 200;
const EVERY: Duration = Duration::from_millis(100);
/// Time limit for a server to appear.
const PATIENCE: Duration = Duration::from_secs(20);

/// The times of a visit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Visit {
    pub(super) address: SocketAddr,
    /// Time that does not count, and total time.
    pub(super) first: Duration,
    pub(super) last: Duration,
}

/// Measurements of a visitor.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Report {
    /// Bytes received in the time that counts.
    pub(super) bytes: u64,
    /// Delay of each request of that time, in microseconds; one without a reply counts until the end.
    pub(super) delays_us: Vec<u64>,
}

/// A server for any number of connections, until it is dropped.
pub(super) struct Server {
    listener: TcpListener,
    streams: Arc<Mutex<Vec<TcpStream>>>,
}

impl Server {
    /// Starts a server at that address of the host on which this is called.
    pub(super) fn start(address: SocketAddr) -> io::Result<Self> {
        let server = Self {
            listener: TcpListener::bind(address)?,
            streams: Arc::default(),
        };
        let (listener, streams) = (server.listener.try_clone()?, Arc::clone(&server.streams));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let stream = stream?;
                let mut streams = streams.lock().unwrap_or_else(PoisonError::into_inner);
                streams.push(stream.try_clone()?);
                // The end of one connection does not matter to the others.
                thread::spawn(move || answer(stream));
            }
            Ok::<_, io::Error>(())
        });
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Threads that wait for these sockets continue, and end.
        let _ = SockRef::from(&self.listener).shutdown(Shutdown::Both);
        let streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        for stream in &*streams {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

/// Answers a connection. Its first line is the request: `ask`, or a congestion control with which to send data.
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

/// Connects as soon as a server listens, and sends the request.
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

/// Downloads until the end of the visit; the server sends with that congestion control.
pub(super) fn fetch(visit: &Visit, sender: &str) -> io::Result<Report> {
    let begun = Instant::now();
    let Visit { first, last, .. } = *visit;
    let mut stream = connect(visit.address, sender)?;
    let mut room = vec![0; 1 << 16];
    let mut told = Report::default();
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

fn is_late(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), Interrupted | TimedOut | WouldBlock)
}

/// Sends a request of 200 bytes for as many every 100 ms.
pub(super) fn ask(visit: &Visit) -> io::Result<Report> {
    let begun = Instant::now();
    let Visit { first, last, .. } = *visit;
    let mut stream = connect(visit.address, "ask")?;
    let mut answers = stream.try_clone()?;
    // Requests are sent on time, even if earlier ones have no reply yet.
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
    let mut told = Report::default();
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
            note(&mut told, start + EVERY * count, first, begun.elapsed());
            count += 1;
        }
    }
    // The requests without a reply.
    while start + EVERY * count < last {
        note(&mut told, start + EVERY * count, first, last);
        count += 1;
    }
    Ok(told)
}

/// Records that the request made at `at` was answered or given up.
fn note(told: &mut Report, at: Duration, first: Duration, now: Duration) {
    if at >= first {
        told.delays_us
            .push(now.saturating_sub(at).as_micros() as u64);
    }
}
