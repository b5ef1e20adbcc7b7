//! The steps of a run.

use std::fmt;

use units::Duration;

use crate::tape::PIECE;

/// One step: an action of an application, a change of the network, a fault, or an act of an attacker.
///
/// `mobile`, `process` and `connection` are indices that count modulo the number of existing ones; `side` is 0 at the
/// mobile host and 1 at the fixed host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields are named after their meaning")]
pub enum Step {
    /// Time passes.
    Wait { time: Duration },
    /// A mobile host sends an echo request to a fixed host, or is sent one.
    Echo { mobile: u8, side: u8 },
    /// An application opens a TCP connection from one side.
    Open { mobile: u8, side: u8 },
    /// An application writes.
    Write {
        connection: u8,
        side: u8,
        bytes: u32,
    },
    /// An application closes its direction.
    Finish { connection: u8, side: u8 },
    /// An application resets its connection.
    Reset { connection: u8, side: u8 },
    /// An application stops reading, or reads again.
    Read {
        connection: u8,
        side: u8,
        reads: bool,
    },
    /// The share of datagrams that are lost, as a part of 256; directions: bit 0 up, bit 1 down.
    Loss {
        mobile: u8,
        directions: u8,
        share: u8,
    },
    /// Nothing comes through for a time.
    Fade {
        mobile: u8,
        directions: u8,
        time: Duration,
    },
    /// Another delay, with jitter that reorders.
    Delay {
        mobile: u8,
        delay: Duration,
        jitter: Duration,
    },
    /// Another rate, in bit/s.
    Rate { mobile: u8, rate: u32 },
    /// The share of datagrams that arrive twice, as a part of 256.
    Duplicate { mobile: u8, share: u8 },
    /// The share of datagrams that arrive with an error, as a part of 256.
    Corrupt { mobile: u8, share: u8 },
    /// Another MTU of the path, which routers report or not.
    Mtu {
        mobile: u8,
        mtu: u16,
        is_reported: bool,
    },
    /// The translator gives the mobile host another port.
    Rebind { mobile: u8 },
    /// The translator forgets the mobile host until it sends again.
    Forget { mobile: u8 },
    /// The mobile host gets another address; it notices or not.
    Move { mobile: u8, is_noticed: bool },
    /// A daemon is killed after so many more outputs, and starts again after a time.
    Kill {
        process: u8,
        outputs: u8,
        downtime: Duration,
    },
    /// A daemon does not run for a time.
    Pause { process: u8, time: Duration },
    /// A daemon's wall clock jumps, by seconds.
    Clock { process: u8, seconds: i32 },
    /// A second host with the key of the mobile host runs for a time.
    Clone { mobile: u8, time: Duration },
    /// The gateway's address goes to the other gateway.
    FailOver,
    /// An attacker on the path sends the next datagrams of the mobile host from a victim's address.
    Redirect { mobile: u8, count: u8 },
    /// An attacker sends recorded datagrams again, from their own or from the victim's address.
    Replay { count: u8, from_victim: bool },
    /// An attacker sends forged datagrams to the gateway or a mobile host.
    Forge { process: u8, count: u8, kind: u8 },
    /// A peer with a valid key sends frames with arbitrary content.
    Hostile { count: u8, kind: u8 },
    /// A forged report of the network arrives: a path MTU, or a refused port.
    Report { process: u8, mtu: u16 },
    /// A daemon says goodbye and stops, and starts again after a time.
    Leave { process: u8, downtime: Duration },
    /// All faults of one mobile host's path end.
    Calm { mobile: u8 },
}

/// Number of kinds of steps.
pub(crate) const KINDS: u8 = 29;

/// Returns a time from 1 ms to 7 days, distributed logarithmically.
fn time(number: u16) -> Duration {
    const OCTAVE: u64 = 2_250;
    let (octave, part) = (u64::from(number) / OCTAVE, u64::from(number) % OCTAVE);
    Duration::from_millis((1 << octave) + (part << octave) / OCTAVE)
}

/// The bytes of a step after its kind.
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

    fn directions(self) -> u8 {
        match self.0[4] % 4 {
            0 => 3,
            directions => directions,
        }
    }
}

