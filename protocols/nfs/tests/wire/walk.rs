//! The walk from an export to a file, against a server that is a table.

use std::collections::BTreeMap;

use nfs::mount::{self, Flavors, MountAnswer, Mounted};
use nfs::walk::{Question, Walk, WalkError};
use nfs::{
    Answer, Attributes, BlockSizes, Call, Device, FileHandle, FileSystemInfo, FileSystemProperties,
    FileType, GetAttributes, Limits, LookUp, LookedUp, Numbered, Outcome, Path, ReadLink,
    ServerAbilities, Status, Target, Time, Times, Value,
};
use proptest::collection::vec;
use proptest::prelude::*;

/// A file, by the number that is its handle.
enum File {
    Directory(BTreeMap<&'static str, u8>),
    Regular,
    Link(&'static str),
}

/// Handles are numbers of one byte; 0 is the export.
struct Server {
    files: Vec<File>,
    /// Whether a LOOKUP brings attributes too.
    tells_attributes: bool,
    flavors: Vec<u32>,
}

fn handle(number: u8) -> FileHandle {
    FileHandle::new(&[number]).expect("short")
}

fn encoded<'a, V: Value<'a>>(value: &V) -> Vec<u8> {
    let mut bytes = Vec::new();
    value.encode(&mut bytes);
    bytes
}

impl Server {
    fn new() -> Self {
        let directory =
            |entries: &[(&'static str, u8)]| File::Directory(entries.iter().copied().collect());
        Self {
            files: vec![
                directory(&[
                    ("a", 1),
                    ("current", 4),
                    ("loop", 5),
                    ("out", 6),
                    ("file", 3),
                ]),
                directory(&[("b", 2), ("up", 7)]),
                directory(&[("file", 3)]),
                File::Regular,
                File::Link("./a//b/"),
                File::Link("loop"),
                File::Link("/etc"),
                File::Link("../a/b"),
            ],
            tells_attributes: true,
            flavors: vec![1],
        }
    }

    fn attributes(&self, number: u8) -> Attributes {
        Attributes {
            kind: match self.files[usize::from(number)] {
                File::Directory(_) => FileType::Directory,
                File::Regular => FileType::Regular,
                File::Link(_) => FileType::SymbolicLink,
            },
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
        }
    }

    fn look_up(&self, call: &LookUp) -> Answer<'static, LookUp<'static>> {
        let directory = call.place.directory.bytes()[0];
        let failed = |status| Outcome::Failed { status, rest: None };
        let File::Directory(entries) = &self.files[usize::from(directory)] else {
            return failed(Status::NotDirectory);
        };
        let name = std::str::from_utf8(call.place.name.bytes()).expect("text");
        let Some(&number) = entries.get(name) else {
            return failed(Status::NoEntry);
        };
        Outcome::Done(LookedUp {
            object: handle(number),
            attributes: self.tells_attributes.then(|| self.attributes(number)),
            directory: None,
        })
    }

    fn answer(&self, question: &Question) -> Vec<u8> {
        match question {
            Question::Mount(path) if path.bytes() == b"/srv" => {
                encoded::<MountAnswer>(&Outcome::Done(Mounted {
                    root: handle(0),
                    flavors: Flavors::new(&self.flavors).expect("few"),
                }))
            }
            Question::Mount(_) => encoded::<MountAnswer>(&Outcome::Failed {
                status: mount::Status::AccessDenied,
                rest: (),
            }),
            Question::Call(Call::FileSystemInfo(_)) => {
                encoded::<Answer<FileSystemInfo>>(&Outcome::Done(abilities()))
            }
            Question::Call(Call::LookUp(call)) => encoded(&self.look_up(call)),
            Question::Call(Call::GetAttributes(call)) => {
                let attributes = self.attributes(call.object.bytes()[0]);
                encoded::<Answer<GetAttributes>>(&Outcome::Done(attributes))
            }
            Question::Call(Call::ReadLink(call)) => {
                let File::Link(target) = self.files[usize::from(call.link.bytes()[0])] else {
                    panic!("asked where no link leads");
                };
                encoded::<Answer<ReadLink>>(&Outcome::Done(Target {
                    attributes: None,
                    path: Path::new(target.as_bytes()).expect("a path"),
                }))
            }
            Question::Call(other) => panic!("no walk asks {other:?}"),
        }
    }

    /// What the server answers to a question as it crosses the wire.
    fn hear(&self, question: &Question) -> Vec<u8> {
        let called = question.procedure();
        let mut arguments = Vec::new();
        question.encode(&mut arguments);
        if called == mount::Procedure::Mount.into() {
            let path = Path::decode(&arguments, &Limits::USUAL).expect("a path");
            return self.answer(&Question::Mount(path));
        }
        assert_eq!((called.program, called.version), (100_003, 3));
        let procedure = nfs::Procedure::of(called.number).expect("it exists");
        let call = Call::read(procedure, &arguments, &Limits::USUAL).expect("a call");
        assert_eq!(question.class(), procedure.class());
        self.answer(&Question::Call(call))
    }

    /// Walks to `path`: the number of the file there, and how many questions it took.
    fn walk(&self, export: &str, path: &str, follow_last: bool) -> Result<(u8, usize), WalkError> {
        let export = Path::new(export.as_bytes()).expect("a path");
        let mut walk = Walk::new(export, path.as_bytes(), follow_last);
        let mut questions = 0;
        while let Some(question) = walk.question()? {
            assert_eq!(walk.found(), None);
            let results = self.hear(&question);
            walk.answer(&results, &Limits::USUAL)?;
            questions += 1;
        }
        assert_eq!(walk.root().expect("told").abilities, abilities());
        let found = walk.found().expect("arrived");
        Ok((found.object.bytes()[0], questions))
    }
}

fn abilities() -> ServerAbilities {
    let sizes = BlockSizes {
        maximum: 32_768,
        preferred: 32_768,
        multiple: 1,
    };
    ServerAbilities {
        attributes: None,
        read: sizes,
        write: sizes,
        directory_preferred: 4_096,
        largest_file: 1 << 40,
        time_resolution: Time::default(),
        properties: FileSystemProperties::LINK.with(FileSystemProperties::SET_TIME),
    }
}

#[test]
fn every_part_of_a_path_is_one_question() {
    let server = Server::new();
    assert_eq!(server.walk("/srv", "", true), Ok((0, 2)));
    assert_eq!(server.walk("/srv", "/./", true), Ok((0, 2)));
    assert_eq!(server.walk("/srv", "a/b/file", true), Ok((3, 5)));
    assert_eq!(server.walk("/srv", "//a/./b//", true), Ok((2, 4)));
    assert_eq!(server.walk("/srv", "a/b/../../file", true), Ok((3, 5)));
}

#[test]
fn links_are_followed_inside_of_the_export() {
    let server = Server::new();
    assert_eq!(server.walk("/srv", "current", false), Ok((4, 3)));
    assert_eq!(server.walk("/srv", "current", true), Ok((2, 6)));
    assert_eq!(server.walk("/srv", "current/file", false), Ok((3, 7)));
    assert_eq!(server.walk("/srv", "a/up/file", true), Ok((3, 8)));
    assert_eq!(
        server.walk("/srv", "out", true),
        Err(WalkError::LeavesExport)
    );
    assert_eq!(
        server.walk("/srv", "a/../..", true),
        Err(WalkError::LeavesExport)
    );
    assert_eq!(
        server.walk("/srv", "loop", true),
        Err(WalkError::TooManyLinks)
    );
}

#[test]
fn attributes_that_a_server_leaves_out_are_asked_for() {
    let mut server = Server::new();
    server.tells_attributes = false;
    assert_eq!(server.walk("/srv", "a/b/file", true), Ok((3, 8)));
    assert_eq!(server.walk("/srv", "current/file", true), Ok((3, 11)));
}

#[test]
fn what_stops_a_walk_is_said_with_its_place() {
    let mut server = Server::new();
    let text = |server: &Server, export: &str, path: &str| {
        let error = server.walk(export, path, true).expect_err("it stops");
        error.to_string()
    };
    assert_eq!(
        text(&server, "/srv", "a/none/x"),
        "LOOKUP at `none`: no such file or directory (NFS3ERR_NOENT)"
    );
    assert_eq!(
        text(&server, "/srv", "file/x"),
        "LOOKUP at `x`: not a directory (NFS3ERR_NOTDIR)"
    );
    assert_eq!(
        text(&server, "/srv", &"n".repeat(256)),
        format!(
            "`{}` is no name: 256 bytes, at most 255 allowed",
            "n".repeat(256)
        )
    );
    assert_eq!(
        text(&server, "/other", "a"),
        "cannot mount `/other`: permission denied: not exported to this host or port \
         (MNT3ERR_ACCES); its exports are what `showmount -e` lists"
    );
    server.flavors = vec![390_003];
    assert_eq!(
        text(&server, "/srv", "a"),
        "the server takes only the authentication flavors [390003], and we have only AUTH_SYS (1): \
         export with `sec=sys`"
    );
    server.flavors = Vec::new();
    assert_eq!(server.walk("/srv", "a", true), Ok((1, 3)));
}

#[test]
fn an_answer_that_is_none_ends_the_walk_and_says_which() {
    let export = Path::new(b"/srv").expect("a path");
    let mut walk = Walk::new(export, b"a", true);
    let error = walk
        .answer(&[0, 0, 0, 0, 0xff], &Limits::USUAL)
        .expect_err("cut");
    assert_eq!(
        error.to_string(),
        "the server's answer to MNT makes no sense: `root` at byte 4: 1 bytes where it needs 4"
    );
}

proptest! {
    /// Whatever path and whatever links, a walk ends: with a file, or with an error that says something.
    #[test]
    fn every_walk_ends(
        path in "([ab./]|\\.\\.|current|loop|up|file){0,12}",
        target in "([ab./]|\\.\\.|current|up|x){1,9}",
        follow_last in any::<bool>(),
        tells_attributes in any::<bool>(),
    ) {
        let mut server = Server::new();
        server.files[4] = File::Link(target.leak());
        server.tells_attributes = tells_attributes;
        match server.walk("/srv", &path, follow_last) {
            Ok((_, questions)) => prop_assert!(questions < 1_000),
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }

    /// Answers of any bytes panic nowhere, and do not make a walk endless.
    #[test]
    fn no_answers_panic(
        answers in vec(vec(prop_oneof![4 => 0..4_u32, 1 => any::<u32>()],
        0..60), 0..20),
    ) {
        let export = Path::new(b"/srv").expect("a path");
        let mut walk = Walk::new(export, b"a/../b/c", true);
        for words in answers {
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
            let asked = walk.question();
            if !matches!(asked, Ok(Some(_))) || walk.answer(&bytes, &Limits::USUAL).is_err() {
                break;
            }
        }
    }
}
