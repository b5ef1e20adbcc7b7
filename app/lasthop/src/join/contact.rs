//! The first contact with a gateway, by UDP or by TLS, from this host's usual addresses.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs, UdpSocket};
use std::os::fd::AsFd;
use std::time::Duration;

use edges::clock;
use edges::wait::{Interest, Waiter};
use hosts::{ClaimRefusal, Joining, JoiningInput, JoiningOutput};
use machine::Machine;
use session::{Invitation, PrivateKey};
use units::Instant;
use wire::address::HopAddress;

use super::beside::Beside;
use crate::failure::Failure;
use crate::interrupt;
use crate::{bar, entropy};

/// Longest datagram of a gateway that is read, in bytes.
const LONGEST: usize = 2_048;
/// Most addresses of one endpoint.
const MOST: usize = 4;
/// Longest wait for a datagram: so long after Ctrl-C, the command ends.
const TURN: units::Duration = units::Duration::from_millis(100);

/// What it may mean that an address does not answer, if its host answers by TCP, and if it does not.
const SILENT_UDP: &str = "silent, but its host answers by TCP, so the way there is open. It may be, the most likely \
                          first: a firewall there closes the UDP port, or a network on the way blocks UDP (try another \
                          network); the gateway does not know this line any more (used or revoked long ago)";
const SILENT_HOST: &str = "silent, and its host does not answer by TCP either. It may be, the most likely first: the \
                           host is off or the address is wrong; the network here wants a login first (open any page in \
                           a browser) or blocks the way; the gateway does not know this line any more (used or revoked \
                           long ago), and a firewall drops the rest";
/// Longest wait for an answer by TCP, and most addresses that are tried.
pub(super) const TRY: Duration = Duration::from_secs(1);
const TRIED: usize = 3;

/// An address of the gateway, and what was heard of it.
struct Place {
    /// Index of its endpoint in the invitation.
    endpoint: usize,
    at: SocketAddr,
    socket: Option<UdpSocket>,
    /// The last error of the network.
    error: Option<std::io::Error>,
}

/// Who joins.
pub(crate) struct Newcomer {
    /// Its own key.
    pub(crate) key: PrivateKey,
    /// If it is a gateway that joins a site: true if an earlier run may have claimed its key.
    pub(crate) as_gateway: Option<bool>,
}

/// Where the gateway was reached.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reached {
    /// Index of its endpoint in the invitation.
    pub(crate) endpoint: usize,
    /// The address of that endpoint.
    pub(crate) at: SocketAddr,
}

/// Has the gateway take the key of a newcomer, and returns where it was reached.
pub(crate) fn claim(
    invitation: &Invitation,
    newcomer: Newcomer,
    limit: Duration,
) -> Result<Reached, Failure> {
    let mut unresolved = BTreeMap::new();
    let places = resolve(&invitation.endpoints, &mut unresolved);
    let port = invitation.tls_port;
    let beside = port.map(|port| Beside::new(clock::monotonic(), port.get()));
    let beside = beside.transpose().map_err(Failure::broken)?;
    let mut addresses: Vec<_> = places
        .iter()
        .map(|place| HopAddress::Udp(place.at))
        .collect();
    if let Some(beside) = &beside {
        addresses.extend(places.iter().map(|place| beside.address(place.at)));
    }
    let entropy: [Box<dyn session::Entropy>; 2] =
        [Box::new(entropy::fill), Box::new(entropy::fill)];
    let joining = Joining::new(invitation, newcomer.key, addresses, entropy);
    let joining = joining.ok_or_else(|| {
        Failure::setting("this line is of this host itself; use it on the host that is to join")
    })?;
    let joining = match newcomer.as_gateway {
        Some(has_tried) => joining.as_gateway(invitation.gateway, has_tried),
        None => joining,
    };
    let mut contact = Contact {
        joining,
        places,
        beside,
        waiter: Waiter::new().map_err(Failure::broken)?,
        answered: false,
    };
    interrupt::watch(|_| {})?;
    let bar = bar::bar(
        "{spinner} {msg}",
        std::io::IsTerminal::is_terminal(&std::io::stderr()),
    );
    bar.set_message(format!("asking {} …", invitation.endpoints.join(", ")));
    bar.enable_steady_tick(Duration::from_millis(100));
    let result = contact.run(limit);
    bar.finish_and_clear();
    match result? {
        Some(reached) => Ok(reached),
        None if interrupt::is_set() => Err(Failure::interrupted(
            "interrupted; the line may be used again",
        )),
        None => Err(contact.silence(&unresolved, invitation, limit)),
    }
}

