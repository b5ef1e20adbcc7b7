//! The bytes in flight, as the sender knows them.

use units::Bytes;

use super::script::{Script, usual};

#[test]
fn what_left_after_the_highest_arrival_is_in_flight() {
    let mut end = Script::new(usual());
    end.bulk(1, 20);
    let sent = end.send_all();
    let (half, last) = (sent[sent.len() / 2].number, sent[sent.len() - 1].number);
    let all = end.arq.outstanding();
    assert!(all >= Bytes::new(20 * 1_000), "{all}");
    end.ack(&[(sent[0].number, half)]);
    let rest = end.arq.outstanding();
    assert!(Bytes::ZERO < rest && rest < all, "{rest} of {all}");
    end.ack(&[(sent[0].number, last)]);
    assert_eq!(end.arq.outstanding(), Bytes::ZERO);
}
