//! Tests of lines: as documented, complete again after any cut, and rejected if they are foreign.

use proptest::prelude::*;
use signals::{Decoder, Event, LINE_MAX, PEER_MAX, Refusal, Signal};
use units::{Duration, Instant};

fn signal(event: Event) -> Signal {
    Signal {
        at: Instant::from_millis(5_123),
        peer: "gateway".into(),
        event,
        past: false,
    }
}

fn decoded(text: &str) -> Result<Vec<Signal>, Refusal> {
    let mut heard = Vec::new();
    let mut decoder = Decoder::default();
    decoder.feed(text.as_bytes(), |signal| heard.push(signal))?;
    Ok(heard)
}

/// Decodes a line after a greeting.
fn read(line: &str) -> Result<Vec<Signal>, Refusal> {
    decoded(&format!("{}{line}\n", Signal::greeting()))
}

/// The lines of docs/signals.md.
#[test]
fn lines_are_as_documented() {
    assert_eq!(
        Signal::greeting(),
        "{\"event\":\"signals\",\"version\":1}\n"
    );
    let impending = Event::HandoffImpending {
        within: Duration::from_millis(500),
    };
    let restored = Event::Restored {
        kept: false,
        held: true,
        lasted: Duration::from_micros(81_234),
    };
    for (event, rest) in [
        (impending, ",\"in_us\":500000"),
        (Event::Fade, ""),
        (
            restored,
            ",\"kept\":false,\"held\":true,\"lasted_us\":81234",
        ),
        (Event::Disconnected, ""),
    ] {
        let name = event.name();
        let line =
            format!("{{\"event\":\"{name}\",\"at_us\":5123000,\"peer\":\"gateway\"{rest}}}\n");
        assert_eq!(signal(event).to_line(), line);
        assert_eq!(read(line.trim_end()), Ok(vec![signal(event)]));
    }
    let mut past = signal(Event::Fade);
    past.past = true;
    assert!(past.to_line().ends_with("\"past\":true}\n"));
    assert_eq!(read(past.to_line().trim_end()), Ok(vec![past]));
}

#[test]
fn what_later_versions_add_is_passed_over() {
    let line = r#"{"colour":{"deep":[1,{}]},"event":"fade","at_us":5123000,"peer":"gateway"}"#;
    assert_eq!(read(line), Ok(vec![signal(Event::Fade)]));
    assert_eq!(
        read(r#"{"event":"rain","at_us":"never"}"#),
        Err(Refusal::Malformed)
    );
    assert_eq!(read(r#"{"event":"rain","drops":7}"#), Ok(vec![]));
}

#[test]
fn what_is_no_line_of_ours_is_refused() {
    for line in [
        "",
        "fade",
        "[]",
        "{}",
        r#"{"event":"fade"}"#,
        r#"{"event":"fade","at_us":-1,"peer":"gateway"}"#,
        r#"{"event":"fade","at_us":1.5,"peer":"gateway"}"#,
        r#"{"event":"fade","at_us":1,"at_us":2,"peer":"gateway"}"#,
        r#"{"event":"fade","at_us":1}"#,
        r#"{"event":"fade","at_us":1,"peer":"\u001b[2J"}"#,
        r#"{"event":"restored","at_us":1,"peer":"gateway"}"#,
        r#"{"event":"restored","at_us":1,"peer":"gateway","kept":"yes","held":true,"lasted_us":1}"#,
        r#"{"event":"restored","at_us":1,"peer":"gateway","kept":true,"lasted_us":1}"#,
        r#"{"event":"handoff_impending","at_us":1,"peer":"gateway"}"#,
    ] {
        assert_eq!(read(line), Err(Refusal::Malformed), "{line}");
    }
    let name = "x".repeat(PEER_MAX + 1);
    let line = format!(r#"{{"event":"fade","at_us":1,"peer":"{name}"}}"#);
    assert_eq!(read(&line), Err(Refusal::Malformed));
    assert_eq!(read(&"x".repeat(LINE_MAX)), Err(Refusal::TooLong));
}

#[test]
fn another_version_and_another_protocol_are_told_apart() {
    let newer = "{\"event\":\"signals\",\"version\":2}\n";
    assert_eq!(decoded(newer), Err(Refusal::OtherVersion(2)));
    assert_eq!(
        decoded("220 mail.example.org ESMTP\r\n"),
        Err(Refusal::NotSignals)
    );
    assert_eq!(
        decoded(&signal(Event::Fade).to_line()),
        Err(Refusal::NotSignals)
    );
    assert_eq!(
        decoded("{\"event\":\"signals\"}\n"),
        Err(Refusal::NotSignals)
    );
}

/// Times beyond the range of a clock become its last time.
#[test]
fn times_have_no_end() {
    let line = format!(
        r#"{{"event":"fade","at_us":{},"peer":"gateway"}}"#,
        u64::MAX
    );
    let heard = read(&line).map(|heard| heard[0].at);
    assert_eq!(heard, Ok(Instant::from_nanos(u64::MAX)));
}

fn any_event() -> impl Strategy<Value = Event> {
    let span = || (0..=u64::MAX / 1_000).prop_map(Duration::from_micros);
    prop_oneof![
        span().prop_map(|within| Event::HandoffImpending { within }),
        Just(Event::Fade),
        (any::<bool>(), any::<bool>(), span()).prop_map(|(kept, held, lasted)| Event::Restored {
            kept,
            held,
            lasted
        }),
        Just(Event::Disconnected),
    ]
}

fn any_signal() -> impl Strategy<Value = Signal> {
    let at = (0..=u64::MAX / 1_000).prop_map(|micros| Instant::from_nanos(micros * 1_000));
    // Quotes and backslashes become two bytes each.
    let peer = r#"[a-z0-9_"\\äß]{0,32}"#;
    (at, peer, any_event(), any::<bool>()).prop_map(|(at, peer, event, past)| Signal {
        at,
        peer,
        event,
        past,
    })
}

proptest! {
    #[test]
    fn signals_survive_any_cut(
        signals in prop::collection::vec(any_signal(), 0..8),
        cuts in prop::collection::vec(0_usize..4_000, 0..8),
    ) {
        let lines = signals.iter().map(Signal::to_line);
        let text: String = std::iter::once(Signal::greeting()).chain(lines).collect();
        let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut % (text.len() + 1)).collect();
        cuts.push(text.len());
        cuts.sort_unstable();
        let (mut decoder, mut heard, mut from) = (Decoder::default(), Vec::new(), 0);
        for cut in cuts {
            let piece = &text.as_bytes()[from..cut];
            prop_assert_eq!(decoder.feed(piece, |signal| heard.push(signal)), Ok(()));
            from = cut;
        }
        prop_assert_eq!(heard, signals);
    }

    #[test]
    fn no_bytes_are_worse_than_refused(
        bytes in prop::collection::vec(any::<u8>(), 0..3_000),
        greeted in any::<bool>(),
    ) {
        let mut decoder = Decoder::default();
        if greeted {
            prop_assert_eq!(decoder.feed(Signal::greeting().as_bytes(), |_| {}), Ok(()));
        }
        let _ = decoder.feed(&bytes, |_| {});
    }
}
