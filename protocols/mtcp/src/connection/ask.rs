//! Timers of a connection: retransmission, attempts to open, polls of a silent peer, lingering.

use redirector::Content;
use units::{Duration, Instant};

use super::{Connection, Phase};
use crate::config::Timing;
use crate::packet::Kind;
use crate::{Config, Reason};

/// State of the polls to the peer.
#[derive(Debug, Clone)]
pub(crate) struct PollState {
    /// Time of the last packet from the peer.
    heard: Instant,
    /// Time of the first poll since then.
    unanswered: Option<Instant>,
    /// Time of the last poll.
    asked: Instant,
    /// Time until the next poll; doubles.
    interval: Duration,
    /// Set if the next packet polls.
    question: bool,
    /// Time of the next check, not later than needed.
    pub(super) at: Option<Instant>,
    /// Number of control packets without any answer.
    pub(super) attempts: u32,
    /// Time at which the handshake began.
    pub(super) began: Instant,
}

impl PollState {
    pub(super) fn new(timing: &Timing) -> Self {
        Self {
            heard: Instant::ZERO,
            unanswered: None,
            asked: Instant::ZERO,
            interval: timing.poll,
            question: false,
            at: None,
            attempts: 0,
            began: Instant::ZERO,
        }
    }

    /// Starts the timers at `now`; the next check is due at `at`.
    pub(super) fn start(&mut self, now: Instant, at: Instant) {
        self.began = now;
        self.heard = now;
        self.at = Some(at);
    }

    /// Notes a packet from the peer. Returns true if it may have answered a poll.
    pub(super) fn hear(&mut self, now: Instant) -> bool {
        self.heard = now;
        self.unanswered.take().is_some()
    }

    /// Resets the poll interval to the shortest one, since there was progress.
    pub(super) fn news(&mut self, timing: &Timing) {
        self.interval = timing.poll;
    }

    /// Polls with the next packet.
    pub(super) fn ask(&mut self, now: Instant) {
        self.question = true;
        self.asked = now;
        self.unanswered.get_or_insert(now);
    }

    /// Returns true if the packet that goes out now polls, and clears that flag.
    pub(super) fn take_question(&mut self) -> bool {
        std::mem::take(&mut self.question)
    }

    /// Returns true if polls have gone unanswered for at least `limit`.
    fn is_unanswered_for(&self, limit: Duration, now: Instant) -> bool {
        self.unanswered
            .is_some_and(|first| now.since(first) >= limit)
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.at
    }
}

impl<C: Content + Clone> Connection<C> {
    /// Handles every timer that has expired.
    pub(crate) fn time_out(&mut self, now: Instant) {
        if !matches!(self.phase, Phase::Aborted(_)) {
            let acknowledges = self.receiver.time_out(now);
            self.traffic.timeouts += u64::from(acknowledges);
            if self.sender.clock.deadline.is_some_and(|at| at <= now) {
                self.retransmit(now);
            }
        }
        if self.asking.at.take_if(|at| *at <= now).is_some() {
            match self.phase {
                Phase::Opening => self.try_again(now),
                Phase::Answered => self.answer_again(now),
                Phase::Waiting => self.break_off(Reason::TimedOut),
                Phase::Open | Phase::Lingering | Phase::Aborted(_) => self.ask_if_silent(now),
                Phase::Gone => {}
            }
        }
    }

    fn retransmit(&mut self, now: Instant) {
        let asking = &mut self.asking;
        asking.unanswered.get_or_insert(now);
        if asking.is_unanswered_for(self.config.timing.give_up, now) {
            self.break_off(Reason::TimedOut);
            return;
        }
        self.traffic.timeouts += 1;
        if self.sender.time_out(now) {
            self.asking.ask(now);
        }
    }

    /// Resets a connection whose peer does not answer.
    pub(super) fn break_off(&mut self, reason: Reason) {
        let told = self.news.outcome.is_some();
        self.end(reason);
        self.news.reset = Some(reason).filter(|_| !told);
    }

    /// Sends the answer to the SYN again. The end that has it may use the connection already, so silence means an
    /// outage, as on an established connection. An end that does not know the connection answers with a reset.
    fn answer_again(&mut self, now: Instant) {
        self.asking.attempts += 1;
        if now.since(self.asking.began) >= self.config.timing.give_up {
            self.break_off(Reason::TimedOut);
            return;
        }
        self.traffic.timeouts += 1;
        self.send_syn(now);
    }

