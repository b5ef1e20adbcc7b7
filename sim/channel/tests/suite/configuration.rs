//! Links by name and by file, and the errors for a bad file.

use channel::{Direction, Link, LinkError, Medium, QueueBound, Rate, errors::ErrorConfig};
use proptest::prelude::*;
use units::{BitRate, Duration};

#[test]
fn every_name_is_a_link_that_describes_itself() {
    for name in channel::links::names() {
        let link = Link::named(name).expect("a name from the list");
        assert_eq!(link.name(), name);
        assert!(!link.description().is_empty(), "{name}");
    }
    assert_eq!(
        channel::links::all().count(),
        channel::links::names().count()
    );
}

#[test]
fn the_benchmark_links_are_as_published() {
    let link = Link::named("l3-b80").expect("known");
    let step = link.plan(Direction::Up).steps()[0];
    assert_eq!(step.rate, Rate::Limited(BitRate::from_megabits(100)));
    assert_eq!(step.delay, Duration::from_millis(50));
    assert_eq!(step.queue, QueueBound::Packets(1000));
    assert_eq!(link.medium(), Medium::Separate);
    let ErrorConfig::Temporal(errors) = link.errors(Direction::Down) else {
        panic!("fades");
    };
    assert_eq!(errors.good.mean, Some(Duration::from_secs(1)));
    assert_eq!(errors.bad.mean, Some(Duration::from_millis(80)));
}

#[test]
fn an_unknown_name_is_told_the_known_ones() {
    let error = Link::named("l9").expect_err("no such link");
    assert!(matches!(error, LinkError::UnknownName { .. }));
    assert!(error.to_string().contains("l1-b40"), "{error}");
}

/// Returns the error for the link `text`.
fn complaint(text: &str) -> String {
    let read = |name: &str| match name {
        "empty" => Ok(String::new()),
        "letters" => Ok("1\n2\nthree\n".to_owned()),
        "falling" => Ok("5\n4\n".to_owned()),
        "states" => Ok("1 s bad\n1 s good\n".to_owned()),
        "words" => Ok("1 s bad\n2 s sunny\n".to_owned()),
        "fades" => Ok("1 s bad\n2 s good\n".to_owned()),
        _ => Err("no such file".to_owned()),
    };
    let error = Link::from_toml_with(text, "my.toml", &read).expect_err("not a link");
    error.to_string()
}

#[track_caller]
fn assert_complaint(text: &str, parts: &[&str]) {
    let complaint = complaint(text);
    for part in ["my.toml"].iter().chain(parts) {
        assert!(complaint.contains(part), "'{part}' is not in: {complaint}");
    }
}

fn each(lines: &str) -> String {
    format!("[each]\nrate = '2 Mbit/s'\ndelay = '5 ms'\nqueue = '50 packets'\n{lines}")
}

fn errors(lines: &str) -> String {
    each(&format!("[errors]\n{lines}"))
}

#[test]
fn misspelt_files_are_told_line_and_key() {
    assert_complaint("[each", &["line 1"]);
    assert_complaint(
        &each("rat = 3"),
        &["line 5", "unknown field `rat`", "`rate`"],
    );
    assert_complaint("[each]\nrate = '2'", &["line 2", "no unit", "Mbit/s"]);
    assert_complaint("[each]\ndelay = '5 parsecs'", &["line 2", "parsecs", "ms"]);
    assert_complaint(
        "[each]\nqueue = 'long'",
        &["line 2", "'50 packets' or '64 KiB'"],
    );
    assert_complaint(
        "[each]\nrate = '1 bit/s'\ndelay = '0'",
        &["missing field `queue`"],
    );
    assert_complaint(
        &errors("model = 'magic'"),
        &["magic", "`temporal`", "line 6"],
    );
    assert_complaint(&errors("model = 'none'\np = 1"), &["unknown field `p`"]);
    assert_complaint(
        &errors("model = 'independent'\np = '101 %'"),
        &["0 % to 100 %"],
    );
    assert_complaint(
        &format!("medium = 'ether'\n{}", each("")),
        &["line 1", "`half-duplex`"],
    );
}

#[test]
fn directions_are_given_once() {
    assert_complaint("", &["`each`", "missing"]);
    assert_complaint(
        "[up]\ndelay = '0'\nqueue = '1 packet'",
        &["`down`", "missing"],
    );
    let both = each("[up]\ndelay = '0'\nqueue = '1 packet'");
    assert_complaint(&both, &["`each`", "leave out"]);
    assert_complaint(
        &each("errors = { model = 'none' }"),
        &["`each.errors`", "[errors]"],
    );
    assert_complaint(
        "[each]\ndelay = '0'\nqueue = '1 packet'",
        &["`each.rate`", "mahimahi"],
    );
}

