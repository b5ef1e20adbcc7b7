//! The thread that owns the client of files and the socket.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex};

use edges::clock;
use edges::netlink::NetworkWatch;
use edges::wait::{Interest, Ready, Waiter, WaitingThread};
use files::{Client, Input, Output, Ticket};
use machine::{Machine, earlier};
use rpc::LinkEvent;
use units::{Duration, Instant};

use super::connection::{CallError, Command, Connection, Done, Inbox, Observer, Shared};
use super::link::Link;
use super::socket::{LinkNews, Route, SOCKET};
use super::status::{Event, Snapshot, Status};
use crate::lock;
use crate::mount::MountDriver;

/// Token of network changes.
const NETWORK: u64 = 1;
/// Token of the kernel's requests for files.
const KERNEL: u64 = 2;
/// Time that changes of the network may take to settle, as they seldom come alone.
const SETTLING: Duration = Duration::from_millis(100);

/// Initial parts of a driver, from the caller that opened the link and made the first calls through it.
pub(super) struct Parts {
    pub(super) client: Client,
    pub(super) link: Link,
    pub(super) waiter: Waiter,
    pub(super) way: Route,
}

struct Driver {
    client: Client,
    link: Link,
    waiter: Waiter,
    way: Route,
    network: Option<NetworkWatch>,
    /// Time at which the link is notified of a change of the network.
    news_due: Option<Instant>,
    shared: Arc<Shared>,
    /// Callbacks for the results of requests.
    waiting: HashMap<Ticket, Done>,
    observers: Vec<Observer>,
    mount: Option<Box<MountDriver>>,
    silent_since: Option<Instant>,
}

/// Starts the thread.
///
/// # Errors
/// System errors: no thread or no descriptor is available.
pub(super) fn start(parts: Parts) -> io::Result<Connection> {
    let Parts {
        client,
        link,
        waiter,
        way,
    } = parts;
    // Without these notifications a change of address is detected when sending fails.
    let network = NetworkWatch::open().ok();
    if let Some(network) = &network {
        waiter.add(network, NETWORK, Interest::Readable)?;
    }
    let snapshot = Snapshot {
        status: status(&client, &link, way),
        silent_since: None,
    };
    let shared = Arc::new(Shared {
        inbox: Mutex::new(Inbox::default()),
        snapshot: Mutex::new(snapshot),
    });
    let of_driver = Arc::clone(&shared);
    let waker = waiter.waker();
    let run = move |waiter| {
        let driver = Driver {
            client,
            link,
            waiter,
            way,
            network,
            news_due: None,
            shared: of_driver,
            waiting: HashMap::new(),
            observers: Vec::new(),
            mount: None,
            silent_since: None,
        };
        driver.run();
    };
    let thread = WaitingThread::start("files", waiter, run)?;
    Ok(Connection::new(shared, waker, thread))
}

/// Returns the status of the connection, except for the data that only the driver has.
fn status(client: &Client, link: &Link, way: Route) -> Status {
    Status {
        server: way.server,
        protocol: link.protocol(),
        local: link.local_address(),
        silent_for: None,
        calls: client.calls(),
        waiting: client.waiting(),
        unsafe_bytes: client.unsafe_bytes(),
        unsafe_files: client.unsafe_files(),
        reopened: link.reopened(),
    }
}

impl Driver {
    fn run(mut self) {
        while self.turn().unwrap_or_else(|error| {
            tracing::error!("the connection to {} ends: {error}", self.way.server);
            false
        }) {}
        let unread = {
            let mut inbox = lock(&self.shared.inbox);
            inbox.closed = true;
            std::mem::take(&mut inbox.commands)
        };
        let unread = unread.into_iter().filter_map(|command| match command {
            Command::Request(_, done) => Some(done),
            _ => None,
        });
        if let Some(mount) = self.mount.take() {
            mount.end(Err(io::ErrorKind::NotConnected.into()));
        }
        for done in unread.chain(self.waiting.drain().map(|(_, done)| done)) {
            done(Err(CallError::Closed));
        }
    }

    /// Makes one turn: handles commands and deadlines, sends, waits, and receives. Returns false at the end.
    fn turn(&mut self) -> io::Result<bool> {
        let now = clock::monotonic();
        let (commands, closed) = {
            let mut inbox = lock(&self.shared.inbox);
            (std::mem::take(&mut inbox.commands), inbox.closed)
        };
        for command in commands {
            self.carry_out(now, command);
        }
        if closed {
            return Ok(false);
        }
        if self.client.poll_timeout().is_some_and(|due| due <= now) {
            self.client.handle_timeout(now);
            self.drain(now);
        }
        if let Some(mount) = &mut self.mount {
            mount.time_out(now);
            self.drain(now);
        }
        if self.news_due.is_some_and(|due| due <= now) {
            self.news_due = None;
            self.link.network_changed(now);
        }
        self.work(now, None)?;
        self.publish();
        let (socket, has_requests) = self.wait()?;
        let now = clock::monotonic();
        if has_requests {
            self.read_requests(now)?;
        }
        self.work(now, socket)?;
        Ok(true)
    }