    /// Sends the SYN again, or gives up after enough attempts.
    fn try_again(&mut self, now: Instant) {
        let limits = &self.config.limits;
        self.asking.attempts += 1;
        let waited = now.since(self.asking.began);
        let too_long = waited >= limits.opening;
        // If the hop is known to be fast, the first attempts follow each other soon; then only the time counts.
        let patience = self.config.timing.initial_timeout * u64::from(limits.attempts);
        let silent = self.asking.attempts >= limits.attempts && waited >= patience;
        if too_long || (silent && !self.fall_back(now)) {
            self.break_off(Reason::TimedOut);
            return;
        }
        self.traffic.timeouts += 1;
        if !silent {
            self.send_syn(now);
        }
    }

    /// Sends the SYN or its answer, and starts the timer.
    pub(super) fn send_syn(&mut self, now: Instant) {
        self.news.control = Some(match self.phase {
            Phase::Opening => Kind::Syn,
            _ => Kind::SynAck,
        });
        let Config { timing, limits, .. } = &*self.config;
        let is_late = self.phase == Phase::Answered && self.asking.attempts >= limits.attempts;
        let timeout = if is_late {
            timing.poll_longest
        } else {
            timing.opening_timeout(self.asking.attempts)
        };
        self.asking.at = Some(self.ticks().after(now, timeout));
    }

    /// Returns the time at which a silent peer is polled, or none if it is not polled at all.
    fn patience(&self) -> Option<Instant> {
        let (asking, lean_peer) = (&self.asking, self.agreed.lean_peer);
        let often = match self.phase {
            Phase::Aborted(_) => true,
            Phase::Lingering if lean_peer => true,
            Phase::Open if !self.config.lean => {
                // The retransmission timer polls by itself.
                let waits = asking.unanswered.is_some() && self.sender.clock.deadline.is_none();
                let polls = lean_peer && !self.receiver.is_finished();
                self.sender.is_blocked() || polls || waits
            }
            Phase::Lingering => return Some(asking.began + self.config.timing.linger),
            _ => return None,
        };
        Some(if often {
            // Missing data are requested at the shortest interval.
            let missing = self.receiver.has_hole();
            let interval = if missing {
                self.config.timing.poll
            } else {
                asking.interval
            };
            asking.heard.max(asking.asked) + interval
        } else {
            asking.heard + self.config.timing.keep_alive
        })
    }

    /// Sets the next check for a silent peer, after everything that may go out now has. An earlier check that is
    /// already set stays: it is corrected when it is due.
    pub(crate) fn settle(&mut self, now: Instant) {
        let Some(due) = self.patience() else {
            self.asking.at = None;
            return;
        };
        if self.asking.at.is_none_or(|at| due < at) {
            let at = self.ticks().at_or_after(due);
            self.asking.at = Some(at.max(self.ticks().next(now)));
        }
    }

    fn ask_if_silent(&mut self, now: Instant) {
        if self.patience().is_none_or(|due| due > now) {
            return;
        }
        let timing = &self.config.timing;
        let longest = timing.poll_longest;
        let stays_long = self.phase == Phase::Open || self.agreed.lean_peer;
        if !stays_long && now.since(self.asking.began) >= timing.linger {
            self.phase = Phase::Gone;
            return;
        }
        if self.asking.is_unanswered_for(timing.give_up, now) {
            self.break_off(Reason::TimedOut);
            return;
        }
        self.traffic.timeouts += 1;
        self.asking.ask(now);
        self.asking.interval = (self.asking.interval * 2).min(longest);
    }

    /// Ends the connection after both streams have ended. The end that finished first lingers, to answer
    /// retransmissions of the peer that has missed an acknowledgement. That peer's FIN has acknowledged the first
    /// one's.
    pub(super) fn linger(&mut self, now: Instant) {
        if self.news.finished_first {
            self.phase = Phase::Lingering;
            self.stay(now);
        } else {
            self.phase = Phase::Gone;
        }
    }

    /// Keeps the ended connection: for a while, or, if the peer keeps no timers, until the peer answers that it does
    /// not know the connection any more.
    pub(super) fn stay(&mut self, now: Instant) {
        self.asking.began = now;
        self.asking.asked = now;
        self.asking.interval = self.config.timing.poll;
        self.asking.unanswered = None;
        self.asking.at = None;
        self.settle(now);
    }
}