#[test]
fn values_that_make_no_sense_are_told_what_does() {
    assert_complaint(
        "[each]\nrate = '0'\ndelay = '0'\nqueue = '1 packet'",
        &["`each.rate`", "1500 bytes"],
    );
    assert_complaint(
        "[each]\nrate = '1 bit/s'\ndelay = '0'\nqueue = '0 packets'",
        &["`each.queue`"],
    );
    assert_complaint(
        "[each]\nrate = '1 bit/s'\ndelay = '0'\nqueue = '1 B'",
        &["`each.queue`", "1500 B"],
    );
    assert_complaint(&each("repeat = '1 s'"), &["`each.repeat`", "no schedule"]);
    assert_complaint(
        &each("schedule = [{ at = '2 s' }, { at = '2 s' }]"),
        &["`each.schedule[1].at`", "after"],
    );
    assert_complaint(
        &each("repeat = '1 s'\nschedule = [{ at = '2 s' }]"),
        &["`each.schedule[0].at`", "repetition"],
    );
    assert_complaint(
        &each("schedule = [{ at = '2 s', rate = '0' }]"),
        &["`each.rate`", "last rate"],
    );
}

#[test]
fn error_models_are_told_what_they_allow() {
    let period = |text: &str| {
        let good = "good = { distribution = 'exponential', mean = '1 s' }";
        errors(&format!("model = 'temporal'\n{good}\nbad = {{ {text} }}"))
    };
    assert_complaint(
        &period("distribution = 'exponential'"),
        &["`errors.bad.mean`"],
    );
    assert_complaint(
        &period("distribution = 'uniform', low = '1 s'"),
        &["`errors.bad.mean`", "both"],
    );
    assert_complaint(
        &period("distribution = 'uniform', low = '1 s', high = '1 ms'"),
        &["`errors.bad.high`", "less than low"],
    );
    assert_complaint(
        &period("distribution = 'deterministic', mean = '0'"),
        &["more than 0"],
    );
    assert_complaint(
        &period("distribution = 'poisson', mean = '0'"),
        &["`exponential`"],
    );
    let ticked = format!(
        "{}\ntick = '20 ms'",
        period("distribution = 'uniform', mean = '15 ms'")
    );
    assert_complaint(&ticked, &["`errors.bad.high`", "whole number of ticks"]);
    let ticked = format!(
        "{}\ntick = '0'",
        period("distribution = 'uniform', mean = '15 ms'")
    );
    assert_complaint(&ticked, &["`errors.tick`"]);
    let fast = "model = 'temporal'\ngood = { distribution = 'exponential', mean = '1 us' }\n\
                bad = { distribution = 'exponential', mean = '1 us' }";
    assert_complaint(&errors(fast), &["`errors.good`", "100 us"]);
    assert_complaint(
        &errors("model = 'distance'\nmean = '0 B'"),
        &["`errors.mean`", "1 B"],
    );
    assert_complaint(
        &errors("model = 'burst'\npackets = 0\nspacing = '1 B'"),
        &["`errors.packets`"],
    );
    assert_complaint(
        &errors("model = 'markov'\np_b = 0.1\np_g = 0.1"),
        &["`errors.p_b`", "0.01"],
    );
    assert_complaint(
        &errors("model = 'markov'\np_b = 0.01\np_g = 0"),
        &["`errors.p_g`", "0.5"],
    );
    let chain = |more: &str| errors(&format!("model = 'markov'\np_b = 0.01\np_g = 0.1\n{more}"));
    assert_complaint(
        &chain("bits_per_step = 0"),
        &["`errors.bits_per_step`", "100000"],
    );
    assert_complaint(
        &chain("state = 'shared'"),
        &["`errors.state`", "half-duplex"],
    );
}

#[test]
fn traces_are_told_their_line() {
    let trace = |name| format!("[each]\nmahimahi = '{name}'\ndelay = '0'\nqueue = '1 packet'");
    assert_complaint(
        &trace("absent"),
        &["`each.mahimahi`", "cannot read 'absent'"],
    );
    assert_complaint(&trace("empty"), &["more than 0 ms"]);
    assert_complaint(
        &trace("letters"),
        &["'letters'", "line 3", "whole milliseconds"],
    );
    assert_complaint(&trace("falling"), &["line 2", "before"]);
    let shared = format!("medium = 'half-duplex'\n{}", trace("falling"));
    assert_complaint(&shared, &["`each.mahimahi`", "'separate'"]);
    let replay = |name| errors(&format!("model = 'replay'\nfile = '{name}'"));
    assert_complaint(
        &replay("absent"),
        &["`errors.file`", "cannot read 'absent'"],
    );
    assert_complaint(&replay("states"), &["line 2", "after"]);
    assert_complaint(&replay("words"), &["line 2", "'1.25 s bad'"]);
    let once = format!("{}\nbegin = 'anywhere'", replay("fades"));
    assert_complaint(&once, &["`errors.begin`", "give `repeat`"]);
    let alone = Link::from_toml(&replay("states"), "my.toml").expect_err("no files");
    assert!(alone.to_string().contains("stand alone"), "{alone}");
}

proptest! {
    #[test]
    fn no_text_makes_a_panic(text: String) {
        let _ = Link::from_toml(&text, "any");
        let read = |_: &str| Ok(text.clone());
        for config in [
            "[each]\nmahimahi = 'x'\ndelay = '0'\nqueue = '1 packet'",
            "[each]\nrate = 'unlimited'\ndelay = '0'\nqueue = '1 packet'\n\
             [errors]\nmodel = 'replay'\nfile = 'x'",
        ] {
            let _ = Link::from_toml_with(config, "any", &read);
        }
    }
}
