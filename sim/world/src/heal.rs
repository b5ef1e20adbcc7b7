//! The end of a run: all faults end, and everything must work again.

use std::collections::BTreeMap;

use sockets::{Application, State};
use units::Duration;
use wire::flow::Ends;

use crate::acts::HEALING;
use crate::oracle::Violation;
use crate::probes::Probe;
use crate::world::{Connection, World};

/// Time in which a connection must make progress: the longest retransmission timeout of the hosts' TCP twice.
const PROGRESS: Duration = Duration::from_secs(300);
/// Time in which a host notices that the other end does not know its keys.
const NOTICING: Duration = Duration::from_secs(5);
/// Time after which an idle connection is reset.
const IDLE: Duration = Duration::from_secs(7_500);
/// Time before which no connection can have been idle for so long.
const RESET_FREE: Duration = Duration::from_secs(7_400);
/// Time in which the datagrams of idle hosts are counted, and their limit for each mobile host.
const REST: Duration = Duration::from_secs(600);
const DATAGRAMS_AT_REST: u64 = 600;

impl World {
    /// Checks what must hold at any time.
    pub(crate) fn check(&mut self) -> Result<(), Violation> {
        for process in 0..self.processes.len() {
            let memory = self.processes[process].host().map(hosts::Host::memory);
            if let Some((held, most)) = memory.filter(|(held, most)| held > most) {
                self.fail(
                    "R10",
                    format!("process {process} holds {held} of at most {most}"),
                );
            }
        }
        for number in 0..self.connections.len() {
            let result = match &self.connections[number] {
                Connection::Packets(flow) => flow.check(),
                Connection::Split { mobile, ends, .. } => self.check_sockets(*mobile, ends),
            };
            if let Err(text) = result {
                self.fail("R1", text);
            }
        }
        self.check_resets();
        self.verdict()
    }

    /// Checks that no connection is reset without a cause (R3): an outage is none, however long it lasts.
    ///
    /// Only a connection that its opener has can be lost. Until then a host may take back a request that had no answer:
    /// the opener's kernel repeats its SYN, and each one may reach the other application as a new connection.
    fn check_resets(&mut self) {
        if self.ledger.may_reset || self.now.since_origin() > RESET_FREE {
            return;
        }
        let connections = self.connections.iter();
        let mut resets = connections.filter(|connection| match connection {
            // What a kernel gives up is not ours to keep.
            Connection::Packets(_) => false,
            Connection::Split { mobile, ends, .. } => {
                let (mobile, gateways) = self.applications(*mobile, ends);
                let states = mobile.into_iter().chain(gateways).map(Application::state);
                let (mut is_reset, mut is_unanswered) = (false, false);
                for state in states {
                    is_reset |= state == State::Reset;
                    // Only an opener has these states.
                    is_unanswered |= matches!(state, State::Asking | State::Refused);
                }
                is_reset && !is_unanswered
            }
        });
        if resets.next().is_some() {
            self.fail(
                "R3",
                "a split connection was reset, and nobody had reset it or ended",
            );
        }
    }

    /// Returns the applications of a split connection at the mobile host and at the gateways.
    fn applications(
        &self,
        mobile: usize,
        ends: &Ends,
    ) -> (Option<&Application>, Vec<&Application>) {
        let at = |process: usize| self.processes[process].system.application(ends);
        let gateways = 0..self.mobile(0);
        (at(self.mobile(mobile)), gateways.filter_map(at).collect())
    }

    /// Checks that no stream of a split connection ends short (R1).
    fn check_sockets(&self, mobile: usize, ends: &Ends) -> Result<(), String> {
        let (mobile, gateways) = self.applications(mobile, ends);
        let is_right = |reader: &Application, writers: &[&Application]| {
            let written = writers
                .iter()
                .map(|writer| writer.written())
                .max()
                .unwrap_or(0);
            let is_whole = |writer: &&Application| {
                writer.has_finished() && writer.written() == reader.received()
            };
            let has_ended = reader.has_seen_end();
            reader.received() <= written && (!has_ended || writers.iter().any(is_whole))
        };
        let Some(mobile) = mobile else {
            return Ok(());
        };
        let at_gateways = gateways.iter().all(|gateway| is_right(gateway, &[mobile]));
        if at_gateways && is_right(mobile, &gateways) {
            return Ok(());
        }
        Err(format!("{ends:?} ended short: {mobile:?} and {gateways:?}"))
    }

    /// Ends all faults, and checks that everything works again.
    pub(crate) fn heal(&mut self) -> Result<(), Violation> {
        self.end_faults();
        self.wait(HEALING + self.setting.delay * 4)?;
        self.check_probes()?;
        self.finish()?;
        self.trials()?;
        self.finish_files()?;
        self.check_rest()
    }

    fn end_faults(&mut self) {
        self.network.heal(self.now, self.path());
        if let Some(files) = &mut self.files {
            files.calm(self.now);
        }
        for process in 0..self.processes.len() {
            self.processes[process].killed_after = None;
            self.processes[process].clock_error = 0;
            self.processes[process].paused_until = self.now;
            if process >= self.originals() {
                self.processes[process].kill();
            } else {
                self.start(process);
                self.read_clock(process);
            }
        }
    }