impl Step {
    /// Returns the step that these bytes mean. All bytes mean one.
    pub(crate) fn decode(bytes: [u8; PIECE]) -> Self {
        let fields = Fields(bytes);
        match bytes[0] % KINDS {
            kind @ 0..=6 => Self::usual(kind, fields),
            kind @ 7..=16 => Self::network(kind, fields),
            kind => Self::other(kind, fields),
        }
    }

    /// Returns a step that is no fault.
    fn usual(kind: u8, fields: Fields) -> Self {
        let (mobile, connection, side) = (fields.who(), fields.who(), fields.side());
        match kind {
            0 => Self::Wait {
                time: fields.time(),
            },
            1 => Self::Echo { mobile, side },
            2 => Self::Open { mobile, side },
            3 => Self::Write {
                connection,
                side,
                bytes: u32::from(fields.second()) << (fields.byte(6) % 3),
            },
            4 => Self::Finish { connection, side },
            5 => Self::Reset { connection, side },
            _ => Self::Read {
                connection,
                side,
                reads: fields.byte(4) & 1 == 0,
            },
        }
    }

    /// Returns a fault of the network.
    fn network(kind: u8, fields: Fields) -> Self {
        let (mobile, share, directions) = (fields.who(), fields.byte(2), fields.directions());
        match kind {
            7 => Self::Loss {
                mobile,
                directions,
                share,
            },
            8 => Self::Fade {
                mobile,
                directions,
                time: fields.time(),
            },
            9 => Self::Delay {
                mobile,
                delay: Duration::from_millis(u64::from(fields.first() % 2_000)),
                jitter: Duration::from_millis(u64::from(fields.second() % 100)),
            },
            10 => Self::Rate {
                mobile,
                rate: 9_600 << (share % 14),
            },
            11 => Self::Duplicate { mobile, share },
            12 => Self::Corrupt {
                mobile,
                share: share % 64,
            },
            13 => Self::Mtu {
                mobile,
                mtu: 576 + fields.first() % 925,
                is_reported: fields.byte(4) & 1 == 0,
            },
            14 => Self::Rebind { mobile },
            15 => Self::Forget { mobile },
            _ => Self::Move {
                mobile,
                is_noticed: share & 1 == 0,
            },
        }
    }

    /// Returns a fault of a process, or an act of an attacker.
    fn other(kind: u8, fields: Fields) -> Self {
        let (mobile, process, count) = (fields.who(), fields.who(), fields.byte(2));
        match kind {
            17 => Self::Kill {
                process,
                outputs: fields.byte(6),
                downtime: fields.time(),
            },
            18 => Self::Pause {
                process,
                time: fields.time(),
            },
            19 => Self::Clock {
                process,
                seconds: (i32::from(fields.first() as i16) << 16) >> (fields.byte(6) % 32),
            },
            20 => Self::Clone {
                mobile,
                time: fields.time(),
            },
            21 => Self::FailOver,
            22 => Self::Redirect {
                mobile,
                count: count % 8 + 1,
            },
            23 => Self::Replay {
                count: count % 64 + 1,
                from_victim: fields.byte(4) & 1 == 0,
            },
            24 => Self::Forge {
                process,
                count,
                kind: fields.byte(7),
            },
            25 => Self::Hostile {
                count,
                kind: fields.byte(7),
            },
            26 => Self::Report {
                process,
                mtu: fields.first(),
            },
            27 => Self::Leave {
                process,
                downtime: fields.time(),
            },
            _ => Self::Calm { mobile },
        }
    }
}

/// Names of the directions of a path.
fn directions_name(directions: u8) -> &'static str {
    match directions {
        1 => "up",
        2 => "down",
        _ => "both ways",
    }
}

fn end_name(side: u8) -> &'static str {
    if side == 0 {
        "the mobile host"
    } else {
        "the fixed host"
    }
}

