//! The effect of each step.

use std::net::SocketAddr;

use hosts::{Input, PathReport};
use sockets::System;
use units::{BitRate, Duration};
use wire::flow::Ends;

use crate::flow::{FIXED, Flow};
use crate::network::{Place, victim};
use crate::oracle::Violation;
use crate::path::{Direction, Path};
use crate::probes::{Probe, Probes};
use crate::process::{Identity, LOOPBACK, Process};
use crate::stranger::{HOSTILE, forged, stranger};
use crate::world::{Connection, FIRST_PORT, SYNS, World};
use crate::{Step, Tape};

/// Most connections of a run.
const CONNECTIONS: usize = 32;
/// Most processes of a run.
const PROCESSES: usize = 9;

impl World {
    /// Performs all steps.
    pub(crate) fn perform(&mut self, tape: &Tape) -> Result<(), Violation> {
        self.ledger.may_reset = tape.steps().any(may_reset);
        for step in tape.steps() {
            self.step(step)?;
            self.check()?;
        }
        Ok(())
    }

    fn step(&mut self, step: Step) -> Result<(), Violation> {
        match step {
            Step::Wait { time } => return self.wait(time),
            Step::Echo { mobile, side } => self.echo(self.number(mobile), side.into()),
            Step::Open { mobile, side } => self.open(self.number(mobile), side.into()),
            Step::Write { .. } | Step::Finish { .. } | Step::Reset { .. } | Step::Read { .. } => {
                self.application(step);
            }
            Step::Kill { .. }
            | Step::Pause { .. }
            | Step::Clock { .. }
            | Step::Clone { .. }
            | Step::Leave { .. }
            | Step::FailOver => self.process(step),
            Step::Redirect { .. }
            | Step::Replay { .. }
            | Step::Forge { .. }
            | Step::Hostile { .. }
            | Step::Report { .. } => self.attack(step),
            Step::Act { .. }
            | Step::Interrupt { .. }
            | Step::Remount { .. }
            | Step::ServerCrash { .. }
            | Step::ServerPause { .. }
            | Step::ServerRefuses { .. }
            | Step::ServerStruggles { .. }
            | Step::ServerLies { .. }
            | Step::Replace { .. }
            | Step::ServerCalm => self.use_files(step),
            Step::Readdress => self.network.readdress(),
            _ => self.trouble(step),
        }
        Ok(())
    }

    /// Returns the number of a mobile host.
    pub(crate) fn number(&self, mobile: u8) -> usize {
        usize::from(mobile) % self.setting.mobiles
    }

    /// Sends an echo request from a side.
    pub(crate) fn echo(&mut self, mobile: usize, side: usize) {
        let mut ends = [Identity::Mobile(mobile).inner(), FIXED];
        if side == 1 {
            ends.reverse();
        }
        let probe = Probe {
            mobile,
            side,
            sent: self.now,
            requested: false,
            answered: false,
        };
        let packet = self.probes.request(probe, ends);
        self.send_packet(side, mobile, packet);
    }

    fn open(&mut self, mobile: usize, side: usize) {
        let number = self.connections.len();
        if number >= CONNECTIONS {
            return;
        }
        let (port, address) = (FIRST_PORT + number as u16, Identity::Mobile(mobile).inner());
        if self.setting.split.is_none() {
            let flow = Flow::new(mobile, side, port);
            self.connections.push(Connection::Packets(Box::new(flow)));
            self.act_on_flow(number, Flow::open);
            return;
        }
        let is_intruder = self.setting.has_hostile_gateway && mobile == 0 && port % 2 == 1;
        let (source, destination) = if side == 0 {
            let from = SocketAddr::from((address, port));
            (from, SocketAddr::from((FIXED, 80)))
        } else {
            let address = if is_intruder { LOOPBACK } else { address };
            let from = SocketAddr::from((FIXED, port));
            (from, SocketAddr::from((address, 22)))
        };
        let ends = Ends {
            source,
            destination,
        };
        self.connections.push(Connection::Split {
            mobile,
            opener: side,
            ends,
        });
        let process = self.process_at(mobile, side);
        self.processes[process].system.open(source, destination);
        self.ask(number, SYNS);
    }

