//! The signals socket: new subscribers, slow ones, many, and a daemon that stops and starts.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::Duration as Patience;

use edges::wait::{Interest, WOKEN, Waiter, Waker};
use rpc::LinkEvent;
use runtime::signals::{Audience, Follower, Publisher, Reader, Subscription, SubscriptionError};
use signals::{Event, Refusal, Signal};
use units::{Duration, Instant};

/// Time that a test waits for what must arrive; it only affects how long a failure takes.
const LONG: Patience = Patience::from_secs(20);
const PUBLISHER: u64 = 0;

fn signal(peer: &str, millis: u64, event: Event) -> Signal {
    Signal {
        at: Instant::from_millis(millis),
        peer: peer.into(),
        event,
        past: false,
    }
}

const LOST: Event = Event::Restored {
    kept: false,
    held: false,
    lasted: Duration::from_millis(80),
};
const KEPT: Event = Event::Restored {
    kept: false,
    held: true,
    lasted: Duration::from_millis(80),
};

/// Returns a publisher at `path`, for `audience`, and a waiter for it.
fn publisher(path: &Path, audience: Audience) -> (Publisher, Waiter) {
    let publisher = Publisher::bind(path, audience).unwrap();
    let waiter = Waiter::new().unwrap();
    waiter
        .add(&publisher, PUBLISHER, Interest::Readable)
        .unwrap();
    (publisher, waiter)
}

/// Accepts subscribers, and removes those that have gone, until `done`.
fn attend(
    publisher: &mut Publisher,
    waiter: &mut Waiter,
    mut done: impl FnMut(&Publisher) -> bool,
) {
    while !done(publisher) {
        publisher.accept(waiter, 1).unwrap();
        let ready = waiter.wait(Some(Duration::from_millis(5))).unwrap();
        ready
            .map(|ready| ready.token)
            .filter(|token| *token != PUBLISHER)
            .for_each(|token| publisher.gone(token));
    }
}

fn connect(path: &Path) -> BufReader<UnixStream> {
    let stream = UnixStream::connect(path).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    BufReader::new(stream)
}

fn lines(reader: &mut impl BufRead, count: usize) -> Vec<String> {
    let mut line = || {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        line
    };
    (0..count).map(|_| line()).collect()
}

#[test]
fn a_newcomer_hears_the_present_and_then_the_news() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.signals");
    let (mut publisher, mut waiter) = publisher(&path, Audience::Everyone);
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o666);
    publisher.publish(signal("one", 1, LOST));
    publisher.publish(signal("two", 2, Event::Disconnected));
    publisher.publish(signal("one", 3, Event::Fade));
    let mut reader = connect(&path);
    attend(&mut publisher, &mut waiter, |publisher| {
        publisher.subscribers() == 1
    });
    let news = signal("one", 4, KEPT);
    publisher.publish(news.clone());
    let past = |signal: Signal| Signal {
        past: true,
        ..signal
    };
    let expected = [
        Signal::greeting(),
        past(signal("one", 3, Event::Fade)).to_line(),
        past(signal("two", 2, Event::Disconnected)).to_line(),
        news.to_line(),
    ];
    assert_eq!(lines(&mut reader, 4), expected);
    assert!(
        Publisher::bind(&path, Audience::Owner).is_err(),
        "a living daemon's socket is not taken over"
    );
    drop(publisher);
    assert!(!path.exists(), "the socket goes with its daemon");
    assert_eq!(reader.read(&mut [0]).unwrap(), 0);
    drop(UnixListener::bind(&path).unwrap());
    let _publisher = Publisher::bind(&path, Audience::Owner).unwrap();
    assert_eq!(mode(&path), 0o600, "in the place of a dead one");
}

#[test]
fn who_does_not_read_is_sent_away_and_others_hear_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.signals");
    let (mut publisher, mut waiter) = publisher(&path, Audience::Everyone);
    let mut slow = connect(&path);
    let mut awake = connect(&path);
    attend(&mut publisher, &mut waiter, |publisher| {
        publisher.subscribers() == 2
    });
    let mut told = 0;
    lines(&mut awake, 1);
    while publisher.subscribers() == 2 {
        told += 1;
        publisher.publish(signal("gateway", told, Event::Fade));
        let heard = lines(&mut awake, 1);
        assert_eq!(heard, [signal("gateway", told, Event::Fade).to_line()]);
        assert!(told < 100_000, "it is kept for ever");
    }
    assert!(told > 50, "{told} signals fit into no socket");
    // The received lines, and no partial line that could be misread.
    let mut rest = String::new();
    slow.read_to_string(&mut rest).unwrap();
    assert!(rest.lines().count() as u64 <= told + 1);
}

