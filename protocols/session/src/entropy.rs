//! The source of unpredictable bytes.

/// A source of bytes that no other host can predict: keys, ephemerals, indices and jitter are drawn from it.
///
/// A live process passes the generator of its operating system, a simulation a seeded stream. Any `FnMut(&mut [u8])`
/// that fills its argument is suitable. A source that cannot fill must not return.
pub trait Entropy: Send {
    /// Fills the whole of `buffer`.
    fn fill(&mut self, buffer: &mut [u8]);
}

impl<F: FnMut(&mut [u8]) + Send> Entropy for F {
    fn fill(&mut self, buffer: &mut [u8]) {
        self(buffer);
    }
}

/// Draws `N` bytes.
pub(crate) fn draw<const N: usize>(entropy: &mut dyn Entropy) -> [u8; N] {
    let mut bytes = [0; N];
    entropy.fill(&mut bytes);
    bytes
}
