use wire::packet::PacketBuffer;

use super::*;

const UDP: u8 = 17;
const TCP: u8 = 6;
const SYN: u8 = 0x02;
const ACK: u8 = 0x10;
const MORE_FRAGMENTS: u8 = 0x20;

/// Returns a packet of a flow with this number, and with these flags if it is one of TCP.
fn packet(protocol: u8, number: u16, flags: u8) -> Packet {
    Packet::new(PacketBuffer::copy_of(&bytes_of(protocol, number, flags)))
}

fn bytes_of(protocol: u8, number: u16, flags: u8) -> Vec<u8> {
    let mut bytes = vec![0x45, 0, 0, 40, 0, 0, 0, 0, 64, protocol, 0, 0];
    bytes.extend([10, 9, 0, 2, 192, 0, 2, 1]);
    bytes.extend(number.to_be_bytes());
    // The length of a datagram of UDP, and the data offset and flags of TCP.
    bytes.extend([
        0, 53, 0, 20, 0, 0, 0, 0, 0, 0, 0x50, flags, 0, 0, 0, 0, 0, 0,
    ]);
    bytes
}

/// Returns exits for which the system is ready.
fn exits() -> Exits {
    let mut exits = Exits::default();
    exits.open(&[(IpAddr::from([10, 9, 0, 2]), 32)]);
    exits
}

#[test]
fn a_flow_leaves_where_it_began() {
    let (mut exits, now) = (exits(), Instant::from_millis(1));
    assert!(!Exits::default().lead(now, &packet(UDP, 1, 0), Beginning::Any));
    for (protocol, flags, begins) in [(UDP, 0, true), (TCP, SYN, true), (TCP, ACK, false)] {
        let number = 1 + u16::from(flags);
        let packet = packet(protocol, number, flags);
        assert!(!exits.lead(now, &packet, Beginning::Never));
        assert_eq!(
            exits.lead(now, &packet, Beginning::Any),
            begins,
            "{protocol} {flags}"
        );
        assert_eq!(
            exits.lead(now, &packet, Beginning::Never),
            begins,
            "{protocol} {flags}"
        );
    }
    let later = now + IDLE;
    assert!(!exits.lead(later, &packet(UDP, 1, 0), Beginning::Never));
    assert!(exits.lead(
        later,
        &packet(TCP, 1 + u16::from(SYN), ACK),
        Beginning::Never
    ));
}

#[test]
fn a_connection_that_an_end_has_closed_ends_soon() {
    const FIN: u8 = 0x01;
    let (mut exits, now) = (exits(), Instant::from_millis(1));
    let [open, closed] = [1, 2];
    for number in [open, closed] {
        assert!(exits.lead(now, &packet(TCP, number, SYN), Beginning::Any));
    }
    assert!(exits.lead(now, &packet(TCP, closed, FIN | ACK), Beginning::Never));
    // Acknowledgements follow.
    let later = now + Duration::from_secs(1);
    assert!(exits.lead(later, &packet(TCP, closed, ACK), Beginning::Never));
    assert_eq!(exits.flows.present(later + IDLE_CLOSED).len(), 1);
    assert!(exits.lead(
        now + Duration::from_secs(7_200),
        &packet(TCP, open, ACK),
        Beginning::Never
    ));
    // The ports are used again.
    assert!(exits.lead(later, &packet(TCP, closed, SYN), Beginning::Any));
    assert!(exits.lead(later + IDLE, &packet(TCP, closed, ACK), Beginning::Never));
    let last = now + Duration::from_secs(7_200) + IDLE_TCP;
    assert_eq!(exits.flows.present(last).len(), 0);
}

