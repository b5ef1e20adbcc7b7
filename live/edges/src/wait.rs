//! Waiting for many descriptors at once, with timeouts to the nanosecond.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::thread::{Builder, JoinHandle, current};

use rustix::event::{EventfdFlags, Timespec, epoll, eventfd};
use rustix::io::Errno;
use units::{Duration, Instant};

use crate::clock;

/// Largest number of descriptors that one wait reports; the next wait reports the others.
const EVENTS: usize = 16;

/// Token that reports a call of [`Waker::wake`].
pub const WOKEN: u64 = u64::MAX;

/// Events to watch a descriptor for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interest {
    /// Only the end of the connection, which is reported as readable.
    Gone,
    /// Data to read.
    Readable,
    /// Data to read, or room to write.
    ReadableOrWritable,
    /// New data to read, or new room: each reported once (edge-triggered).
    Changes,
}

impl Interest {
    /// Returns the interest in data to read, and, if `waits`, in room to write.
    pub fn in_room_too(waits: bool) -> Self {
        if waits {
            Self::ReadableOrWritable
        } else {
            Self::Readable
        }
    }
}

/// A descriptor that is ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ready {
    /// The token with which the descriptor was added, or [`WOKEN`].
    pub token: u64,
    /// True if reading returns something: data, an error, or the end.
    pub readable: bool,
    /// True if there is room to write.
    pub writable: bool,
    /// True if the other side sends nothing after the data to read, or an error ended the connection.
    pub ended: bool,
}

/// A set of descriptors to wait for: an `epoll` instance, level-triggered except for [`Interest::Changes`].
pub struct Waiter {
    epoll: OwnedFd,
    wake: Arc<OwnedFd>,
    ready: Vec<Ready>,
}

impl Waiter {
    /// Returns a waiter that watches only its own [`Waker`].
    pub fn new() -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        epoll::add(
            &epoll,
            &wake,
            epoll::EventData::new_u64(WOKEN),
            epoll::EventFlags::IN,
        )?;
        Ok(Self {
            epoll,
            wake: Arc::new(wake),
            ready: Vec::with_capacity(EVENTS),
        })
    }

    /// Adds `descriptor`, which is reported as `token`.
    pub fn add(&self, descriptor: impl AsFd, token: u64, interest: Interest) -> io::Result<()> {
        epoll::add(
            &self.epoll,
            descriptor,
            epoll::EventData::new_u64(token),
            flags(interest),
        )?;
        Ok(())
    }

    /// Changes the events that `descriptor` is watched for.
    pub fn modify(&self, descriptor: impl AsFd, token: u64, interest: Interest) -> io::Result<()> {
        epoll::modify(
            &self.epoll,
            descriptor,
            epoll::EventData::new_u64(token),
            flags(interest),
        )?;
        Ok(())
    }

    /// Removes `descriptor`.
    pub fn remove(&self, descriptor: impl AsFd) -> io::Result<()> {
        epoll::delete(&self.epoll, descriptor)?;
        Ok(())
    }

    /// Returns a handle with which another thread can end a wait.
    pub fn waker(&self) -> Waker {
        Waker(Arc::clone(&self.wake))
    }

    /// Waits like [`wait`](Self::wait), until a time of the [monotonic clock](clock::monotonic); returns at once if
    /// that has passed.
    pub fn wait_until(
        &mut self,
        deadline: Option<Instant>,
    ) -> io::Result<impl Iterator<Item = Ready>> {
        self.wait(deadline.map(|deadline| deadline.since(clock::monotonic())))
    }

    /// Waits until a descriptor is ready, a [`Waker`] was used, or `timeout` has passed (`None`: for ever), and returns
    /// the ready descriptors. A signal ends the wait early, without any.
    ///
    /// The timeout is exact to the nanosecond (`epoll_pwait2`, Linux 5.11) plus the timer slack of the thread: see
    /// [`sharpen_timers`].
    pub fn wait(&mut self, timeout: Option<Duration>) -> io::Result<impl Iterator<Item = Ready>> {
        let timeout = timeout.map(|span| Timespec {
            tv_sec: i64::try_from(span.as_nanos() / 1_000_000_000).unwrap_or(i64::MAX),
            tv_nsec: (span.as_nanos() % 1_000_000_000) as _,
        });
        self.ready.clear();
        let mut events = [const { MaybeUninit::uninit() }; EVENTS];
        match epoll::wait(&self.epoll, &mut events, timeout.as_ref()) {
            Ok((events, _)) => self.ready.extend(events.iter().map(ready)),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        if self.ready.iter().any(|ready| ready.token == WOKEN) {
            forget_wakes(self.wake.as_fd())?;
        }
        Ok(self.ready.iter().copied())
    }
}

