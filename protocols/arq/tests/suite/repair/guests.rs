//! Flows that others began have half of the air, and no more, while others wait.

use arq::Input;

use super::script::{FULL, Script, key, usual};

/// Own flow of this end in these tests, and its number on the hop.
const OWN: u16 = 1;
const NUMBER: u64 = 0;

/// Returns the share of the own flow in a thousand frames, while it and so many guests wait.
fn own_share(guests: u16) -> f64 {
    let mut end = Script::new(usual());
    end.bulk(OWN, 1);
    for guest in 2..2 + guests {
        end.bulk(guest, 1);
        end.input(Input::Guest(key(guest)));
    }
    let mut own = 0;
    for _ in 0..1_000 {
        for flow in OWN..2 + guests {
            end.bulk(flow, 1);
        }
        for frame in end.send(1) {
            own += frame.stream_bytes(NUMBER);
        }
    }
    own as f64 / (1_000 * FULL) as f64
}

#[test]
fn they_have_half_of_the_air_however_many_they_are() {
    for guests in [2, 8] {
        let share = own_share(guests);
        assert!(
            (0.45..0.55).contains(&share),
            "{share} beside {guests} guests"
        );
    }
}

#[test]
fn they_have_all_of_it_when_no_other_waits() {
    let mut end = Script::new(usual());
    end.bulk(2, 100);
    end.input(Input::Guest(key(2)));
    assert!(end.send(90).iter().all(|frame| frame.stream_bytes(0) > 0));
}