/// The publisher never reads from subscribers, and half-closed connections stay valid.
#[test]
fn what_listeners_say_does_not_matter() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.signals");
    let (mut publisher, mut waiter) = publisher(&path, Audience::Everyone);
    let mut chatty = connect(&path);
    chatty.get_mut().write_all(&[b'x'; 4_096]).unwrap();
    let mut half = connect(&path);
    half.get_mut().shutdown(std::net::Shutdown::Write).unwrap();
    attend(&mut publisher, &mut waiter, |publisher| {
        publisher.subscribers() == 2
    });
    publisher.publish(signal("gateway", 1, Event::Fade));
    assert_eq!(publisher.subscribers(), 2);
    for reader in [&mut chatty, &mut half] {
        assert!(lines(reader, 2)[1].contains("fade"));
    }
    drop(half);
    attend(&mut publisher, &mut waiter, |publisher| {
        publisher.subscribers() == 1
    });
}

#[test]
fn a_crowd_pushes_out_its_oldest() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.signals");
    let (mut publisher, mut waiter) = publisher(&path, Audience::Everyone);
    let mut crowd = Vec::new();
    for count in 1..=32 {
        crowd.push(connect(&path));
        attend(&mut publisher, &mut waiter, |publisher| {
            publisher.subscribers() == count
        });
    }
    let mut newcomer = connect(&path);
    let mut first = crowd.remove(0);
    lines(&mut first, 1);
    attend(&mut publisher, &mut waiter, |_| {
        first.get_ref().set_nonblocking(true).unwrap();
        matches!(first.get_ref().read(&mut [0]), Ok(0))
    });
    assert_eq!(publisher.subscribers(), 32);
    assert_eq!(lines(&mut newcomer, 1), [Signal::greeting()]);
}

/// A daemon that consists of its signals socket only.
struct Daemon {
    commands: std::sync::mpsc::Sender<Signal>,
    waker: Waker,
    thread: Option<JoinHandle<()>>,
}

impl Daemon {
    fn start(path: &Path) -> Self {
        let (mut publisher, mut waiter) = publisher(path, Audience::Owner);
        let waker = waiter.waker();
        let (commands, signals) = channel();
        let thread = std::thread::spawn(move || {
            loop {
                let tokens: Vec<_> = waiter.wait(None).unwrap().map(|r| r.token).collect();
                publisher.accept(&waiter, 1).unwrap();
                loop {
                    match signals.try_recv() {
                        Ok(signal) => publisher.publish(signal),
                        Err(std::sync::mpsc::TryRecvError::Empty) => break,
                        Err(std::sync::mpsc::TryRecvError::Disconnected) => return,
                    }
                }
                let gone = tokens.iter().filter(|token| !matches!(**token, 0 | WOKEN));
                gone.for_each(|token| publisher.gone(*token));
            }
        });
        Self {
            commands,
            waker,
            thread: Some(thread),
        }
    }

    fn tell(&self, event: Event) {
        self.commands.send(signal("gateway", 1, event)).unwrap();
        self.waker.wake().unwrap();
    }

    fn end(mut self) {
        drop(self.commands);
        self.waker.wake().unwrap();
        self.thread.take().unwrap().join().unwrap();
    }
}

fn reader(path: &Path) -> (Reader, Receiver<LinkEvent>) {
    let (sender, receiver) = channel();
    let reader = Reader::start(path.into(), move |event| {
        // The test may have ended already.
        let _ = sender.send(event);
    })
    .unwrap();
    (reader, receiver)
}

