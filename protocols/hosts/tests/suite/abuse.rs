//! One of eight mobiles on one air behaves as badly as it can: the others keep their share, and what the gateway
//! holds stays within what it says that it may hold.

use std::sync::OnceLock;

use hosts::{Caps, Input, Output, TcpMethod, TcpTerms};
use machine::{Machine, RandomStream};
use scheduler::config::Discipline;
use units::{Bytes, Duration, Instant};
use wire::packet::PacketBuffer;

use crate::support::cell::{Cell, Fades, Setting, Station, WARM_UP, name};
use crate::support::intruder::{
    Behaviour, Intruder, Silent, acknowledgement, brief, frame, initiation, stream as stream_chunk,
    varint,
};
use crate::support::{self, Traffic};

const MOBILES: usize = 8;
const LAST: usize = MOBILES - 1;
const SPAN: Duration = Duration::from_secs(6);
const NEW_FLOWS: u32 = 50;

fn setting() -> Setting {
    Setting {
        caps: Caps {
            memory: Caps::MEMORY_LEAST,
            new_flows: Some(NEW_FLOWS),
            ..Caps::default()
        },
        ..Setting::usual(Discipline::Airtime, MOBILES)
    }
}

/// A cell whose last mobile is something else, if that is given.
fn cell(last: Option<Station>) -> Cell {
    let mut cell = Cell::new(&setting(), vec![Fades::default(); MOBILES]);
    if let Some(last) = last {
        cell.replace(LAST, last);
    }
    cell.begin();
    cell
}

/// Returns the bytes that the seven others get while the eighth behaves.
fn usual() -> u64 {
    static USUAL: OnceLock<u64> = OnceLock::new();
    *USUAL.get_or_init(|| cell(None).measure(SPAN)[..LAST].iter().sum())
}

/// Runs the cell and checks that the others get their share of the air, all of it in order, evenly, and that what the
/// gateway holds is what it says. What the last mobile sends itself takes air from all alike: nobody schedules it.
fn others_keep_their_share(mut cell: Cell) {
    cell.run_until(WARM_UP);
    let before = cell.counts.sent_by_last;
    let got = cell.measure(SPAN);
    let others: u64 = got[..LAST].iter().sum();
    let taken = (cell.counts.sent_by_last - before) * LAST as u64 / MOBILES as u64;
    let (left, share) = (others + taken, usual());
    println!("{others} bytes for the others, {taken} taken, of {share}");
    assert!(left * 100 >= share * 95, "{others} and {taken} of {share}");
    let least = got[..LAST].iter().min().expect("seven");
    assert!(least * LAST as u64 * 100 >= others * 95, "{got:?}");
    assert!(
        cell.received[..LAST]
            .iter()
            .all(|received| received.in_order)
    );
    says_what_it_holds(cell);
}

/// Everything that the gateway holds is freed when it goes: no more than it said.
fn says_what_it_holds(cell: Cell) {
    fill_the_pool();
    let (held, most) = cell.gateway.memory();
    let Cell { gateway, .. } = cell;
    let freed = allocation_counter::measure(move || drop(gateway));
    let freed = Bytes::new(freed.bytes_current.unsigned_abs());
    println!("{freed} held, {held} said, {most} allowed");
    assert!(freed <= held && held <= most, "{freed} held, {held} said");
}

/// Buffers that are dropped now are freed, and not kept for the next ones.
fn fill_the_pool() {
    for size in [512, 2_048, 16_384, 33_280, 66_560] {
        let count = (4 << 20) / size;
        let buffers: Vec<_> = (0..count)
            .map(|_| PacketBuffer::with_room(size, 0))
            .collect();
        drop(buffers);
    }
}

#[test]
fn one_that_never_acknowledges() {
    others_keep_their_share(cell(Some(Box::new(Intruder::new(LAST, Silent)))));
}

/// It acknowledges what was never sent, ranges that run backwards, and more than there can be.
struct Garbage {
    stream: RandomStream,
    largest: u32,
    number: u32,
}

impl Behaviour for Garbage {
    fn heard(&mut self, _now: Instant, number: u32) {
        self.largest = self.largest.max(number);
    }

