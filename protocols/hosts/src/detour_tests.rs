use machine::RandomStream;

use super::*;

const UP: HopSight = HopSight {
    is_up: true,
    is_gone: false,
    round_trip: None,
};
const DOWN: HopSight = HopSight { is_up: false, ..UP };
const LEFT: HopSight = HopSight {
    is_gone: true,
    ..DOWN
};

fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

/// A detour with its clock.
struct Script {
    detour: Detour,
    now: Instant,
}

impl Script {
    fn new() -> Self {
        Self {
            detour: Detour::new(),
            now: Instant::ZERO,
        }
    }

    /// Lets the hop be so for some time; returns the turns with their times in milliseconds.
    fn hop(&mut self, hop: HopSight, millis: u64) -> Vec<(u64, Turn)> {
        let end = self.now + Duration::from_millis(millis);
        let mut turns = Vec::new();
        loop {
            let turn = self.detour.see(self.now, hop);
            turns.extend(turn.map(|turn| (self.now.since(Instant::ZERO).as_millis(), turn)));
            match self.detour.due() {
                Some(due) if due < end => self.now = due,
                Some(_) | None => break,
            }
        }
        self.now = end;
        turns
    }
}

#[test]
fn a_fade_is_waited_out_and_a_long_silence_is_not() {
    let mut script = Script::new();
    assert_eq!(script.hop(UP, 10_000), []);
    assert_eq!(script.hop(DOWN, 14_999), []);
    assert_eq!(script.hop(UP, 1), []);
    let turns = script.hop(DOWN, 60_000);
    let silent = Duration::from_secs(15);
    assert_eq!(turns, [(40_000, Turn::Around(silent))]);
    assert_eq!(script.detour.around_since(), Some(at(40_000)));
    // The hop works again.
    assert_eq!(script.hop(UP, 999), []);
    assert_eq!(script.hop(DOWN, 1), []);
    let turns = script.hop(UP, 5_000);
    assert_eq!(turns, [(87_000, Turn::Across(Duration::from_secs(47)))]);
    assert_eq!(script.detour.around_since(), None);
}

#[test]
fn a_gateway_that_has_left_is_not_waited_for() {
    let mut script = Script::new();
    assert_eq!(script.hop(UP, 1_000), []);
    assert_eq!(script.hop(LEFT, 2_999), []);
    assert_eq!(script.hop(LEFT, 1_000)[0].0, 4_000);
    // It is known only later: the silence counts from its beginning.
    let mut script = Script::new();
    assert_eq!(script.hop(DOWN, 10_000), []);
    assert_eq!(script.hop(LEFT, 1)[0].0, 10_000);
}

#[test]
fn slow_hops_are_given_some_round_trips() {
    let slow = |hop: HopSight| HopSight {
        round_trip: Some(Duration::from_secs(4)),
        ..hop
    };
    let mut script = Script::new();
    assert_eq!(script.hop(slow(DOWN), 31_999), []);
    assert_eq!(script.hop(slow(DOWN), 10)[0].0, 32_000);
    assert_eq!(script.hop(slow(UP), 60_000)[0].0, 32_009 + 8_000);
}

/// A hop that works for two seconds of every twenty turns its flows less and less often.
#[test]
fn a_hop_that_comes_and_goes_does_not_turn_the_flows_each_time() {
    let mut script = Script::new();
    let mut turns = 0;
    for _ in 0..100 {
        turns += script.hop(UP, 2_000).len() + script.hop(DOWN, 18_000).len();
    }
    assert_eq!(turns, 3, "once across, and then around for good");
    // When it works for good, so do they; and much later a short wait suffices again.
    assert_eq!(script.hop(UP, 600_000).len(), 1);
    assert_eq!(script.hop(DOWN, 20_000).len(), 1);
    assert_eq!(script.detour.settled, SETTLED);
}

/// Whatever the hop does, turns alternate, and each comes no earlier than the shortest wait for it.
#[test]
fn turns_alternate() {
    for seed in 0..200 {
        let mut random = RandomStream::named(seed, "detour");
        let mut script = Script::new();
        let mut last: Option<(u64, Turn)> = None;
        for _ in 0..200 {
            let hop = [UP, DOWN, LEFT][random.below(3) as usize];
            for turn in script.hop(hop, random.below(40_000)) {
                let is_around = |turn: Turn| matches!(turn, Turn::Around(_));
                let before = last.replace(turn);
                let since = before.map_or(0, |(at, _)| at);
                let least = if is_around(turn.1) { 3_000 } else { 1_000 };
                assert!(turn.0 - since >= least, "seed {seed}: {turn:?}");
                let alternates = before.is_none_or(|(_, b)| is_around(b) != is_around(turn.1));
                assert!(alternates, "seed {seed}: {turn:?} after {before:?}");
            }
        }
        assert!(last.is_some(), "seed {seed}");
    }
}
