//! TCP fields and options.

use units::SeqNumber;
use wire::ip::{IpPacket, Transport};
use wire::tcp::{SackBlock, TcpFlags, TcpOption, TcpView};

use super::samples::{self, bytes};

/// A header with `options`, which fill whole words.
fn segment(options: &[u8]) -> Vec<u8> {
    let mut segment = vec![0; 20];
    segment.extend_from_slice(options);
    segment[12] = (segment.len() * 4) as u8;
    segment
}

#[test]
fn reads_selective_acknowledgments() {
    let segment = segment(&bytes("0101051200000010000000200000003000000040"));
    let tcp = TcpView::parse(&segment).unwrap();
    let options: Vec<_> = tcp.options().map(Result::unwrap).collect();
    let [TcpOption::Sack(blocks)] = options[..] else {
        panic!("{options:?}")
    };
    let block = |left, right| SackBlock {
        left: SeqNumber(left),
        right: SeqNumber(right),
    };
    assert!(blocks.iter().eq([block(0x10, 0x20), block(0x30, 0x40)]));
}

#[test]
fn hands_on_options_that_it_does_not_know() {
    // Fast open (34) with a cookie, the end of the list, and what looks like an option behind it.
    let segment = segment(&bytes("2206aabbccdd000204050000"));
    let tcp = TcpView::parse(&segment).unwrap();
    let cookie = [0xaa, 0xbb, 0xcc, 0xdd];
    assert!(tcp.options().eq([Ok(TcpOption::Unknown {
        kind: 34,
        data: &cookie
    })]));
    assert_eq!((tcp.header_length(), tcp.payload().len()), (32, 0));
}

#[test]
fn each_field_reads_what_stands_in_its_place() {
    let mut packet = bytes(samples::SYN_V6);
    packet[44..48].fill(0xff);
    packet[48..52].copy_from_slice(&7_u32.to_be_bytes());
    packet[53] = (TcpFlags::ACK | TcpFlags::ECE).0;
    packet[54..58].copy_from_slice(&[2, 1, 0xab, 0xcd]);
    let Transport::Tcp(tcp) = IpPacket::parse(&packet).unwrap().transport() else {
        panic!("not TCP")
    };
    assert_eq!(tcp.sequence_number(), SeqNumber(u32::MAX));
    assert_eq!(tcp.acknowledgment_number(), SeqNumber(7));
    assert!(tcp.flags().contains(TcpFlags::ACK) && !tcp.flags().contains(TcpFlags::SYN));
    assert_eq!((tcp.window(), tcp.checksum()), (513, 0xabcd));
    assert_eq!(tcp.options().count(), 4);
}