#[test]
fn only_connections_to_the_internet_begin_at_any_gateway() {
    for (address, is_internet) in [
        ("192.0.2.1", true),
        ("100.128.0.1", true),
        ("2001:db8::1", true),
        ("10.0.0.1", false),
        ("172.31.0.1", false),
        ("192.168.1.1", false),
        ("169.254.0.1", false),
        ("100.64.0.1", false),
        ("127.0.0.1", false),
        ("0.0.0.0", false),
        ("224.0.0.1", false),
        ("255.255.255.255", false),
        ("fd00::1", false),
        ("fe80::1", false),
        ("::1", false),
        ("ff02::1", false),
        ("::ffff:10.0.0.1", false),
    ] {
        assert_eq!(
            is_of_internet(address.parse().expect(address)),
            is_internet,
            "{address}"
        );
    }
    let (mut exits, now) = (exits(), Instant::from_millis(1));
    assert!(exits.lead(now, &packet(TCP, 1, SYN), Beginning::New));
    assert!(!exits.lead(now, &packet(TCP, 2, ACK), Beginning::New));
    let mut bytes = bytes_of(TCP, 3, SYN);
    bytes[16..20].copy_from_slice(&[10, 1, 1, 1]);
    let inside = Packet::new(PacketBuffer::copy_of(&bytes));
    assert!(!exits.lead(now, &inside, Beginning::New));
}

#[test]
fn datagrams_leave_here_once_no_binding_elsewhere_can_last() {
    let (mut exits, came) = (exits(), Instant::from_millis(1));
    exits.has_come(came);
    let mut leads = |now, number, fragment| {
        let mut bytes = bytes_of(UDP, number, 0);
        bytes[7] = fragment;
        let packet = Packet::new(PacketBuffer::copy_of(&bytes));
        exits.lead(now, &packet, Beginning::New)
    };
    // It may have begun elsewhere, and may be one of several between the two addresses.
    assert!(!leads(came, 1, 0));
    let later = came + IDLE - Duration::from_secs(1);
    assert!(!leads(later, 2, 0));
    let last = later + IDLE;
    assert!(!leads(last - Duration::from_millis(1), 1, 0));
    let begun = last - Duration::from_millis(1) + IDLE;
    assert!(leads(begun, 1, 0));
    // All others go the same way, and their fragments.
    assert!(leads(begun, 2, 0) && leads(begun, 3, 100));
    let gone = begun + Duration::from_secs(1);
    exits.has_come(gone);
    let key = FlowKey::of(&packet(UDP, 1, 0).ip().expect("IP"));
    assert_eq!(exits.flows.present(gone), [key.of_fragments()]);
    let mut of_home = Flows::of(gone, exits.flows.present(gone));
    assert!(of_home.note(gone, &packet(UDP, 4, 0)));
    assert!(!of_home.note(gone, &packet(TCP, 4, ACK)));
}

#[test]
fn datagrams_that_are_too_many_to_note_leave_elsewhere() {
    let (mut exits, came) = (exits(), Instant::from_millis(1));
    exits.has_come(came);
    let mut leads = |now, to: u16| {
        let mut bytes = bytes_of(UDP, 1, 0);
        bytes[18..20].copy_from_slice(&to.to_be_bytes());
        exits.lead(
            now,
            &Packet::new(PacketBuffer::copy_of(&bytes)),
            Beginning::New,
        )
    };
    let later = came + IDLE / 2;
    for to in 0..=FLOWS_MOST as u16 {
        assert!(!leads(later, to));
    }
    // One of those was forgotten, and by this one another.
    assert!(!leads(came + IDLE, FLOWS_MOST as u16 + 1));
    assert!(!leads(came + IDLE * 2 - Duration::from_millis(1), 0));
    assert!(leads(came + IDLE * 2, 1));
}

