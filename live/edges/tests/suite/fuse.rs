//! A mounted file system, against the real kernel. Needs root and `/dev/fuse`.

use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use ::mount::{
    Answer, Attributes, Entry, Errno, Found, Handle, KindAndMode, Listed, Listing, Node, Opened,
    Operation, Request,
};
use edges::fuse::{Device, Limits, MountError, MountOptions, abort, mount, mounted, unmount};
use units::Duration as Span;

/// Time after which a test counts as hanging; it then unmounts, so that no unkillable processes are left.
const PATIENCE: Duration = Duration::from_mins(1);

/// The only file, and its content.
const FILE: Node = Node(77);
const CONTENT: &[u8] = b"content\n";

fn attributes(node: Node) -> Attributes {
    let mode = if node == FILE { 0o100_644 } else { 0o40_755 };
    Attributes {
        // Neither is the number of the node.
        number: if node == FILE { 1 } else { 4_000_000_000_001 },
        mode: KindAndMode(mode),
        links: 1,
        size: CONTENT.len() as u64,
        ..Attributes::default()
    }
}

fn entry(node: Node) -> Entry {
    let attributes = attributes(node);
    Entry {
        found: Some(Found { node, attributes }),
        name_valid: Span::ZERO,
        attributes_valid: Span::ZERO,
    }
}

fn answer(request: &Request) -> Option<Answer> {
    Some(match &request.operation {
        Operation::LookUp(name) if name == "file" => Answer::Entry(entry(FILE)),
        // This request is never answered.
        Operation::LookUp(name) if name == "silence" => return None,
        Operation::LookUp(_) => Answer::Error(Errno::NOENT),
        Operation::Attributes => Answer::Attributes(attributes(request.node), Span::ZERO),
        Operation::Open(_) | Operation::OpenDirectory => Answer::Opened(Opened {
            handle: Handle(3),
            keep_content: false,
        }),
        Operation::Read { offset: 0, .. } => Answer::Data(vec![CONTENT.into()]),
        Operation::Read { .. } => Answer::Data(Vec::new()),
        Operation::List {
            offset,
            size,
            with_entries,
            ..
        } => {
            let mut listing = Listing::new(*size, *with_entries);
            if *offset == 0 {
                assert!(listing.push(Listed {
                    name: "file".into(),
                    next: 1,
                    number: 1,
                    entry: entry(FILE),
                }));
            }
            Answer::Listing(listing)
        }
        Operation::Flush(_) => Answer::Error(Errno::NOSPC),
        Operation::Forget(_) | Operation::Interrupt(_) => return None,
        Operation::Close(_) | Operation::CloseDirectory(_) => Answer::Done,
        _ => Answer::Error(Errno::NOSYS),
    })
}

/// A mounted file system whose requests are passed to the test.
struct Rig {
    folder: tempfile::TempDir,
    device: Arc<Device>,
    requests: Receiver<Request>,
    finished: Option<Sender<()>>,
}

impl Rig {
    fn mount() -> Option<Self> {
        let options = MountOptions {
            source: "test, of \\fuse".into(),
            allow_other: false,
            read_only: false,
        };
        let folder = tempfile::tempdir().unwrap();
        let descriptor = match mount(folder.path(), &options) {
            Ok(descriptor) => descriptor,
            Err(error) => {
                crate::support::skip(&error.to_string());
                return None;
            }
        };
        let all = mounted().unwrap();
        let ours = all.iter().find(|mounted| mounted.point == folder.path());
        let ours = ours.expect("it is listed");
        assert_eq!(ours.source, options.source);
        let (finished, end) = channel::<()>();
        let point = folder.path().to_owned();
        thread::spawn(move || {
            if end.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                let _ = abort(&point);
            }
        });
        let device = Arc::new(Device::start(descriptor, Limits::default()).unwrap());
        let (told, requests) = channel();
        let kernel = Arc::clone(&device);
        thread::spawn(move || {
            let mut buffer = Vec::new();
            while let Some(request) = kernel.next_request(&mut buffer).unwrap() {
                if let Some(answer) = answer(&request) {
                    kernel.answer(request.id, &answer);
                }
                let _ = told.send(request);
            }
        });
        Some(Self {
            folder,
            device,
            requests,
            finished: Some(finished),
        })
    }

    fn point(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        let _ = unmount(self.folder.path(), true);
        drop(self.finished.take());
    }
}

#[test]
fn files_are_listed_and_read_under_their_own_numbers() {
    let Some(rig) = Rig::mount() else { return };
    assert_eq!(
        std::fs::metadata(rig.point()).unwrap().ino(),
        4_000_000_000_001
    );
    let entries: Vec<_> = std::fs::read_dir(rig.point())
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(entries.len(), 1);
    assert_eq!(entries[0].file_name(), "file");
    assert_eq!(
        std::fs::metadata(rig.point().join("file")).unwrap().ino(),
        1
    );
    assert_eq!(std::fs::read(rig.point().join("file")).unwrap(), CONTENT);
    let nothing = std::fs::metadata(rig.point().join("nothing")).unwrap_err();
    assert_eq!(nothing.kind(), ErrorKind::NotFound);
    let busy = unmount(rig.point(), false).unwrap_err();
    assert!(
        matches!(busy, MountError::Busy { .. }),
        "its entries hold the directory open"
    );
    drop(entries);
    // A child that another test forks at this moment holds all descriptors until it runs its program.
    while let Err(error) = unmount(rig.point(), false) {
        assert!(matches!(error, MountError::Busy { .. }), "{error}");
        thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(std::fs::read_dir(rig.point()).unwrap().count(), 0);
}

#[test]
fn a_process_that_is_interrupted_need_not_wait_for_the_answer() {
    let Some(rig) = Rig::mount() else { return };
    let mut child = Command::new("stat")
        .arg(rig.point().join("silence"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let waits = |request: &Request| matches!(&request.operation, Operation::LookUp(name) if name == "silence");
    let silent = rig.requests.iter().find(waits).unwrap();
    assert!(!edges::fuse::wants_to_end(silent.caller.process));
    let process = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(process, rustix::process::Signal::INT).unwrap();
    let interrupts = |request: &Request| request.operation == Operation::Interrupt(silent.id);
    assert!(rig.requests.iter().any(|request| interrupts(&request)));
    assert!(edges::fuse::wants_to_end(silent.caller.process));
    assert!(rig.device.answer(silent.id, &Answer::Error(Errno::INTR)));
    assert!(!child.wait().unwrap().success());
    assert!(
        !rig.device.answer(silent.id, &Answer::Done),
        "nobody waits any more"
    );
}

#[test]
fn what_waits_fails_when_the_file_system_is_given_up() {
    let Some(rig) = Rig::mount() else { return };
    let path = rig.point().join("silence");
    let waiting = thread::spawn(move || std::fs::metadata(path).map(drop));
    let waits = |request: &Request| matches!(&request.operation, Operation::LookUp(name) if name == "silence");
    assert!(rig.requests.iter().any(|request| waits(&request)));
    abort(rig.point()).unwrap();
    assert!(waiting.join().unwrap().is_err());
    assert_eq!(std::fs::read_dir(rig.point()).unwrap().count(), 0);
}
