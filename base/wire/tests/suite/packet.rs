//! Packet buffers keep their content while they grow, move and return to the pool.

use wire::packet::{HEADROOM, PacketBuffer};

#[test]
fn grows_at_both_ends() {
    let mut buffer = PacketBuffer::copy_of(b"content");
    buffer.grow_front(2).copy_from_slice(b"<<");
    buffer.extend(b">>");
    assert_eq!(&*buffer, b"<<content>>");
    buffer.advance(2);
    buffer.truncate(7);
    assert_eq!(&*buffer, b"content");
    assert_eq!(buffer.headroom(), HEADROOM);
}

#[test]
fn a_small_packet_does_not_hold_a_large_buffer() {
    let mut buffer = PacketBuffer::with_room(66_000, HEADROOM);
    buffer.extend(&[7; 60]);
    let capacity = buffer.capacity();
    let small = buffer.right_sized();
    assert!(small.capacity() * 2 <= capacity);
    assert_eq!(&*small, &[7; 60]);
}

#[test]
fn storage_comes_back() {
    let buffer = PacketBuffer::with_room(2_000, 0);
    let place = buffer.as_ptr();
    drop(buffer);
    assert_eq!(PacketBuffer::with_room(1_500, 0).as_ptr(), place);
}

#[test]
#[should_panic(expected = "tailroom")]
fn does_not_grow_beyond_its_room() {
    let mut buffer = PacketBuffer::with_room(512, 0);
    buffer.grow(513);
}
