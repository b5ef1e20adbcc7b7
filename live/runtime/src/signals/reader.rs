//! A thread that subscribes to a daemon, whenever there is one.

use std::io;
use std::path::PathBuf;

use edges::wait::{Interest, WOKEN, Waiter, WaitingThread};
use rpc::LinkEvent;
use units::Duration;

use super::{Follower, Subscription, SubscriptionError};

/// Pause before the next attempt after a connection has ended, and longest pause; each is twice as long as the one
/// before.
const PAUSE_MIN: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(5);
const SOCKET: u64 = 0;

/// A subscriber of a socket, until it is dropped. A missing daemon is no error: it may start later.
pub struct Reader(#[expect(dead_code, reason = "it ends when it is dropped")] WaitingThread);

impl Reader {
    /// Subscribes at `path`, and calls `hear` with link events, in a thread of its own; if the socket reports several
    /// peers, they count as one hop.
    ///
    /// # Errors
    /// If no thread or descriptor is available.
    pub fn start(path: PathBuf, hear: impl FnMut(LinkEvent) + Send + 'static) -> io::Result<Self> {
        let hear = Box::new(hear);
        let listen = move |waiter| {
            let listener = Listener {
                path,
                waiter,
                pause: PAUSE_MIN,
                hear,
            };
            if let Err(error) = listener.run() {
                tracing::warn!("cannot listen to the daemon of the hop any more: {error}");
            }
        };
        WaitingThread::start("signals", Waiter::new()?, listen).map(Self)
    }
}

/// State of the thread.
struct Listener {
    path: PathBuf,
    waiter: Waiter,
    pause: Duration,
    hear: Box<dyn FnMut(LinkEvent) + Send>,
}

impl Listener {
    fn run(mut self) -> io::Result<()> {
        loop {
            if let Ok(mut subscription) = Subscription::connect(&self.path)
                && self.listen(&mut subscription)?
            {
                return Ok(());
            }
            if self.wait(Some(self.pause))? {
                return Ok(());
            }
            self.pause = (self.pause * 2).min(PAUSE_MAX);
        }
    }

    /// Receives until the connection ends; returns true if the reader is dropped.
    fn listen(&mut self, subscription: &mut Subscription) -> io::Result<bool> {
        self.waiter
            .add(&*subscription, SOCKET, Interest::Readable)?;
        let mut follower = Follower::default();
        loop {
            if self.wait(None)? {
                return Ok(true);
            }
            let Self { pause, hear, .. } = self;
            let received = subscription.receive(|signal| {
                *pause = PAUSE_MIN;
                follower.hear(&signal).into_iter().for_each(&mut *hear);
            });
            let Err(error) = received else { continue };
            if !matches!(error, SubscriptionError::Ended) {
                let path = self.path.display();
                tracing::debug!("what {path} tells is of no use: {error}");
            }
            follower.deafen().into_iter().for_each(&mut self.hear);
            return Ok(false);
        }
    }

    /// Waits; returns true if the reader is dropped.
    fn wait(&mut self, timeout: Option<Duration>) -> io::Result<bool> {
        Ok(self.waiter.wait(timeout)?.any(|ready| ready.token == WOKEN))
    }
}
