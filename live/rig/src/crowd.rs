//! Many mobile hosts without daemons that join one gateway at the same time, each with a line of its own.

use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

use edges::clock;
use edges::namespace::Namespace;
use hosts::{Joining, JoiningInput, JoiningOutput};
use machine::{Machine, RandomStream};
use session::{Entropy, Invitation, PrivateKey, PublicKey};
use wire::address::HopAddress;

use crate::raw_mobile::open;
use crate::{Failure, RawIdentity, RawMobile};

/// Interval in which an idle mobile host sends, so that NATs keep its binding; as RFC 3948 §4 has it.
const KEEPALIVE: Duration = Duration::from_secs(20);
/// Longest datagram of the gateway, in bytes.
const LONGEST: usize = 2_048;
/// Time that all may take to join.
const PATIENCE: Duration = Duration::from_mins(10);

/// The mobile hosts, which all stand on one host.
pub struct Crowd<'a> {
    host: &'a Namespace,
    gateway: SocketAddr,
    gateway_key: PublicKey,
    guests: Vec<Guest>,
}

impl<'a> Crowd<'a> {
    /// Opens a socket for each of the lines that `lasthop invite` has printed.
    pub fn new(host: &'a Namespace, gateway: SocketAddr, lines: &str) -> Result<Self, Failure> {
        let read = |(number, line): (usize, &str)| {
            let text = line.trim().strip_prefix("lasthop join ").unwrap_or(line);
            let wrong = |error| Failure::Found(format!("line {number} of `invite`: {error}"));
            Invitation::parse(text).map_err(wrong)
        };
        let invitations: Result<Vec<_>, Failure> = lines.lines().enumerate().map(read).collect();
        let invitations = invitations?;
        let Some(first) = invitations.first() else {
            return Err(Failure::Found("no join lines".into()));
        };
        let guests = invitations.iter().enumerate();
        let guests = guests.map(|(number, invitation)| {
            Guest::new(open(host, gateway)?, gateway, number, invitation)
        });
        Ok(Self {
            host,
            gateway,
            gateway_key: first.gateway,
            guests: guests.collect::<Result<_, Failure>>()?,
        })
    }

    /// Has all join at the same time; returns when the last one has joined.
    pub fn join(&mut self) -> Result<(), Failure> {
        let begun = Instant::now();
        for guest in &mut self.guests {
            let wall = clock::wall().as_nanos();
            let begin = JoiningInput::Begin(wall);
            guest.joining.handle_input(clock::monotonic(), begin);
        }
        loop {
            for guest in &mut self.guests {
                guest.act()?;
            }
            let waiting = self.guests.iter().filter(|guest| !guest.has_joined).count();
            if waiting == 0 {
                return Ok(());
            }
            if begun.elapsed() > PATIENCE {
                let what = format!("{waiting} of a crowd have not joined after {PATIENCE:?}");
                return Err(Failure::Found(what));
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Connects all, one after the other.
    pub fn connect(&self) -> Result<Vec<RawMobile>, Failure> {
        let connect = |number| {
            let identity = RawIdentity::new(key(number), self.gateway_key);
            RawMobile::connect(self.host, self.gateway, identity)
        };
        (0..self.guests.len()).map(connect).collect()
    }
}

/// Keeps the sessions of idle mobile hosts for some time: each sends what keeps a NAT's binding, at a time of its own.
pub fn idle(mobiles: &mut [RawMobile], span: Duration) {
    let count = u32::try_from(mobiles.len()).unwrap_or(u32::MAX);
    let apart = KEEPALIVE / count.max(1);
    let begun = Instant::now();
    let mut due: Vec<_> = (0..count).map(|number| begun + apart * number).collect();
    while begun.elapsed() < span {
        for (mobile, due) in mobiles.iter_mut().zip(&mut due) {
            if Instant::now() >= *due && mobile.send(&[]) {
                *due += KEEPALIVE;
            }
            mobile.receive(|_| ());
        }
    }
}

/// Returns the key of a mobile host of a crowd.
fn key(number: usize) -> PrivateKey {
    RawIdentity::key_named(&name(number))
}

fn name(number: usize) -> String {
    format!("one of a crowd, {number}")
}

/// A mobile host that joins.
struct Guest {
    socket: UdpSocket,
    gateway: HopAddress,
    joining: Joining,
    has_joined: bool,
}

impl Guest {
    fn new(
        socket: UdpSocket,
        gateway: SocketAddr,
        number: usize,
        invitation: &Invitation,
    ) -> Result<Self, Failure> {
        let failed = |error| Failure::Found(format!("a socket of a crowd: {error}"));
        socket.set_nonblocking(true).map_err(failed)?;
        let entropy = [0, 1].map(|session| {
            let name = format!("{}, session {session}", name(number));
            let mut stream = RandomStream::named(clock::wall().as_nanos(), &name);
            let draw = move |bytes: &mut [u8]| stream.fill(bytes);
            Box::new(draw) as Box<dyn Entropy>
        });
        let gateway = HopAddress::Udp(gateway);
        let unusable = || Failure::Found("one of a crowd: its line has its own key".into());
        let joining = Joining::new(invitation, key(number), vec![gateway], entropy);
        Ok(Self {
            socket,
            gateway,
            joining: joining.ok_or_else(unusable)?,
            has_joined: false,
        })
    }

    /// Reads and sends what there is.
    fn act(&mut self) -> Result<(), Failure> {
        let now = clock::monotonic();
        let mut bytes = [0; LONGEST];
        match self.socket.recv(&mut bytes) {
            Ok(length) => {
                let datagram = bytes[..length].to_vec();
                let input = JoiningInput::Datagram(self.gateway, datagram);
                self.joining.handle_input(now, input);
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(Failure::Found(format!("cannot receive: {error}"))),
        }
        if self.joining.poll_timeout().is_some_and(|due| due <= now) {
            self.joining.handle_timeout(now);
        }
        while let Some(output) = self.joining.poll_output() {
            match output {
                // What is lost is sent again.
                JoiningOutput::Datagram(_, datagram) => drop(self.socket.send(&datagram)),
                JoiningOutput::Answered(_) => {}
                JoiningOutput::Joined(_) => self.has_joined = true,
                other => return Err(Failure::Found(format!("not joined: {other:?}"))),
            }
        }
        Ok(())
    }
}
