//! A mobile host with a valid key does what it likes on a hop of its own: another one keeps its rate, and its pings
//! come back in time.

use hosts::{Caps, Input};
use units::{BitRate, Duration, Instant};
use wire::hop::RecordWriter;
use wire::packet::{Packet, PacketBuffer};

use crate::support::Traffic;
use crate::support::cell::Station;
use crate::support::intruder::{Behaviour, Intruder, brief, frame, stream};
use crate::support::site::Site;

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
const PORT: u16 = 7;
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

fn observe(caps: Caps, rate: BitRate, bad: Option<Station>) -> Observed {
    let mut site = Site::new(caps, &[RATE, rate]);
    if let Some(bad) = bad {
        site.replace(BAD, bad);
    }
    site.begin();
    let mut bulk = Traffic::bulk(PORT);
    let (mut sent, mut seen, mut from) = (Vec::new(), 0, 0);
    let start = Instant::ZERO + SECOND;
    while site.now() < start + WARM_UP + SPAN {
        site.run_for(STEP);
        if site.now() < start {
            continue;
        }
        for _ in 0..PACKETS_A_STEP {
            let mut packet = bulk.next();
            packet.rewrite(|bytes| bytes[16..20].copy_from_slice(&[10, 9, 0, 1]));
            site.send(packet);
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
        news.into_iter()
            .for_each(|number| site.send(ping(number, false)));
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

/// Compares a run with the bad one with a run in which it is idle.
fn harms_nobody(caps: Caps, rate: BitRate, bad: impl Behaviour + 'static) {
    let usual = observe(caps, rate, None);
    let beside = observe(caps, rate, Some(Box::new(Intruder::new(BAD, bad))));
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
    assert!(late <= Duration::from_millis(20), "{beside:?} of {usual:?}");
}

fn caps() -> Caps {
    Caps {
        new_flows: Some(500),
        packets: Some(50_000),
        ..Caps::default()
    }
}

/// Frames of the full length at a rate of the hop, in ticks of 20 ms.
fn frames_a_tick(rate: BitRate) -> usize {
    let bytes = rate.bytes_in(Duration::from_millis(20)).get();
    (bytes / 1_450).max(1) as usize
}

/// Each frame is a stream: one packet, and then records of two bytes, each of which stands for one without payload.
struct TinyRecords {
    number: u32,
    first: Vec<u8>,
    frames: usize,
}

impl TinyRecords {
    fn new(rate: BitRate) -> Self {
        let packet = Traffic::upload(9).packet(0);
        let mut first = RecordWriter::default().write(&packet).as_bytes().to_vec();
        first.extend(packet.iter());
        Self {
            number: 0,
            first,
            frames: frames_a_tick(rate),
        }
    }
}

impl Behaviour for TinyRecords {
    fn tick(&mut self, _now: Instant) -> Vec<Vec<u8>> {
        let frames = 0..self.frames;
        let frames = frames.map(|_| {
            self.number += 1;
            let mut bytes = self.first.clone();
            while bytes.len() < 1_350 {
                bytes.extend([0x80, 0]);
            }
            let mut chunk = stream(u64::from(self.number), 0, &bytes);
            chunk[0] |= FLAG_END;
            [frame(self.number), chunk].concat()
        });
        frames.collect()
    }
}

#[test]
fn one_that_sends_records_of_two_bytes() {
    for megabits in [1, 4, 20, 100] {
        let rate = BitRate::from_megabits(megabits);
        harms_nobody(caps(), rate, TinyRecords::new(rate));
    }
}

/// It sends whole packets of 20 bytes, as many as fit.
struct TinyPackets {
    number: u32,
    packet: u32,
    frames: usize,
}

impl Behaviour for TinyPackets {
    fn tick(&mut self, _now: Instant) -> Vec<Vec<u8>> {
        let mut packet = vec![0x45, 0, 0, 20, 0, 0, 0, 0, 64, 99, 0, 0];
        packet.extend([10, 9, 0, 2, 192, 0, 2, 1]);
        let frames = 0..self.frames;
        let frames = frames.map(|_| {
            self.number += 1;
            let mut bytes = frame(self.number);
            while bytes.len() < 1_350 {
                self.packet += 1;
                bytes.extend(brief(self.packet, &packet));
            }
            bytes
        });
        frames.collect()
    }
}

#[test]
fn one_that_sends_packets_of_twenty_bytes() {
    for megabits in [20, 100] {
        let rate = BitRate::from_megabits(megabits);
        let bad = TinyPackets {
            number: 0,
            packet: 0,
            frames: frames_a_tick(rate),
        };
        harms_nobody(caps(), rate, bad);
    }
}
