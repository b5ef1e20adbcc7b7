//! The server, called as the kernel would call it.

use fileserver::Item;
use nfs::{
    Create, CreateHow, FileHandle, FileType, GetAttributes, Link, LookUp, MakeDirectory,
    MakeSymbolicLink, NewAttributes, Path, Place, Remove, RemoveDirectory, Rename, SetAttributes,
    Stability, Status, Write,
};

use super::step::Step;
use super::{Fault, Found, State};
use crate::rig::{Rig, name};

pub(super) fn apply(rig: &mut Rig, step: &Step) -> Result<(), Fault> {
    let attributes = NewAttributes::default();
    match step {
        Step::Create(path) => create(rig, path, CreateHow::Guarded(attributes)),
        Step::Empty(path) => {
            // The server reports that a symbolic link exists already.
            let refused = |fault| match fault {
                Fault::Exists => Fault::Invalid,
                other => other,
            };
            create(rig, path, CreateHow::Unchecked(sized(0))).map_err(refused)
        }
        Step::MakeDirectory(path) => {
            let place = above(rig, path)?;
            answered(rig.ask(MakeDirectory { place, attributes }).done())
        }
        Step::MakeLink(path) => {
            let call = MakeSymbolicLink {
                place: above(rig, path)?,
                attributes,
                path: Path::new(b"nowhere").expect("a path"),
            };
            answered(rig.ask(call).done())
        }
        Step::Remove(path) => {
            let place = above(rig, path)?;
            answered(rig.ask(Remove { place }).done())
        }
        Step::RemoveDirectory(path) => {
            let place = above(rig, path)?;
            answered(rig.ask(RemoveDirectory { place }).done())
        }
        Step::Rename(from, to) => {
            let (from, to) = (above(rig, from)?, above(rig, to)?);
            answered(rig.ask(Rename { from, to }).done())
        }
        Step::Link(from, to) => {
            let (file, place) = (find(rig, from)?, above(rig, to)?);
            answered(rig.ask(Link { file, place }).done())
        }
        Step::Write {
            path,
            offset,
            length,
            byte,
        } => {
            let call = Write {
                file: find(rig, path)?,
                offset: *offset,
                stability: Stability::Unstable,
                data: &vec![*byte; *length],
            };
            answered(rig.ask(call).done())
        }
        Step::Resize(path, size) => resize(rig, path, *size),
    }
}

fn create(rig: &mut Rig, path: &str, how: CreateHow) -> Result<(), Fault> {
    let place = above(rig, path)?;
    answered(rig.ask(Create { place, how }).done())
}

fn resize(rig: &mut Rig, path: &str, size: u64) -> Result<(), Fault> {
    let call = SetAttributes {
        object: find(rig, path)?,
        attributes: sized(size),
        guard: None,
    };
    answered(rig.ask(call).done())
}

fn sized(size: u64) -> NewAttributes {
    NewAttributes {
        size: Some(size),
        ..NewAttributes::default()
    }
}

/// Returns the directory of a path, and its last name.
fn above<'a>(rig: &mut Rig, path: &'a str) -> Result<Place<'a>, Fault> {
    let (above, last) = path.rsplit_once('/').unwrap_or(("", path));
    let directory = find(rig, above)?;
    let attributes = rig.done(GetAttributes { object: directory });
    match attributes.kind {
        FileType::Directory => Ok(Place {
            directory,
            name: name(last),
        }),
        // The kernel would follow it to a path that does not exist.
        FileType::SymbolicLink => Err(Fault::NoEntry),
        _ => Err(Fault::NotDirectory),
    }
}

fn find(rig: &mut Rig, path: &str) -> Result<FileHandle, Fault> {
    if path.is_empty() {
        return Ok(rig.root());
    }
    let place = above(rig, path)?;
    let found = rig.ask(LookUp { place }).done();
    found.map(|found| found.object).map_err(fault)
}

fn answered<T>(result: Result<T, Status>) -> Result<(), Fault> {
    result.map(drop).map_err(fault)
}

fn fault(status: Status) -> Fault {
    match status {
        Status::NoEntry => Fault::NoEntry,
        Status::Exists => Fault::Exists,
        Status::NotDirectory => Fault::NotDirectory,
        Status::IsDirectory => Fault::IsDirectory,
        Status::NotEmpty => Fault::NotEmpty,
        Status::InvalidArgument => Fault::Invalid,
        other => panic!("{other}"),
    }
}

/// Returns all files, and checks that directories count their names correctly.
pub(super) fn state(rig: &mut Rig) -> State {
    let tree = rig.server.tree();
    let text = |path: &[u8]| String::from_utf8(path.to_vec()).expect("text");
    let mut state = State::new();
    for (path, item) in &tree {
        let path = text(path);
        let object = rig.server.handle(&path).expect("a handle");
        let links = rig.done(GetAttributes { object }).links;
        let found = match item {
            Item::Directory => {
                let below = tree.iter().filter(|(other, item)| {
                    let above = text(other)
                        .rsplit_once('/')
                        .map(|(above, _)| above.to_owned());
                    **item == Item::Directory && above.as_deref() == Some(path.as_str())
                });
                assert_eq!(links as usize, 2 + below.count());
                Found::Directory
            }
            Item::File(content) => Found::File(content.clone(), links.into()),
            Item::SymbolicLink(path) => Found::Link(path.clone()),
            other => panic!("{other:?}"),
        };
        state.insert(path, found);
    }
    state
}

/// Removes everything, children first.
pub(super) fn remove_all(rig: &mut Rig) {
    for (path, item) in rig.server.tree().into_iter().rev() {
        let path = String::from_utf8(path).expect("text");
        let step = match item {
            Item::Directory => Step::RemoveDirectory(path),
            _ => Step::Remove(path),
        };
        apply(rig, &step).expect("to be removed");
    }
}
