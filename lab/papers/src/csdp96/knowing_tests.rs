//! The knowledge of channels, and its observation.

use channel::errors::ErrorConfig;
use channel::{Frame, Station as OnAir};
use scheduler::Hint;
use units::{BitRate, Bytes, Duration, Instant, Probability};

use super::late::Late;
use super::opportunity::Channels;
use super::oracle::{Accuracy, Oracle};
use super::packet::{Carried, Packet};
use super::parameters::{Coming, Hints};
use super::receivers::Receivers;
use super::tests::datagram;
use super::transmit_buffer::TransmitBuffer;
use super::watch::FadeObserver;

fn at(milliseconds: u64) -> Instant {
    Instant::from_millis(milliseconds)
}

fn receivers(mistaken: Probability) -> Receivers {
    let hints = Hints {
        come: Coming::WithFrames,
        told: Probability::ALWAYS,
        mistaken,
    };
    Receivers::new(hints, 2, 1)
}

#[test]
fn a_receiver_tells_once_what_it_saw_since_it_was_last_heard() {
    let mut receivers = receivers(Probability::NEVER);
    receivers.damaged(1, true);
    receivers.damaged(1, false);
    receivers.changed(at(100), 1, false);
    let told = |receivers: &mut Receivers| receivers.tell(1).collect::<Vec<_>>();
    assert_eq!(told(&mut receivers), [Hint::Damaged(2), Hint::Fallen]);
    receivers.changed(at(170), 1, true);
    let faded = Some(Duration::from_millis(70));
    assert_eq!(told(&mut receivers), [Hint::Risen { faded }]);
    assert_eq!(told(&mut receivers), [Hint::Risen { faded: None }]);
    assert_eq!(
        receivers.tell(0).collect::<Vec<_>>(),
        [Hint::Risen { faded: None }]
    );
}

#[test]
fn a_collision_that_is_taken_for_a_fade_is_not_told_and_noise_is() {
    let mut receivers = receivers(Probability::ALWAYS);
    receivers.damaged(0, true);
    receivers.damaged(0, false);
    assert_eq!(receivers.tell(0).next(), Some(Hint::Damaged(1)));
}

#[test]
fn a_look_gives_the_state_as_often_as_it_is_said_to() {
    let always = Channels::new(&[ErrorConfig::default()], 1);
    let seen = |right: &str| {
        let accuracy = Accuracy {
            right: right.parse().unwrap(),
            every: Some(Duration::from_millis(10)),
        };
        let mut oracle = Oracle::new(accuracy, 1, 7);
        let (mut seems_good, mut good) = (true, 0);
        for look in 0..10_000 {
            assert_eq!(oracle.next(), Some(at(look * 10)));
            if let Some((_, seems)) = oracle.look_around(at(look * 10), &always).first() {
                seems_good = *seems;
            }
            good += u64::from(seems_good);
        }
        good
    };
    assert_eq!((seen("0 %"), seen("100 %")), (0, 10_000));
    let most = seen("80 %");
    assert!((7_800..8_200).contains(&most), "{most}");
}

#[test]
fn a_period_that_is_looked_at_once_is_seen_so_until_it_ends() {
    let accuracy = Accuracy {
        right: Probability::ALWAYS,
        every: None,
    };
    let mut oracle = Oracle::new(accuracy, 1, 7);
    let always = Channels::new(&[ErrorConfig::default()], 1);
    assert_eq!(oracle.look_around(at(0), &always), []);
    assert_eq!(oracle.next(), None);
    assert_eq!(oracle.look(0, false), Some(false));
    assert_eq!(oracle.look(0, false), None);
    assert_eq!(oracle.look(0, true), Some(true));
}

#[test]
fn another_frame_is_copied_and_the_same_one_is_not() {
    let frame = |mobile, payload: Carried<Packet>| Frame {
        from: OnAir::Base,
        mobile,
        size: Bytes::new(1_000),
        payload,
    };
    let packet = |number| Carried::Packet {
        number,
        packet: datagram(1_000),
    };
    // 1,000 bytes a millisecond.
    let mut buffer = TransmitBuffer::new(Some(BitRate::from_megabits(8)));
    let mut loads = |now, mobile, payload| {
        buffer.load(at(now), frame(mobile, payload));
        let ready = buffer.next().unwrap();
        assert!(buffer.ready(ready).is_some() && buffer.next().is_none());
        ready.since(at(now)).as_millis()
    };
    assert_eq!(loads(0, 0, packet(1)), 1);
    assert_eq!(loads(10, 0, packet(1)), 0);
    assert_eq!(loads(20, 1, packet(1)), 1);
    assert_eq!(loads(30, 0, packet(1)), 1);
    assert_eq!(loads(40, 0, Carried::Probe), 1);
    assert_eq!(loads(50, 0, packet(1)), 1);
}

#[test]
fn news_come_late_in_their_order() {
    let mut late = Late::by(Duration::from_millis(50));
    late.push(at(0), 'a');
    late.push(at(10), 'b');
    assert_eq!((late.next(), late.pop(at(49))), (Some(at(50)), None));
    assert_eq!(
        (late.pop(at(60)), late.pop(at(60)), late.pop(at(60))),
        (Some('a'), Some('b'), None)
    );
}

#[test]
fn fades_are_noticed_or_not_and_marks_on_good_channels_are_stale() {
    let mut watch = FadeObserver::new(2);
    // Noticed after 30 ms; the mark outlasts the fade by 20 ms.
    watch.changed(at(100), 0, false);
    watch.marked(at(130), 0, true);
    watch.changed(at(200), 0, true);
    watch.marked(at(220), 0, false);
    // Over before it is noticed, and marked for 5 ms after that.
    watch.changed(at(300), 0, false);
    watch.changed(at(310), 0, true);
    watch.marked(at(340), 0, true);
    watch.marked(at(345), 0, false);
    let airtime = Duration::from_millis(2);
    watch.ended(at(400), (1, airtime), (true, true));
    watch.ended(at(440), (1, airtime), (true, false));
    watch.ended(at(450), (1, airtime), (false, false));
    let account = watch.account();
    assert_eq!((account.fades, account.unnoticed), (2, 1));
    assert_eq!(account.noticing, Duration::from_millis(30));
    assert_eq!(account.stale, Duration::from_millis(25));
    assert_eq!(
        (account.turns, account.between),
        (1, Duration::from_millis(40))
    );
    let milliseconds = [account.used, account.lost, account.probed].map(Duration::as_millis);
    assert_eq!(milliseconds, [4, 2, 2]);
}
