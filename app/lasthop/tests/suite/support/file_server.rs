//! The server of files of `sim/fileserver` on sockets of this machine, so that a program can be tested against
//! it without root and without packages.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};

use fileserver::{Config, Input, Output, Peer, RecordStream, Server};
use machine::Machine;
use units::Instant;

use super::turn::Turn;

/// The largest datagram, and the longest record; a server refuses what is too long for it in better words.
const DATAGRAM_MAX: usize = 65_535;
const RECORD_MAX: usize = 1 << 25;

/// A server that runs until it is dropped. Then its port is closed, and streams end.
pub(crate) struct FileServer {
    address: SocketAddr,
    events: Sender<Event>,
    threads: Vec<JoinHandle<()>>,
    _turn: Turn,
}

/// What the thread of the server hears.
enum Event {
    /// How to reach a client.
    Came(Peer, Route),
    /// A client's connection ended.
    Left(Peer),
    /// Something for the server.
    Input(Input),
    /// Something to be done with the server.
    Do(Box<dyn FnOnce(&mut Server) + Send>),
    /// The end.
    Stop,
}

/// The way to a client.
enum Route {
    Datagrams(SocketAddr),
    Stream(TcpStream),
}

impl FileServer {
    /// A server of this machine only. NFS, MOUNT and the port mapper all answer at its one port, over UDP and TCP.
    pub(crate) fn start(config: Config) -> io::Result<Self> {
        loop {
            let datagrams = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
            match TcpListener::bind(datagrams.local_addr()?) {
                Ok(listener) => return Self::on(datagrams, listener, config),
                // Some other program has this port for TCP.
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// A server on sockets of one port, in whatever network namespace they were made.
    pub(crate) fn on(
        datagrams: UdpSocket,
        listener: TcpListener,
        config: Config,
    ) -> io::Result<Self> {
        let turn = Turn::take();
        let address = datagrams.local_addr()?;
        let port = address.port();
        let server = Server::new(Config { port, ..config }).map_err(io::Error::other)?;
        let (events, heard) = mpsc::channel();
        let peers = Arc::new(AtomicU64::new(0));
        let (replies, first, second) = (datagrams.try_clone()?, events.clone(), events.clone());
        let same_peers = Arc::clone(&peers);
        let threads = vec![
            thread::spawn(move || serve(server, &heard, &replies)),
            thread::spawn(move || hear_datagrams(&datagrams, &first, &peers)),
            thread::spawn(move || accept(&listener, &second, &same_peers)),
        ];
        Ok(Self {
            address,
            events,
            threads,
            _turn: turn,
        })
    }

    /// Where it listens, over UDP and TCP.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Does something with the server: looks at it, or adds files.
    pub(crate) fn with<T: Send + 'static>(
        &self,
        act: impl FnOnce(&mut Server) -> T + Send + 'static,
    ) -> T {
        let (sender, receiver) = mpsc::channel();
        self.tell(Event::Do(Box::new(move |server| {
            // Nobody waits for the result only if the test has ended.
            drop(sender.send(act(server)));
        })));
        receiver
            .recv()
            .expect("the server runs until it is dropped")
    }

    /// Restarts the server, or breaks something.
    pub(crate) fn input(&self, input: Input) {
        self.tell(Event::Input(input));
    }

    fn tell(&self, event: Event) {
        let told = self.events.send(event);
        told.expect("the server runs until it is dropped");
    }
}

impl Drop for FileServer {
    fn drop(&mut self) {
        // The server may have panicked; then the other threads end all the same.
        drop(self.events.send(Event::Stop));
        let mut threads = self.threads.drain(..);
        let ended = threads.next().map(JoinHandle::join);
        // What waits for a client hears one more, and sees that nobody listens to it.
        let any = SocketAddr::new(self.address.ip(), 0);
        let woken = UdpSocket::bind(any).and_then(|socket| socket.send_to(&[], self.address));
        let connected = TcpStream::connect(self.address);
        if woken.is_ok() && connected.is_ok() {
            for thread in threads {
                drop(thread.join());
            }
        }
        if !thread::panicking() {
            assert!(matches!(ended, Some(Ok(()))), "the server panicked");
        }
    }
}

/// Drives the server.
fn serve(mut server: Server, events: &Receiver<Event>, datagrams: &UdpSocket) {
    let start = std::time::Instant::now();
    let now = || Instant::ZERO + start.elapsed().into();
    let mut routes = BTreeMap::new();
    loop {
        let event = match server.poll_timeout() {
            Some(due) => events.recv_timeout(due.since(now()).into()),
            None => events.recv().map_err(Into::into),
        };
        match event {
            Ok(Event::Came(peer, route)) => drop(routes.insert(peer, route)),
            Ok(Event::Left(peer)) => drop(routes.remove(&peer)),
            Ok(Event::Input(input)) => server.handle_input(now(), input),
            Ok(Event::Do(act)) => act(&mut server),
            Err(RecvTimeoutError::Timeout) => server.handle_timeout(now()),
            Ok(Event::Stop) | Err(RecvTimeoutError::Disconnected) => break,
        }
        while let Some(Output::Send { to, message }) = server.poll_output() {
            // A client that does not hear asks again, or has gone.
            let _ = match routes.get_mut(&to) {
                Some(Route::Datagrams(address)) => datagrams.send_to(&message, *address).map(drop),
                Some(Route::Stream(stream)) => stream.write_all(&RecordStream::write(&message)),
                None => Ok(()),
            };
        }
    }
    for route in routes.values() {
        if let Route::Stream(stream) = route {
            // It may have ended already.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

fn next_peer(peers: &AtomicU64) -> Peer {
    Peer(peers.fetch_add(1, Ordering::Relaxed))
}

/// Hands on datagrams until nobody listens.
fn hear_datagrams(datagrams: &UdpSocket, events: &Sender<Event>, peers: &AtomicU64) {
    let mut known = BTreeMap::new();
    let mut buffer = vec![0; DATAGRAM_MAX];
    loop {
        // An error tells of an earlier reply that could not be delivered.
        let Ok((length, address)) = datagrams.recv_from(&mut buffer) else {
            continue;
        };
        let from = *known.entry(address).or_insert_with(|| {
            let peer = next_peer(peers);
            // That nobody listens shows below.
            let _ = events.send(Event::Came(peer, Route::Datagrams(address)));
            peer
        });
        let message = bytes::Bytes::copy_from_slice(&buffer[..length]);
        let input = Input::Received { from, message };
        if events.send(Event::Input(input)).is_err() {
            return;
        }
    }
}

/// Takes connections until nobody listens.
fn accept(listener: &TcpListener, events: &Sender<Event>, peers: &AtomicU64) {
    for connection in listener.incoming() {
        let Ok(stream) = connection else {
            continue;
        };
        let Ok(replies) = stream.try_clone() else {
            continue;
        };
        let peer = next_peer(peers);
        if events
            .send(Event::Came(peer, Route::Stream(replies)))
            .is_err()
        {
            return;
        }
        let events = events.clone();
        thread::spawn(move || hear_stream(stream, peer, &events));
    }
}

/// Hands on the calls of a connection until it ends.
fn hear_stream(mut stream: TcpStream, peer: Peer, events: &Sender<Event>) {
    let mut calls = RecordStream::new(peer, RECORD_MAX);
    let mut buffer = vec![0; DATAGRAM_MAX];
    while let Ok(length @ 1..) = stream.read(&mut buffer) {
        let Ok(inputs) = calls.read(&buffer[..length]) else {
            break;
        };
        for input in inputs {
            if events.send(Event::Input(input)).is_err() {
                return;
            }
        }
    }
    // A stream that cannot be read on is closed for its client, too.
    let _ = stream.shutdown(Shutdown::Both);
    let _ = events.send(Event::Left(peer));
}
