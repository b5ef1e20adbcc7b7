//! Tests of the contract of a core, and of invalid inputs.

use proptest::prelude::*;
use scheduler::config::{Bursts, Discipline, Monitor, Probing};
use scheduler::{Cause, Config, Destination, Hint, Input, Outcome, Scheduler, Waiting};
use units::{Bytes, Duration, Instant};

fn destination() -> impl Strategy<Value = Destination> {
    (0u16..5).prop_map(Destination)
}

fn outcome() -> impl Strategy<Value = Outcome> {
    let cause = prop_oneof![
        Just(Cause::Unknown),
        Just(Cause::Collision),
        Just(Cause::Fade)
    ];
    let missing =
        (cause, any::<bool>()).prop_map(|(cause, given_up)| Outcome::Missing { cause, given_up });
    prop_oneof![Just(Outcome::Delivered), missing]
}

fn hint() -> impl Strategy<Value = Hint> {
    // A receiver is a peer: its report may have any content.
    let faded = prop::option::of(any::<u64>().prop_map(Duration::from_nanos));
    prop_oneof![
        any::<u32>().prop_map(Hint::Damaged),
        Just(Hint::Fallen),
        faded.prop_map(|faded| Hint::Risen { faded }),
    ]
}

pub(crate) fn input() -> impl Strategy<Value = Input> {
    let waiting = prop::option::of((0u64..9_000, 0u64..1_000).prop_map(|(bytes, oldest)| {
        let (bytes, oldest) = (Bytes::new(bytes), Instant::from_millis(oldest));
        Waiting { bytes, oldest }
    }));
    prop_oneof![
        4 => Just(Input::AirFree),
        2 => (destination(), 0u16..4)
            .prop_map(|(destination, weight)| Input::Join { destination, weight }),
        1 => destination().prop_map(Input::Leave),
        4 => (destination(), waiting)
            .prop_map(|(destination, waiting)| Input::Queue { destination, waiting }),
        4 => (destination(), 0u64..3_000).prop_map(|(destination, airtime)| Input::Sent {
            destination,
            airtime: Duration::from_millis(airtime),
        }),
        4 => (destination(), outcome())
            .prop_map(|(destination, outcome)| Input::Outcome { destination, outcome }),
        2 => (destination(), hint())
            .prop_map(|(destination, hint)| Input::Hint { destination, hint }),
        1 => (destination(), any::<bool>())
            .prop_map(|(destination, is_good)| Input::Channel { destination, is_good }),
    ]
}

pub(crate) fn config() -> impl Strategy<Value = Config> {
    let monitor = prop_oneof![
        Just(Monitor::Perfect),
        Just(Monitor::Acknowledgements(Bursts::default())),
        Just(Monitor::Probing(Probing::default())),
    ];
    (prop::sample::select(&Discipline::ALL[..]), monitor).prop_map(|(discipline, monitor)| Config {
        discipline,
        monitor,
    })
}

proptest! {
    #[test]
    fn the_contract_holds(
        config in config(),
        script in prop::collection::vec((0u64..40, input()), 0..120),
    ) {
        let script = script
            .into_iter()
            .map(|(delay, input)| (Duration::from_millis(delay), input))
            .collect::<Vec<_>>();
        let tail = Duration::from_secs(5);
        machine::conformance::check(|| Scheduler::new(&config), &script, tail);
    }
}

#[test]
fn a_configuration_without_sense_says_what_is_wrong() {
    let config = "monitor = { acknowledgements = { initial = \"2 s\" } }";
    let config = toml::from_str::<Config>(config).expect("it can be read");
    let error = config
        .check()
        .expect_err("a burst is longer than the longest");
    assert_eq!(
        error.to_string(),
        "scheduler configuration: `initial` must lie between `minimum` and `maximum`"
    );
    for discipline in Discipline::ALL {
        let config = Config {
            discipline,
            ..Config::default()
        };
        let text = toml::to_string(&config).expect("it can be written");
        assert_eq!(toml::from_str::<Config>(&text).expect("and read"), config);
        config.check().expect("a default is sound");
    }
}