impl AsFd for Waiter {
    /// Returns a descriptor that is readable while any descriptor of the waiter is ready, so that one waiter can wait
    /// for another.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}

/// Ends the wait of a [`Waiter`] from any thread; several calls before the next wait count as one.
#[derive(Debug, Clone)]
pub struct Waker(Arc<OwnedFd>);

impl Waker {
    /// Makes the current wait, or the next one, return at once.
    pub fn wake(&self) -> io::Result<()> {
        count_up(self.0.as_fd())
    }
}

/// A notification from other threads to a [`Waiter`] of one thread. Several rings before it is reset count as one.
#[derive(Debug, Clone)]
pub struct Notifier(Arc<OwnedFd>);

impl Notifier {
    /// Returns a bell that has not been rung.
    pub fn new() -> io::Result<Self> {
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self(Arc::new(bell)))
    }

    /// Makes the bell readable.
    pub fn ring(&self) -> io::Result<()> {
        count_up(self.0.as_fd())
    }

    /// Resets the bell; returns true if it had been rung.
    pub fn hear(&self) -> io::Result<bool> {
        forget_wakes(self.0.as_fd())
    }
}

impl AsFd for Notifier {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// A thread that waits for descriptors. When this is dropped, the thread is [woken](WOKEN), which requests its end, and
/// is joined, unless it drops this itself.
#[derive(Debug)]
pub struct WaitingThread {
    waker: Waker,
    thread: Option<JoinHandle<()>>,
}

impl WaitingThread {
    /// Starts `run` with its waiter in a thread called `name`.
    ///
    /// # Errors
    /// If the system cannot start a thread.
    pub fn start(
        name: &str,
        waiter: Waiter,
        run: impl FnOnce(Waiter) + Send + 'static,
    ) -> io::Result<Self> {
        let waker = waiter.waker();
        let thread = Builder::new()
            .name(name.into())
            .spawn(move || run(waiter))?;
        Ok(Self {
            waker,
            thread: Some(thread),
        })
    }
}

impl Drop for WaitingThread {
    fn drop(&mut self) {
        let is_woken = self.waker.wake().is_ok();
        let is_another = |thread: &JoinHandle<()>| thread.thread().id() != current().id();
        if let Some(thread) = self.thread.take().filter(is_another)
            && is_woken
        {
            // If it has panicked, its message was printed already.
            let _ = thread.join();
        }
    }
}

/// Sets the timer slack of the calling thread to the minimum, so that its timeouts end on time, and not up to 50 µs
/// later to let the kernel save wake-ups.
pub fn sharpen_timers() -> io::Result<()> {
    rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1))?;
    Ok(())
}

fn count_up(wake: BorrowedFd<'_>) -> io::Result<()> {
    match rustix::io::write(wake, &1_u64.to_ne_bytes()) {
        // The counter is full: it wakes already.
        Ok(_) | Err(Errno::AGAIN) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn forget_wakes(wake: BorrowedFd<'_>) -> io::Result<bool> {
    match rustix::io::read(wake, &mut [0_u8; 8]) {
        Ok(_) => Ok(true),
        Err(Errno::AGAIN) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn flags(interest: Interest) -> epoll::EventFlags {
    match interest {
        // Errors and the end of both directions are always reported.
        Interest::Gone => epoll::EventFlags::empty(),
        Interest::Readable => epoll::EventFlags::IN,
        Interest::ReadableOrWritable => epoll::EventFlags::IN | epoll::EventFlags::OUT,
        Interest::Changes => {
            epoll::EventFlags::IN
                | epoll::EventFlags::OUT
                | epoll::EventFlags::RDHUP
                | epoll::EventFlags::ET
        }
    }
}

fn ready(event: &epoll::Event) -> Ready {
    // An error or the end is found by reading.
    let reading = epoll::EventFlags::IN | epoll::EventFlags::ERR | epoll::EventFlags::HUP;
    let ending = epoll::EventFlags::RDHUP | epoll::EventFlags::ERR | epoll::EventFlags::HUP;
    let (flags, data) = (event.flags, event.data);
    Ready {
        token: data.u64(),
        readable: flags.intersects(reading),
        writable: flags.contains(epoll::EventFlags::OUT),
        ended: flags.intersects(ending),
    }
}
