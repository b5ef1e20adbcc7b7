//! A download of which each arrival is recorded.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rig::Namespace;
use socket2::SockRef;

use super::beside::there;
use crate::failure::Failure;

/// Time that a connection may take to open.
const PATIENCE: Duration = Duration::from_secs(20);

/// Bytes that have arrived so far, with the time in seconds.
#[derive(Default)]
pub(crate) struct Arrivals {
    pub(crate) all: Vec<(f64, u64)>,
    /// The connection has ended, or its bytes were not those that were sent.
    pub(crate) is_lost: bool,
}

/// Length of the content, which is sent again and again: no power of two, so that no lost segment goes unnoticed.
const CONTENT: usize = 65_521;

/// Returns the byte at this place of the content.
fn byte(place: u64) -> u8 {
    (place % CONTENT as u64 % 251) as u8
}

impl Arrivals {
    /// Returns the bytes that had arrived at this time.
    pub(crate) fn until(&self, at: f64) -> u64 {
        let later = self.all.partition_point(|(time, _)| *time <= at);
        later.checked_sub(1).map_or(0, |last| self.all[last].1)
    }

    /// Returns the rate between two times, in bits per second.
    pub(crate) fn rate(&self, from: f64, to: f64) -> f64 {
        (self.until(to) - self.until(from)) as f64 * 8.0 / (to - from)
    }

    /// Returns the longest time without a byte between two times, in seconds.
    pub(crate) fn longest_gap(&self, from: f64, to: f64) -> f64 {
        let times = self.all.iter().map(|(time, _)| *time);
        let within = times.filter(|time| (from..=to).contains(time));
        let (mut last, mut longest) = (from, 0.0_f64);
        for time in within.chain([to]) {
            longest = longest.max(time - last);
            last = time;
        }
        longest
    }
}

/// Begins a download without end from a fixed host with this address; its TCP has this congestion control.
pub(crate) fn download(
    [fixed, mobile]: [&Namespace; 2],
    address: &str,
    sender: &str,
    begun: Instant,
    arrivals: Arc<Mutex<Arrivals>>,
) -> Result<(), Failure> {
    let listener = there(fixed, || TcpListener::bind((address, 0)))?;
    let at = there(fixed, || listener.local_addr())?;
    let mut client = there(mobile, || TcpStream::connect_timeout(&at, PATIENCE))?;
    let (mut server, _) = there(fixed, || listener.accept())?;
    there(fixed, || {
        SockRef::from(&server).set_tcp_congestion(sender.as_bytes())
    })?;
    let content: Vec<_> = (0..CONTENT as u64).map(byte).collect();
    thread::spawn(move || while server.write_all(&content).is_ok() {});
    thread::spawn(move || {
        let mut buffer = vec![0; 65_536];
        let mut total = 0;
        while let Ok(count @ 1..) = client.read(&mut buffer) {
            let expected = (total..).map(byte);
            if !buffer[..count].iter().copied().eq(expected.take(count)) {
                break;
            }
            total += count as u64;
            let now = begun.elapsed().as_secs_f64();
            arrivals.lock().expect("no panic").all.push((now, total));
        }
        arrivals.lock().expect("no panic").is_lost = true;
    });
    Ok(())
}
