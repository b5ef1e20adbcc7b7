//! A partly written file, under a temporary name.

use ring::digest::{SHA256, digest};

use super::meta::Meta;
use super::options::How;
use crate::nfs::problem::Problem;
use crate::nfs::text::hex;
use crate::nfs::transfer::{PIECE, Sink};

/// Largest length of a file name, in bytes.
const NAME_MAX: usize = 255;
const PREFIX: &[u8] = b".";
const SUFFIX: &[u8] = b".lasthop-part";
/// Smallest size of a file that is resumed.
pub(super) const MARKED: u64 = 4 * PIECE;

/// A partly written file.
pub(super) trait Part: Sink {
    /// Returns the number of bytes that are present, from the beginning of the file.
    fn present(&self) -> u64;

    /// Makes the data safe, renames the part, and sets the attributes to keep.
    fn finish(&mut self, meta: &Meta, how: How) -> Result<(), Problem>;
}

/// Returns the temporary name of the file `name`. A name that is too long is shortened, with a number that identifies
/// it.
pub(super) fn part_name(name: &[u8]) -> Vec<u8> {
    let room = NAME_MAX - PREFIX.len() - SUFFIX.len();
    if name.len() <= room {
        return [PREFIX, name, SUFFIX].concat();
    }
    let hash = digest(&SHA256, name);
    let hash = hex(&hash.as_ref()[..8]);
    [PREFIX, &name[..room - hash.len()], hash.as_bytes(), SUFFIX].concat()
}

/// Returns the mode of a new file: that of the source, as far as it is kept.
pub(super) fn mode(meta: &Meta, how: How) -> u32 {
    let kept = if how.preserve { 0o7777 } else { 0o777 };
    meta.mode & kept & !how.mask
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_another_part_of_an_allowed_length() {
        assert_eq!(part_name(b"a"), b".a.lasthop-part");
        let (one, other) = (vec![b'x'; 255], [vec![b'x'; 254], vec![b'y']].concat());
        assert_eq!(part_name(&one).len(), 255);
        assert_ne!(part_name(&one), part_name(&other));
        assert_eq!(part_name(&vec![b'x'; 241]).len(), 255);
    }
}
