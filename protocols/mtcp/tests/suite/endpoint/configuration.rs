//! Tests of configurations as text, and of invalid ones.

use mtcp::{Config, OnTimeout, Profile, Selective};

#[test]
fn what_is_not_said_is_the_papers() {
    let config: Config = toml::from_str("").expect("a configuration");
    assert_eq!(config, Config::paper());
    assert_eq!(config.receive_buffer, units::Bytes::kibi(16));
    assert_eq!(config.timing.tick, units::Duration::from_millis(200));
    assert_eq!(config.packet, 1_500);
}

#[test]
fn an_ablation_is_a_line() {
    let text =
        "profile = \"wide\"\nlean = true\n[repair]\nselective = \"smart\"\non_timeout = \"oldest\"";
    let config: Config = toml::from_str(text).expect("a configuration");
    assert_eq!(config.profile, Profile::Wide);
    assert_eq!(config.repair.selective, Selective::Smart);
    assert_eq!(config.repair.on_timeout, OnTimeout::Oldest);
    let again = toml::to_string(&config).expect("text");
    assert_eq!(
        toml::from_str::<Config>(&again).expect("a configuration"),
        config
    );
}

#[test]
fn errors_name_the_value() {
    for (text, name) in [
        ("packet = 100", "`packet`"),
        ("receive_buffer = \"100 B\"", "`receive_buffer`"),
        ("receive_buffer = \"64 MiB\"", "`receive_buffer`"),
        ("[auto_buffer]\nstart = \"1 KiB\"", "`auto_buffer.start`"),
        ("[auto_buffer]\ntotal = \"1 MiB\"", "`auto_buffer.total`"),
        ("send_buffer = \"100 B\"", "`send_buffer`"),
        ("[timing]\ntick = \"0 s\"", "`timing.tick`"),
        ("[repair]\nfurther_holes = 8", "`repair.further_holes`"),
        ("[limits]\nconnections = 40000", "`limits.connections`"),
        ("lean = true\n[repair]\ncycles = false", "`repair.cycles`"),
        ("[limits]\nattempts = 0", "`limits.attempts`"),
    ] {
        let config: Config = toml::from_str(text).expect("the form is right");
        let error = config.check().expect_err("the value is wrong").to_string();
        assert!(
            error.starts_with("MTCP configuration: ") && error.contains(name),
            "{error}"
        );
    }
    assert_eq!(Config::wide().check(), Ok(()));
}