    /// Sends probes of both sides of each mobile host for some time, and waits as long as they may take.
    fn send_probes(&mut self) -> Result<(), Violation> {
        for _ in 0..10 {
            for mobile in 0..self.setting.mobiles {
                self.echo(mobile, 0);
                self.echo(mobile, 1);
            }
            self.wait(Duration::from_secs(1))?;
        }
        self.wait(HEALING)
    }

    /// Checks that each mobile host reaches the fixed host and is reached.
    fn check_probes(&mut self) -> Result<(), Violation> {
        if self.network.is_readdressed() {
            // An idle host notices by datagrams without an answer that it must search for the gateway.
            self.send_probes()?;
        }
        // A host may notice only by the first ones that the other end has lost its state.
        let begun = self.now + NOTICING;
        self.send_probes()?;
        let is_lost = |probe: &&Probe| probe.sent >= begun && !probe.answered;
        let lost = self.probes.iter().find(is_lost).map(|lost| {
            let (side, mobile) = (lost.side, lost.mobile);
            format!("no answer to an echo request of side {side} for mobile {mobile} long after the last fault")
        });
        if let Some(text) = lost {
            self.fail("R11", text);
        }
        self.verdict()
    }

    /// Lets all applications read and finish: each connection makes progress until it ends.
    fn finish(&mut self) -> Result<(), Violation> {
        for number in 0..self.connections.len() {
            self.finish_connection(number);
        }
        let mut stalled = BTreeMap::new();
        for number in 0..self.connections.len() {
            stalled.insert(number, None);
        }
        while !stalled.is_empty() {
            self.wait(PROGRESS)?;
            for number in 0..self.connections.len() {
                // A connection that is answered late has applications that still write nothing.
                self.finish_connection(number);
            }
            self.check()?;
            for number in stalled.keys().copied().collect::<Vec<_>>() {
                let received = self.received(number);
                if self.has_ended(number) {
                    stalled.remove(&number);
                } else if stalled.insert(number, Some(received)) == Some(Some(received)) {
                    stalled.remove(&number);
                    self.stalled(number)?;
                }
            }
        }
        Ok(())
    }

    fn finish_connection(&mut self, number: usize) {
        match &self.connections[number] {
            Connection::Packets(_) => self.act_on_flow(number, |flow, now| {
                for side in 0..2 {
                    flow.set_reading(now, side, true);
                    flow.finish(now, side);
                }
            }),
            Connection::Split { mobile, ends, .. } => {
                let (ends, mobile) = (*ends, self.mobile(*mobile));
                for process in (0..self.mobile(0)).chain([mobile]) {
                    self.act_on_sockets(process, |system| {
                        system.set_reading(&ends, true);
                        system.finish(&ends);
                    });
                }
            }
        }
    }

    fn received(&self, number: usize) -> u64 {
        match &self.connections[number] {
            Connection::Packets(flow) => flow.received(),
            Connection::Split { mobile, ends, .. } => {
                let (mobile, gateways) = self.applications(*mobile, ends);
                let ends = mobile.into_iter().chain(gateways);
                ends.map(Application::received).sum()
            }
        }
    }

    fn has_ended(&self, number: usize) -> bool {
        let is_over = |application: &Application| match application.state() {
            State::Asking => false,
            State::Open => application.has_seen_end(),
            State::Refused | State::Reset => true,
        };
        match &self.connections[number] {
            Connection::Packets(flow) => flow.has_ended(),
            Connection::Split { mobile, ends, .. } => {
                let (mobile, gateways) = self.applications(*mobile, ends);
                mobile.into_iter().chain(gateways).all(is_over)
            }
        }
    }

    /// Handles a connection without progress: the other end of one that was reset may learn of it only by its idle
    /// timeout.
    fn stalled(&mut self, number: usize) -> Result<(), Violation> {
        let text = match &self.connections[number] {
            Connection::Packets(flow) => flow.name(),
            Connection::Split { .. } => {
                self.wait(IDLE)?;
                if self.has_ended(number) {
                    return Ok(());
                }
                let Connection::Split { mobile, ends, .. } = &self.connections[number] else {
                    return Ok(());
                };
                format!("{ends:?} {:?}", self.applications(*mobile, ends))
            }
        };
        self.fail(
            "R11",
            format!("no progress for {PROGRESS} after the last fault: {text}"),
        );
        self.verdict()
    }

    /// Checks that hosts at rest send little, and hold little.
    fn check_rest(&mut self) -> Result<(), Violation> {
        self.wait(PROGRESS)?;
        let before = self.network.sent;
        self.wait(REST)?;
        let sent = self.network.sent - before;
        if sent > DATAGRAMS_AT_REST * self.setting.mobiles as u64 {
            self.fail("R11", format!("{sent} datagrams in {REST} at rest"));
        }
        self.check()
    }
}