impl fmt::Display for Step {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Wait { time } => write!(out, "{time} pass"),
            Self::Echo { mobile, side } => {
                let from = end_name(side);
                write!(out, "mobile {mobile}: an echo request from {from}")
            }
            Self::Open { mobile, side } => {
                write!(
                    out,
                    "mobile {mobile}: {} opens a connection",
                    end_name(side)
                )
            }
            Self::Write {
                connection,
                side,
                bytes,
            } => {
                let end = end_name(side);
                write!(out, "connection {connection}: {end} writes {bytes} bytes")
            }
            Self::Finish { connection, side } => {
                let end = end_name(side);
                write!(out, "connection {connection}: {end} closes its direction")
            }
            Self::Reset { connection, side } => {
                write!(out, "connection {connection}: {} resets it", end_name(side))
            }
            Self::Read {
                connection,
                side,
                reads,
            } => {
                let action = if reads {
                    "reads again"
                } else {
                    "stops reading"
                };
                write!(out, "connection {connection}: {} {action}", end_name(side))
            }
            _ => self.fmt_fault(out),
        }
    }
}

impl Step {
    /// Writes a fault in words.
    fn fmt_fault(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |share: u8| f64::from(share) / 2.56;
        match *self {
            Self::Loss {
                mobile,
                directions,
                share,
            } => {
                let (way, share) = (directions_name(directions), percent(share));
                write!(out, "mobile {mobile}: {share:.1} % are lost, {way}")
            }
            Self::Fade {
                mobile,
                directions,
                time,
            } => {
                let way = directions_name(directions);
                write!(out, "mobile {mobile}: a fade of {time}, {way}")
            }
            Self::Delay {
                mobile,
                delay,
                jitter,
            } => write!(
                out,
                "mobile {mobile}: a delay of {delay} with a jitter of {jitter}"
            ),
            Self::Rate { mobile, rate } => write!(out, "mobile {mobile}: a rate of {rate} bit/s"),
            Self::Duplicate { mobile, share } => {
                write!(out, "mobile {mobile}: {:.1} % arrive twice", percent(share))
            }
            Self::Corrupt { mobile, share } => {
                let share = percent(share);
                write!(out, "mobile {mobile}: {share:.1} % arrive with an error")
            }
            Self::Mtu {
                mobile,
                mtu,
                is_reported,
            } => {
                let not = if is_reported { "" } else { "not " };
                write!(out, "mobile {mobile}: an MTU of {mtu}, {not}reported")
            }
            Self::Rebind { mobile } => {
                write!(out, "mobile {mobile}: its translator changes its port")
            }
            Self::Forget { mobile } => write!(out, "mobile {mobile}: its translator forgets it"),
            Self::Move { mobile, is_noticed } => {
                let not = if is_noticed { "" } else { "not " };
                write!(out, "mobile {mobile}: gets another address, {not}noticed")
            }
            Self::Calm { mobile } => write!(out, "mobile {mobile}: all faults of its path end"),
            _ => self.fmt_process(out),
        }
    }

    /// Writes a fault of a process or an act of an attacker in words.
    fn fmt_process(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Kill {
                process,
                outputs,
                downtime,
            } => write!(
                out,
                "process {process}: is killed after {outputs} outputs, for {downtime}"
            ),
            Self::Pause { process, time } => write!(out, "process {process}: is paused for {time}"),
            Self::Clock { process, seconds } => {
                write!(out, "process {process}: its clock is {seconds} s off")
            }
            Self::Clone { mobile, time } => {
                write!(out, "mobile {mobile}: a second host has its key for {time}")
            }
            Self::FailOver => write!(out, "the gateway's address goes to the other gateway"),
            Self::Redirect { mobile, count } => write!(
                out,
                "mobile {mobile}: its next {count} datagrams come from a victim's address"
            ),
            Self::Replay { count, from_victim } => {
                let from = if from_victim {
                    "the victim's address"
                } else {
                    "their own addresses"
                };
                write!(out, "{count} recorded datagrams arrive again, from {from}")
            }
            Self::Forge {
                process,
                count,
                kind,
            } => write!(
                out,
                "process {process}: {count} forged datagrams of kind {kind}"
            ),
            Self::Hostile { count, kind } => {
                write!(out, "the hostile peer sends {count} frames of kind {kind}")
            }
            Self::Report { process, mtu } => {
                write!(out, "process {process}: a forged report, path MTU {mtu}")
            }
            Self::Leave { process, downtime } => {
                write!(out, "process {process}: stops, for {downtime}")
            }
            _ => Ok(()),
        }
    }
}