#[test]
fn a_reader_finds_its_daemon_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.signals");
    let (reader, heard) = reader(&path);
    for _ in 0..2 {
        let daemon = Daemon::start(&path);
        daemon.tell(Event::Fade);
        assert_eq!(heard.recv_timeout(LONG), Ok(LinkEvent::FadeBegan));
        daemon.tell(KEPT);
        let ended = |kept| Ok(LinkEvent::FadeEnded { kept });
        assert_eq!(heard.recv_timeout(LONG), ended(true));
        daemon.tell(Event::Disconnected);
        assert_eq!(heard.recv_timeout(LONG), Ok(LinkEvent::FadeBegan));
        daemon.end();
        assert_eq!(
            heard.recv_timeout(LONG),
            ended(false),
            "nobody would tell the end"
        );
    }
    drop(reader);
    assert!(heard.recv().is_err(), "its thread has ended");
}

/// For any data at the socket, the reader reports no event and can be dropped.
#[test]
fn a_reader_survives_whatever_answers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.signals");
    let (reader, heard) = reader(&path);
    let listener = UnixListener::bind(&path).unwrap();
    let greeting = Signal::greeting();
    let fade = signal("gateway", 1, Event::Fade).to_line();
    for garbage in [
        "HTTP/1.1 400 Bad Request\r\n\r\n".to_owned(),
        "x".repeat(100_000),
        format!("{fade}{fade}"),
        format!("{greeting}{}", "{".repeat(2_000)),
        format!("{greeting}{{\"event\":\"fade\"}}\n{fade}"),
    ] {
        let (mut stream, _) = listener.accept().unwrap();
        // The reader may be gone before all of that was sent.
        let _ = stream.write_all(garbage.as_bytes());
        stream.set_read_timeout(Some(LONG)).unwrap();
        assert!(matches!(stream.read(&mut [0]), Ok(0) | Err(_)));
    }
    assert!(heard.try_recv().is_err());
    // A daemon that sends nothing.
    let (_silent, _) = listener.accept().unwrap();
    drop(reader);
}

#[test]
fn a_subscription_says_why_it_ended() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("test.signals");
    assert!(Subscription::connect(&path).is_err());
    let listener = UnixListener::bind(&path).unwrap();
    for (said, refused) in [
        ("", false),
        ("{\"event\":\"signals\",\"version\":9}\n", true),
    ] {
        let mut subscription = Subscription::connect(&path).unwrap();
        assert!(subscription.receive(|_| panic!("nothing was said")).is_ok());
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(said.as_bytes()).unwrap();
        drop(stream);
        let error = subscription.receive(|_| panic!("no signal")).unwrap_err();
        match error {
            SubscriptionError::Refused(refusal) if refused => {
                assert_eq!(refusal, Refusal::OtherVersion(9));
            }
            SubscriptionError::Ended if !refused => {}
            error => panic!("{error}"),
        }
    }
}

#[test]
fn signals_become_what_calls_want_to_know() {
    use LinkEvent::{FadeBegan, FadeEnded, HandoffDone, HandoffImpending};
    let within = Duration::from_millis(500);
    let impending = Event::HandoffImpending { within };
    let (fade, gone) = (Event::Fade, Event::Disconnected);
    let lost = FadeEnded { kept: false };
    for (events, expected) in [
        (vec![fade, KEPT], vec![FadeBegan, FadeEnded { kept: true }]),
        (vec![fade, LOST], vec![FadeBegan, lost]),
        (vec![fade, gone, LOST], vec![FadeBegan, FadeBegan, lost]),
        (
            vec![impending, fade, LOST],
            vec![HandoffImpending, FadeBegan, HandoffDone],
        ),
        (
            vec![impending, KEPT],
            vec![HandoffImpending, FadeEnded { kept: true }],
        ),
        // The gateway has restarted.
        (vec![LOST], vec![lost]),
    ] {
        let mut follower = Follower::default();
        let heard: Vec<_> = events
            .iter()
            .filter_map(|event| follower.hear(&signal("gateway", 1, *event)))
            .collect();
        assert_eq!(heard, expected, "{events:?}");
        assert_eq!(follower.deafen(), None);
    }
    let mut follower = Follower::default();
    let past = |event| Signal {
        past: true,
        ..signal("gateway", 1, event)
    };
    assert_eq!(follower.hear(&past(KEPT)), None, "all is well");
    assert_eq!(follower.hear(&past(fade)), Some(FadeBegan));
    assert_eq!(follower.deafen(), Some(lost));
}