    /// Performs an action of an application.
    fn application(&mut self, step: Step) {
        let (Step::Write {
            connection, side, ..
        }
        | Step::Finish { connection, side }
        | Step::Reset { connection, side }
        | Step::Read {
            connection, side, ..
        }) = step
        else {
            return;
        };
        let Some(number) = usize::from(connection).checked_rem(self.connections.len()) else {
            return;
        };
        let end = usize::from(side);
        match &self.connections[number] {
            Connection::Packets(_) => self.act_on_flow(number, |flow, now| match step {
                Step::Write { bytes, .. } => flow.write(now, end, bytes.into()),
                Step::Finish { .. } => flow.finish(now, end),
                Step::Reset { .. } => flow.reset(now, end),
                Step::Read { reads, .. } => flow.set_reading(now, end, reads),
                _ => {}
            }),
            Connection::Split { mobile, ends, .. } => {
                let (ends, process) = (*ends, self.process_at(*mobile, end));
                self.act_on_sockets(process, |system| match step {
                    Step::Write { bytes, .. } => system.write(&ends, bytes.into()),
                    Step::Finish { .. } => system.finish(&ends),
                    Step::Reset { .. } => system.reset(&ends),
                    Step::Read { reads, .. } => system.set_reading(&ends, reads),
                    _ => {}
                });
            }
        }
    }

    /// Acts on the sockets beside a process, and carries out what follows.
    pub(crate) fn act_on_sockets(&mut self, process: usize, act: impl FnOnce(&mut System)) {
        act(&mut self.processes[process].system);
        while let Some(event) = self.processes[process].system.poll_event() {
            self.input(process, Input::System(event));
        }
    }

    /// Changes the network of a mobile host.
    fn trouble(&mut self, step: Step) {
        let (now, path) = (self.now, self.path());
        let (Step::Loss { mobile, .. }
        | Step::Fade { mobile, .. }
        | Step::Delay { mobile, .. }
        | Step::Rate { mobile, .. }
        | Step::Duplicate { mobile, .. }
        | Step::Corrupt { mobile, .. }
        | Step::Mtu { mobile, .. }
        | Step::Rebind { mobile }
        | Step::Forget { mobile }
        | Step::Move { mobile, .. }
        | Step::Route { mobile, .. }
        | Step::Calm { mobile }) = step
        else {
            return;
        };
        let process = self.mobile(self.number(mobile));
        let has_nat = self.setting.has_nat;
        let Some(place) = self.network.place(process) else {
            return;
        };
        match step {
            Step::Loss {
                directions, share, ..
            } => {
                each_way(place, directions, |way| way.loss = share);
            }
            Step::Fade {
                directions, time, ..
            } => {
                each_way(place, directions, |way| way.faded_until = now + time);
            }
            Step::Delay { delay, jitter, .. } => {
                (place.path.delay, place.path.jitter) = (delay, jitter);
            }
            Step::Rate { rate, .. } => {
                place.path.rate = BitRate::from_bits_per_second(rate.into());
            }
            Step::Duplicate { share, .. } => place.path.duplicate = share,
            Step::Corrupt { share, .. } => place.path.corrupt = share,
            Step::Mtu {
                mtu, is_reported, ..
            } => {
                (place.path.mtu, place.path.is_mtu_reported) = (mtu, is_reported);
            }
            Step::Rebind { .. } if has_nat => place.rebind(),
            Step::Forget { .. } if has_nat => place.is_bound = false,
            Step::Move { is_noticed, .. } => {
                place.change_address();
                self.moved(process, is_noticed);
            }
            Step::Route {
                delay,
                rate,
                mtu,
                is_noticed,
                ..
            } => {
                place.change_address();
                place.path = Path::new(BitRate::from_bits_per_second(rate.into()), delay);
                place.path.mtu = mtu;
                self.moved(process, is_noticed);
            }
            Step::Calm { .. } => place.path = path,
            _ => {}
        }
    }

    /// Lets a mobile host notice that its address has changed.
    fn moved(&mut self, process: usize, is_noticed: bool) {
        if is_noticed {
            self.input(process, Input::LinkChanging);
            self.input(process, Input::LinkUp);
        }
    }

