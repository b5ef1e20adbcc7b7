//! Tests of one path over a scripted hop.

use std::collections::VecDeque;

use machine::{Machine, conformance, earlier};
use pathmtu::{BASE, Config, Input, LEAST, News, Output, PathMtu};
use simulator::testing::{Clock, Next};
use units::{BitRate, Duration, Instant};

const ROUND_TRIP: Duration = Duration::from_millis(40);
const PATIENCE: Duration = Duration::from_millis(75);
const SECOND: Duration = Duration::from_secs(1);

/// A path and the packets on it.
struct Script {
    path: PathMtu,
    clock: Clock<Input>,
    /// What the hop carries; nothing in an outage.
    carries: Option<usize>,
    /// True if the network reports the MTU when it drops a longer packet.
    tells: bool,
    /// One long packet in this many is lost by the air.
    loses_one_in: u64,
    number: u64,
    probes: Vec<usize>,
    shorts: u64,
}

impl Script {
    fn new(config: Config, carries: usize) -> Self {
        let mut script = Self {
            path: PathMtu::new(config),
            clock: Clock::new(Instant::from_millis(1_000)),
            carries: Some(carries),
            tells: false,
            loses_one_in: u64::MAX,
            number: 0,
            probes: Vec::new(),
            shorts: 0,
        };
        let (smoothed, patience) = (ROUND_TRIP, PATIENCE);
        script.tell(Input::RoundTrip { smoothed, patience });
        script
    }

    fn tell(&mut self, input: Input) {
        self.path.handle_input(self.clock.now, input);
        while let Some(output) = self.path.poll_output() {
            match output {
                Output::Probe(length) => self.probe(length),
                Output::Short => {
                    self.shorts += 1;
                    self.fate(80);
                }
            }
        }
    }

    fn passes(&self, length: usize) -> bool {
        self.carries.is_some_and(|most| length <= most)
    }

    fn probe(&mut self, length: usize) {
        self.probes.push(length);
        let number = self.number;
        self.number += 2;
        let is_lost = (self.probes.len() as u64).is_multiple_of(self.loses_one_in);
        if self.passes(length) && !is_lost {
            self.clock.add_after(ROUND_TRIP, Input::Arrived(number));
        }
        if self.carries.is_some() {
            self.clock.add_after(ROUND_TRIP, Input::Arrived(number + 1));
        }
        if let (true, Some(most)) = (self.tells && !self.passes(length), self.carries) {
            let said = Input::News(News::Said(most));
            self.clock.add_after(ROUND_TRIP / 4, said);
        }
        self.tell(Input::Sent(number));
    }

    /// Sends a packet, whose fate is known a round trip later, if it is answered at all.
    fn fate(&mut self, length: usize) {
        let arrived = self.passes(length);
        if self.carries.is_some() {
            let sent_at = self.clock.now;
            let fate = Input::Fate {
                length,
                sent_at,
                arrived,
            };
            self.clock.add_after(ROUND_TRIP, fate);
        }
    }

    /// Lets time pass; the air is free when it is wanted.
    fn run(&mut self, span: Duration) {
        let end = self.clock.now + span;
        loop {
            let timers = earlier(self.path.poll_timeout(), self.path.air_wanted_from());
            match self.clock.advance(end, timers) {
                Next::Event(input) => self.tell(input),
                Next::Deadline => {
                    self.path.handle_timeout(self.clock.now);
                    let wanted = self.path.air_wanted_from();
                    if wanted.is_some_and(|at| at <= self.clock.now) {
                        self.tell(Input::AirFree);
                    }
                }
                Next::End => return,
            }
        }
    }

    /// Sends a full packet each millisecond for `span`; after some time without an answer there is silence.
    fn load(&mut self, span: Duration) {
        let end = self.clock.now + span;
        let mut heard = self.clock.now;
        while self.clock.now < end {
            let length = self.path.length();
            self.tell(Input::Wanted);
            self.fate(length);
            if self.passes(length) {
                heard = self.clock.now;
            } else if self.clock.now.since(heard) > PATIENCE {
                self.tell(Input::Silence);
            }
            self.run(Duration::from_millis(1));
        }
    }
}

#[test]
fn nothing_is_tried_before_it_is_of_use() {
    let mut script = Script::new(Config::up_to(1_500), 1_500);
    script.run(SECOND * 1_000);
    assert_eq!((script.path.length(), script.path.found()), (BASE, None));
    assert!(script.probes.is_empty());
}

#[test]
fn the_usual_length_takes_one_round_trip_and_one_probe() {
    let mut script = Script::new(Config::up_to(1_500), 1_500);
    script.tell(Input::Wanted);
    script.run(ROUND_TRIP);
    assert_eq!(script.path.found(), Some(1_500));
    assert_eq!(script.probes, [1_500]);
    script.load(SECOND * 3_000);
    assert_eq!(script.probes, [1_500], "there is nothing above it");
}

