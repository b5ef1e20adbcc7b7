//! Samples of what the hop has carried.

use arq::Input;
use units::{Bytes, Duration};

use super::script::{Script, usual};

const ROUND_TRIP: Duration = Duration::from_millis(20);

/// Sends a frame that is acknowledged; returns the total of bytes sent that its sample names.
fn total(end: &mut Script) -> u64 {
    end.brief(1, 100);
    let number = end.send(1)[0].number;
    end.wait(ROUND_TRIP);
    end.ack(&[(number, number)]);
    end.samples[end.samples.len() - 1].sent_total
}

#[test]
fn bytes_of_other_hosts_count_as_sent() {
    let mut end = Script::knowing(usual(), ROUND_TRIP);
    let (first, second) = (total(&mut end), total(&mut end));
    end.input(Input::Elsewhere(Bytes::new(4_000)));
    end.input(Input::Elsewhere(Bytes::new(3_000)));
    let third = total(&mut end);
    assert_eq!(third - second, second - first + 7_000);
}
