//! A mobile host with a valid key does what it likes on a hop of its own: another one keeps its rate, and its pings
//! come back in time.

use std::collections::BTreeMap;
use std::iter;
use std::sync::{Arc, Mutex, OnceLock};

use hosts::{Caps, Input, Output};
use machine::Machine;
use units::{BitRate, Duration, Instant};
use wire::hop::RecordWriter;
use wire::ip::Ecn;
use wire::packet::{Packet, PacketBuffer};

use crate::support::Traffic;
use crate::support::cell::{Station, name, place};
use crate::support::intruder::{
    Behaviour, Intruder, Silent, acknowledgement, brief, frame, initiation, stream,
};
use crate::support::site::{Site, Wired};

const SECOND: Duration = Duration::from_secs(1);
/// Number of the mobile host that is observed, and of the other one, whose address all traffic has.
const GOOD: usize = 0;
const BAD: usize = 1;
const WARM_UP: Duration = Duration::from_secs(2);
const SPAN: Duration = Duration::from_secs(4);
/// Time between two steps of the applications.
const STEP: Duration = Duration::from_millis(5);
/// Rate of the observed hop, and payload to that mobile host for each step: a little less than its hop carries.
const RATE: BitRate = BitRate::from_megabits(20);
const PACKETS_A_STEP: usize = 7;
/// Longest time by which one that is hostile may delay the pings of others.
const LATE: Duration = Duration::from_millis(20);
const PORT: u16 = 7;
/// Length of a long frame, and bytes around it on the hop.
const FULL: usize = 1_350;
const AROUND: usize = 100;
/// First bytes of chunks: a probe, and padding up to the end of the frame.
const PROBE: u8 = 0x40;
const PADDING: u8 = 0x50;
/// Mark of a chunk that ends its stream.
const FLAG_END: u8 = 2;

/// What the observed mobile host got.
#[derive(Debug, Clone, Copy)]
struct Observed {
    /// Bytes of payload.
    payload: u64,
    /// Pings that came back, in thousandths, and the longest time that one took.
    answered: u64,
    slowest: Duration,
}

/// An ICMP echo request of the observed mobile host, or the answer to it.
fn ping(number: u16, is_request: bool) -> Packet {
    let mut bytes = vec![0x45, 0, 0, 28, 0, 0, 0, 0, 64, 1, 0, 0];
    let (mobile, fixed) = ([10, 9, 0, 1], [192, 0, 2, 1]);
    let ends = if is_request {
        [mobile, fixed]
    } else {
        [fixed, mobile]
    };
    bytes.extend(ends.concat());
    bytes.extend([if is_request { 8 } else { 0 }, 0, 0, 0, 0, 1]);
    bytes.extend(number.to_be_bytes());
    Packet::new(PacketBuffer::copy_of(&bytes))
}

/// Returns the number of a ping, if this is one.
fn number_of(packet: &Packet) -> Option<u16> {
    (packet[9] == 1).then(|| u16::from_be_bytes([packet[26], packet[27]]))
}

fn observe(rate: BitRate, bad: Option<Station>) -> Observed {
    observe_beside(Wired::default(), rate, bad.into_iter().collect())
}

/// Observes the good one beside these, or beside one like itself.
fn observe_beside(wired: Wired, rate: BitRate, bad: Vec<Station>) -> Observed {
    let caps = Caps {
        new_flows: Some(500),
        packets: Some(50_000),
        ..Caps::default()
    };
    let rates = iter::once(RATE).chain(iter::repeat_n(rate, bad.len().max(1)));
    let mut site = Site::new(caps, &rates.collect::<Vec<_>>());
    site.set_wired(wired);
    for (index, bad) in bad.into_iter().enumerate() {
        site.replace(BAD + index, bad);
    }
    site.begin();
    let (mut bulk, mut other) = (Traffic::bulk(PORT), Traffic::bulk(PORT));
    let (mut sent, mut seen, mut from) = (Vec::new(), 0, 0);
    let start = Instant::ZERO + SECOND;
    while site.now() < start + WARM_UP + SPAN {
        site.run_for(STEP);
        if site.now() < start {
            continue;
        }
        for _ in 0..PACKETS_A_STEP {
            let mut packet = bulk.full_packet();
            packet.rewrite(|bytes| bytes[16..20].copy_from_slice(&[10, 9, 0, 1]));
            site.send(packet);
            site.send(other.full_packet());
        }
        let request = ping(sent.len() as u16, true);
        sent.push(site.now());
        site.tell(GOOD, Input::Packet(request));
        // The fixed host answers what has come since the last step.
        let news: Vec<_> = site.forwarded[seen..]
            .iter()
            .filter_map(|(_, packet)| number_of(packet))
            .collect();
        seen = site.forwarded.len();
        for number in news {
            site.send(ping(number, false));
        }
        if site.now() < start + WARM_UP {
            from = sent.len();
        }
    }
    site.run_for(SECOND);
    report(&site, &sent, from)
}

