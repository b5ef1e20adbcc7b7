//! A mobile host at a gateway that is not its home.

use association::Report;
use session::PublicKey;
use units::{Duration, Instant};

use super::exchange::{Exchange, Patience};
use super::exits::Exits;
use super::message::{Proof, Step, Yielded};

/// Time for which packets from the home are waited for before this gateway ceases; the home waits for longer.
const PATIENCE: Patience = Patience {
    least: Duration::from_millis(200),
    most: Duration::from_secs(1),
    trips: 3,
};

/// Time after a relayed datagram for which others are expected: an idle mobile host sends that often.
const RELAYED: Duration = Duration::from_secs(60);

/// State of a mobile host at a gateway that is not its home.
#[derive(Debug)]
pub(crate) struct Guest {
    /// Key of its home.
    pub(crate) home: PublicKey,
    /// Number of its latest attachment here.
    pub(crate) number: u64,
    /// That attachment, for a home that has forgotten it.
    pub(crate) claim: Option<Box<(Step, Proof)>>,
    /// Its service here.
    pub(crate) service: Service,
    /// Its packets between here and its home.
    pub(crate) exchange: Exchange,
    /// What was left of its service, once it has left before its home asked this gateway to cease.
    pub(crate) left: Option<Box<Left>>,
    /// The request of its home to cease.
    pub(crate) yielding: Option<Box<Yielding>>,
    /// Time of the latest datagram from it that was relayed to its home.
    pub(crate) relayed: Option<Instant>,
    /// Its flows that leave here, if there are any or may be.
    pub(crate) exits: Option<Box<Exits>>,
    /// The answer to the latest request to cease that was met, or will be.
    pub(crate) ceased: Option<Box<Ceased>>,
}

/// Service of a guest.
#[derive(Debug, Default)]
pub(crate) struct Service {
    /// True since it has attached: packets to it are taken.
    pub(crate) is_here: bool,
    /// True if there are other keys since then: packets to it wait until it attaches with these, or leaves.
    pub(crate) has_other_keys: bool,
    /// True once its home has said so: packets from it are taken.
    pub(crate) is_served: bool,
    /// True once all that another gateway had of it has come: it may leave without being asked to.
    pub(crate) is_whole: bool,
    /// True if it may be served without an answer of its home, and while it is.
    pub(crate) may_be_alone: bool,
    pub(crate) is_unknown: bool,
    /// True if its home was silent meanwhile, until that has answered.
    pub(crate) has_stood_in: bool,
    /// The answer to its attachment.
    pub(crate) answer: Option<Box<Report>>,
}

/// What was left of the service of a mobile host when it left.
#[derive(Debug)]
pub(crate) struct Left {
    /// Number of its attachment to the next gateway.
    pub(crate) number: u64,
    /// What was delivered from it.
    pub(crate) report: Option<Report>,
}

/// The end of the service of a mobile host.
#[derive(Debug)]
pub(crate) struct Ceased {
    /// The attachment to the next gateway, and what was delivered from the mobile host.
    pub(crate) step: Step,
    pub(crate) counts: Yielded,
}

/// A request to cease to serve a mobile host.
#[derive(Debug)]
pub(crate) struct Yielding {
    pub(crate) step: Step,
    /// Segments to it that its home has sent.
    sent: u64,
    due: Instant,
}

impl Guest {
    /// Returns a guest with this home that is not here.
    pub(crate) fn of(home: PublicKey) -> Self {
        Self {
            home,
            number: 0,
            claim: None,
            service: Service::default(),
            exchange: Exchange::default(),
            left: None,
            yielding: None,
            relayed: None,
            exits: None,
            ceased: None,
        }
    }

    /// Returns true if this gateway relays its datagrams.
    pub(crate) fn is_relayed(&self, now: Instant) -> bool {
        self.relayed.is_some_and(|at| now.since(at) < RELAYED)
    }