    /// Does something to a process.
    fn process(&mut self, step: Step) {
        let originals = self.originals();
        let index = |process: u8| usize::from(process) % originals;
        match step {
            Step::Kill {
                process,
                outputs,
                downtime,
            } => {
                let process = index(process);
                if self.processes[process].host().is_some() {
                    self.processes[process].killed_after = Some((outputs, downtime));
                    self.drain(process);
                }
            }
            Step::Pause { process, time } => {
                self.processes[index(process)].paused_until = self.now + time;
            }
            Step::Clock { process, seconds } => {
                let error = i64::from(seconds).saturating_mul(1_000_000_000);
                // An error of more than 30 years would reach before 1990 or overflow the time stamps.
                self.processes[index(process)].clock_error =
                    error.clamp(-900_000_000 << 30, 900_000_000 << 30);
                self.read_clock(index(process));
            }
            Step::Clone { mobile, time } if self.processes.len() < PROCESSES => {
                let (identity, process) =
                    (Identity::Mobile(self.number(mobile)), self.processes.len());
                self.processes.push(Process::new(identity, process));
                self.network.add(process, self.path());
                self.start(process);
                self.end_after(time, process);
            }
            Step::Leave { process, downtime } => {
                let process = index(process);
                self.input(process, Input::Leave);
                self.processes[process].kill();
                self.start_after(downtime, process);
            }
            Step::FailOver if self.setting.has_standby => {
                self.network.gateway = 1 - self.network.gateway;
            }
            _ => {}
        }
    }

    /// Performs an act of an attacker.
    fn attack(&mut self, step: Step) {
        match step {
            Step::Redirect { mobile, count } => {
                let process = self.mobile(self.number(mobile));
                if let Some(place) = self.network.place(process) {
                    place.redirected = count;
                }
            }
            Step::Replay { count, from_victim } => {
                for number in 0..usize::from(count) {
                    let Some(datagram) = self.network.recorded(number) else {
                        break;
                    };
                    let mut datagram = datagram.clone();
                    if from_victim && datagram.to == self.network.gateway_address() {
                        datagram.from = victim();
                    }
                    self.arrives(datagram);
                }
            }
            Step::Forge {
                process,
                count,
                kind,
            } => {
                let process = usize::from(process) % self.originals();
                for _ in 0..count {
                    let bytes = forged(kind, &self.network, &mut self.random);
                    let input = Input::Datagram {
                        from: stranger(),
                        arrived: self.now,
                        ecn: wire::ip::Ecn::NotCapable,
                        buffer: wire::packet::PacketBuffer::copy_of(&bytes),
                    };
                    self.input(process, input);
                }
            }
            Step::Hostile { count, kind } => {
                if kind & 4 != 0 {
                    let packet = Probes::spoofed([Identity::Mobile(1).inner(), FIXED]);
                    self.send_packet(0, 0, packet);
                }
                if count & 1 == 0 {
                    self.hostile.connect(self.now);
                    self.drain_hostile();
                }
                for _ in 0..count {
                    let frame = self.hostile.frame(self.now, kind, &mut self.random);
                    if let Some(bytes) = frame {
                        self.launch(HOSTILE, self.network.gateway_address(), bytes);
                    }
                }
            }
            Step::Report { process, mtu } => self.report_path(process, mtu),
            _ => {}
        }
    }

    fn report_path(&mut self, process: u8, mtu: u16) {
        let process = usize::from(process) % self.originals();
        let to = self.network.gateway_address();
        let input = if mtu < 100 {
            Input::PortRefused(to)
        } else {
            let news = PathReport::Said(mtu.into());
            Input::Path { to, news }
        };
        self.input(process, input);
    }
}

/// Returns true if the step may end connections.
fn may_reset(step: Step) -> bool {
    matches!(
        step,
        Step::Reset { .. }
            | Step::Kill { .. }
            | Step::Pause { .. }
            | Step::Clone { .. }
            | Step::Leave { .. }
            | Step::FailOver
    )
}

fn each_way(place: &mut Place, directions: u8, act: impl Fn(&mut crate::path::Way)) {
    for (bit, direction) in [(1, Direction::Up), (2, Direction::Down)] {
        if directions & bit != 0 {
            act(place.path.way(direction));
        }
    }
}

/// Time within which everything works again after the last fault (R11), without two round trips.
pub(crate) const HEALING: Duration = Duration::from_secs(60);
