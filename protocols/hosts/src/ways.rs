//! The ways of a mobile host to its gateway: UDP, or TLS over TCP where networks let no UDP through.
//!
//! UDP is the better way: TCP repairs losses by itself, holds back what came after them, and slows down for them. So
//! UDP is tried first, and again and again while TLS is in use. Only an answer of the gateway shows that a way works.

use std::net::SocketAddr;

use machine::earlier;
use units::{Duration, Instant};
use wire::address::HopAddress;

/// Time without an answer by UDP after which TLS is tried too, in round trips, and its least value.
const PATIENCE_ROUND_TRIPS: u64 = 4;
const PATIENCE: Duration = Duration::from_secs(2);
/// The same, in units of that patience, if the gateway is heard but nothing shows that it hears: some networks block
/// one direction. By then it was asked six times, which losses alone seldom explain.
const PATIENCE_WITH_DEAF: u64 = 3;
/// Time without an answer by TLS after which it is doubted. TCP may repair a loss for longer than ARQ does.
const PATIENCE_WITH_TLS: Duration = Duration::from_secs(4);
/// First and longest pause between two tries of TLS.
const TRY: Duration = Duration::from_secs(1);
const LONGEST_TRY: Duration = Duration::from_secs(10);
const MOST_DOUBLINGS: u32 = 4;
/// Time that UDP gets when TLS has answered, in round trips, and its limits: at the end of a fade both ways are back,
/// and TLS may happen to be first.
const LAST_CHANCE_ROUND_TRIPS: u64 = 2;
const LAST_CHANCE: Duration = Duration::from_millis(300);
const LONGEST_LAST_CHANCE: Duration = Duration::from_secs(1);
/// First and longest pause between two probes of UDP while TLS is in use; it doubles.
const PROBE: Duration = Duration::from_secs(2);
const LONGEST_PROBE: Duration = Duration::from_secs(30);
/// Time for which UDP must work so that its next failure is not taken as a part of the former one.
const STABLE: Duration = Duration::from_secs(60);

/// State of the ways to one gateway.
#[derive(Debug)]
pub(crate) struct Ways {
    /// Port of TLS at the gateway.
    port: u16,
    /// Its address by UDP.
    pub(crate) udp: SocketAddr,
    state: State,
    /// Time of the oldest datagram that is not answered on the way in use.
    unanswered: Option<Instant>,
    /// Time of the oldest datagram by UDP since the gateway last showed that it received one.
    unproven: Option<Instant>,
    /// Time of the next look at the silence on the way in use. An answer does not move it, as there are many.
    check: Option<Instant>,
    /// Silence after which the way in use is in doubt. At half of it the gateway is asked there, as the last datagram
    /// may have needed no answer.
    patience: Duration,
    is_asked: bool,
    /// Pause before the next probe of UDP, and the end of the last use of TLS.
    pause: Duration,
    returned: Option<Instant>,
}

#[derive(Debug, Clone, Copy)]
enum State {
    /// UDP is in use. TLS was tried so often since the last answer.
    Udp { tries: u32, is_refused: bool },
    /// TLS at this address has answered; UDP gets a last chance.
    Deciding { tls: HopAddress, until: Instant },
    /// TLS is in use since then. Without traffic there is no next probe of UDP.
    Tls {
        since: Instant,
        probe: Option<Instant>,
        is_active: bool,
    },
}

/// What a host shall do about its ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// Ask on the way in use if the gateway receives there.
    AskHere,
    /// Ask at the other ways, if the gateway receives there.
    Ask,
    /// Use this way from now on.
    Take(HopAddress),
}

impl Ways {
    /// Returns the ways to a gateway that has this port for TLS.
    pub(crate) fn new(port: u16, udp: SocketAddr) -> Self {
        Self {
            port,
            udp,
            state: State::first(),
            unanswered: None,
            unproven: None,
            check: None,
            patience: PATIENCE,
            is_asked: false,
            pause: PROBE,
            returned: None,
        }
    }

    /// Returns the address for TLS of a gateway that has this address for UDP.
    pub(crate) fn tls(&self, udp: SocketAddr) -> HopAddress {
        HopAddress::Tls(SocketAddr::new(udp.ip(), self.port))
    }

    /// Returns the address by UDP.
    pub(crate) fn udp(&self) -> HopAddress {
        HopAddress::Udp(self.udp)
    }

    /// Returns true if UDP is in use.
    pub(crate) fn uses_udp(&self) -> bool {
        match self.state {
            State::Udp { .. } | State::Deciding { .. } => true,
            State::Tls { .. } => false,
        }
    }