    fn tick(&mut self, _now: Instant) -> Vec<Vec<u8>> {
        let arrival = self.stream.next_u64() as u32;
        let many = vec![(1, 0); 60];
        let chunk = match self.stream.below(6) {
            0 => acknowledgement(self.largest + 1_000, arrival, 3, &[]),
            1 => acknowledgement(self.largest, arrival, u64::from(self.largest) + 10, &[]),
            2 => acknowledgement(self.largest, arrival, (1 << 61) - 1, &[(1 << 61, 1 << 61)]),
            3 => acknowledgement(self.largest, arrival, 0, &[(1 << 40, 0), (0, 1 << 40)]),
            4 => acknowledgement(self.largest, arrival, 0, &many),
            _ => acknowledgement(arrival, arrival, self.stream.below(1 << 20), &many),
        };
        self.number += 1;
        vec![[frame(self.number), chunk].concat()]
    }
}

#[test]
fn one_that_acknowledges_garbage() {
    let garbage = Garbage {
        stream: RandomStream::named(1, "garbage"),
        largest: 0,
        number: 0,
    };
    let mut cell = cell(Some(Box::new(Intruder::new(LAST, garbage))));
    cell.run_until(WARM_UP);
    let refused = cell.peer(LAST).hop.stats.sent.acks_refused;
    assert!(refused > 20, "{refused} were refused");
    others_keep_their_share(cell);
}

/// It acknowledges all frames, with false arrival times: its clock runs at `speed` thousandths.
struct Liar {
    speed: u64,
    largest: u32,
    number: u32,
}

impl Behaviour for Liar {
    fn heard(&mut self, _now: Instant, number: u32) {
        self.largest = self.largest.max(number);
    }

    fn tick(&mut self, now: Instant) -> Vec<Vec<u8>> {
        let arrival = now.since_origin().as_micros() * self.speed / 1_000;
        let chunk = acknowledgement(self.largest, arrival as u32, u64::from(self.largest), &[]);
        self.number += 1;
        vec![[frame(self.number), chunk].concat()]
    }
}

#[test]
fn one_whose_clock_lies() {
    for speed in [0, 20, 900, 1_100, 50_000] {
        let liar = Liar {
            speed,
            largest: 0,
            number: 0,
        };
        others_keep_their_share(cell(Some(Box::new(Intruder::new(LAST, liar)))));
    }
}

/// A packet of a flow that there was not before, to or from the last mobile.
fn new_flow(traffic: &mut Traffic) -> Input {
    traffic.port = traffic.port.wrapping_add(1);
    let mut packet = traffic.packet(1);
    let field = if traffic.from == 0 { 12..16 } else { 16..20 };
    packet.rewrite(|bytes| bytes[field].copy_from_slice(&[10, 9, 0, MOBILES as u8]));
    Input::Packet(packet)
}

#[test]
fn one_to_whom_thousands_of_flows_begin_each_second() {
    let mut cell = cell(None);
    let mut traffic = Traffic::bulk(1_000);
    // What comes of them is not one flow in order.
    cell.fed[LAST] = false;
    cell.extra = Some(Box::new(move |_| {
        let packets = (0..50).map(|_| (None, new_flow(&mut traffic)));
        packets.collect()
    }));
    cell.run_until(WARM_UP);
    let hop = cell.peer(LAST).hop;
    let begun = u64::from(NEW_FLOWS) * (2 + 3);
    assert!(hop.flows as u64 <= begun + 3, "{} flows", hop.flows);
    assert!(hop.packets_of_refused_flows > 10_000);
    assert!(hop.stats.sent.packets_in_common > 10_000);
    others_keep_their_share(cell);
}

#[test]
fn one_that_begins_a_thousand_flows_each_second() {
    let mut cell = cell(None);
    let mut traffic = Traffic::upload(1_000);
    cell.extra = Some(Box::new(move |_| {
        let packets = (0..10).map(|_| (Some(LAST), new_flow(&mut traffic)));
        packets.collect()
    }));
    cell.run_until(WARM_UP);
    let begun = u64::from(NEW_FLOWS) * (2 + 3);
    let forwarded = cell.counts.forwarded;
    assert!((100..=begun + 1).contains(&forwarded), "{forwarded} flows");
    others_keep_their_share(cell);
}

/// It sends parts of packets that it never completes, out of order and in pieces of a byte, and then is gone.
struct Parts {
    stream: RandomStream,
    number: u32,
    until: Instant,
}

