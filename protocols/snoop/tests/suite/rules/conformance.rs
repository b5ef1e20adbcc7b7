//! Tests of the contract of a machine, and of configurations as text.

use machine::conformance;
use snoop::{Agent, Config, ExplicitLoss, Input};
use units::Duration;

use super::script::{ack, data, sack, smart, turned};

#[test]
fn the_contract_holds() {
    let mut script = Vec::new();
    for round in 0..60 {
        let wait = Duration::from_millis(37);
        let place = round * 2;
        script.push((wait, Input::FromFixed(data(place))));
        script.push((Duration::ZERO, Input::FromFixed(data(place + round % 3))));
        let answer = match round % 4 {
            0 => ack(place / 2),
            1 => smart(place / 2, place),
            2 => sack(place / 2, &[(place, place + 1)]),
            _ => turned(data(place + round % 5)),
        };
        script.push((wait, Input::FromMobile(answer)));
        script.push((Duration::ZERO, Input::FromFixed(turned(ack(place / 3)))));
    }
    let live = Config {
        explicit_loss: ExplicitLoss::Ranges,
        ..Config::live()
    };
    for config in [
        Config::link_layer(),
        Config::tcp_aware(),
        Config::smart(),
        Config::smart_tcp_aware(),
        Config::explicit_loss(ExplicitLoss::Next),
        live,
    ] {
        let build = || Agent::new(config.clone());
        conformance::check(build, &script, Duration::from_secs(400));
    }
}

#[test]
fn a_configuration_reads_as_people_write_it() {
    let text = "tcp_aware = true\nduplicates = 1\n[timing]\nminimum_timeout = \"40 ms\"\n";
    let config: Config = toml::from_str(text).unwrap();
    assert_eq!(config.duplicates, 1);
    assert_eq!(config.timing.minimum_timeout, Duration::from_millis(40));
    let error = toml::from_str::<Config>("dupacks = 1").unwrap_err();
    assert!(error.to_string().contains("dupacks"));
}
