use super::*;

fn trouble(change: impl FnOnce(&mut Clues, &mut TroubleFacts<'_>)) -> Option<Trouble> {
    let mut clues = Clues::default();
    let none = Clues::default();
    let mut facts = TroubleFacts {
        now: Instant::from_millis(1_000_000),
        reach: Reach::default(),
        is_shut: false,
        silent_for: Duration::ZERO,
        at: None,
        ways: None,
        others: &Places::default(),
        clues: &none,
    };
    change(&mut clues, &mut facts);
    TroubleFacts {
        clues: &clues,
        ..facts
    }
    .judge()
}

fn code(change: impl FnOnce(&mut Clues, &mut TroubleFacts<'_>)) -> Option<TroubleCode> {
    trouble(change).map(|trouble| trouble.code)
}

#[test]
fn each_cause_is_told_by_its_facts() {
    let silent = Duration::from_secs(6);
    assert_eq!(code(|_, _| {}), None);
    assert_eq!(
        code(|_, facts| facts.silent_for = silent),
        Some(TroubleCode::Silent)
    );
    let linked = |_: &mut Clues, facts: &mut TroubleFacts<'_>| {
        (facts.reach.is_linked, facts.silent_for) = (true, silent);
    };
    assert_eq!(code(linked), None, "a fade is no trouble");
    let long = |_: &mut Clues, facts: &mut TroubleFacts<'_>| {
        (facts.reach.is_linked, facts.silent_for) = (true, LONG_SILENCE);
    };
    assert_eq!(code(long), Some(TroubleCode::OutOfReach));
    assert_eq!(
        code(|_, facts| facts.is_shut = true),
        Some(TroubleCode::NoRoute)
    );
    assert_eq!(
        code(|_, facts| facts.reach.is_refused = true),
        Some(TroubleCode::PortRefused)
    );
    assert_eq!(
        code(|_, facts| facts.reach.is_unopened = true),
        Some(TroubleCode::KeysDiffer)
    );
    assert_eq!(
        code(|_, facts| facts.reach.is_shared = true),
        Some(TroubleCode::KeyShared)
    );
    for (is_older, expected) in [
        (true, TroubleCode::GatewayTooOld),
        (false, TroubleCode::GatewayTooNew),
    ] {
        let told = |clues: &mut Clues, _: &mut TroubleFacts<'_>| {
            clues.other_version = Some(is_older);
        };
        assert_eq!(code(told), Some(expected));
    }
    for (wall, expected) in [
        (1, Some(TroubleCode::Clock)),
        (CLOCKS.start, None),
        (CLOCKS.end, Some(TroubleCode::Clock)),
    ] {
        assert_eq!(code(|clues, _| clues.wall = wall), expected, "{wall}");
    }
}

#[test]
fn a_decline_is_told_with_its_reason_and_a_clock_that_differs() {
    for (reason, expected) in [
        (Decline::Revoked, TroubleCode::Revoked),
        (Decline::Expired, TroubleCode::Expired),
        (Decline::Replaced, TroubleCode::Replaced),
        (Decline::GatewayKeyEnded, TroubleCode::GatewayKeyEnded),
        (Decline::Other(9), TroubleCode::Declined),
    ] {
        let told = trouble(|clues, _| {
            clues.declined = Some((reason, CLOCKS.start));
            clues.wall = CLOCKS.start + 3 * CLOCK_DIFFERENCE;
        });
        let told = told.expect("trouble");
        assert_eq!(told.code, expected);
        assert!(told.words.ends_with("differ by 3 days"), "{}", told.words);
    }
}

#[test]
fn what_the_driver_notices_is_told_with_its_words() {
    let note = |circumstance, silent_for| {
        let told = trouble(|clues, facts| {
            clues
                .circumstances
                .insert(circumstance, "it clashes".into());
            facts.silent_for = silent_for;
        });
        told.map(|told| (told.code, told.words.starts_with("it clashes")))
    };
    let clash = Some((TroubleCode::AddressClash, true));
    assert_eq!(note(Circumstance::AddressClash, Duration::ZERO), clash);
    // A gateway that answers needs no name.
    assert_eq!(note(Circumstance::NameUnresolved, Duration::ZERO), None);
    for (circumstance, code) in [
        (Circumstance::NameUnresolved, TroubleCode::NameUnresolved),
        (Circumstance::NamePrivate, TroubleCode::NamePrivate),
    ] {
        assert_eq!(note(circumstance, SILENCE), Some((code, true)));
    }
}

#[test]
fn codes_are_the_ones_of_the_guide() {
    let guide = include_str!("../../../docs/guide/troubleshooting.md");
    for (code, _) in ROWS {
        assert!(guide.contains(&format!("`{code}`")), "{code}");
    }
}

#[test]
fn a_trouble_is_logged_once_until_the_peer_is_reached() {
    let mut clues = Clues::default();
    assert!(clues.is_news(TroubleCode::Silent) && clues.is_news(TroubleCode::NoRoute));
    assert!(!clues.is_news(TroubleCode::Silent));
    clues.reached();
    assert!(clues.is_news(TroubleCode::Silent));
}
