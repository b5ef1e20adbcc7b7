//! The choice of mutants by a seed.

/// Returns `most` of the mutants, in their order. A mutant's rank depends on its name and the seed alone, so a larger
/// sample contains a smaller one.
pub(super) fn draw(mutants: Vec<String>, most: usize, seed: u64) -> Vec<String> {
    let mut ranked: Vec<_> = mutants.into_iter().enumerate().collect();
    ranked.sort_by_key(|(_, name)| rank(name, seed));
    ranked.truncate(most);
    ranked.sort();
    ranked.into_iter().map(|(_, name)| name).collect()
}

/// Returns a number that looks random: FNV-1a of the seed and the name, then the last steps of `SplitMix64`.
fn rank(name: &str, seed: u64) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325;
    for byte in seed.to_le_bytes().into_iter().chain(name.bytes()) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}
