use runtime::Status;

use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn peer() -> PeerStatus {
    let status: Status = serde_json::from_str(include_str!("../status/gateway.json")).unwrap();
    status.host.peers.into_iter().next().unwrap()
}

fn samples(history: &History, name: &str, after: u64) -> Vec<Option<Sample>> {
    history.samples(name, after).collect()
}

#[test]
fn samples_are_what_came_between_two_answers() {
    let start = Instant::now();
    let mut history = History::new(start);
    let mut peer = peer();
    history.add(start, std::slice::from_ref(&peer));
    let stats = &mut peer.hop.stats;
    stats.sent.bytes_delivered += 3_000;
    stats.received.bytes += 500;
    stats.sent.frames += 90;
    stats.received.frames += 9;
    stats.received.frames_missed += 1;
    stats.sent.frames_lost += 24;
    // Half a second of a fade that goes on.
    peer.hop.fading_for = units::Duration::from_millis(1_000);
    history.add(start + 2 * SECOND, std::slice::from_ref(&peer));
    let sample = Sample {
        sent: 1_500,
        received: 250,
        lost: 2_500,
        faded: 50,
        fades: 0,
    };
    assert_eq!(samples(&history, &peer.name, 0), [None, Some(sample)]);
    assert_eq!(samples(&history, &peer.name, 1), [Some(sample)]);
    assert_eq!(history.times(1).collect::<Vec<_>>(), [2 * SECOND]);
    // The fade ends, and counts once.
    peer.hop.stats.sent.fades += 1;
    peer.hop.stats.sent.faded += units::Duration::from_millis(1_500);
    peer.hop.fading_for = units::Duration::ZERO;
    history.add(start + 3 * SECOND, std::slice::from_ref(&peer));
    let last = samples(&history, &peer.name, 2)[0].unwrap();
    assert_eq!((last.sent, last.faded, last.fades), (0, 50, 1));
    // The next one seems longer than it was at its end, by half a second; so the rest is counted later.
    let mut add = |second: u32, fading_for, faded| {
        peer.hop.fading_for = units::Duration::from_millis(fading_for);
        peer.hop.stats.sent.faded += units::Duration::from_millis(faded);
        history.add(start + second * SECOND, std::slice::from_ref(&peer));
        samples(&history, &peer.name, u64::from(second) - 1)[0]
            .unwrap()
            .faded
    };
    assert_eq!(
        [add(4, 800, 0), add(5, 0, 300), add(6, 700, 0)],
        [80, 0, 20]
    );
}

#[test]
fn nothing_is_known_of_the_time_of_a_restart_or_of_silence() {
    let start = Instant::now();
    let mut history = History::new(start);
    let mut peer = peer();
    let add = |history: &mut History, second: u32, peers: &[PeerStatus]| {
        history.add(start + second * SECOND, peers);
    };
    add(&mut history, 0, std::slice::from_ref(&peer));
    add(&mut history, 1, std::slice::from_ref(&peer));
    add(&mut history, 2, &[]);
    add(&mut history, 3, std::slice::from_ref(&peer));
    peer.hop.stats.sent.bytes_delivered = 7;
    add(&mut history, 4, std::slice::from_ref(&peer));
    add(&mut history, 5, std::slice::from_ref(&peer));
    let known: Vec<_> = history
        .samples(&peer.name, 0)
        .map(|sample| sample.is_some())
        .collect();
    assert_eq!(known, [false, true, false, false, false, true]);
    let number = history.answers();
    assert_eq!(
        history.times(number).count() + history.samples(&peer.name, number).count(),
        0
    );
}

#[test]
fn old_samples_and_peers_that_are_gone_are_forgotten() {
    let start = Instant::now();
    let mut history = History::new(start);
    let [old, late] = ["old", "late"].map(|name| PeerStatus {
        name: name.into(),
        ..peer()
    });
    history.add(start, std::slice::from_ref(&old));
    for second in 1..=700 {
        history.add(start + second * SECOND, std::slice::from_ref(&late));
        let times: Vec<_> = history.times(0).collect();
        let kept = samples(&history, "late", 0).len();
        assert!(times.len() <= ANSWERS && kept <= times.len());
        assert_eq!(times.last(), Some(&(second * SECOND)));
        // A peer with no sample at all of the remembered time is not remembered.
        assert_eq!(samples(&history, "old", 0).is_empty(), second >= 600);
    }
    assert_eq!(samples(&history, "late", 0).len(), ANSWERS);
    assert_eq!(history.peers.len(), 1);
    assert_eq!(samples(&history, "nobody", 0), []);
}

#[test]
fn the_number_of_peers_is_limited() {
    let start = Instant::now();
    let mut history = History::new(start);
    let one = peer();
    let many: Vec<_> = (0..PEERS + 10)
        .map(|number| PeerStatus {
            name: format!("mobile{number}"),
            ..one.clone()
        })
        .collect();
    history.add(start, &many);
    history.add(start + SECOND, &many);
    assert_eq!(history.peers.len(), PEERS);
    assert!(size_of::<Option<Sample>>() <= 16);
}