impl Behaviour for Parts {
    fn tick(&mut self, now: Instant) -> Vec<Vec<u8>> {
        if now > self.until {
            return Vec::new();
        }
        self.number += 1;
        let mut bytes = frame(self.number);
        while bytes.len() < 1_300 {
            let flow = self.stream.below(5_000);
            let begins = self.stream.below(3) == 0;
            bytes.extend(if begins {
                // A packet of 65,535 bytes, of which there is one.
                let head = [&[0], &varint(65_535)[..], &[0x45]].concat();
                stream_chunk(flow, 0, &head)
            } else {
                let offset = 20 + self.stream.below(1 << 20) as u32;
                stream_chunk(flow, offset, &[7])
            });
        }
        vec![bytes]
    }
}

#[test]
fn one_that_leaves_in_the_middle_of_everything() {
    let parts = Parts {
        stream: RandomStream::named(2, "parts"),
        number: 0,
        until: WARM_UP + Duration::from_secs(3),
    };
    let mut cell = cell(Some(Box::new(Intruder::new(LAST, parts))));
    cell.run_until(WARM_UP + Duration::from_secs(1));
    let hop = cell.peer(LAST).hop;
    assert!(hop.memory > Bytes::mebi(6), "{} are held", hop.memory);
    assert!(hop.stats.received.chunks_refused > 1_000);
    others_keep_their_share(cell);
}

/// It acknowledges nothing, all that comes from it is a part, and thousands of small packets of as many flows go to it
/// each second.
#[test]
fn one_that_does_all_of_that_while_flows_are_not_limited() {
    let parts = Parts {
        stream: RandomStream::named(3, "parts"),
        number: 0,
        until: WARM_UP + SPAN * 2,
    };
    let mut setting = setting();
    setting.caps.new_flows = None;
    let mut cell = Cell::new(&setting, vec![Fades::default(); MOBILES]);
    cell.replace(LAST, Box::new(Intruder::new(LAST, parts)));
    cell.begin();
    let mut traffic = Traffic::bulk(0);
    cell.fed[LAST] = false;
    cell.extra = Some(Box::new(move |_| {
        let packets = (0..80).map(|_| (None, new_flow(&mut traffic)));
        packets.collect()
    }));
    cell.run_until(WARM_UP);
    let hop = cell.peer(LAST).hop;
    assert!(hop.memory > Bytes::mebi(11), "{} are held", hop.memory);
    assert!(hop.stats.sent.packets_capped > 1_000);
    others_keep_their_share(cell);
}

/// Snoop's cache has a limit of its own, and that is kept too.
#[test]
fn one_that_never_acknowledges_what_snoop_keeps() {
    let setting = Setting {
        tcp: TcpTerms::Choose(TcpMethod::Snoop),
        ..setting()
    };
    let mut cell = Cell::new(&setting, vec![Fades::default(); MOBILES]);
    cell.begin();
    cell.fed.fill(false);
    let mut flows: Vec<_> = (0..40).map(|port| Traffic::bulk(port + 1)).collect();
    cell.extra = Some(Box::new(move |_| {
        let packets = flows.iter_mut().map(|traffic| {
            let mut packet = traffic.packet(100);
            packet.rewrite(|bytes| bytes[16..20].copy_from_slice(&[10, 9, 0, MOBILES as u8]));
            (None, Input::Packet(packet))
        });
        packets.collect()
    }));
    cell.run_until(WARM_UP + Duration::from_secs(3));
    let tcp = cell.peer(LAST).hop.tcp;
    assert_eq!(tcp.method, TcpMethod::Snoop);
    assert!(tcp.cached > Bytes::mebi(1), "{} cached", tcp.cached);
    says_what_it_holds(cell);
}

/// A datagram of a stranger, of which there are many.
fn datagram(number: usize, bytes: &[u8]) -> Input {
    let from = format!("203.0.{}.{}:9", number >> 8 & 255, number & 255);
    let from = from.parse().expect("an address");
    support::datagram(from, Instant::ZERO, PacketBuffer::copy_of(bytes))
}

/// Returns the number of datagrams that the gateway has dropped for that cause.
fn dropped(cell: &Cell, cause: &str) -> u64 {
    let status = cell.gateway.status(cell.now);
    let mut causes = status.datagrams_dropped.into_iter();
    causes
        .find(|(name, _)| name == cause)
        .map_or(0, |(_, count)| count)
}

const ASKED: usize = 10_000;

