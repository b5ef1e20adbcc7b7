//! A file that is being written, under a name that says so.

use ring::digest::{SHA256, digest};

use super::How;
use super::meta::Meta;
use crate::nfs::problem::Problem;
use crate::nfs::text::hex;
use crate::nfs::transfer::{PIECE, Sink};

/// The longest name of a file.
const NAME_MAX: usize = 255;
const PREFIX: &[u8] = b".";
const SUFFIX: &[u8] = b".lasthop-part";
/// Smaller files are not worth going on with.
pub(super) const MARKED: u64 = 4 * PIECE;

/// A file that is being written.
pub(super) trait Part: Sink {
    /// What is there already, from the file's beginning.
    fn present(&self) -> u64;

    /// Makes it safe, and gives it its name and what else is kept of the source.
    fn finish(&mut self, meta: &Meta, how: How) -> Result<(), Problem>;
}

/// The name of what is to become the file `name`. Of a name that leaves no room for more it keeps a part, and a number
/// that names it.
pub(super) fn part_name(name: &[u8]) -> Vec<u8> {
    let room = NAME_MAX - PREFIX.len() - SUFFIX.len();
    if name.len() <= room {
        return [PREFIX, name, SUFFIX].concat();
    }
    let hash = digest(&SHA256, name);
    let hash = hex(&hash.as_ref()[..8]);
    [PREFIX, &name[..room - hash.len()], hash.as_bytes(), SUFFIX].concat()
}

/// The rights of a new file: those of the source, as far as they are kept.
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
