//! The source of random bytes for secrets.

/// Fills `bytes` from the generator of the kernel.
///
/// # Panics
/// If the kernel has none: nothing would be secure then.
pub(crate) fn fill(bytes: &mut [u8]) {
    getrandom::fill(bytes).expect("the kernel gives random numbers");
}
