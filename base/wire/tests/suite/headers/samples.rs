//! Packets that a Linux 6 kernel sent, and packets made for a property.

use wire::checksum::fill_transport_checksum;
use wire::ip::Ipv4Mut;

/// A SYN with five options.
pub(crate) const SYN_V4: &str = "\
    4500003ccb5140004006eb61c0000201c0000207ce1c00508d9f154d00000000a002faf052d80000\
    020405b40402080a3328d1a9000000000103030a\
";

/// A SYN with five options, over IPv6.
pub(crate) const SYN_V6: &str = "\
    600bf9f50028064020010db800000000000000000000000120010db8000000000000000000000007\
    b59c00502a7aa7e100000000a002fd206a330000020405a00402080a0565f795000000000103030a\
";

/// Five bytes to port 53, marked for expedited forwarding.
pub(crate) const DNS_V4: &str = "\
    45b800219603400040112008c0000201c0000207dd1c0035000d5aa768656c6c6f\
";

/// Five bytes to port 53, marked for expedited forwarding, over IPv6.
pub(crate) const DNS_V6: &str = "\
    6b8ec459000d114020010db800000000000000000000000120010db8000000000000000000000007\
    8f570035000dd0fb68656c6c6f\
";

/// An echo request with identifier 0x1234.
pub(crate) const PING_V4: &str = "\
    45000021088840004001ae4bc0000201c00002070800e5f91234000170696e6721\
";

/// An echo request with identifier 0x1234, over IPv6.
pub(crate) const PING_V6: &str = "\
    600c4297000d3a4020010db800000000000000000000000120010db8000000000000000000000007\
    800012381234000170696e6721\
";

/// A multicast listener report behind a hop-by-hop header.
pub(crate) const MLD_V6: &str = "\
    6000000000380001fe800000000000005031fc242a7e9845ff020000000000000000000000000016\
    3a000502000001008f00c7100000000204000000ff0200000000000000000001ff7e984504000000\
    ff0200000000000000000001ff000001\
";

/// Packets that are no fragments.
pub(crate) const WHOLE: [&str; 7] = [SYN_V4, SYN_V6, DNS_V4, DNS_V6, PING_V4, PING_V6, MLD_V6];

/// The start of the first fragment of a UDP datagram of 1608 bytes over IPv4: its headers.
pub(crate) const FIRST_FRAGMENT_V4: &str =
    "45b805dc9634200040113a1cc0000201c0000207dd1c0801064811bf";

/// Headers of its second fragment.
pub(crate) const SECOND_FRAGMENT_V4: &str = "45b80094963400b940115eabc0000201c0000207";

/// Headers of the first fragment of a UDP datagram over IPv6.
pub(crate) const FIRST_FRAGMENT_V6: &str = "\
    6b8fe5fd05b02c4020010db800000000000000000000000120010db8000000000000000000000007\
    11000001ebde7e6e8f57080106488813";

/// Headers of its second fragment.
pub(crate) const SECOND_FRAGMENT_V6: &str = "\
    6b8fe5fd00a82c4020010db800000000000000000000000120010db8000000000000000000000007\
    110005a8ebde7e6e";

/// Returns the bytes for the hexadecimal digits in `text`.
pub(crate) fn bytes(text: &str) -> Vec<u8> {
    text.as_bytes()
        .chunks(2)
        .map(|digits| u8::from_str_radix(std::str::from_utf8(digits).unwrap(), 16).unwrap())
        .collect()
}

/// Returns the packet with the headers `text`, with a payload of `x` up to its total length.
pub(crate) fn with_payload(text: &str) -> Vec<u8> {
    let mut packet = bytes(text);
    let length = match packet[0] >> 4 {
        4 => usize::from(u16::from_be_bytes([packet[2], packet[3]])),
        _ => 40 + usize::from(u16::from_be_bytes([packet[4], packet[5]])),
    };
    packet.resize(length, b'x');
    packet
}

/// Returns the golden packet `headers`, cut after `length` bytes and followed by `payload`, with matching lengths and
/// checksums.
pub(crate) fn carrying(headers: &str, length: usize, payload: &[u8]) -> Vec<u8> {
    let mut packet = bytes(headers);
    packet.truncate(length);
    packet.extend_from_slice(payload);
    let total = packet.len();
    let transport = if packet[0] >> 4 == 4 {
        let mut header = Ipv4Mut::parse(&mut packet).unwrap();
        header.set_total_length(total.try_into().unwrap());
        header.fill_header_checksum();
        20
    } else {
        let length = u16::try_from(total - 40).unwrap().to_be_bytes();
        packet[4..6].copy_from_slice(&length);
        40
    };
    if matches!((transport, packet[9], packet[6]), (20, 17, _) | (40, _, 17)) {
        let datagram = u16::try_from(total - transport).unwrap().to_be_bytes();
        packet[transport + 4..transport + 6].copy_from_slice(&datagram);
    }
    fill_transport_checksum(&mut packet).unwrap();
    packet
}