    /// Returns the time since when TLS is in use.
    pub(crate) fn tls_since(&self) -> Option<Instant> {
        match self.state {
            State::Udp { .. } | State::Deciding { .. } => None,
            State::Tls { since, .. } => Some(since),
        }
    }

    /// Returns true if the way in use is in doubt: others may take its place.
    pub(crate) fn is_in_doubt(&self, now: Instant) -> bool {
        match self.state {
            State::Udp { tries, .. } => tries > 0,
            State::Deciding { .. } => true,
            State::Tls { .. } => self.is_silent(now),
        }
    }

    fn is_silent(&self, now: Instant) -> bool {
        (self.unanswered.is_some() && self.silent_for(now) >= self.patience) || self.is_deaf(now)
    }

    /// Returns true if the gateway is heard by UDP, perhaps, but does not hear.
    fn is_deaf(&self, now: Instant) -> bool {
        let lasted = self.unproven.map(|since| now.since(since));
        self.uses_udp() && lasted.is_some_and(|lasted| lasted >= self.patience * PATIENCE_WITH_DEAF)
    }

    /// Returns the time for which nothing that was sent has been answered.
    pub(crate) fn silent_for(&self, now: Instant) -> Duration {
        let since = if self.is_deaf(now) {
            self.unproven
        } else {
            self.unanswered
        };
        since.map_or(Duration::ZERO, |since| now.since(since))
    }

    /// Returns true if an address belongs to a way that is not in use.
    pub(crate) fn is_other(&self, at: HopAddress, in_use: Option<HopAddress>) -> bool {
        let is_way = match at {
            HopAddress::Tls(at) => at.port() == self.port,
            HopAddress::Udp(_) => at == self.udp(),
            HopAddress::Ethernet(_) | HopAddress::Relay(_) => false,
        };
        is_way && in_use != Some(at)
    }

    /// Records a datagram on the way in use.
    pub(crate) fn sent(&mut self, now: Instant, round_trip: Option<Duration>) {
        self.unanswered.get_or_insert(now);
        self.unproven.get_or_insert(now);
        if self.check.is_none() {
            let patience = round_trip.map_or(PATIENCE, |time| time * PATIENCE_ROUND_TRIPS);
            self.patience = match self.state {
                State::Udp { .. } | State::Deciding { .. } => patience.max(PATIENCE),
                State::Tls { .. } => patience.max(PATIENCE_WITH_TLS),
            };
            self.check = Some(now + self.patience / 2);
        }
        if let State::Tls {
            probe, is_active, ..
        } = &mut self.state
        {
            *is_active = true;
            // After a time without traffic it is probed at once.
            probe.get_or_insert(now);
        }
    }

    /// Records a datagram from the gateway on the way in use.
    pub(crate) fn heard(&mut self, now: Instant) {
        if !self.is_deaf(now) {
            self.is_answered();
        }
    }

    /// Records that the gateway receives on the way in use.
    pub(crate) fn proved(&mut self) {
        self.unproven = None;
        self.is_answered();
    }

    fn is_answered(&mut self) {
        self.unanswered = None;
        self.is_asked = false;
        match self.state {
            State::Udp { .. } | State::Deciding { .. } => self.state = State::first(),
            State::Tls { .. } => {}
        }
    }

    /// Records that the network refuses datagrams by UDP. That may be forged, so it only hastens the first try of TLS.
    pub(crate) fn refused(&mut self, now: Instant) {
        if let State::Udp {
            tries: 0,
            is_refused,
        } = &mut self.state
            && self.unanswered.is_some()
        {
            *is_refused = true;
            self.check = Some(now);
        }
    }

    /// Records that this host's network has changed.
    pub(crate) fn network_changed(&mut self, now: Instant) {
        self.begin_anew();
        self.pause = PROBE;
        match &mut self.state {
            State::Udp { .. } | State::Deciding { .. } => self.state = State::first(),
            State::Tls { probe, .. } => *probe = Some(now),
        }
    }

    /// Records an answer on another way; returns what to do about it.
    pub(crate) fn answered(
        &mut self,
        now: Instant,
        from: HopAddress,
        round_trip: Option<Duration>,
    ) -> Option<Step> {
        match (&self.state, from) {
            (State::Tls { .. }, HopAddress::Udp(_)) => Some(Step::Take(from)),
            // The gateway is at another address.
            (State::Tls { .. }, HopAddress::Tls(_)) => {
                self.is_in_doubt(now).then_some(Step::Take(from))
            }
            (State::Udp { tries: 1.., .. }, HopAddress::Tls(_)) => {
                let chance = round_trip.map_or(LAST_CHANCE, |time| time * LAST_CHANCE_ROUND_TRIPS);
                let until = now + chance.clamp(LAST_CHANCE, LONGEST_LAST_CHANCE);
                self.state = State::Deciding { tls: from, until };
                Some(Step::AskHere)
            }
            (State::Udp { .. } | State::Deciding { .. }, _)
            | (State::Tls { .. }, HopAddress::Ethernet(_) | HopAddress::Relay(_)) => None,
        }
    }

