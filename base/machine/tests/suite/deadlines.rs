//! An index of deadlines behaves as a list of them.

use std::collections::BTreeMap;

use machine::{Deadlines, RandomStream};
use units::{Duration, Instant};

fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

#[test]
fn random_changes_leave_it_as_they_leave_a_list() {
    let mut stream = RandomStream::named(1, "deadlines");
    let (mut deadlines, mut list) = (Deadlines::default(), BTreeMap::new());
    let mut now = 0;
    for _ in 0..20_000 {
        let (key, time) = (stream.next_u64() % 20, now + stream.next_u64() % 50);
        match stream.next_u64() % 5 {
            0 | 1 => {
                deadlines.set(key, at(time));
                list.insert(key, time);
            }
            2 => {
                deadlines.set_earlier(key, at(time));
                list.entry(key)
                    .and_modify(|known| *known = time.min(*known))
                    .or_insert(time);
            }
            3 => {
                deadlines.clear(key);
                list.remove(&key);
            }
            _ => {
                now += stream.next_u64() % 10;
                let due = list
                    .iter()
                    .map(|(key, time)| (*time, *key))
                    .filter(|(time, _)| *time <= now);
                let expected = due.min().map(|(_, key)| key);
                assert_eq!(deadlines.first_due(at(now)), expected);
                let later = list.values().filter(|time| **time > now).min();
                assert_eq!(deadlines.first_after(at(now)), later.copied().map(at));
                let count = list.values().filter(|time| **time <= now).count();
                assert_eq!(deadlines.due(at(now)).count(), count);
                assert_eq!(deadlines.pop_due(at(now)), expected);
                expected.map(|key| list.remove(&key));
            }
        }
        assert_eq!(deadlines.get(key), list.get(&key).copied().map(at));
        assert_eq!(deadlines.first(), list.values().min().copied().map(at));
    }
}
