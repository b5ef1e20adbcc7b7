//! Packets between the mobile host's side and the fixed host's.

use wire::checksum::fill_transport_checksum;

use crate::cursor::Cursor;

/// Returns a packet that a tape composes: from the mobile host if `is_up`, otherwise to it.
pub(super) fn packet(cursor: &mut Cursor<'_>, is_up: bool) -> Vec<u8> {
    let (kind, spoiled) = (cursor.byte(), cursor.byte());
    let port = 80 + u16::from(cursor.byte() % 4);
    let (mut ends, mut ports) = ([[10, 9, 0, 2], [192, 0, 2, 1]], [4_000, port]);
    if !is_up {
        ends.reverse();
        ports.reverse();
    }
    // An address of another.
    if spoiled > 230 {
        ends[usize::from(!is_up)][3] ^= spoiled & 7;
    }
    let (protocol, mut transport) = match kind % 4 {
        0 | 1 => (6, segment(cursor, ports)),
        2 => (
            17,
            [
                ports[0].to_be_bytes(),
                ports[1].to_be_bytes(),
                [0; 2],
                [0; 2],
            ]
            .concat(),
        ),
        _ => (
            1,
            vec![
                cursor.byte() % 16,
                cursor.byte() % 4,
                0,
                0,
                0,
                1,
                0,
                cursor.byte(),
            ],
        ),
    };
    let payload = usize::from(cursor.short()) % 1_200;
    transport.resize(transport.len() + payload, kind);
    if protocol == 17 {
        let length = (transport.len() as u16).to_be_bytes();
        transport[4..6].copy_from_slice(&length);
    }
    let length = (20 + transport.len() as u16).to_be_bytes();
    let mut bytes = vec![
        0x45,
        kind & 0xfc,
        length[0],
        length[1],
        0,
        kind,
        0x40,
        0,
        64,
        protocol,
        0,
        0,
    ];
    bytes.extend(ends.concat());
    bytes.extend(transport);
    if spoiled & 7 != 7 {
        // A packet without a known transport has no checksum.
        let _ = fill_transport_checksum(&mut bytes);
    }
    bytes
}

/// Returns a TCP header with small numbers, so that segments and acknowledgements meet.
fn segment(cursor: &mut Cursor<'_>, ports: [u16; 2]) -> Vec<u8> {
    let mark = cursor.byte();
    let flags = match mark % 8 {
        0 => 0x02,
        1 => 0x12,
        2 => 0x11,
        3 => 0x04,
        4 => cursor.byte(),
        _ => 0x10,
    };
    let [sequence, acknowledgement] = [(); 2].map(|()| u32::from(cursor.byte()) * 500);
    let options = cursor.take(usize::from(mark >> 6) * 4);
    let options = &options[..options.len() / 4 * 4];
    let mut header = [ports[0].to_be_bytes(), ports[1].to_be_bytes()].concat();
    header.extend(sequence.to_be_bytes());
    header.extend(acknowledgement.to_be_bytes());
    header.extend([((20 + options.len()) * 4) as u8, flags]);
    header.extend(cursor.short().to_be_bytes());
    header.extend([0; 4]);
    header.extend(options);
    header
}
