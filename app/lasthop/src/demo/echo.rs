//! A small request and its reply, again and again: the delay for a user who works across the hop during a file
//! transfer.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use edges::clock;
use units::{Duration, Instant};

use super::meter::{Meter, is_pause};
use super::plan::Echo;

/// Bytes of a request, and of its reply.
const SIZE: usize = 200;
const INTERVAL: Duration = Duration::from_millis(100);
/// A read timeout must not be zero.
const SHORTEST_WAIT: Duration = Duration::from_micros(100);

/// Sends back everything received at `listener` until the process ends.
pub(crate) fn serve(listener: TcpListener) {
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || reflect(&stream));
        }
    });
}

fn reflect(mut stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut request = [0; SIZE];
    loop {
        stream.read_exact(&mut request)?;
        stream.write_all(&request)?;
    }
}

/// Sends a request every 100 ms from `start` until `meter` stops it, independent of the replies.
pub(crate) fn probe(
    mut stream: &TcpStream,
    start: Instant,
    meter: &Meter,
) -> io::Result<Vec<Echo>> {
    stream.set_nodelay(true)?;
    let mut sent: Vec<Instant> = Vec::new();
    let mut echoes: Vec<Echo> = Vec::new();
    let (mut reply, mut filled) = ([0; SIZE], 0);
    let mut next = start;
    while !meter.is_stopped() {
        let now = clock::monotonic();
        if now >= next {
            stream.write_all(&[0x55; SIZE])?;
            sent.push(now);
            next += INTERVAL;
            continue;
        }
        stream.set_read_timeout(Some(next.since(now).max(SHORTEST_WAIT).into()))?;
        match stream.read(&mut reply[filled..]) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => filled += count,
            Err(error) if is_pause(&error) => {}
            Err(error) => return Err(error),
        }
        if filled == SIZE {
            filled = 0;
            // Replies arrive in the order of the requests.
            let asked = sent[echoes.len()];
            let took = clock::monotonic().since(asked);
            echoes.push(Echo {
                sent: asked.since(start),
                took,
                answered: true,
            });
        }
    }
    let end = clock::monotonic();
    let unanswered = sent[echoes.len()..].iter().map(|asked| Echo {
        sent: asked.since(start),
        took: end.since(*asked),
        answered: false,
    });
    echoes.extend(unanswered);
    Ok(echoes)
}