/// Returns the addresses of all endpoints; those without one get a reason.
fn resolve(endpoints: &[String], unresolved: &mut BTreeMap<usize, String>) -> Vec<Place> {
    let mut places = Vec::new();
    for (endpoint, text) in endpoints.iter().enumerate() {
        match text.to_socket_addrs() {
            Ok(found) => places.extend(found.take(MOST).map(|at| open(endpoint, at))),
            Err(error) => drop(unresolved.insert(endpoint, error.to_string())),
        }
    }
    places
}

/// Opens a socket of its own for an address: only a connected one gets the errors that routers report.
fn open(endpoint: usize, at: SocketAddr) -> Place {
    let own: SocketAddr = match at {
        SocketAddr::V4(_) => ([0, 0, 0, 0], 0).into(),
        SocketAddr::V6(_) => ([0u16; 8], 0).into(),
    };
    let opened = UdpSocket::bind(own).and_then(|socket| {
        socket.connect(at)?;
        socket.set_nonblocking(true)?;
        Ok(socket)
    });
    let (socket, error) = match opened {
        Ok(socket) => (Some(socket), None),
        Err(error) => (None, Some(error)),
    };
    Place {
        endpoint,
        at,
        socket,
        error,
    }
}

/// The exchange with the gateway.
struct Contact {
    joining: Joining,
    places: Vec<Place>,
    /// Connections of TLS, if the gateway has a port for them.
    beside: Option<Beside>,
    waiter: Waiter,
    /// True if the gateway has answered.
    answered: bool,
}

impl Contact {
    /// Runs until the gateway has taken the key; returns where it was reached, or `None` if it did not answer in this
    /// time.
    fn run(&mut self, limit: Duration) -> Result<Option<Reached>, Failure> {
        for (token, place) in self.places.iter().enumerate() {
            if let Some(socket) = &place.socket {
                self.waiter
                    .add(socket.as_fd(), token as u64, Interest::Readable)
                    .map_err(Failure::broken)?;
            }
        }
        if let Some(beside) = &self.beside {
            let token = self.places.len() as u64;
            self.waiter
                .add(beside.as_fd(), token, Interest::Readable)
                .map_err(Failure::broken)?;
        }
        let end = clock::monotonic() + units::Duration::from_nanos(limit.as_nanos() as u64);
        let wall = clock::wall().as_nanos();
        self.joining
            .handle_input(clock::monotonic(), JoiningInput::Begin(wall));
        loop {
            if let Some(result) = self.carry_out() {
                return result.map(Some);
            }
            let now = clock::monotonic();
            if now >= end || interrupt::is_set() {
                return Ok(None);
            }
            self.wait((now + TURN).min(end))?;
        }
    }

    /// Sends what there is to send; returns the result, if there is one.
    fn carry_out(&mut self) -> Option<Result<Reached, Failure>> {
        while let Some(output) = self.joining.poll_output() {
            match output {
                JoiningOutput::Datagram(to, bytes) => self.send(to, &bytes),
                JoiningOutput::Answered(_) => {
                    self.answered = true;
                    if let Some(beside) = &mut self.beside {
                        beside.is_answered();
                    }
                }
                JoiningOutput::Joined(at) => {
                    let place = self.place_at(at)?;
                    return Some(Ok(Reached {
                        endpoint: place.endpoint,
                        at: place.at,
                    }));
                }
                JoiningOutput::Refused(reason) => return Some(Err(refused(reason))),
                JoiningOutput::Declined(reason) => {
                    return Some(Err(Failure::setting(hosts::decline_words(reason))));
                }
                JoiningOutput::OtherVersion(is_older) => {
                    return Some(Err(Failure::setting(other_version(is_older))));
                }
            }
        }
        None
    }

    fn send(&mut self, to: HopAddress, bytes: &[u8]) {
        match (to, &mut self.beside) {
            (HopAddress::Tls(to), Some(beside)) => beside.send(clock::monotonic(), to, bytes),
            _ => {
                if let Some(place) = self.place_at(to)
                    && let Some(socket) = &place.socket
                    && let Err(error) = socket.send(bytes)
                {
                    place.error = Some(error);
                }
            }
        }
    }

    fn place_at(&mut self, at: HopAddress) -> Option<&mut Place> {
        let beside = self.beside.as_ref();
        let mut places = self.places.iter_mut();
        places.find(|place| {
            HopAddress::Udp(place.at) == at
                || beside.is_some_and(|beside| beside.address(place.at) == at)
        })
    }

