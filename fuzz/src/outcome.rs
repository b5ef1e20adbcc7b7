//! Outcomes: the decisions of the code that an input reaches, as far as a target notes them.
//!
//! They measure a corpus without an instrumented build, so that each check can see that it still reaches what it
//! reached before.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Debug, Write};

/// Most bytes of a name.
const NAME_MAX: usize = 40;

thread_local! {
    /// Outcomes of the input that is traced, if one is.
    static TRACE: RefCell<Option<Trace>> = const { RefCell::new(None) };
}

/// Two outcomes, the second after the first, which is empty at the beginning of an input; or an outcome, and how often
/// it was reached: a power of two.
pub type Pair = [String; 2];

#[derive(Default)]
struct Trace {
    last: String,
    pairs: BTreeSet<Pair>,
    counts: BTreeMap<String, u32>,
}

/// Notes an outcome, by the names of its variant and of those within it: `Err(Short(3))` is `Err(Short`. Does nothing
/// unless the input is traced.
pub(crate) fn note(outcome: &dyn Debug) {
    TRACE.with_borrow_mut(|trace| {
        if let Some(trace) = trace {
            let mut name = Name::default();
            // It ends with an error where the name ends.
            let _ = write!(name, "{outcome:?}");
            let name = name.0.trim_end_matches(['(', ' ', ':']).to_owned();
            let last = std::mem::replace(&mut trace.last, name.clone());
            *trace.counts.entry(name.clone()).or_default() += 1;
            trace.pairs.insert([last, name]);
        }
    });
}

/// Returns the pairs of outcomes that were reached while `run` ran.
pub fn traced(run: impl FnOnce()) -> BTreeSet<Pair> {
    TRACE.set(Some(Trace::default()));
    run();
    let trace = TRACE.take().unwrap_or_default();
    let counts = trace.counts.into_iter();
    let counts = counts.map(|(name, count)| [name, (1 << count.ilog2()).to_string()]);
    trace.pairs.into_iter().chain(counts).collect()
}

/// The first letters of a text.
#[derive(Default)]
struct Name(String);

impl Write for Name {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for character in text.chars() {
            match character {
                '"' if self.0.is_empty() => {}
                '(' | ' ' | ':' | '_' | '-' => self.0.push(character),
                letter if letter.is_ascii_alphabetic() && self.0.len() < NAME_MAX => {
                    self.0.push(letter);
                }
                _ => return Err(fmt::Error),
            }
        }
        Ok(())
    }
}
