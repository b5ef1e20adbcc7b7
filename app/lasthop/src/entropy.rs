//! Where this process draws its secrets from.

/// Fills `bytes` from the generator of the kernel.
///
/// # Panics
/// If the kernel has none: nothing that we do is safe then.
pub(crate) fn fill(bytes: &mut [u8]) {
    getrandom::fill(bytes).expect("the kernel gives random numbers");
}