    /// Records that another address of the gateway is used from now on.
    pub(crate) fn took(&mut self, now: Instant, to: HopAddress, udp: SocketAddr) {
        self.begin_anew();
        self.udp = udp;
        match (to, &mut self.state) {
            (HopAddress::Tls(_), State::Tls { probe, .. }) => *probe = Some(now),
            (HopAddress::Tls(_), State::Udp { .. } | State::Deciding { .. }) => {
                let is_again = self.returned.is_some_and(|at| now.since(at) < STABLE);
                self.pause = if is_again {
                    (self.pause * 2).min(LONGEST_PROBE)
                } else {
                    PROBE
                };
                self.state = State::Tls {
                    since: now,
                    probe: Some(now + self.pause),
                    is_active: true,
                };
            }
            (_, State::Tls { .. }) => {
                self.returned = Some(now);
                self.state = State::first();
            }
            (_, State::Udp { .. } | State::Deciding { .. }) => self.state = State::first(),
        }
    }

    /// Returns the time of the next [`act`](Self::act).
    pub(crate) fn due(&self) -> Option<Instant> {
        match self.state {
            State::Udp { .. } => self.check,
            State::Deciding { until, .. } => Some(until),
            State::Tls { probe, .. } => earlier(probe, self.check),
        }
    }

    /// Returns what is due now.
    pub(crate) fn act(&mut self, now: Instant) -> Option<Step> {
        let is_checked = self.check.take_if(|check| *check <= now).is_some();
        if is_checked && self.asks_here(now) {
            self.is_asked = true;
            self.check = Some(now + self.patience / 2);
            return Some(Step::AskHere);
        }
        let is_silent = self.is_silent(now);
        match &mut self.state {
            State::Deciding { tls, until } => {
                let tls = *tls;
                (*until <= now).then_some(Step::Take(tls))
            }
            State::Udp { tries, is_refused } => {
                let is_in_doubt = is_checked && (*tries > 0 || *is_refused || is_silent);
                if is_in_doubt {
                    let pause = TRY * (1 << (*tries).min(MOST_DOUBLINGS));
                    self.check = Some(now + pause.min(LONGEST_TRY));
                    *tries = tries.saturating_add(1);
                    return Some(Step::Ask);
                }
                self.check_later();
                None
            }
            State::Tls {
                probe, is_active, ..
            } => {
                if is_checked && is_silent {
                    self.check = Some(now + LONGEST_TRY);
                    return Some(Step::Ask);
                }
                let is_probed =
                    probe.take_if(|probe| *probe <= now).is_some() && std::mem::take(is_active);
                if is_probed {
                    *probe = Some(now + self.pause);
                    self.pause = (self.pause * 2).min(LONGEST_PROBE);
                }
                self.check_later();
                is_probed.then_some(Step::Ask)
            }
        }
    }

    /// Sets the time of the next check, if there is something unanswered.
    fn check_later(&mut self) {
        if self.check.is_none() {
            let span = if self.is_asked {
                self.patience
            } else {
                self.patience / 2
            };
            self.check = self.unanswered.map(|since| since + span);
        }
    }

    /// Returns true if the gateway is to be asked on the way in use now.
    fn asks_here(&self, now: Instant) -> bool {
        let may_ask = match self.state {
            State::Udp { tries, is_refused } => tries == 0 && !is_refused,
            State::Deciding { .. } => false,
            State::Tls { .. } => true,
        };
        let is_old = |since: Option<Instant>| {
            since.is_some_and(|since| now.since(since) >= self.patience / 2)
        };
        let is_quiet = is_old(self.unanswered) && !self.is_asked;
        let is_unproven = self.uses_udp() && is_old(self.unproven) && !self.is_silent(now);
        may_ask && (is_quiet || is_unproven)
    }

    fn begin_anew(&mut self) {
        (self.unanswered, self.unproven, self.check) = (None, None, None);
        self.is_asked = false;
    }
}

impl State {
    fn first() -> Self {
        Self::Udp {
            tries: 0,
            is_refused: false,
        }
    }
}
