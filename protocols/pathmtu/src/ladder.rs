//! The choice of the next length to try.

/// MTU of Ethernet, and so of most paths.
pub(crate) const USUAL: usize = 1_500;
/// Common MTUs: the minimum of hosts, slow links and IPv6; tunnels (GRE, `IPsec`, `WireGuard`, and several of them)
/// over Ethernet and `PPPoE`; clouds; `PPPoE`; Ethernet; Wi-Fi; FDDI's successors and jumbo frames.
const KNOWN: [usize; 20] = [
    576, 1_006, 1_280, 1_340, 1_380, 1_400, 1_412, 1_420, 1_440, 1_452, 1_460, 1_472, 1_480, 1_492,
    1_500, 2_304, 4_000, 8_896, 8_996, 9_000,
];
/// Resolution of the search: a gap of less than 1/64 of the length, or of less than 16 bytes, is not worth a probe.
const FINE: usize = 64;
const FINE_LEAST: usize = 16;

/// Returns the smallest increase over `length` that is worth a probe.
pub(crate) fn fine(length: usize) -> usize {
    (length / FINE).max(FINE_LEAST)
}

/// Known limits of a path's MTU.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Known {
    /// Largest length that is known to pass.
    pub(crate) passes: usize,
    /// Smallest length that is known to fail, if there is one.
    pub(crate) fails: Option<usize>,
    /// Largest length that is wanted.
    pub(crate) bound: usize,
}

impl Known {
    /// Returns the largest length that may pass.
    pub(crate) fn top(&self) -> usize {
        let below = self
            .fails
            .map_or(usize::MAX, |fails| fails.saturating_sub(1));
        below.min(self.bound)
    }

    /// Returns true if `length` may be tried: its result is unknown, and it is wanted.
    pub(crate) fn is_open(&self, length: usize) -> bool {
        length > self.passes && length <= self.top()
    }

    /// Returns the next length to try, or none if the search is complete. The usual length comes first, then the
    /// longest, then the middle one of the common MTUs; when the results of all of them are known, the next step and
    /// then halves.
    pub(crate) fn next(&self) -> Option<usize> {
        let (low, top) = (self.passes, self.top());
        if top <= low {
            return None;
        }
        if self.is_open(USUAL) {
            return Some(USUAL);
        }
        let Some(fails) = self.fails.filter(|fails| *fails <= self.bound) else {
            return Some(top);
        };
        let between = |length: &&usize| self.is_open(**length);
        let count = KNOWN.iter().filter(between).count();
        if let Some(middle) = KNOWN.iter().filter(between).nth(count / 2) {
            return Some(*middle);
        }
        let fine = fine(low);
        if fails - low <= fine {
            return None;
        }
        let is_known = KNOWN.contains(&low);
        Some(if is_known {
            low + fine
        } else {
            low.midpoint(fails)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the lengths that are tried on a path with the MTU `path`, and the result.
    fn search(path: usize, bound: usize) -> (Vec<usize>, usize) {
        let mut known = Known {
            passes: 1_280,
            fails: None,
            bound,
        };
        let mut tried = Vec::new();
        while let Some(length) = known.next() {
            tried.push(length);
            assert!(tried.len() < 40, "{tried:?}");
            if length <= path {
                known.passes = length;
            } else {
                known.fails = Some(length);
            }
        }
        (tried, known.passes)
    }

    #[test]
    fn usual_paths_take_few_tries() {
        assert_eq!(search(1_500, 1_500), (vec![1_500], 1_500));
        assert_eq!(search(9_000, 9_000), (vec![1_500, 9_000], 9_000));
        for path in [1_280, 1_400, 1_420, 1_460, 1_480, 1_492] {
            let (tried, found) = search(path, 1_500);
            assert_eq!(found, path, "{tried:?}");
            assert!(tried.len() <= 7, "{path}: {tried:?}");
        }
    }

    #[test]
    fn any_path_is_found_within_a_hundredth_and_a_half() {
        for bound in [1_280, 1_300, 1_500, 4_352, 9_216, 65_535] {
            for path in (1_280..=9_300).step_by(7) {
                let (tried, found) = search(path, bound);
                let most = path.min(bound);
                assert!(
                    found <= most && most - found <= (most / 64).max(16),
                    "{path} up to {bound}: {found}"
                );
                assert!(tried.len() <= 18, "{path} up to {bound}: {tried:?}");
            }
        }
    }
}