#[test]
fn any_length_is_found_within_some_round_trips() {
    for tells in [false, true] {
        for (carries, most) in [
            (1_280, 20),
            (1_400, 16),
            (1_420, 14),
            (1_460, 14),
            (1_492, 14),
            (1_357, 20),
            (9_000, 3),
        ] {
            let mut script = Script::new(Config::up_to(9_000), carries);
            script.tells = tells;
            script.tell(Input::Rate(BitRate::from_megabits(100)));
            script.load(ROUND_TRIP * if tells { 12 } else { most });
            let found = script.path.found();
            let fine = found.is_some_and(|found| found <= carries && carries - found <= 20);
            assert!(fine, "{carries}: {found:?} by {:?}", script.probes);
        }
    }
}

#[test]
fn long_probes_are_for_fast_hops() {
    let mut script = Script::new(Config::up_to(9_000), 9_000);
    script.tell(Input::Rate(BitRate::from_bits_per_second(64_000)));
    script.load(SECOND);
    assert_eq!(script.path.found(), Some(1_500));
    script.tell(Input::Rate(BitRate::from_megabits(10)));
    script.load(SECOND);
    assert_eq!(script.path.found(), Some(9_000), "it has become faster");
}

/// A search takes only its share of a slow hop.
#[test]
fn a_slow_hop_is_left_to_others() {
    let mut script = Script::new(Config::up_to(1_500), 1_280);
    let rate = BitRate::from_bits_per_second(64_000);
    script.tell(Input::Rate(rate));
    script.load(SECOND * 60);
    let bytes: usize = script.probes.iter().sum();
    let share = rate.time_for(bytes.into()).as_secs_f64() / 60.0;
    assert!(share < 0.11, "{share:.3} by {:?}", script.probes);
}

#[test]
fn single_losses_change_nothing() {
    for one_in in [2, 3, 5] {
        let mut script = Script::new(Config::up_to(1_500), 1_500);
        script.loses_one_in = one_in;
        script.load(SECOND);
        assert_eq!(script.path.found(), Some(1_500), "{:?}", script.probes);
    }
}

#[test]
fn an_outage_proves_nothing() {
    let mut script = Script::new(Config::up_to(1_500), 1_500);
    script.carries = None;
    script.load(SECOND * 30);
    assert_eq!((script.path.length(), script.path.found()), (BASE, None));
    assert!(script.probes.len() < 60, "{} in vain", script.probes.len());
    script.carries = Some(1_500);
    script.load(SECOND * 2);
    assert_eq!(script.path.found(), Some(1_500));
    for outage in 1..30 {
        script.carries = None;
        script.load(Duration::from_millis(outage * 37));
        script.carries = Some(1_500);
        script.load(Duration::from_millis(outage * 53));
        assert_eq!(script.path.found(), Some(1_500), "outage {outage}");
    }
    assert!(script.shorts < 1_500, "{}", script.shorts);
}

#[test]
fn a_hole_is_found_without_being_told() {
    for tells in [false, true] {
        let mut script = Script::new(Config::up_to(1_500), 1_500);
        script.load(SECOND);
        script.tells = tells;
        for carries in [1_400, 1_300, 1_280] {
            script.carries = Some(carries);
            script.load(ROUND_TRIP * 10);
            assert!(
                script.path.length() <= carries,
                "{carries}: {}",
                script.path.length()
            );
            script.load(SECOND * 2);
            assert!(
                script
                    .path
                    .found()
                    .is_some_and(|found| carries - found <= 20)
            );
        }
    }
}

#[test]
fn a_path_below_the_base_is_used() {
    let mut script = Script::new(Config::up_to(1_500), 1_000);
    script.load(SECOND * 2);
    assert!(
        (LEAST..=1_000).contains(&script.path.length()),
        "{}",
        script.path.length()
    );
    assert!(script.path.found().is_some());
    script.carries = Some(1_500);
    script.load(SECOND * 65);
    assert_eq!(script.path.found(), Some(1_500));
}

#[test]
fn longer_packets_are_tried_again_now_and_then() {
    for (fell, rest) in [(true, 60), (false, 600)] {
        let mut script = Script::new(Config::up_to(1_500), if fell { 1_500 } else { 1_400 });
        script.load(SECOND);
        script.carries = Some(1_400);
        script.load(SECOND * 2);
        assert_eq!(script.path.found(), Some(1_400));
        script.carries = Some(1_500);
        script.load(SECOND * (rest - 5));
        assert_eq!(script.path.found(), Some(1_400), "not yet");
        script.load(SECOND * 6);
        assert_eq!(script.path.found(), Some(1_500));
    }
}

#[test]
fn another_path_is_searched_at_once() {
    let mut script = Script::new(Config::up_to(9_000), 1_460);
    script.load(SECOND);
    for (carries, found) in [
        (1_500, 1_500),
        (1_492, 1_492),
        (9_000, 9_000),
        (1_280, 1_280),
    ] {
        script.tell(Input::Rate(BitRate::from_megabits(100)));
        script.carries = Some(carries);
        script.tell(Input::News(News::Moved));
        assert_eq!(script.path.length(), BASE, "safe at once");
        script.load(SECOND * 2);
        assert_eq!(script.path.found(), Some(found));
    }
    script.carries = Some(1_420);
    script.tell(Input::News(News::Uncertain));
    script.load(SECOND * 2);
    assert_eq!(script.path.found(), Some(1_420));
    script.carries = Some(1_500);
    script.tell(Input::News(News::Uncertain));
    assert_eq!(
        script.path.length(),
        1_420,
        "what it was is believed until it fails"
    );
    script.load(SECOND);
    assert_eq!(script.path.found(), Some(1_500));
}

