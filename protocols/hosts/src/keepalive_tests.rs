use machine::RandomStream;

use super::*;

const ONE_WAY: Duration = Duration::from_millis(30);
/// Renewals of keys, which use the binding.
const KEYS: Duration = Duration::from_secs(120);
const HOUR: Duration = Duration::from_secs(3_600);

/// A mobile host behind a NAT, and a gateway that answers.
struct Idle {
    keepalive: Keepalive,
    now: Instant,
    random: RandomStream,
    lifetime: Duration,
    /// Share of datagrams that the air loses, in hundredths, each way.
    loss: u64,
    /// Last time when the binding was used from inside.
    bound: Instant,
    /// Time and number of the answer that the gateway owes.
    owed: Option<(Instant, u16)>,
    keys: Instant,
    sent: u64,
    /// Time without a binding.
    unbound: Duration,
}

impl Idle {
    fn behind(lifetime: u64) -> Self {
        let mut keepalive = Keepalive::new();
        keepalive.is_answered = true;
        keepalive.set_reached(Instant::ZERO, true);
        Self {
            keepalive,
            now: Instant::ZERO,
            random: RandomStream::named(lifetime, "keepalive"),
            lifetime: Duration::from_secs(lifetime),
            loss: 0,
            bound: Instant::ZERO,
            owed: None,
            keys: Instant::ZERO + KEYS,
            sent: 0,
            unbound: Duration::ZERO,
        }
    }

    fn crosses(&mut self) -> bool {
        self.random.below(100) >= self.loss
    }

    /// The binding is used from inside.
    fn bind(&mut self) {
        let idle = self.now.since(self.bound);
        if idle > self.lifetime {
            self.unbound += idle - self.lifetime;
        }
        self.bound = self.now;
    }

    /// Runs for some time; returns the questions that were sent in it, and the time without a binding.
    fn run(&mut self, span: Duration) -> (u64, Duration) {
        let end = self.now + span;
        (self.sent, self.unbound) = (0, Duration::ZERO);
        loop {
            let owed = self.owed.map(|(at, _)| at);
            let due = [self.keepalive.due(), owed, Some(self.keys)];
            let next = due.into_iter().flatten().min().expect("keys are renewed");
            if next >= end {
                self.now = end;
                return (self.sent, self.unbound);
            }
            self.now = next.max(self.now);
            self.step();
        }
    }

    fn step(&mut self) {
        if self.now >= self.keys {
            self.keys = self.now + KEYS;
            self.bind();
            self.keepalive.used(self.now);
        }
        if let Some((_, after)) = self.owed.take_if(|(at, _)| *at <= self.now) {
            let is_bound = self.now.since(self.bound) <= self.lifetime;
            if is_bound && self.crosses() {
                self.keepalive.answered(self.now, after);
            }
        }
        if let Some(after) = self.keepalive.act(self.now, Some(ONE_WAY * 2)) {
            self.sent += 1;
            self.bind();
            if self.crosses() {
                let at = self.now + ONE_WAY * 2 + seconds(after);
                self.owed = Some((at, after));
            }
        }
    }
}

#[test]
fn the_interval_fits_the_nat() {
    for lifetime in [5, 20, 30, 45, 60, 90] {
        let mut idle = Idle::behind(lifetime);
        let (questions, searched) = idle.run(HOUR);
        let interval = idle.keepalive.interval().expect("keepalives are needed");
        println!(
            "{lifetime} s: {interval} after {searched} without a binding, {questions} questions"
        );
        let lifetime = Duration::from_secs(lifetime);
        assert!(interval <= lifetime, "{interval}");
        assert!(
            interval + lifetime / 5 + Duration::from_secs(2) >= lifetime,
            "{interval}"
        );
        // The search ends, and then the host can be reached at any time.
        assert!(searched < Duration::from_secs(300), "{searched}");
        let (questions, unbound) = idle.run(HOUR);
        assert_eq!(unbound, Duration::ZERO);
        // One more after each renewal of keys.
        let most = HOUR.as_millis() / interval.as_millis() + 35;
        assert!(questions <= most, "{questions}");
    }
}

#[test]
fn without_a_nat_or_with_a_patient_one_nothing_is_sent() {
    for lifetime in [180, 600, 1_000_000] {
        let mut idle = Idle::behind(lifetime);
        let (questions, unbound) = idle.run(HOUR);
        assert_eq!((idle.keepalive.interval(), unbound), (None, Duration::ZERO));
        // Four for the search, and a check every twenty minutes; renewals of keys disturb some.
        assert!(questions <= 12, "{questions}");
        let (questions, _) = idle.run(HOUR);
        assert!(questions <= 6, "{questions}");
    }
}

#[test]
fn a_nat_that_changes_is_learned_again() {
    let mut idle = Idle::behind(60);
    idle.run(HOUR);
    for lifetime in [20, 90, 30, 600, 25] {
        idle.lifetime = Duration::from_secs(lifetime);
        // A more patient one is known when this host moves.
        if lifetime > 60 {
            idle.keepalive.forget(idle.now);
        }
        idle.run(HOUR);
        let (_, unbound) = idle.run(HOUR);
        assert_eq!(unbound, Duration::ZERO, "{lifetime} s");
        let interval = idle.keepalive.interval();
        assert_eq!(interval.is_none(), lifetime == 600, "{lifetime} s");
    }
}

#[test]
fn losses_on_the_air_are_not_taken_for_a_nat() {
    for lifetime in [30, 1_000_000] {
        let mut idle = Idle::behind(lifetime);
        idle.loss = 5;
        let mut unbound = Duration::ZERO;
        for _ in 0..24 {
            unbound += idle.run(HOUR).1;
        }
        println!(
            "{lifetime} s: {:?}, {unbound} of 24 h without a binding",
            idle.keepalive.interval()
        );
        assert!(unbound < Duration::from_secs(30 * 60), "{unbound}");
    }
}

/// A busy hop is asked nothing.
#[test]
fn traffic_is_a_keepalive() {
    let mut idle = Idle::behind(30);
    for _ in 0..36_000 {
        idle.keepalive.used(idle.now);
        idle.bind();
        let (questions, _) = idle.run(Duration::from_millis(100));
        assert_eq!(questions, 0);
    }
    // Traffic every two seconds disturbs the search, which becomes rare.
    let mut questions = 0;
    for _ in 0..1_800 {
        idle.keepalive.used(idle.now);
        idle.bind();
        questions += idle.run(Duration::from_secs(2)).0;
    }
    assert!(questions < 10, "{questions}");
}
