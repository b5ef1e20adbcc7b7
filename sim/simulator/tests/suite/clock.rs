//! The clock of the tests of machines.

use simulator::testing::{Clock, Next};
use units::Instant;

/// What happens up to a second, with a deadline that is met at 5 ms and one at 9 ms.
fn order(mut clock: Clock<char>) -> String {
    for (at, event) in [(5, 'b'), (5, 'c'), (1, 'a')] {
        clock.add(Instant::from_millis(at), event);
    }
    let (mut happened, mut deadlines) =
        (String::new(), [5, 9].map(Instant::from_millis).into_iter());
    let mut deadline = deadlines.next();
    loop {
        match clock.advance(Instant::from_millis(1_000), deadline) {
            Next::Event(event) => happened.push(event),
            Next::Deadline => {
                assert_eq!(Some(clock.now), deadline);
                happened.push('-');
                deadline = deadlines.next();
            }
            Next::End => break,
        }
    }
    assert_eq!(clock.now, Instant::from_millis(1_000));
    happened
}

#[test]
fn events_and_deadlines_of_one_time_keep_their_order() {
    assert_eq!(order(Clock::new(Instant::ZERO)), "abc--");
    assert_eq!(order(Clock::new(Instant::ZERO).deadlines_first()), "a-bc-");
}

#[test]
#[should_panic(expected = "time stands still")]
fn a_machine_that_spins_is_found() {
    let mut clock = Clock::<()>::new(Instant::ZERO);
    while clock.advance(Instant::from_millis(1), Some(Instant::ZERO)) == Next::Deadline {}
}
