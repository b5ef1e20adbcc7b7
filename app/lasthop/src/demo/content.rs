//! The file: generated from the seed as it is sent, so that it can be of any size and both ends know its content.

use std::io::{self, Read};

use machine::RandomStream;
use ring::digest::{Context, Digest, SHA256};

const BLOCK: usize = 1 << 16;

/// The bytes of the file, from the first one on.
pub(crate) struct Content {
    stream: RandomStream,
    block: Box<[u8]>,
    used: usize,
    left: u64,
}

impl Content {
    /// Creates the file of `size` bytes of the run with `seed`.
    pub(crate) fn new(seed: u64, size: u64) -> Self {
        Self {
            stream: RandomStream::named(seed, "demo/content"),
            block: vec![0; BLOCK].into(),
            used: BLOCK,
            left: size,
        }
    }

    /// Returns the SHA-256 of its first `count` bytes.
    pub(crate) fn digest(seed: u64, count: u64) -> Digest {
        let mut content = Self::new(seed, count);
        let mut context = Context::new(&SHA256);
        while content.left > 0 {
            context.update(content.next_bytes(BLOCK));
        }
        context.finish()
    }

    /// Returns the next bytes, at most `most`.
    fn next_bytes(&mut self, most: usize) -> &[u8] {
        if self.used == BLOCK {
            // Always whole blocks: the generator drops the rest of its own block.
            self.stream.fill(&mut self.block);
            self.used = 0;
        }
        let left = usize::try_from(self.left).unwrap_or(usize::MAX);
        let count = left.min(BLOCK - self.used).min(most);
        let taken = self.used..self.used + count;
        self.used += count;
        self.left -= count as u64;
        &self.block[taken]
    }
}

impl Read for Content {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.next_bytes(buffer.len());
        buffer[..bytes.len()].copy_from_slice(bytes);
        Ok(bytes.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_content_does_not_depend_on_how_it_is_read() {
        let size = 3 * BLOCK as u64 + 17;
        let mut whole = Vec::new();
        Content::new(4, size).read_to_end(&mut whole).unwrap();
        assert_eq!(whole.len() as u64, size);
        let mut pieces = Content::new(4, size);
        for piece in whole.chunks(1013) {
            let mut buffer = vec![0; piece.len()];
            pieces.read_exact(&mut buffer).unwrap();
            assert_eq!(buffer, piece);
        }
        assert_eq!(pieces.read(&mut [0; 10]).unwrap(), 0);
    }

    #[test]
    fn the_digest_is_that_of_the_first_bytes() {
        let mut whole = Vec::new();
        Content::new(4, 200_000).read_to_end(&mut whole).unwrap();
        for count in [0, 1, 65_536, 150_001] {
            let direct = ring::digest::digest(&SHA256, &whole[..count]);
            assert_eq!(Content::digest(4, count as u64).as_ref(), direct.as_ref());
        }
    }
}