#[test]
fn ten_thousand_strangers_who_ask_at_once() {
    let mut cell = cell(None);
    cell.run_until(WARM_UP);
    let asked = (0..ASKED).map(|stranger| initiation(&format!("stranger {stranger}"), 0));
    let asked: Vec<_> = asked.collect();
    fill_the_pool();
    let allocated = allocation_counter::measure(|| {
        for (stranger, initiation) in asked.iter().enumerate() {
            cell.tell(None, datagram(stranger, initiation));
        }
    });
    assert!(allocated.bytes_current < 64 << 10, "{allocated:?}");
    let (unknown, unproven) = (dropped(&cell, "UnknownPeer"), dropped(&cell, "Unproven"));
    assert!((50..=100).contains(&unknown), "{unknown}");
    assert_eq!(unknown + unproven, ASKED as u64);
    assert_eq!(
        cell.counts.to_strangers, unproven,
        "cookies for those who know the gateway's key"
    );
    others_keep_their_share(cell);
}

#[test]
fn one_that_asks_ten_thousand_times() {
    let mut cell = cell(None);
    let asked = (1..=ASKED).map(|life| initiation(&name(MOBILES), life as u64));
    let mut asked: Vec<_> = asked.rev().collect();
    cell.extra = Some(Box::new(move |now| {
        let count = if now < WARM_UP {
            0
        } else {
            asked.len().min(40)
        };
        let some = asked.split_off(asked.len() - count);
        let some = some.iter().rev().enumerate();
        some.map(|(number, bytes)| (None, datagram(number, bytes)))
            .collect()
    }));
    cell.run_until(WARM_UP + Duration::from_secs(3));
    assert_eq!(
        cell.counts.to_strangers, ASKED as u64,
        "an answer or a cookie"
    );
    let answers = ASKED as u64 - dropped(&cell, "Unproven");
    assert!((1_000..=2_500).contains(&answers), "{answers} answers");
    // Nobody has confirmed any, so the keys in use are the same.
    let age = cell.peer(LAST).keys_age.expect("there are keys");
    assert!(age > Duration::from_secs(5), "{age}");
    others_keep_their_share(cell);
}

/// It looks for what answers: each packet is the first of a flow, of which it has no two.
struct Scanner {
    port: u16,
    number: u32,
}

impl Behaviour for Scanner {
    fn tick(&mut self, _now: Instant) -> Vec<Vec<u8>> {
        self.number += 1;
        let mut bytes = frame(self.number);
        for _ in 0..25 {
            self.port = self.port.wrapping_add(1);
            let port = self.port.to_be_bytes();
            let mut packet = vec![0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0];
            packet.extend([10, 9, 0, MOBILES as u8, 192, 0, 2, 1]);
            packet.extend([port[0], port[1], 0, 53, 0, 8, 0, 0]);
            bytes.extend(brief(u32::from(self.port), &packet));
        }
        vec![bytes]
    }
}

/// It begins a new life as soon as it has had keys for a moment.
struct Restless<B> {
    life: u64,
    since: Option<Instant>,
    intruder: Intruder<B>,
}

impl<B: Behaviour> Restless<B> {
    fn new(behaviour: B) -> Self {
        Self {
            life: 0,
            since: None,
            intruder: Intruder::new(LAST, behaviour),
        }
    }
}

impl<B: Behaviour> Machine for Restless<B> {
    type Input = Input;
    type Output = Output;

    fn handle_input(&mut self, now: Instant, input: Input) {
        self.intruder.handle_input(now, input);
        if self.intruder.is_connected() {
            self.since.get_or_insert(now);
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.intruder.handle_timeout(now);
        let moment = Duration::from_millis(30);
        if self
            .since
            .take_if(|since| now.since(*since) > moment)
            .is_some()
        {
            self.life += 1;
            self.intruder.begin_again(now, LAST, self.life);
        }
    }

    fn poll_output(&mut self) -> Option<Output> {
        self.intruder.poll_output()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.intruder.poll_timeout()
    }
}

#[test]
fn one_that_begins_a_new_life_all_the_time() {
    let scanner = Scanner { port: 0, number: 0 };
    let mut cell = cell(Some(Box::new(Restless::new(scanner))));
    cell.run_until(WARM_UP + Duration::from_secs(2));
    let age = cell.peer(LAST).keys_age.expect("there are keys");
    assert!(age < Duration::from_secs(1), "{age}");
    // With each life it is somebody else, but flows that it began are counted on.
    let begun = u64::from(NEW_FLOWS) * (2 + 5);
    let forwarded = cell.counts.forwarded;
    assert!((100..=begun + 1).contains(&forwarded), "{forwarded} flows");
    others_keep_their_share(cell);
}
