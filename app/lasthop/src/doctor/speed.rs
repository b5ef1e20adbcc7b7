//! How fast this host seals.

use std::time::{Duration, Instant};

use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};

/// Time of the measurement, and bytes of one frame in it.
const SPAN: Duration = Duration::from_millis(50);
const FRAME: usize = 1_400;
/// Frames between two looks at the clock.
const TURN: u64 = 64;

/// Returns the bits per second that one core seals, with the cipher of the hop.
pub(crate) fn measure() -> u64 {
    let key = UnboundKey::new(&CHACHA20_POLY1305, &[1; 32]).expect("the key has 32 bytes");
    let key = LessSafeKey::new(key);
    let mut frame = vec![0; FRAME];
    let (began, mut sealed) = (Instant::now(), 0);
    while began.elapsed() < SPAN {
        for _ in 0..TURN {
            let nonce = Nonce::assume_unique_for_key([0; 12]);
            // The result is not used, and the key protects nothing.
            let tag = key.seal_in_place_separate_tag(nonce, Aad::empty(), &mut frame);
            sealed += u64::from(tag.is_ok());
        }
    }
    let nanos = began.elapsed().as_nanos().max(1);
    let bits = u128::from(sealed) * (FRAME as u128) * 8;
    u64::try_from(bits * 1_000_000_000 / nanos).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    #[test]
    fn it_measures_something() {
        // The slowest host that this is for seals a megabit each second.
        assert!(super::measure() > 1_000_000);
    }
}