#[test]
fn a_connection_of_quic_begins_with_its_first_packet() {
    let initial = |first: u8, version: u32, length: usize, fragment: u8| {
        let mut bytes = bytes_of(UDP, 1, 0)[..28].to_vec();
        bytes.push(first);
        bytes.extend(version.to_be_bytes());
        bytes.resize(28 + length, 0);
        let all = bytes.len() as u16;
        bytes[2..4].copy_from_slice(&all.to_be_bytes());
        bytes[24..26].copy_from_slice(&(all - 20).to_be_bytes());
        bytes[6] = fragment;
        Packet::new(PacketBuffer::copy_of(&bytes))
    };
    let (now, other) = (Instant::from_millis(1), packet(UDP, 1, 0));
    for (packet, begins) in [
        (initial(0xc3, 1, 1_200, 0), true),
        (initial(0xdf, 0x6b33_43cf, 1_350, 0), true),
        // A packet of the handshake, of a server, of no known version, of 0-RTT, a fragment.
        (initial(0xe3, 1, 1_200, 0), false),
        (initial(0xc3, 1, 1_199, 0), false),
        (initial(0xc3, 2, 1_200, 0), false),
        (initial(0xc3, 0x6b33_43cf, 1_200, 0), false),
        (initial(0x43, 1, 1_200, 0), false),
        (initial(0xc3, 1, 1_200, MORE_FRAGMENTS), false),
    ] {
        let mut exits = exits();
        exits.has_come(now);
        assert_eq!(exits.lead(now, &packet, Beginning::New), begins);
        // What follows goes the same way, and nothing else between these addresses.
        assert_eq!(exits.lead(now, &other, Beginning::New), begins);
        assert!(!exits.lead(now, &self::packet(UDP, 2, 0), Beginning::New));
    }
}

#[test]
fn pings_leave_here_and_errors_with_the_flow_that_they_are_about() {
    const ICMP: u8 = 1;
    let icmp = |kind: u8, code: u8, original: &[u8]| {
        let mut bytes = bytes_of(ICMP, 0, 0)[..20].to_vec();
        bytes.extend([kind, code, 0, 0, 0, 7, 0, 0]);
        bytes.extend(original);
        bytes[3] = bytes.len() as u8;
        Packet::new(PacketBuffer::copy_of(&bytes))
    };
    // The beginning of a packet from the other end of a flow with this number, which is cut after eight bytes.
    let received = |number: u16| {
        let mut bytes = bytes_of(UDP, 53, 0)[..28].to_vec();
        bytes[12..20].rotate_left(4);
        bytes[22..24].copy_from_slice(&number.to_be_bytes());
        bytes
    };
    let (mut exits, now) = (exits(), Instant::from_millis(1));
    exits.has_come(now);
    let (request, reply) = (icmp(8, 0, &[]), icmp(0, 0, &[]));
    assert!(!exits.lead(now, &reply, Beginning::New));
    assert!(exits.lead(now, &request, Beginning::New));
    assert!(exits.lead(now, &request, Beginning::Never));
    let [here, elsewhere] = [1, 2].map(|number| icmp(3, 3, &received(number)));
    assert!(!exits.lead(now, &here, Beginning::New));
    assert!(exits.lead(now, &packet(UDP, 1, 0), Beginning::Any));
    assert!(exits.lead(now, &here, Beginning::New));
    assert!(!exits.lead(now, &elsewhere, Beginning::New));
    let cut = icmp(3, 3, &received(1)[..27]);
    assert!(!exits.lead(now, &cut, Beginning::New));
}

#[test]
fn the_flow_that_was_idle_for_longest_makes_room() {
    let mut exits = exits();
    for number in 0..=FLOWS_MOST as u16 {
        let now = Instant::from_millis(number.into());
        assert!(exits.lead(now, &packet(UDP, number, 0), Beginning::Any));
    }
    let now = Instant::from_millis(FLOWS_MOST as u64);
    assert_eq!(exits.flows.present(now).len(), FLOWS_MOST);
    assert!(!exits.lead(now, &packet(UDP, 0, 0), Beginning::Never));
    assert!(exits.lead(now, &packet(UDP, 1, 0), Beginning::Never));
}
