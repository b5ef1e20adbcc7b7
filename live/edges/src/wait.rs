//! Waiting for many descriptors at once, with deadlines to the nanosecond.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::thread::{Builder, JoinHandle, current};

use rustix::event::{EventfdFlags, Timespec, epoll, eventfd};
use rustix::io::Errno;
use units::{Duration, Instant};

use crate::clock;

/// How many descriptors one wait can report; the others are reported by the next one.
const EVENTS: usize = 16;

/// The token under which a call of [`Waker::wake`] is reported.
pub const WOKEN: u64 = u64::MAX;

/// What a descriptor is watched for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interest {
    /// Nothing but that the other side is gone, which is then reported as readable.
    Gone,
    /// There is something to read.
    Readable,
    /// There is something to read, or room to write.
    ReadableOrWritable,
    /// Something new came to be read, or there is room again: each reported once (edge-triggered).
    Changes,
}

impl Interest {
    /// In what there is to read; and in room, while something waits for it.
    pub fn in_room_too(waits: bool) -> Self {
        if waits {
            Self::ReadableOrWritable
        } else {
            Self::Readable
        }
    }
}

/// A descriptor that can be used now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ready {
    /// The token with which the descriptor was added, or [`WOKEN`].
    pub token: u64,
    /// Reading gives something: data, an error, or the end.
    pub readable: bool,
    /// There is room to write.
    pub writable: bool,
    /// The other side sends nothing after what there is to read, or nothing comes because of an error.
    pub ended: bool,
}

/// A set of descriptors to wait for: an `epoll` instance, level-triggered but for [`Interest::Changes`].
pub struct Waiter {
    epoll: OwnedFd,
    wake: Arc<OwnedFd>,
    ready: Vec<Ready>,
}

impl Waiter {
    /// A waiter that watches nothing but its own [`Waker`].
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

    /// Watches `descriptor`, which is reported as `token`.
    pub fn add(&self, descriptor: impl AsFd, token: u64, interest: Interest) -> io::Result<()> {
        epoll::add(
            &self.epoll,
            descriptor,
            epoll::EventData::new_u64(token),
            flags(interest),
        )?;
        Ok(())
    }

    /// Changes what `descriptor` is watched for.
    pub fn modify(&self, descriptor: impl AsFd, token: u64, interest: Interest) -> io::Result<()> {
        epoll::modify(
            &self.epoll,
            descriptor,
            epoll::EventData::new_u64(token),
            flags(interest),
        )?;
        Ok(())
    }

    /// Watches `descriptor` no longer.
    pub fn remove(&self, descriptor: impl AsFd) -> io::Result<()> {
        epoll::delete(&self.epoll, descriptor)?;
        Ok(())
    }

    /// A handle with which another thread can end a wait.
    pub fn waker(&self) -> Waker {
        Waker(Arc::clone(&self.wake))
    }

    /// As [`wait`](Self::wait), until a point of the [monotonic clock](clock::monotonic); at once if that is over.
    pub fn wait_until(
        &mut self,
        deadline: Option<Instant>,
    ) -> io::Result<impl Iterator<Item = Ready>> {
        self.wait(deadline.map(|deadline| deadline.since(clock::monotonic())))
    }

    /// Waits until a descriptor is ready, a [`Waker`] was used, or `timeout` is over (`None`: for
    /// ever), and gives what is ready. A signal ends the wait early, with nothing ready.
    ///
    /// The timeout is kept to the nanosecond (`epoll_pwait2`, Linux 5.11) plus the timer slack of the
    /// thread: see [`sharpen_timers`].
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
    /// What is readable while anything that the waiter waits for is ready, so that one waiter can wait for another.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}

/// Ends the wait of a [`Waiter`] from any thread; calls before the next wait count as one.
#[derive(Debug, Clone)]
pub struct Waker(Arc<OwnedFd>);

impl Waker {
    /// Makes the current wait, or the next one, return at once.
    pub fn wake(&self) -> io::Result<()> {
        count_up(self.0.as_fd())
    }
}

/// What a [`Waiter`] of one thread waits for and other threads ring. Rings before it is heard count as one.
#[derive(Debug, Clone)]
pub struct Bell(Arc<OwnedFd>);

impl Bell {
    /// A bell that nobody has rung.
    pub fn new() -> io::Result<Self> {
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self(Arc::new(bell)))
    }

    /// Makes it readable.
    pub fn ring(&self) -> io::Result<()> {
        count_up(self.0.as_fd())
    }

    /// Makes it silent again; says whether it had been rung.
    pub fn hear(&self) -> io::Result<bool> {
        forget_wakes(self.0.as_fd())
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// A thread that waits for descriptors. Dropped, it is [woken](WOKEN), which it takes as the wish that it end, and its
/// end is waited for, unless it is the thread itself that drops it.
#[derive(Debug)]
pub struct WaitingThread {
    waker: Waker,
    thread: Option<JoinHandle<()>>,
}

impl WaitingThread {
    /// Starts `run` with its waiter in a thread of that name.
    ///
    /// # Errors
    /// When the system has no thread.
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
            // If it has panicked, its message has been seen.
            let _ = thread.join();
        }
    }
}

/// Lets timeouts of the calling thread end when they are due, and not up to 50 µs later so that the
/// kernel can save wake-ups.
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
        // Errors and the end of both ways are reported unasked.
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
