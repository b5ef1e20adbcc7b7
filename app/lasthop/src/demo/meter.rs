//! Reception of a file, and the counter of its bytes.

use std::io::{self, Read};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use edges::clock;
use ring::digest::{Context, Digest, SHA256};
use units::{Duration, Instant};

use super::plan::Sample;

/// Resolution of the samples in time.
const GRAIN: Duration = Duration::from_millis(10);
/// Time until a transfer notices that it was stopped.
const ATTENTION: Duration = Duration::from_millis(50);
const BUFFER: usize = 256 << 10;

/// State that is shared with a transfer while it runs.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    /// Number of bytes that have arrived.
    bytes: AtomicU64,
    stop: AtomicBool,
}

impl Meter {
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Stops the transfer soon.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// The data that were received.
pub(crate) struct Received {
    pub(crate) samples: Vec<Sample>,
    pub(crate) digest: Digest,
    /// True if it is all of the file.
    pub(crate) whole: bool,
    pub(crate) failure: Option<io::Error>,
}

/// Start of a transfer, and its latest end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    pub(crate) start: Instant,
    pub(crate) end: Instant,
}

/// Takes `size` bytes from `reader`, which reads from `stream`, until the end of `window` or a stop.
pub(crate) fn receive(
    reader: &mut dyn Read,
    stream: &TcpStream,
    size: u64,
    window: Window,
    meter: &Meter,
) -> Received {
    let mut received = Received {
        samples: Vec::new(),
        digest: Context::new(&SHA256).finish(),
        whole: false,
        failure: None,
    };
    let mut context = Context::new(&SHA256);
    let mut buffer = vec![0; BUFFER];
    let mut bytes = 0;
    received.failure = stream.set_read_timeout(Some(ATTENTION.into())).err();
    while received.failure.is_none() && bytes < size {
        if meter.is_stopped() || clock::monotonic() >= window.end {
            break;
        }
        let most = usize::try_from(size - bytes).unwrap_or(BUFFER).min(BUFFER);
        match reader.read(&mut buffer[..most]) {
            Ok(0) => received.failure = Some(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => {
                context.update(&buffer[..count]);
                bytes += count as u64;
                meter.bytes.store(bytes, Ordering::Relaxed);
                note(
                    &mut received.samples,
                    clock::monotonic().since(window.start),
                    bytes,
                );
            }
            Err(error) if is_pause(&error) => {}
            Err(error) => received.failure = Some(error),
        }
    }
    received.whole = bytes == size;
    received.digest = context.finish();
    received
}

/// Returns true if the error is only a read timeout.
pub(crate) fn is_pause(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), WouldBlock | TimedOut | Interrupted)
}

/// Keeps the first and the last sample of each interval of [`GRAIN`].
fn note(samples: &mut Vec<Sample>, at: Duration, bytes: u64) {
    let sample = Sample { at, bytes };
    if let [.., before, last] = samples.as_mut_slice()
        && at - before.at < GRAIN
    {
        *last = sample;
        return;
    }
    samples.push(sample);
}
