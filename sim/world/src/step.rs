//! The steps of a run.

use std::fmt;

use mount::OpenFlags;
use programs::Action;
use units::Duration;

use crate::mounts::DiskFault;
use crate::tape::PIECE;

/// Defines all steps: each has its documentation, its name, its fields with the bytes that they are decoded from, and
/// the sentence that describes it. The place in the table is the kind of a step on tapes, so a new step comes last.
macro_rules! steps {
    ($bytes:ident: $(
        $(#[$doc:meta])*
        $name:ident $({ $($field:ident: $type:ty = $value:expr,)+ })? => $text:literal $(, $word:expr)*;
    )+) => {
        /// One step: an action of an application, a change of the network, a fault, or an act of an attacker.
        ///
        /// `mobile`, `process` and `connection` are indices that count modulo the number of existing ones; `side` is 0
        /// at the mobile host and 1 at the fixed host.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[expect(missing_docs, reason = "the fields are named after their meaning")]
        pub enum Step {
            $($(#[$doc])* $name $({ $($field: $type,)+ })?,)+
        }

        /// Decoders of all kinds.
        const DECODERS: &[fn(Fields) -> Step] = &[
            $(|$bytes| { let _ = $bytes; Step::$name $({ $($field: $value,)+ })? },)+
        ];

        impl fmt::Display for Step {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                match *self {
                    $(Self::$name $({ $($field,)+ })? => write!(out, $text $(, $word)*),)+
                }
            }
        }
    };
}

steps! { bytes:
    /// Time passes.
    Wait { time: Duration = bytes.time(), } => "{time} pass";
    /// A mobile host sends an echo request to a fixed host, or is sent one.
    Echo { mobile: u8 = bytes.who(), side: u8 = bytes.side(), }
        => "mobile {mobile}: an echo request from {}", end(side);
    /// An application opens a TCP connection from one side.
    Open { mobile: u8 = bytes.who(), side: u8 = bytes.side(), }
        => "mobile {mobile}: {} opens a connection", end(side);
    /// An application writes.
    Write {
        connection: u8 = bytes.who(),
        side: u8 = bytes.side(),
        bytes: u32 = u32::from(bytes.second()) << (bytes.byte(6) % 3),
    } => "connection {connection}: {} writes {bytes} bytes", end(side);
    /// An application closes its direction.
    Finish { connection: u8 = bytes.who(), side: u8 = bytes.side(), }
        => "connection {connection}: {} closes its direction", end(side);
    /// An application resets its connection.
    Reset { connection: u8 = bytes.who(), side: u8 = bytes.side(), }
        => "connection {connection}: {} resets it", end(side);
    /// An application stops reading, or reads again.
    Read { connection: u8 = bytes.who(), side: u8 = bytes.side(), reads: bool = bytes.flag(4), }
        => "connection {connection}: {} {}", end(side), either(reads, "reads again", "stops reading");
    /// The share of datagrams that are lost, as a part of 256; directions: bit 0 up, bit 1 down.
    Loss { mobile: u8 = bytes.who(), directions: u8 = bytes.directions(), share: u8 = bytes.byte(2), }
        => "mobile {mobile}: {:.1} % are lost, {}", percent(share), way(directions);
    /// Nothing comes through for a time.
    Fade { mobile: u8 = bytes.who(), directions: u8 = bytes.directions(), time: Duration = bytes.time(), }
        => "mobile {mobile}: a fade of {time}, {}", way(directions);
    /// Another delay, with jitter that reorders.
    Delay { mobile: u8 = bytes.who(), delay: Duration = bytes.delay(), jitter: Duration = bytes.jitter(), }
        => "mobile {mobile}: a delay of {delay} with a jitter of {jitter}";
    /// Another rate, in bit/s.
    Rate { mobile: u8 = bytes.who(), rate: u32 = 9_600 << (bytes.byte(2) % 14), }
        => "mobile {mobile}: a rate of {rate} bit/s";
    /// The share of datagrams that arrive twice, as a part of 256.
    Duplicate { mobile: u8 = bytes.who(), share: u8 = bytes.byte(2), }
        => "mobile {mobile}: {:.1} % arrive twice", percent(share);
    /// The share of datagrams that arrive with an error, as a part of 256.
    Corrupt { mobile: u8 = bytes.who(), share: u8 = bytes.byte(2) % 64, }
        => "mobile {mobile}: {:.1} % arrive with an error", percent(share);
    /// Another MTU of the path, which routers report or not.
    Mtu { mobile: u8 = bytes.who(), mtu: u16 = bytes.mtu(), is_reported: bool = bytes.flag(4), }
        => "mobile {mobile}: an MTU of {mtu}, {}", either(is_reported, "reported", "not reported");
    /// The translator gives the mobile host another port.
    Rebind { mobile: u8 = bytes.who(), } => "mobile {mobile}: its translator changes its port";
    /// The translator forgets the mobile host until it sends again.
    Forget { mobile: u8 = bytes.who(), } => "mobile {mobile}: its translator forgets it";
    /// The mobile host gets another address; it notices or not.
    Move { mobile: u8 = bytes.who(), is_noticed: bool = bytes.flag(2), }
        => "mobile {mobile}: gets another address, {}", either(is_noticed, "noticed", "not noticed");
    /// A daemon is killed after so many more outputs, and starts again after a time.
    Kill { process: u8 = bytes.who(), outputs: u8 = bytes.byte(6), downtime: Duration = bytes.time(), }
        => "process {process}: is killed after {outputs} outputs, for {downtime}";
    /// A daemon does not run for a time.
    Pause { process: u8 = bytes.who(), time: Duration = bytes.time(), } => "process {process}: is paused for {time}";
    /// A daemon's wall clock jumps, by seconds.
    Clock { process: u8 = bytes.who(), seconds: i32 = bytes.seconds(), }
        => "process {process}: its clock is {seconds} s off";
    /// A second host with the key of the mobile host runs for a time.
    Clone { mobile: u8 = bytes.who(), time: Duration = bytes.time(), }
        => "mobile {mobile}: a second host has its key for {time}";
    /// The gateway's address goes to the other gateway.
    FailOver => "the gateway's address goes to the other gateway";
    /// An attacker on the path sends the next datagrams of the mobile host from a victim's address.
    Redirect { mobile: u8 = bytes.who(), count: u8 = bytes.byte(2) % 8 + 1, }
        => "mobile {mobile}: its next {count} datagrams come from a victim's address";
    /// An attacker sends recorded datagrams again, from their own or from the victim's address.
    Replay { count: u8 = bytes.byte(2) % 64 + 1, from_victim: bool = bytes.flag(4), }
        => "{count} recorded datagrams arrive again, from {}",
            either(from_victim, "the victim's address", "their own addresses");
    /// An attacker sends forged datagrams to the gateway or a mobile host.
    Forge { process: u8 = bytes.who(), count: u8 = bytes.byte(2), kind: u8 = bytes.byte(7), }
        => "process {process}: {count} forged datagrams of kind {kind}";
    /// A peer with a valid key sends frames with arbitrary content.
    Hostile { count: u8 = bytes.byte(2), kind: u8 = bytes.byte(7), }
        => "the hostile peer sends {count} frames of kind {kind}";
    /// A forged report of the network arrives: a path MTU, or a refused port.
    Report { process: u8 = bytes.who(), mtu: u16 = bytes.first(), }
        => "process {process}: a forged report, path MTU {mtu}";
    /// A daemon says goodbye and stops, and starts again after a time.
    Leave { process: u8 = bytes.who(), downtime: Duration = bytes.time(), }
        => "process {process}: stops, for {downtime}";
    /// All faults of one mobile host's path end.
    Calm { mobile: u8 = bytes.who(), } => "mobile {mobile}: all faults of its path end";
    /// A program of the mobile host acts on the files of the fixed host, which are mounted at the first such step.
    Act { mobile: u8 = bytes.who(), action: Action = bytes.action(), }
        => "mobile {mobile}: a program does {action:?}";
    /// A signal interrupts the program of the mobile host.
    Interrupt { mobile: u8 = bytes.who(), } => "mobile {mobile}: a signal interrupts its program";
    /// The mount of the mobile host is killed, and made again.
    Remount { mobile: u8 = bytes.who(), } => "mobile {mobile}: its mount is killed and made again";
    /// The server of files crashes, loses what is not stable, and serves again after a time.
    ServerCrash { downtime: Duration = bytes.time(), } => "the server of files crashes, for {downtime}";
    /// The server of files does not answer for a time.
    ServerPause { time: Duration = bytes.time(), } => "the server of files is paused for {time}";
    /// The server refuses the next calls of a kind: its disk is full or defective.
    ServerRefuses { fault: DiskFault = bytes.disk_fault(), calls: u8 = bytes.byte(3), }
        => "the server of files refuses {calls} calls: {fault:?}";
    /// The server is slow, postpones calls, cuts transfers short, and executes copies of calls.
    ServerStruggles { share: u8 = bytes.byte(2) / 2, delay: Duration = Duration::from_millis(bytes.byte(3).into()), }
        => "the server of files struggles with {:.1} % of the calls, for up to {delay}", percent(share);
    /// The server gives false answers of a kind.
    ServerLies { kind: u8 = bytes.byte(2), } => "the server of files lies, kind {kind}";
    /// The server replaces a file of the mobile host by another one with the same name.
    Replace { mobile: u8 = bytes.who(), name: u8 = bytes.byte(2), }
        => "mobile {mobile}: the server replaces file {name} by another one";
    /// All faults of the server end.
    ServerCalm => "all faults of the server of files end";
    /// The mobile host goes to another network: its address, delay, rate and MTU change at once, noticed or not.
    Route {
        mobile: u8 = bytes.who(),
        delay: Duration = Duration::from_millis(1 << (bytes.byte(2) % 11)),
        rate: u32 = 64_000 << (bytes.byte(3) % 11),
        mtu: u16 = 1_280 + u16::from(bytes.byte(4)) % 221,
        is_noticed: bool = bytes.flag(5),
    } => "mobile {mobile}: another network with {delay}, {rate} bit/s and an MTU of {mtu}, {}",
        either(is_noticed, "noticed", "not noticed");
    /// The gateway gets another address; those who ask for it learn it.
    Readdress => "the gateway gets another address";
}

/// Number of kinds of steps.
pub(crate) const KINDS: u8 = DECODERS.len() as u8;

impl Step {
    /// Returns the step that these bytes mean. All bytes mean one.
    pub(crate) fn decode(bytes: [u8; PIECE]) -> Self {
        DECODERS[usize::from(bytes[0] % KINDS)](Fields(bytes))
    }
}

/// Returns a time from 1 ms to 7 days, distributed logarithmically.
fn time(number: u16) -> Duration {
    const OCTAVE: u64 = 2_250;
    let (octave, part) = (u64::from(number) / OCTAVE, u64::from(number) % OCTAVE);
    Duration::from_millis((1 << octave) + (part << octave) / OCTAVE)
}

/// The bytes of a step; the first one is its kind.
#[derive(Clone, Copy)]
struct Fields([u8; PIECE]);

impl Fields {
    fn who(self) -> u8 {
        self.0[1]
    }

    /// Returns a byte that is not part of a 16-bit field, or the low one of one.
    fn byte(self, place: usize) -> u8 {
        self.0[place]
    }

    /// Returns true if the byte is even.
    fn flag(self, place: usize) -> bool {
        self.0[place] & 1 == 0
    }

    fn first(self) -> u16 {
        u16::from_le_bytes([self.0[2], self.0[3]])
    }

    fn second(self) -> u16 {
        u16::from_le_bytes([self.0[4], self.0[5]])
    }

    fn side(self) -> u8 {
        self.0[2] & 1
    }

    fn time(self) -> Duration {
        time(self.first())
    }

    fn delay(self) -> Duration {
        Duration::from_millis(u64::from(self.first() % 2_000))
    }

    fn jitter(self) -> Duration {
        Duration::from_millis(u64::from(self.second() % 100))
    }

    fn mtu(self) -> u16 {
        576 + self.first() % 925
    }

    fn seconds(self) -> i32 {
        (i32::from(self.first() as i16) << 16) >> (self.0[6] % 32)
    }

    fn disk_fault(self) -> DiskFault {
        let kind = usize::from(self.0[2]) % DiskFault::ALL.len();
        DiskFault::ALL[kind]
    }

    fn action(self) -> Action {
        let (name, open) = (usize::from(self.0[3]), usize::from(self.0[3]));
        let flags = OpenFlags {
            exclusive: self.0[4] & 1 != 0,
            truncate: self.0[4] & 2 != 0,
        };
        let size = u64::from(self.0[5]) * 40;
        match self.0[2] % 16 {
            0 | 1 => Action::Create { name, flags },
            2 => Action::Open {
                name,
                truncates: self.0[4] & 3 == 3,
            },
            3 => Action::Remove { name },
            4 => Action::Rename {
                name,
                to: usize::from(self.0[4]),
            },
            5 => Action::List,
            6 => Action::Resize { name, size },
            7 => Action::Read { open },
            8 => Action::Attributes { open },
            9 | 10 => Action::Synchronize { open },
            11 => Action::Close { open },
            _ => Action::Write {
                open,
                offset: u64::from(self.0[5]) * 47,
                length: usize::from(self.0[6]) * 16 + 1,
                appends: self.0[4] & 1 != 0,
            },
        }
    }

    fn directions(self) -> u8 {
        match self.0[4] % 4 {
            0 => 3,
            directions => directions,
        }
    }
}

fn percent(share: u8) -> f64 {
    f64::from(share) / 2.56
}

/// Returns the name of the directions of a path.
fn way(directions: u8) -> &'static str {
    match directions {
        1 => "up",
        2 => "down",
        _ => "both ways",
    }
}

fn end(side: u8) -> &'static str {
    either(side == 0, "the mobile host", "the fixed host")
}

fn either(is_first: bool, first: &'static str, second: &'static str) -> &'static str {
    if is_first { first } else { second }
}
