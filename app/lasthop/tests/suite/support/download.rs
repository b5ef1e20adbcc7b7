//! A download by one TCP connection that goes on until it is told to end.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use edges::namespace::Namespace;

use super::{FIXED_HOST, Hosts, connect, wait_until};

/// The download. Each byte is checked.
pub(crate) struct Download<'a> {
    logs: Box<dyn Fn() -> String + Sync + 'a>,
    received: AtomicU64,
    /// Longest time without a byte, in milliseconds.
    pause: AtomicU64,
    ends: AtomicBool,
}

impl<'a> Download<'a> {
    /// Runs `act` while the mobile host downloads from the fixed host.
    pub(crate) fn during(hosts: &'a Hosts, act: impl FnOnce(&Self)) {
        Self::between([&hosts.mobile, &hosts.fixed], || hosts.logs(), act);
    }

    /// Runs `act` while one host downloads from another; if the download ends, the test fails and prints `logs`.
    pub(crate) fn between(
        [mobile, fixed]: [&Namespace; 2],
        logs: impl Fn() -> String + Sync + 'a,
        act: impl FnOnce(&Self),
    ) {
        let (client, server) = connect(mobile, fixed, FIXED_HOST).unwrap();
        let download = Self {
            logs: Box::new(logs),
            received: AtomicU64::new(0),
            pause: AtomicU64::new(0),
            ends: AtomicBool::new(false),
        };
        thread::scope(|scope| {
            scope.spawn(|| download.serve(server));
            scope.spawn(|| download.fetch(client));
            let _end = End(&download);
            download.goes_on();
            act(&download);
        });
    }

    fn serve(&self, mut server: TcpStream) {
        let mut at = 0_u64;
        while !self.ends.load(Ordering::Relaxed) {
            let bytes: Vec<u8> = (at..at + 1_000).map(byte).collect();
            server.write_all(&bytes).unwrap();
            at += 1_000;
        }
    }

    fn fetch(&self, mut client: TcpStream) {
        let mut buffer = [0; 16_384];
        let mut last = Instant::now();
        loop {
            let count = client.read(&mut buffer).unwrap();
            let pause = last.elapsed().as_millis() as u64;
            self.pause.fetch_max(pause, Ordering::Relaxed);
            last = Instant::now();
            if count == 0 {
                return;
            }
            let at = self.received.load(Ordering::Relaxed);
            let expected = (at..at + count as u64).map(byte);
            assert!(expected.eq(buffer[..count].iter().copied()), "at {at}");
            self.received.fetch_add(count as u64, Ordering::Relaxed);
        }
    }

    /// Returns the longest time without a byte since the last call.
    pub(crate) fn take_pause(&self) -> Duration {
        Duration::from_millis(self.pause.swap(0, Ordering::Relaxed))
    }

    /// Waits until another megabyte has come.
    pub(crate) fn goes_on(&self) {
        let before = self.received.load(Ordering::Relaxed);
        wait_until("the download goes on", &self.logs, || {
            self.received.load(Ordering::Relaxed) > before + 1_000_000
        });
    }
}

fn byte(at: u64) -> u8 {
    (at.wrapping_mul(0x9e37_79b9) >> 16) as u8
}

/// Ends the download also if an assertion fails.
struct End<'a>(&'a Download<'a>);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.ends.store(true, Ordering::Relaxed);
    }
}