fn report(site: &Site, sent: &[Instant], from: usize) -> Observed {
    let received = site.received[GOOD].iter();
    let begin = sent[from];
    let end = *sent.last().expect("pings");
    let mut took = vec![None; sent.len()];
    let mut payload = 0;
    for (at, packet) in received {
        match number_of(packet) {
            Some(number) => took[usize::from(number)] = Some(at.since(sent[usize::from(number)])),
            None if *at >= begin && *at < end => payload += packet.len() as u64 - 52,
            None => {}
        }
    }
    // The last ones are under way when the fixed host stops.
    let took = &took[from..took.len() - 20];
    let back = took.iter().flatten();
    let observed = Observed {
        payload,
        answered: 1_000 * back.clone().count() as u64 / took.len() as u64,
        slowest: back.max().copied().unwrap_or(Duration::MAX),
    };
    println!(
        "{observed:?}, {} overflows, {} forwarded",
        site.overflows,
        site.forwarded.len()
    );
    observed
}

fn harms_nobody(rate: BitRate, bad: impl Behaviour + 'static) {
    compare(rate, Box::new(Intruder::new(BAD, bad)));
}

/// Compares a run with the bad one with a run in which a mobile host in its place is as busy as the observed one.
fn compare(rate: BitRate, bad: Station) {
    assert_harmless(usual(rate), observe(rate, Some(bad)), LATE);
}

/// Returns what is observed at this rate while nobody is hostile.
fn usual(rate: BitRate) -> Observed {
    static USUAL: Mutex<BTreeMap<BitRate, Arc<OnceLock<Observed>>>> = Mutex::new(BTreeMap::new());
    let mut known = USUAL.lock().expect("no panic");
    let of_rate = Arc::clone(known.entry(rate).or_default());
    drop(known);
    *of_rate.get_or_init(|| observe(rate, None))
}

fn assert_harmless(usual: Observed, beside: Observed, most: Duration) {
    assert!(
        usual.answered == 1_000 && usual.payload > 6_000_000,
        "{usual:?}"
    );
    assert!(
        beside.payload * 10 >= usual.payload * 9,
        "{beside:?} of {usual:?}"
    );
    assert!(beside.answered >= 990, "{beside:?} of {usual:?}");
    let late = beside.slowest.saturating_sub(usual.slowest);
    assert!(late <= most, "{beside:?} of {usual:?}");
}

/// Returns the number of frames of this length that a hop carries in a tick of 20 ms.
fn frames_a_tick(rate: BitRate, length: usize) -> usize {
    let bytes = rate.bytes_in(Duration::from_millis(20)).get() as usize;
    (bytes / (length + AROUND)).max(1)
}

/// It sends what this returns at each tick.
struct Sends<F>(F);

impl<F: FnMut(Instant) -> Vec<Vec<u8>>> Behaviour for Sends<F> {
    fn tick(&mut self, now: Instant) -> Vec<Vec<u8>> {
        self.0(now)
    }
}

/// Sends so many frames at each tick; `fill` adds to each, whose number is given.
fn sends(frames: usize, mut fill: impl FnMut(u32, &mut Vec<u8>)) -> impl Behaviour {
    let mut number = 0;
    Sends(move |_| {
        let frames = (0..frames).map(|_| {
            number += 1;
            let mut bytes = frame(number);
            fill(number, &mut bytes);
            bytes
        });
        frames.collect()
    })
}

/// Each frame is a stream: one packet, and then records of two bytes, each of which stands for one without payload.
fn sends_records(rate: BitRate, mobile: usize) -> impl Behaviour {
    let mut packet = Traffic::upload(9).packet(0);
    packet.rewrite(|bytes| bytes[15] = mobile as u8 + 1);
    let mut records = RecordWriter::default().write(&packet).as_bytes().to_vec();
    records.extend(packet.iter());
    while records.len() < FULL {
        records.extend([0x80, 0]);
    }
    sends(frames_a_tick(rate, FULL), move |number, bytes| {
        let mut chunk = stream(number.into(), 0, &records);
        chunk[0] |= FLAG_END;
        bytes.extend(chunk);
    })
}

#[test]
fn one_that_sends_records_of_two_bytes() {
    for megabits in [1, 4, 20, 100] {
        let rate = BitRate::from_megabits(megabits);
        harms_nobody(rate, sends_records(rate, BAD));
    }
}

