//! Configurations as text, and those that make no sense.

use tcp::{Config, Endpoint, Policy};
use units::{Bytes, Duration};

use super::pipe::{CLIENT, connection};

#[test]
fn a_configuration_reads_as_people_write_it() {
    let text = "receive_buffer = \"8 KiB\"\n[timing]\ntick = \"10 ms\"\n[recovery]\npolicy = \"sack-eln\"\n";
    let config: Config = toml::from_str(text).unwrap();
    assert_eq!(config.receive_buffer, Bytes::kibi(8));
    assert_eq!(config.timing.tick, Duration::from_millis(10));
    assert_eq!(config.recovery.policy, Policy::SackEln);
    assert_eq!(
        config.timing.initial_timeout,
        Config::bsd().timing.initial_timeout
    );
    let error = toml::from_str::<Config>("ssthresh = 1").unwrap_err();
    assert!(error.to_string().contains("ssthresh"));
    for policy in Policy::ALL {
        for config in [Config::bsd(), Config::modern()] {
            assert_eq!(config.with_policy(policy).check(), Ok(()));
        }
    }
}

#[test]
fn what_makes_no_sense_is_named() {
    type Change = fn(&mut Config);
    let changes: [(Change, &str); 8] = [
        (
            |config| config.maximum_segment_size = 40,
            "maximum_segment_size",
        ),
        (
            |config| config.receive_buffer = Bytes::new(500),
            "receive_buffer",
        ),
        (|config| config.send_buffer = Bytes::MAX, "1 GiB"),
        (|config| config.timing.tick = Duration::ZERO, "timing.tick"),
        (
            |config| config.send_low_water = Bytes::kibi(64),
            "send_low_water",
        ),
        (
            |config| config.acknowledging.every = 0,
            "acknowledging.every",
        ),
        (
            |config| config.congestion.initial_window = 0,
            "initial_window",
        ),
        (
            |config| config.recovery.duplicates = 0,
            "recovery.duplicates",
        ),
    ];
    for (change, named) in changes {
        let mut config = Config::bsd();
        change(&mut config);
        let error = Endpoint::new(connection(CLIENT), config)
            .unwrap_err()
            .to_string();
        assert!(error.contains(named), "{error}");
    }
}
