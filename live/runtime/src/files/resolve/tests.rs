//! Path resolution at a server that is a table.

use std::cell::Cell;

use machine::RandomStream;
use nfs::{Attributes, Device, Status, Times};

use super::*;

enum File {
    Directory(&'static [(&'static str, u8)]),
    Regular,
    Link(&'static str),
}

/// Returns the files of the table. Handles are numbers of one byte; 0 is the export.
fn server() -> Vec<File> {
    vec![
        File::Directory(&[
            ("a", 1),
            ("current", 4),
            ("loop", 5),
            ("out", 6),
            ("file", 3),
        ]),
        File::Directory(&[("b", 2), ("up", 7)]),
        File::Directory(&[("file", 3)]),
        File::Regular,
        File::Link("./a//b/"),
        File::Link("loop"),
        File::Link("/etc"),
        File::Link("../a/b"),
    ]
}

fn handle(number: u8) -> FileHandle {
    FileHandle::new(&[number]).unwrap()
}

fn number(file: FileHandle) -> u8 {
    file.bytes()[0]
}

fn found(files: &[File], number: u8) -> Found {
    let kind = match files[usize::from(number)] {
        File::Directory(_) => FileType::Directory,
        File::Regular => FileType::Regular,
        File::Link(_) => FileType::SymbolicLink,
    };
    let attributes = Attributes {
        kind,
        mode: 0o755,
        links: 1,
        user: 0,
        group: 0,
        size: 10,
        used: 10,
        device: Device::default(),
        file_system: 1,
        file_id: number.into(),
        times: Times::default(),
    };
    Found {
        file: handle(number),
        attributes,
    }
}

fn answer(files: &[File], operation: &Operation) -> Result<Reply, CallError> {
    match operation {
        Operation::Attributes(file) => {
            Ok(Reply::Attributes(found(files, number(*file)).attributes))
        }
        Operation::LookUp(entry) => {
            let File::Directory(entries) = &files[usize::from(number(entry.directory()))] else {
                panic!("a name is asked for in what is no directory");
            };
            let name = entry.name().bytes();
            let entry = entries.iter().find(|(other, _)| other.as_bytes() == name);
            let number = entry.map(|(_, number)| *number);
            number
                .map(|number| Reply::Found(found(files, number)))
                .ok_or(CallError::Files(files::Error::Refused {
                    procedure: nfs::Procedure::LookUp,
                    status: Status::NoEntry,
                }))
        }
        Operation::ReadLink(link) => match files[usize::from(number(*link))] {
            File::Link(target) => Ok(Reply::Target(target.into())),
            _ => panic!("asked where no link leads"),
        },
        other => panic!("no walk asks {other:?}"),
    }
}

/// Resolves `path`; returns the number of the file, and the number of calls for that.
fn walk(files: &[File], path: &str, follow_last: bool) -> Result<(u8, u32), ResolveError> {
    let questions = Cell::new(0);
    let ask = |operation: Operation| {
        questions.set(questions.get() + 1);
        answer(files, &operation)
    };
    let found = Resolver { ask: &ask }.resolve(handle(0), path.as_bytes(), follow_last)?;
    Ok((number(found.file), questions.get()))
}

#[test]
fn every_part_of_a_path_is_one_question() {
    let files = server();
    for path in ["a/b/file", "/a//b/./file", "a/../a/b/file"] {
        let (file, questions) = walk(&files, path, true).unwrap();
        assert_eq!(file, 3, "{path}");
        assert!(questions <= 5, "{path}: {questions}");
    }
    assert_eq!(walk(&files, "", true), Ok((0, 1)));
    assert_eq!(walk(&files, "a/..", true), Ok((0, 2)));
}

#[test]
fn links_are_followed_inside_of_the_export() {
    let files = server();
    let to = |path, follow_last| walk(&files, path, follow_last).map(|(file, _)| file);
    assert_eq!(to("current/file", false), Ok(3));
    assert_eq!(to("current", true), Ok(2));
    assert_eq!(to("current", false), Ok(4));
    assert_eq!(to("a/up/file", true), Ok(3));
    assert_eq!(to("loop", true), Err(ResolveError::TooManyLinks));
    let leaves = |at: &str| Err(ResolveError::LeavesExport { at: at.into() });
    assert_eq!(to("a/../out/passwd", true), leaves("/a/../out"));
    assert_eq!(to("..", true), leaves(""));
}

#[test]
fn what_stops_a_walk_is_said_with_its_place() {
    let files = server();
    let text = |path: &str| walk(&files, path, true).unwrap_err().to_string();
    assert!(text("a/none/x").starts_with("`/a/none`: "));
    assert!(text("a/up/none").starts_with("`/a/../a/b/none`: "));
    assert_eq!(text("file/x"), "`/file` is no directory");
    let long = "n".repeat(256);
    assert_eq!(
        text(&long),
        format!("`{long}` is no name: 256 bytes, at most 255 allowed")
    );
}

/// For any path and any links, the resolution ends with a file or with a useful error.
#[test]
fn every_walk_ends() {
    const PIECES: [&str; 9] = ["a", "b", ".", "..", "/", "current", "loop", "up", "file"];
    for seed in 0..2_000 {
        let mut stream = RandomStream::named(seed, "walks");
        let mut text = |most: u64| {
            let count = 1 + stream.below(most);
            let pieces = (0..count).map(|_| PIECES[stream.below(9) as usize]);
            pieces.collect::<String>()
        };
        let mut files = server();
        files[4] = File::Link(text(9).leak());
        match walk(&files, &text(12), seed % 2 == 0) {
            Ok((_, questions)) => assert!(questions < 1_000, "seed {seed}"),
            Err(error) => assert!(!error.to_string().is_empty(), "seed {seed}"),
        }
    }
}