    /// Waits for datagrams until `latest`, and handles them.
    fn wait(&mut self, latest: Instant) -> Result<(), Failure> {
        let due = machine::earlier(self.joining.poll_timeout(), Some(latest));
        let due = machine::earlier(due, self.beside.as_ref().and_then(Beside::due));
        let ready = self.waiter.wait_until(due).map_err(Failure::broken)?;
        let ready: Vec<_> = ready.map(|ready| ready.token as usize).collect();
        for place in ready {
            self.read(place);
        }
        let now = clock::monotonic();
        if let Some(beside) = &mut self.beside {
            beside.act(now);
            // Its descriptor covers all connections, and a look at them costs little.
            for (from, datagram) in beside.receive(now).map_err(Failure::broken)? {
                let input = JoiningInput::Datagram(from, datagram);
                self.joining.handle_input(now, input);
            }
        }
        if self.joining.poll_timeout().is_some_and(|due| due <= now) {
            self.joining.handle_timeout(now);
        }
        Ok(())
    }

    fn read(&mut self, place: usize) {
        let mut bytes = [0; LONGEST];
        let Some(Place {
            at,
            socket: Some(socket),
            error,
            ..
        }) = self.places.get_mut(place)
        else {
            return;
        };
        let from = HopAddress::Udp(*at);
        match socket.recv(&mut bytes) {
            Ok(length) => {
                let input = JoiningInput::Datagram(from, bytes[..length].to_vec());
                self.joining.handle_input(clock::monotonic(), input);
            }
            Err(found) if found.kind() == ErrorKind::WouldBlock => {}
            Err(found) => *error = Some(found),
        }
    }

    /// Returns the error that nobody has answered, with all that was heard.
    fn silence(
        &self,
        unresolved: &BTreeMap<usize, String>,
        invitation: &Invitation,
        limit: Duration,
    ) -> Failure {
        if self.answered {
            return Failure::broken(
                "the gateway has answered, but not taken this host's key; its log says why. Run the same line again: \
                 it goes on where it was",
            );
        }
        let mut text = format!("no gateway has answered within {} s", limit.as_secs());
        for (endpoint, error) in unresolved {
            let host = &invitation.endpoints[*endpoint];
            // Writing to a string cannot fail.
            let _ = write!(
                text,
                "\n  {host}: the name cannot be resolved ({error}); check this host's DNS"
            );
        }
        for (tries, place) in self.places.iter().enumerate() {
            let what = match &place.error {
                Some(error) => meaning(error),
                None if tries < TRIED && answers_tcp(place.at) => SILENT_UDP.into(),
                None => SILENT_HOST.into(),
            };
            let beside = self.beside.as_ref().filter(|_| tries < TRIED);
            let beside = beside.map_or_else(String::new, |beside| beside.describe(place.at));
            let _ = write!(text, "\n  {}: {what}{beside}", place.at);
        }
        Failure::broken(text)
    }
}

/// Returns true if a host answers a connection request, if only with a refusal.
fn answers_tcp(at: SocketAddr) -> bool {
    match TcpStream::connect_timeout(&at, TRY) {
        Ok(_) => true,
        Err(error) => error.kind() == ErrorKind::ConnectionRefused,
    }
}

fn other_version(is_older: bool) -> &'static str {
    if is_older {
        "the gateway speaks only older versions of the protocol; update lasthop there"
    } else {
        "the gateway speaks only later versions of the protocol; update lasthop on this host"
    }
}

/// Returns what an error of the network means here.
fn meaning(error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::ConnectionRefused => {
            "the host is there, but no gateway runs at this port; start it with `lasthop gateway up`".into()
        }
        ErrorKind::NetworkUnreachable | ErrorKind::HostUnreachable => {
            format!("there is no route ({error}); connect this host to a network")
        }
        ErrorKind::PermissionDenied => format!("a firewall forbids it ({error})"),
        _ => error.to_string(),
    }
}

fn refused(reason: ClaimRefusal) -> Failure {
    Failure::setting(match reason {
        ClaimRefusal::Fixed => {
            "the gateway knows this key, but not as an invitation; ask for a new line (`lasthop invite`)"
        }
        ClaimRefusal::Expired => {
            "the line has expired; ask for another one (`lasthop invite` on the gateway)"
        }
        ClaimRefusal::Failed => {
            "the gateway cannot store this host's key (its log says why); run the same line again when that is mended"
        }
    })
}
