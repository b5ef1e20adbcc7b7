//! The parts of a run, each on its own.

use channel::CsmaAir;
use channel::errors::ErrorConfig;
use experiment::Plan;
use units::{Bytes, Duration, Instant, Probability};

use super::flow::Delays;
use super::network::SetUp;
use super::opportunity::Channels;
use super::oracle::Accuracy;
use super::packet::{Carried, Content, Filter, Packet};
use super::parameters::{Coming, Driver, Hints};
use super::queue::Queue;
use super::run::Transfers;
use super::tables;

const DRIVER: Driver = Driver {
    retries: 2,
    queue: 3,
    hints: Hints {
        come: Coming::AtOnce,
        told: Probability::NEVER,
        mistaken: Probability::NEVER,
    },
    late: Duration::ZERO,
    copy: None,
    accuracy: Accuracy {
        right: Probability::ALWAYS,
        every: None,
    },
};

pub(super) fn datagram(length: u64) -> Packet {
    Packet {
        mobile: 0,
        content: Content::Datagram {
            length: Bytes::new(length),
            sent: Instant::ZERO,
        },
    }
}

fn fades() -> ErrorConfig {
    let text = "model = \"temporal\"\n\
        good = { distribution = \"exponential\", mean = \"1 s\" }\n\
        bad = { distribution = \"exponential\", mean = \"100 ms\" }";
    toml::from_str(text).unwrap()
}

fn set_ups(overrides: &[&str], seed: u64) -> Vec<SetUp> {
    let overrides: Vec<_> = overrides.iter().map(|text| text.parse().unwrap()).collect();
    let plan = Plan::parse("finish", tables::FINISH.about.plan, &overrides).unwrap();
    let cases = plan.cases().into_iter();
    cases
        .map(|case| SetUp::read(&case, seed).unwrap())
        .collect()
}

#[test]
fn a_head_is_put_back_until_its_tries_are_spent_and_the_next_has_all_of_them() {
    let mut queue = Queue::new(DRIVER);
    for length in [100, 200, 300, 400] {
        queue.push(Instant::ZERO, datagram(length));
    }
    assert_eq!(queue.tally().refused, 1);
    assert_eq!(queue.waiting().unwrap().bytes, Bytes::new(600));
    let head = queue.head();
    assert_eq!([queue.failed(), queue.failed()], [false, false]);
    assert_eq!(queue.head(), head);
    assert!(queue.failed());
    assert_eq!(queue.waiting().unwrap().bytes, Bytes::new(500));
    assert!(!queue.failed());
    queue.delivered(Instant::from_millis(7));
    assert!(!queue.failed());
    let tally = queue.tally();
    assert_eq!((tally.put_back, tally.given_up, tally.frames), (4, 1, 1));
    assert_eq!(tally.delivered, Bytes::new(200));
    assert_eq!(tally.waited, Duration::from_millis(7));
}

#[test]
fn a_copy_of_a_frame_is_taken_once() {
    let mut filter = Filter::default();
    let packet = datagram(100);
    let frame = |number| Carried::Packet { number, packet };
    assert_eq!(filter.take(frame(0)), Some(packet));
    assert_eq!(filter.take(frame(0)), None);
    // Frame 1 was given up by its sender.
    assert_eq!(filter.take(frame(2)), Some(packet));
    assert_eq!(filter.take::<Packet>(Carried::Probe), None);
}

#[test]
fn channels_are_open_while_they_are_good_and_something_waits() {
    let (errors, seed) = (vec![fades(), ErrorConfig::default()], 5);
    let mut channels = Channels::new(&errors, seed);
    channels.backlog(Instant::ZERO, 0, true);
    channels.backlog(Instant::from_millis(2_000), 1, true);
    channels.backlog(Instant::from_millis(3_000), 1, false);
    let end = Instant::from_millis(60_000);
    let good = |from| {
        let timeline = CsmaAir::<()>::timeline(&errors[0], seed, 0).unwrap();
        timeline.good_time(from, end)
    };
    let mut changes = 0;
    while let Some(at) = channels.next_change().filter(|at| *at <= end) {
        let (mobile, is_good) = channels.change(at).unwrap();
        assert_eq!((mobile, is_good), (0, changes % 2 == 1));
        assert_eq!(channels.is_good(0), is_good);
        changes += 1;
    }
    assert!(changes > 50, "{changes}");
    assert_eq!(channels.open(end, 0), good(Instant::ZERO));
    assert_eq!(channels.open(end, 1), Duration::from_secs(1));
    let any = channels.any_open(end);
    assert!(any >= channels.open(end, 0) && any <= channels.open(end, 0) + Duration::from_secs(1));
}

#[test]
fn delays_have_a_mean_a_tail_and_a_jitter() {
    let mut delays = Delays::default();
    assert_eq!((delays.mean(), delays.jitter()), (None, None));
    for milliseconds in [10, 30, 20] {
        delays.arrived(Duration::from_millis(milliseconds));
    }
    assert_eq!(delays.mean(), Some(20.0));
    assert_eq!(delays.jitter(), Some(15.0));
    assert_eq!(delays.percentile_99(), Some(30.0));
}

#[test]
fn without_errors_every_discipline_brings_all_data_once() {
    for set_up in set_ups(
        &["errors.loss_bad=0 %", "transfer=128 KiB", "burst=50 ms"],
        3,
    ) {
        let measured = Transfers::run(&set_up)
            .unwrap()
            .measurements(&set_up)
            .unwrap();
        let text = format!("{:?}: {measured:?}", set_up.scheme.discipline);
        for nothing in ["spurious", "given_up", "broken", "overflows"] {
            assert!(text.contains(&format!("(\"{nothing}\", 0.0)")), "{text}");
        }
    }
}

#[test]
fn a_run_is_a_function_of_its_seed() {
    for set_up in set_ups(&["transfer=128 KiB", "burst=100 ms"], 11) {
        let ends = || Transfers::run(&set_up).unwrap().ends;
        assert_eq!(ends(), ends());
    }
}
