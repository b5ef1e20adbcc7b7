//! A mobile host at a gateway that is not its home.

use association::Report;
use session::PublicKey;
use units::{Duration, Instant};

use super::message::{Proof, SiteMessage, Step};
use super::{Exits, patience};

/// Longest time for which packets from the home are waited for before this gateway ceases, if that is longer than some
/// round trips to it.
const PATIENCE: Duration = Duration::from_millis(200);

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
    /// What was left of its service, once it has left before its home asked this gateway to cease.
    pub(crate) left: Option<Box<Left>>,
    /// The request of its home to cease.
    pub(crate) yielding: Option<Box<Yielding>>,
    /// Time of the latest datagram from it that was relayed to its home.
    pub(crate) relayed: Option<Instant>,
    /// Its flows that leave here, if this gateway has stood in for its home since it came.
    pub(crate) exits: Option<Box<Exits>>,
    /// Number of the latest request to cease that was met, and the answer.
    pub(crate) yielded: Option<Box<(u64, SiteMessage)>>,
}

/// Service of a guest.
#[derive(Debug, Default)]
pub(crate) struct Service {
    /// True since it has attached: packets to it are taken.
    pub(crate) is_here: bool,
    /// True once its home has said so: packets from it are taken.
    pub(crate) is_served: bool,
    /// True once all that another gateway had of it has come: it may leave without being asked to.
    pub(crate) is_whole: bool,
    /// True if it may be served without an answer of its home, and while it is.
    pub(crate) may_be_alone: bool,
    pub(crate) is_unknown: bool,
    /// The answer to its attachment.
    pub(crate) answer: Option<Box<Report>>,
    /// Segments to it that came from its home, and segments from it that went there.
    pub(crate) came: u64,
    pub(crate) carried: u64,
}

/// What was left of the service of a mobile host when it left.
#[derive(Debug)]
pub(crate) struct Left {
    /// What was delivered from it.
    pub(crate) report: Option<Report>,
    /// Segments to it that were returned to its home.
    pub(crate) returned: u64,
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
            left: None,
            yielding: None,
            relayed: None,
            exits: None,
            yielded: None,
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

    /// Ends what only this gateway knows of a guest, which has left or is out of reach.
    pub(crate) fn leaves(&mut self) {
        self.relayed = None;
        if self.service.is_unknown {
            self.service = Service::default();
        }
    }

    /// Begins the service of a guest that attaches to this gateway.
    pub(crate) fn arrives(&mut self, step: Step, proof: Proof) {
        // What was before it left is counted no more at its home, either.
        let has_left = self.left.take().is_some();
        let former = std::mem::take(&mut self.service);
        let (came, carried) = if has_left {
            (0, 0)
        } else {
            (former.came, former.carried)
        };
        self.service = Service {
            is_here: true,
            came,
            carried,
            ..Service::default()
        };
        self.relayed = None;
        self.number = step.number;
        self.claim = Some(Box::new((step, proof)));
    }

    /// Begins the service of a guest anew, as its home knows nothing of it any more; returns its attachment.
    pub(crate) fn begin_anew(&mut self) -> Option<(Step, Proof)> {
        let is_here = self.service.is_here && self.yielding.is_none();
        let claim = self.claim.as_deref().filter(|_| is_here)?;
        self.service = Service {
            is_here,
            may_be_alone: self.service.may_be_alone,
            is_unknown: true,
            ..Service::default()
        };
        Some(claim.clone())
    }

    /// Notes the request of the home to cease; returns the time when it is met at the latest.
    pub(crate) fn begin_to_yield(
        &mut self,
        now: Instant,
        step: Step,
        sent: u64,
        round_trip: Option<Duration>,
    ) -> Instant {
        let due = now + patience(PATIENCE, round_trip);
        let request = || Box::new(Yielding { step, sent, due });
        self.yielding.get_or_insert_with(request).due
    }

    /// Returns the request to cease if it can be met: all packets have come, or are waited for no more.
    pub(crate) fn take_due(&mut self, now: Instant) -> Option<Step> {
        let came = self.service.came;
        let due = self
            .yielding
            .take_if(|request| came >= request.sent || now >= request.due);
        due.map(|request| request.step)
    }
}
