use wire::packet::PacketBuffer;

use super::*;

const UDP: u8 = 17;
const TCP: u8 = 6;
const SYN: u8 = 0x02;
const ACK: u8 = 0x10;

/// Returns a packet of a flow with this number, and with these flags if it is one of TCP.
fn packet(protocol: u8, number: u16, flags: u8) -> Packet {
    let mut bytes = vec![0x45, 0, 0, 40, 0, 0, 0, 0, 64, protocol, 0, 0];
    bytes.extend([10, 9, 0, 2, 192, 0, 2, 1]);
    bytes.extend(number.to_be_bytes());
    // The length of a datagram of UDP, and the data offset and flags of TCP.
    bytes.extend([
        0, 53, 0, 20, 0, 0, 0, 0, 0, 0, 0x50, flags, 0, 0, 0, 0, 0, 0,
    ]);
    Packet::new(PacketBuffer::copy_of(&bytes))
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
    assert!(!Exits::default().lead(now, &packet(UDP, 1, 0), true));
    for (protocol, flags, begins) in [(UDP, 0, true), (TCP, SYN, true), (TCP, ACK, false)] {
        let number = 1 + u16::from(flags);
        let packet = packet(protocol, number, flags);
        assert!(!exits.lead(now, &packet, false));
        assert_eq!(exits.lead(now, &packet, true), begins, "{protocol} {flags}");
        assert_eq!(
            exits.lead(now, &packet, false),
            begins,
            "{protocol} {flags}"
        );
    }
    let later = now + IDLE;
    assert!(!exits.lead(later, &packet(UDP, 1, 0), false));
    assert!(exits.lead(later, &packet(TCP, 1 + u16::from(SYN), ACK), false));
}

#[test]
fn a_connection_that_an_end_has_closed_ends_soon() {
    const FIN: u8 = 0x01;
    let (mut exits, now) = (exits(), Instant::from_millis(1));
    let [open, closed] = [1, 2];
    for number in [open, closed] {
        assert!(exits.lead(now, &packet(TCP, number, SYN), true));
    }
    assert!(exits.lead(now, &packet(TCP, closed, FIN | ACK), false));
    // Acknowledgements follow.
    let later = now + Duration::from_secs(1);
    assert!(exits.lead(later, &packet(TCP, closed, ACK), false));
    assert_eq!(exits.flows.present(later + IDLE_CLOSED).len(), 1);
    assert!(exits.lead(
        now + Duration::from_secs(7_200),
        &packet(TCP, open, ACK),
        false
    ));
    // The ports are used again.
    assert!(exits.lead(later, &packet(TCP, closed, SYN), true));
    assert!(exits.lead(later + IDLE, &packet(TCP, closed, ACK), false));
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
    assert!(begins_connection_to_internet(&packet(TCP, 1, SYN)));
    assert!(!begins_connection_to_internet(&packet(TCP, 1, ACK)));
    assert!(!begins_connection_to_internet(&packet(UDP, 1, 0)));
}

#[test]
fn the_flow_that_was_idle_for_longest_makes_room() {
    let mut exits = exits();
    for number in 0..=FLOWS_MOST as u16 {
        let now = Instant::from_millis(number.into());
        assert!(exits.lead(now, &packet(UDP, number, 0), true));
    }
    let now = Instant::from_millis(FLOWS_MOST as u64);
    assert_eq!(exits.flows.present(now).len(), FLOWS_MOST);
    assert!(!exits.lead(now, &packet(UDP, 0, 0), false));
    assert!(exits.lead(now, &packet(UDP, 1, 0), false));
}
