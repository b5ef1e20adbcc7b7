//! What shows that a peer receives at an address: a handshake across it, or the answer to a challenge.

use session::{DATA_OVERHEAD_BYTES, Endpoint, Limits, Output, Received};
use units::{Duration, Instant};
use wire::address::HopAddress;

use crate::common::{GATEWAY, MOBILE, hosts};

fn address(last: u8) -> HopAddress {
    HopAddress::Udp(([192, 0, 2, last], 1_000).into())
}

fn next(host: &mut Endpoint) -> Vec<u8> {
    loop {
        match host.poll_output().expect("a datagram") {
            Output::Transmit { datagram, .. } => return datagram,
            Output::Event(_) => {}
        }
    }
}

/// Whether the confirmation from `confirmed` is a proof after the initiation came from each of `asked`.
fn is_proof(asked: &[Option<HopAddress>], confirmed: Option<HopAddress>) -> bool {
    let now = Instant::from_millis(1);
    let ([mut mobile, mut gateway], peers) = hosts(1, Limits::default());
    mobile.connect(now, peers[MOBILE]).expect("an initiator");
    let initiation = next(&mut mobile);
    let mut responses = Vec::new();
    for from in asked {
        gateway.handle_datagram_from(now, *from, &mut initiation.clone());
        responses.push(next(&mut gateway));
    }
    assert!(responses.iter().all(|response| *response == responses[0]));
    mobile.handle_datagram(now, &mut responses[0]);
    let mut confirmation = next(&mut mobile);
    assert_eq!(confirmation.len(), DATA_OVERHEAD_BYTES);
    match gateway.handle_datagram_from(now, confirmed, &mut confirmation) {
        Received::Data {
            proven,
            newest: true,
            ..
        } => {
            let mut later = vec![0; DATA_OVERHEAD_BYTES];
            mobile
                .seal(now, peers[MOBILE], &mut later)
                .expect("a session");
            let received = gateway.handle_datagram_from(now, confirmed, &mut later);
            assert!(
                matches!(received, Received::Data { proven: false, .. }),
                "only the first"
            );
            proven
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_confirmation_from_where_the_response_went_and_only_that() {
    let (mobile, victim) = (Some(address(1)), Some(address(2)));
    assert!(is_proof(&[mobile], mobile));
    assert!(is_proof(&[mobile, mobile], mobile), "a repetition");
    assert!(!is_proof(&[mobile], victim));
    assert!(
        !is_proof(&[victim, mobile], victim),
        "the response went to both"
    );
    assert!(!is_proof(&[mobile, victim], victim));
    assert!(
        !is_proof(&[victim, mobile], mobile),
        "it is not known who read it"
    );
    assert!(!is_proof(&[victim, mobile, victim], victim));
    assert!(
        !is_proof(&[None], None),
        "without addresses nothing is shown"
    );
}

#[test]
fn a_challenge_is_answered_from_its_address_and_soon() {
    let ([mut mobile, mut gateway], peers) = hosts(1, Limits::default());
    let start = Instant::from_millis(123_456);
    let bits = gateway.path_challenge(start, peers[GATEWAY], address(1));
    let mut is_answer = |after, at, bits| {
        let now = start + Duration::from_millis(after);
        gateway.is_path_answer(now, peers[GATEWAY], at, bits)
    };
    assert!(is_answer(0, address(1), bits));
    assert!(is_answer(10_000, address(1), bits));
    assert!(!is_answer(20_000, address(1), bits));
    assert!(!is_answer(0, address(2), bits));
    assert!(!is_answer(
        0,
        HopAddress::Udp(([192, 0, 2, 1], 1_001).into()),
        bits
    ));
    assert!(!is_answer(0, address(1), bits ^ 1));
    let other = mobile.path_challenge(start, peers[MOBILE], address(1));
    assert!(
        !is_answer(0, address(1), other),
        "each host has a secret of its own"
    );
}