    /// Waits; returns the readiness of the socket, and true if the kernel has requests for files.
    fn wait(&mut self) -> io::Result<(Option<Ready>, bool)> {
        let mount = self.mount.as_ref().and_then(|mount| mount.poll_timeout());
        let own = earlier(self.news_due, self.link.poll_timeout());
        let deadline = earlier(mount, earlier(self.client.poll_timeout(), own));
        let (mut socket, mut is_changed, mut has_requests) = (None, false, false);
        for ready in self.waiter.wait_until(deadline)? {
            match ready.token {
                SOCKET => socket = Some(ready),
                NETWORK => is_changed = true,
                KERNEL => has_requests = true,
                _ => {}
            }
        }
        if is_changed
            && let Some(network) = &mut self.network
            && network.changed()?
        {
            self.news_due.get_or_insert(clock::monotonic() + SETTLING);
        }
        Ok((socket, has_requests))
    }

    /// Begins to serve files to the kernel.
    fn begin_mount(&mut self, mount: Box<MountDriver>) {
        match self.waiter.add(&mount.device, KERNEL, Interest::Readable) {
            Ok(()) => self.mount = Some(mount),
            Err(error) => mount.end(Err(error)),
        }
    }

    fn read_requests(&mut self, now: Instant) -> io::Result<()> {
        let Some(mount) = &mut self.mount else {
            return Ok(());
        };
        let goes_on = mount.read(now);
        self.drain(now);
        if !matches!(goes_on, Ok(true))
            && let Some(mount) = self.mount.take()
        {
            self.waiter.remove(&mount.device)?;
            mount.end(goes_on.map(drop));
        }
        Ok(())
    }

    fn carry_out(&mut self, now: Instant, command: Command) {
        match command {
            Command::Request(request, done) => {
                self.waiting.insert(request.ticket, done);
                self.tell(now, Input::Request(*request));
            }
            Command::Cancel(ticket) => {
                if let Some(done) = self.waiting.remove(&ticket) {
                    self.tell(now, Input::Cancel(ticket));
                    done(Err(CallError::Cancelled));
                }
            }
            Command::Link(event) => self.tell(now, Input::Link(event)),
            Command::Observe(observer) => self.observers.push(observer),
            Command::Mount(mount) => self.begin_mount(mount),
        }
    }

    /// Lets the link work, and passes its news to the client.
    fn work(&mut self, now: Instant, ready: Option<Ready>) -> io::Result<()> {
        self.link.work(now, ready, &self.waiter)?;
        let mut is_told = false;
        while let Some(news) = self.link.poll_news() {
            let input = match news {
                LinkNews::Received(bytes) => Input::Received(bytes),
                LinkNews::Connected => Input::Connected,
                LinkNews::Disconnected => Input::Disconnected,
                LinkNews::Moved => Input::Link(LinkEvent::HandoffDone),
                LinkNews::Trouble(error) => {
                    tracing::debug!("on the way to {}: {error}", self.way.server);
                    continue;
                }
            };
            self.tell(now, input);
            is_told = true;
        }
        if is_told {
            self.link.work(now, None, &self.waiter)?;
        }
        Ok(())
    }

    fn tell(&mut self, now: Instant, input: Input) {
        self.client.handle_input(now, input);
        self.drain(now);
    }

    /// Carries out the outputs of the client, and the requests of a mount to the client.
    fn drain(&mut self, now: Instant) {
        loop {
            while let Some(output) = self.client.poll_output() {
                self.carry_out_for_client(now, output);
            }
            let asked = self.mount.as_mut().and_then(|mount| mount.poll_asked());
            let Some(asked) = asked else { return };
            self.client.handle_input(now, asked);
        }
    }

    fn carry_out_for_client(&mut self, now: Instant, output: Output) {
        match output {
            Output::Send(bytes) => self.link.queue(bytes),
            Output::Answer(answer) => {
                if let Some(done) = self.waiting.remove(&answer.ticket) {
                    done(answer.result.map_err(CallError::from));
                } else if let Some(mount) = &mut self.mount {
                    mount.input(now, mount::Input::Files(answer));
                }
            }
            Output::Silent { since } => {
                self.silent_since = Some(since);
                self.notify(Event::Silent { since });
            }
            Output::Answering { after } => {
                self.silent_since = None;
                self.notify(Event::Answering { after });
            }
            Output::Reconnect => self.link.reconnect(now, &self.waiter),
        }
    }

    fn notify(&mut self, event: Event) {
        for observer in &mut self.observers {
            observer(event);
        }
    }

    fn publish(&self) {
        *lock(&self.shared.snapshot) = Snapshot {
            status: status(&self.client, &self.link, self.way),
            silent_since: self.silent_since,
        };
    }
}