/// The processor is too slow for what they may send, and each packet is answered by a reset.
#[test]
fn some_that_send_records_which_are_answered() {
    let wired = Wired {
        packet_out: Duration::from_micros(17),
        packet_in: Duration::from_micros(6),
        resets: true,
    };
    let rate = BitRate::from_megabits(4);
    let usual = observe_beside(wired, rate, Vec::new());
    for (count, late) in [(1, LATE), (4, LATE), (16, LATE * 2)] {
        let bad = (0..count).map(|number| {
            let mobile = BAD + number;
            let station: Station = Box::new(Intruder::new(mobile, sends_records(rate, mobile)));
            station
        });
        let beside = observe_beside(wired, rate, bad.collect());
        assert_harmless(usual, beside, late);
    }
}

/// A packet of 20 bytes, without a transport.
fn tiny() -> Vec<u8> {
    let mut packet = vec![0x45, 0, 0, 20, 0, 0, 0, 0, 64, 99, 0, 0];
    packet.extend([10, 9, 0, 2, 192, 0, 2, 1]);
    packet
}

#[test]
fn one_that_sends_packets_of_twenty_bytes() {
    for megabits in [20, 100] {
        let rate = BitRate::from_megabits(megabits);
        let mut packets = 0;
        let bad = sends(frames_a_tick(rate, FULL), move |_, bytes| {
            while bytes.len() < FULL {
                packets += 1;
                bytes.extend(brief(packets, &tiny()));
            }
        });
        harms_nobody(rate, bad);
    }
}

/// Each packet is the first of a flow.
#[test]
fn one_that_begins_flows_all_the_time() {
    let rate = BitRate::from_megabits(50);
    let mut packets: u32 = 0;
    let bad = sends(frames_a_tick(rate, FULL), move |_, bytes| {
        while bytes.len() < FULL {
            packets += 1;
            let [.., high, low] = packets.to_be_bytes();
            let mut packet = tiny();
            packet[9] = 17;
            packet[3] = 28;
            packet.extend([high, low, 0, 53, 0, 8, 0, 0]);
            bytes.extend(brief(packets, &packet));
        }
    });
    harms_nobody(rate, bad);
}

/// Frames that only ask for an acknowledgement, or are padding, as the search for the path MTU sends them.
#[test]
fn one_that_probes_all_the_time() {
    let rate = BitRate::from_megabits(50);
    harms_nobody(
        rate,
        sends(frames_a_tick(rate, 6), |_, bytes| bytes.push(PROBE)),
    );
    let long = sends(frames_a_tick(rate, FULL), |_, bytes| {
        bytes.push(PADDING);
        bytes.resize(FULL, 0);
    });
    harms_nobody(rate, long);
}

/// It acknowledges all that was ever sent, and much that was not, whether it has come or not; much is sent to it.
#[test]
fn one_that_acknowledges_what_has_not_come() {
    let rate = BitRate::from_megabits(20);
    let bad = sends(5, |number, bytes| {
        for ahead in 0..60 {
            let largest = number * 60 + ahead;
            bytes.extend(acknowledgement(largest, largest, largest.into(), &[]));
        }
    });
    harms_nobody(rate, bad);
}

#[test]
fn one_that_never_acknowledges() {
    harms_nobody(BitRate::from_megabits(20), Silent);
}

/// It asks for new keys all the time, with its own key and later and later times.
struct Asks {
    asked: Vec<Vec<u8>>,
    next: Instant,
    outputs: Vec<Output>,
}

impl Machine for Asks {
    type Input = Input;
    type Output = Output;

    fn handle_input(&mut self, _now: Instant, _input: Input) {}

    fn handle_timeout(&mut self, now: Instant) {
        if self.next > now {
            return;
        }
        self.next = now + Duration::from_millis(2);
        let count = self.asked.len().min(5);
        let some = self.asked.split_off(self.asked.len() - count);
        self.outputs = some
            .into_iter()
            .map(|bytes| Output::Datagram {
                to: place(0),
                buffer: PacketBuffer::copy_of(&bytes),
                ecn: Ecn::NotCapable,
            })
            .collect();
    }

    fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        (!self.asked.is_empty()).then_some(self.next)
    }
}

#[test]
fn one_that_asks_for_keys_all_the_time() {
    let asked = (1..=10_000).rev();
    let asks = Asks {
        asked: asked.map(|life| initiation(&name(BAD + 1), life)).collect(),
        next: Instant::ZERO + SECOND * 3,
        outputs: Vec::new(),
    };
    compare(BitRate::from_megabits(50), Box::new(asks));
}