#[test]
fn forged_messages_cost_short_probes_and_no_more() {
    let mut script = Script::new(Config::up_to(1_500), 1_500);
    script.load(SECOND);
    let (mut below, probes) = (0, script.probes.len());
    for step in 0..60_000 {
        let most = [0, 68, 576, 1_279, 1_280, 1_300, 1_499, 1_500, 9_000, 65_535][step % 10];
        script.tell(Input::News(News::Said(most)));
        assert!(script.path.length() >= BASE);
        below += u64::from(script.path.length() < 1_500);
        script.load(Duration::from_millis(1));
    }
    assert!(below < 1_500, "{below} ms of a minute with shorter packets");
    assert!(script.probes.len() - probes < 40, "{}", script.probes.len());
    script.load(SECOND);
    assert_eq!(script.path.found(), Some(1_500));
}

#[test]
fn what_this_host_refuses_is_not_tried_again() {
    let mut script = Script::new(Config::up_to(9_000), 9_000);
    script.tell(Input::Rate(BitRate::from_megabits(100)));
    script.tell(Input::Wanted);
    for _ in 0..200 {
        let before = script.probes.len();
        script.run(Duration::from_millis(5));
        let fresh: Vec<_> = script.probes[before..].to_vec();
        for length in fresh.into_iter().filter(|length| *length > 4_200) {
            script.tell(Input::News(News::Refused(length)));
        }
    }
    let found = script.path.found();
    assert!(
        found.is_some_and(|found| (4_130..=4_200).contains(&found)),
        "{found:?}"
    );
    script.tell(Input::News(News::Refused(1_400)));
    assert!(script.path.length() < 1_400);
}

#[test]
fn a_late_arrival_counts() {
    let mut script = Script::new(Config::up_to(1_500), 1_400);
    script.load(ROUND_TRIP * 3);
    let first = 0;
    assert!(script.path.length() < 1_500);
    script.tell(Input::Arrived(first));
    assert_eq!(
        script.path.length(),
        1_500,
        "the long one was only overtaken"
    );
}

#[test]
fn a_hop_that_has_become_slow_is_searched_in_a_few_tries() {
    let mut path = PathMtu::new(Config::up_to(1_500));
    let mut now = Instant::from_millis(1_000);
    let (smoothed, patience) = (Duration::from_millis(2), Duration::from_millis(46));
    path.handle_input(now, Input::RoundTrip { smoothed, patience });
    path.handle_input(now, Input::Wanted);
    let slow = Duration::from_millis(820);
    let (mut probes, mut arrivals) = (0, VecDeque::new());
    let end = now + SECOND * 20;
    while now < end {
        while let Some(number) = arrivals.pop_front_if(|(at, _)| *at <= now) {
            path.handle_input(now, Input::Arrived(number.1));
        }
        path.handle_timeout(now);
        if path.air_wanted_from().is_some_and(|from| from <= now) {
            path.handle_input(now, Input::AirFree);
        }
        while path.poll_output().is_some() {
            path.handle_input(now, Input::Sent(probes * 2));
            arrivals.push_back((now + slow, probes * 2));
            probes += 1;
        }
        now += Duration::from_millis(1);
    }
    assert_eq!((path.found(), probes), (Some(1_500), 3));
}

#[test]
fn the_contract_holds() {
    let (smoothed, patience) = (ROUND_TRIP, PATIENCE);
    let mut inputs = vec![Input::RoundTrip { smoothed, patience }, Input::Wanted];
    for round in 0..200_u64 {
        let length = 1_200 + (round as usize * 37) % 400;
        inputs.extend([
            Input::AirFree,
            Input::Sent(round * 2),
            Input::Arrived(round + round % 5),
            Input::Fate {
                length,
                sent_at: Instant::ZERO,
                arrived: round % 3 == 0,
            },
            Input::Fate {
                length: 80,
                sent_at: Instant::ZERO,
                arrived: round % 7 != 0,
            },
        ]);
        match round % 20 {
            0 => inputs.push(Input::Silence),
            5 => inputs.push(Input::News(News::Said(1_250 + round as usize))),
            9 => inputs.push(Input::News(News::Uncertain)),
            13 => inputs.push(Input::Rate(BitRate::from_bits_per_second(round * 40_000))),
            17 => inputs.push(Input::News(News::Moved)),
            19 => inputs.push(Input::News(News::Refused(length + 200))),
            _ => {}
        }
    }
    let script: Vec<_> = inputs
        .into_iter()
        .map(|input| (Duration::from_micros(2_300), input))
        .collect();
    for config in [
        Config::up_to(1_500),
        Config::up_to(9_216),
        Config::of_link(1_500),
        Config::up_to(600),
    ] {
        conformance::check(|| PathMtu::new(config), &script, SECOND * 100);
    }
}
