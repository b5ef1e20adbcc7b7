//! Operations on files.

use proptest::prelude::*;

/// One operation. In paths, `/` separates names.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// Creates a file that must not exist.
    Create(String),
    /// Truncates a file, or creates it.
    Empty(String),
    /// Creates a directory.
    MakeDirectory(String),
    /// Creates a symbolic link to a path that does not exist.
    MakeLink(String),
    /// Removes a file that is not a directory.
    Remove(String),
    /// Removes an empty directory.
    RemoveDirectory(String),
    /// Renames a file.
    Rename(String, String),
    /// Adds a name.
    Link(String, String),
    /// Writes `byte`s.
    Write {
        path: String,
        offset: u64,
        length: usize,
        byte: u8,
    },
    /// Sets the length of a file.
    Resize(String, u64),
}

fn path() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec!["a", "b", "c"]);
    prop::collection::vec(name, 1..4).prop_map(|names| names.join("/"))
}

pub(crate) fn step() -> impl Strategy<Value = Step> {
    let write = (path(), 0..9_000_u64, 1..6_000_usize, 1..=u8::MAX);
    prop_oneof![
        1 => path().prop_map(Step::Create),
        1 => path().prop_map(Step::Empty),
        3 => path().prop_map(Step::MakeDirectory),
        1 => path().prop_map(Step::MakeLink),
        1 => path().prop_map(Step::Remove),
        1 => path().prop_map(Step::RemoveDirectory),
        3 => (path(), path()).prop_map(|(from, to)| Step::Rename(from, to)),
        2 => (path(), path()).prop_map(|(from, to)| Step::Link(from, to)),
        2 => write.prop_map(|(path, offset, length, byte)| Step::Write { path, offset, length, byte }),
        1 => (path(), 0..9_000_u64).prop_map(|(path, size)| Step::Resize(path, size)),
    ]
}