    /// Returns true if this gateway serves it or relays for it, whether it sends now or not.
    pub(crate) fn is_carried(&self) -> bool {
        self.service.is_here || self.relayed.is_some()
    }

    /// Returns true if flows leave here of a guest that is elsewhere: its home hears of them.
    pub(crate) fn leaves_flows(&self) -> bool {
        let exits = self.exits.as_deref();
        self.left.is_some() && exits.is_some_and(|exits| !exits.flows.is_empty())
    }

    /// Ends what only this gateway knows of a guest, which has left or is out of reach.
    pub(crate) fn leaves(&mut self) {
        self.relayed = None;
        if self.service.is_unknown {
            self.service = Service::default();
        }
    }

    /// Begins the service of a guest that attaches to this gateway.
    pub(crate) fn arrives(&mut self, step: Step, proof: Proof) {
        // It is back, with new keys, before its home has asked for what it left, or before all has come that the home
        // has sent here. What there was crosses by its new association.
        let request = self.end_request();
        self.cease(request.map(|step| step.number));
        self.service = Service {
            is_here: true,
            ..Service::default()
        };
        self.relayed = None;
        self.number = step.number;
        self.claim = Some(Box::new((step, proof)));
    }

    /// Returns its attachment, if it is here and goes on to be.
    pub(crate) fn attachment(&self) -> Option<(Step, Proof)> {
        let is_here = self.service.is_here && self.yielding.is_none();
        self.claim.as_deref().filter(|_| is_here).cloned()
    }

    /// Begins the service of a guest anew, as its home knows nothing of it any more; returns its attachment.
    pub(crate) fn begin_anew(&mut self) -> Option<(Step, Proof)> {
        let claim = self.attachment()?;
        self.service = Service {
            is_here: true,
            may_be_alone: self.service.may_be_alone,
            is_unknown: true,
            has_stood_in: self.service.has_stood_in,
            ..Service::default()
        };
        Some(claim)
    }

    /// Notes the answer to a request of the home to cease: to that for the attachment with this number, or to the one
    /// that is to come, if the guest has left.
    pub(crate) fn cease(&mut self, request: Option<u64>) {
        let left = self.left.take().map(|left| *left);
        let Some(number) = request.or(left.as_ref().map(|left| left.number)) else {
            return;
        };
        let report = left.and_then(|left| left.report);
        self.ceased = Some(Box::new(Ceased {
            step: Step { number, report },
            counts: Yielded {
                returned: self.exchange.returned,
                carried: self.exchange.carried,
            },
        }));
    }

    /// Returns true if an attachment with this number is from before the guest left, or was asked to.
    pub(crate) fn has_left_since(&self, number: u64) -> bool {
        let request = self.yielding.as_deref();
        let is_asked_after = request.is_some_and(|request| number <= request.step.number);
        number < self.number || (number == self.number && self.left.is_some()) || is_asked_after
    }

    /// Notes the request of the home to cease; returns the time when it is met at the latest.
    pub(crate) fn begin_to_yield(
        &mut self,
        now: Instant,
        step: Step,
        sent: u64,
        round_trip: Option<Duration>,
    ) -> Instant {
        let due = PATIENCE.ends(now, round_trip);
        let request = || Box::new(Yielding { step, sent, due });
        self.yielding.get_or_insert_with(request).due
    }

    /// Returns the request to cease if it can be met: all packets have come, or are waited for no more.
    pub(crate) fn take_due(&mut self, now: Instant) -> Option<Step> {
        let came = self.exchange.sent;
        let is_due = |request: &Yielding| came >= request.sent || now >= request.due;
        if self.yielding.as_deref().is_some_and(is_due) {
            self.end_request()
        } else {
            None
        }
    }

    /// Waits no more for what the home has sent before its request to cease; returns that.
    fn end_request(&mut self) -> Option<Step> {
        let request = self.yielding.take()?;
        self.exchange.sent = self.exchange.sent.max(request.sent);
        Some(request.step)
    }
}
