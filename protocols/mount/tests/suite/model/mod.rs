//! Two hosts that mount the same server, over a network that loses messages and a server that restarts, beside a
//! reference file system in memory.
//!
//! Properties: close-to-open between the hosts; synchronized data survive a crash of the server (R6, R7); an error of
//! a write is reported to each open of the file (R8); nothing is written to another file of the same name (R9); every
//! request ends, and no reference remains.

mod world;

use std::collections::BTreeMap;

use fileserver::Fault;
use mount::{Answer, Changes, Config, Errno, FileSystem, Handle, Node, OpenFlags, Operation, Tape};
use nfs::{Procedure, Status};
use units::Duration;

use world::{World, config};

const NAMES: [&str; 4] = ["a", "b", "c", "d"];
const SIZE: u64 = 12_000;
/// Length from which on a file is no longer written.
const LONGEST: usize = 48_000;
/// Longer than a client's cache of a directory is valid.
const VALID: Duration = Duration::from_secs(61);

/// A file that a program has open.
#[derive(Clone, Copy)]
struct Open {
    host: usize,
    node: Node,
    handle: Handle,
    file: usize,
}

/// The hosts, and the expected results of their programs.
struct Model<'a> {
    world: World,
    tape: &'a [u8],
    names: BTreeMap<&'static str, usize>,
    contents: Vec<Vec<u8>>,
    open: Vec<Open>,
    /// Host that changed names last: the other one may use cached old ones for a while.
    changed: usize,
    writes: u8,
}

/// Runs a tape of bytes: the seed of the losses, then steps of programs on either host. Returns the recordings of
/// both mounts, which a replay has confirmed.
pub(crate) fn run(bytes: &[u8]) -> (Config, [Tape; 2]) {
    let (seed, tape) = bytes.split_first().unwrap_or((&0, &[]));
    let mut model = Model {
        world: World::new(*seed),
        tape,
        names: BTreeMap::new(),
        contents: Vec::new(),
        open: Vec::new(),
        changed: 0,
        writes: 0,
    };
    while !model.tape.is_empty() {
        model.step();
    }
    model.finish();
    let config = config(model.world.server.root());
    let tapes = model.world.hosts.map(|host| host.tape);
    for tape in &tapes {
        let replayed = tape.replay(&mut FileSystem::new(&config));
        replayed.expect("equal inputs give equal outputs");
    }
    (config, tapes)
}

impl Model<'_> {
    fn byte(&mut self) -> u8 {
        match self.tape.split_first() {
            Some((byte, rest)) => {
                self.tape = rest;
                *byte
            }
            None => 0,
        }
    }

    /// Lets a host use names: its cache is first made valid for changes by the other host.
    fn use_names(&mut self, host: usize, changes: bool) {
        if self.changed != host {
            self.world.wait(VALID);
        }
        if changes || self.changed != host {
            self.changed = host;
        }
    }

    /// Returns true if another host has the file open: a writer then gets only the consistency of NFS.
    fn elsewhere(&self, host: usize, file: usize) -> bool {
        let others = |open: &&Open| open.file == file && open.host != host;
        self.open.iter().any(|open| others(&open))
    }

    fn step(&mut self) {
        let (kind, number) = (self.byte(), self.byte());
        let (host, name) = (usize::from(number & 1), NAMES[usize::from(number / 2) % 4]);
        match kind % 16 {
            0 | 1 => self.create(host, name, number),
            2 | 3 => self.open(host, name, number),
            4 => self.remove(host, name),
            5 => self.rename(host, name, NAMES[usize::from(number / 8) % 4]),
            6 => self.list(host),
            7 => self.truncate(host, name),
            8 => self.world.tell_server(fileserver::Input::Restart),
            9 => self
                .world
                .wait(Duration::from_millis(u64::from(number) * 20)),
            kind => {
                let place = usize::from(number) % self.open.len().max(1);
                let Some(open) = self.open.get(place).copied() else {
                    return;
                };
                match kind {
                    10 => self.write(open, number & 64 != 0),
                    11 => self.read(open, number & 64 != 0),
                    12 => self.synchronize(open, number & 64 != 0),
                    13 => self.close(place),
                    14 => self.attributes(open),
                    _ => self.refuse_a_write(open),
                }
            }
        }
    }

    fn create(&mut self, host: usize, name: &'static str, number: u8) {
        self.use_names(host, true);
        let known = self.names.get(name).copied();
        if known.is_some_and(|file| self.elsewhere(host, file)) {
            return;
        }
        let flags = OpenFlags {
            exclusive: number & 32 != 0,
            truncate: number & 64 != 0,
        };
        let operation = Operation::Create {
            name: name.into(),
            mode: 0o644,
            flags,
        };
        match self.world.call(host, Node::ROOT, operation) {
            Answer::Created(entry, opened) => {
                assert!(known.is_none() || !flags.exclusive, "{name} was there");
                let file = known.unwrap_or_else(|| {
                    self.contents.push(Vec::new());
                    self.contents.len() - 1
                });
                if flags.truncate {
                    self.contents[file].clear();
                }
                self.names.insert(name, file);
                let found = entry.found.expect("it was made");
                assert_eq!(found.attributes.size, self.contents[file].len() as u64);
                self.open.push(Open {
                    host,
                    node: found.node,
                    handle: opened.handle,
                    file,
                });
            }
            Answer::Error(Errno::EXIST) => assert!(known.is_some() && flags.exclusive, "{name}"),
            other => panic!("create {name}: {other:?}"),
        }
    }

    fn open(&mut self, host: usize, name: &'static str, number: u8) {
        self.use_names(host, false);
        let known = self.names.get(name).copied();
        let found = self.world.look_up(host, name);
        assert_eq!(found.is_some(), known.is_some(), "{name}");
        let (Some(found), Some(file)) = (found, known) else {
            return;
        };
        if self.elsewhere(host, file) || self.open.len() > 8 {
            return self.world.forget(host, found.node);
        }
        let flags = OpenFlags {
            truncate: number & 0x60 == 0x60,
            exclusive: false,
        };
        match self.world.call(host, found.node, Operation::Open(flags)) {
            Answer::Opened(opened) => {
                if flags.truncate {
                    self.contents[file].clear();
                }
                let open = Open {
                    host,
                    node: found.node,
                    handle: opened.handle,
                    file,
                };
                self.open.push(open);
                // Close-to-open: data that another host has closed are visible now.
                self.attributes(open);
                self.read(open, false);
            }
            other => panic!("open {name}: {other:?}"),
        }
    }

    fn remove(&mut self, host: usize, name: &'static str) {
        self.use_names(host, true);
        let known = self.names.get(name).copied();
        if known.is_some_and(|file| self.elsewhere(host, file)) {
            return;
        }
        if self.is_there(host, name) {
            let remove = Operation::Remove(name.into());
            let answer = self.world.call(host, Node::ROOT, remove);
            assert_eq!(answer, Answer::Done, "remove {name}");
            self.names.remove(name);
        }
    }

    /// Looks up a name, as the kernel does before it removes or renames it: for an absent name, a repeated call may
    /// report success.
    fn is_there(&mut self, host: usize, name: &str) -> bool {
        let found = self.world.look_up(host, name);
        assert_eq!(found.is_some(), self.names.contains_key(name), "{name}");
        if let Some(found) = found {
            self.world.forget(host, found.node);
        }
        found.is_some()
    }

    fn rename(&mut self, host: usize, name: &'static str, to: &'static str) {
        self.use_names(host, true);
        let replaced = self.names.get(to).copied();
        let moved = self.names.get(name).copied();
        let is_open = |file| self.open.iter().any(|open| open.file == file);
        if name == to
            || replaced.is_some_and(is_open)
            || moved.is_some_and(|file| self.elsewhere(host, file))
        {
            return;
        }
        if !self.is_there(host, name) {
            return;
        }
        let operation = Operation::Rename {
            name: name.into(),
            directory: Node::ROOT,
            new_name: to.into(),
        };
        let answer = self.world.call(host, Node::ROOT, operation);
        assert_eq!(answer, Answer::Done, "rename {name} {to}");
        let file = self.names.remove(name).expect("it is there");
        self.names.insert(to, file);
        // Data written to the file are stored before.
        self.assert_stored(file);
    }

    fn list(&mut self, host: usize) {
        self.use_names(host, false);
        let Answer::Opened(opened) = self.world.call(host, Node::ROOT, Operation::OpenDirectory)
        else {
            panic!("the root is a directory");
        };
        let (handle, mut offset, mut names) = (opened.handle, 0, Vec::new());
        loop {
            let operation = Operation::List {
                handle,
                offset,
                size: 400,
                with_entries: true,
            };
            let Answer::Listing(listing) = self.world.call(host, Node::ROOT, operation) else {
                panic!("a listing");
            };
            let Some(last) = listing.entries().last() else {
                break;
            };
            offset = last.next;
            for listed in listing.entries() {
                if let Some(found) = listed.entry.found.filter(|found| found.node != Node(0)) {
                    self.world.forget(host, found.node);
                }
                names.push(listed.name.clone());
            }
        }
        self.world
            .call(host, Node::ROOT, Operation::CloseDirectory(handle));
        // A file that is removed while it is open has a hidden name until it is closed.
        names.retain(|name| !name.starts_with(b"."));
        names.sort();
        assert!(names.iter().eq(self.names.keys()), "{names:?}");
    }

    fn truncate(&mut self, host: usize, name: &'static str) {
        self.use_names(host, false);
        let known = self.names.get(name).copied();
        let Some(file) = known.filter(|file| !self.elsewhere(host, *file)) else {
            return;
        };
        let found = self.world.look_up(host, name).expect("it is there");
        let size = u64::from(self.byte()) * 40;
        let changes = Changes {
            size: Some(size),
            ..Changes::default()
        };
        let answer = self
            .world
            .call(host, found.node, Operation::SetAttributes(changes));
        self.contents[file].resize(size as usize, 0);
        assert!(
            matches!(answer, Answer::Attributes(told, _) if told.size == size),
            "{answer:?}"
        );
        self.world.forget(host, found.node);
    }

    fn write(&mut self, open: Open, append: bool) {
        let (place, length) = (u64::from(self.byte()), usize::from(self.byte()) * 16 + 1);
        self.writes = self.writes.wrapping_add(1);
        let content = &mut self.contents[open.file];
        let at = if append {
            content.len()
        } else {
            (place * SIZE / 256) as usize
        };
        if content.len() > LONGEST {
            return;
        }
        content.resize(content.len().max(at + length), 0);
        content[at..at + length].fill(self.writes);
        let operation = Operation::Write {
            handle: open.handle,
            // The kernel's end of the file may be outdated.
            offset: if append { 0 } else { at as u64 },
            data: vec![self.writes; length].into(),
            append,
        };
        let answer = self.world.call(open.host, open.node, operation);
        assert_eq!(answer, Answer::Written(length as u32));
    }

    /// Reads the whole file; with `interrupted` a signal may end it.
    fn read(&mut self, open: Open, interrupted: bool) {
        let operation = Operation::Read {
            handle: open.handle,
            offset: 0,
            count: 100_000,
        };
        let id = self.world.start(open.host, open.node, operation);
        if interrupted {
            let span = Duration::from_millis(u64::from(self.byte() % 8));
            self.world.wait(span);
            self.world
                .start(open.host, Node(0), Operation::Interrupt(id));
        }
        match self.world.end(open.host, id) {
            Answer::Data(pieces) => {
                assert!(pieces.concat() == self.contents[open.file], "other content");
            }
            Answer::Error(Errno::INTR) if interrupted => {}
            other => panic!("read: {other:?}"),
        }
    }

    fn attributes(&mut self, open: Open) {
        let size = self.contents[open.file].len() as u64;
        match self.world.call(open.host, open.node, Operation::Attributes) {
            Answer::Attributes(told, _) => assert_eq!(told.size, size),
            other => panic!("attributes: {other:?}"),
        }
    }

    /// R6, R7: synchronized data are stable, so a crash of the server does not harm them.
    fn synchronize(&mut self, open: Open, crash: bool) {
        let operation = Operation::Synchronize(open.handle);
        let answer = self.world.call(open.host, open.node, operation);
        assert_eq!(answer, Answer::Done);
        if crash {
            self.world.tell_server(fileserver::Input::Restart);
        }
        self.assert_stored(open.file);
    }

    fn assert_stored(&self, file: usize) {
        let name = self.names.iter().find(|(_, known)| **known == file);
        if let Some((name, _)) = name {
            let stored = self.world.server.stored(name).expect("it is there");
            assert!(
                stored == self.contents[file],
                "{name} is not what was synchronized"
            );
        }
    }

    fn close(&mut self, place: usize) {
        let open = self.open.swap_remove(place);
        let flushed = self
            .world
            .call(open.host, open.node, Operation::Flush(open.handle));
        assert_eq!(flushed, Answer::Done);
        self.assert_stored(open.file);
        let closed = self
            .world
            .call(open.host, open.node, Operation::Close(open.handle));
        assert_eq!(closed, Answer::Done);
        self.world.forget(open.host, open.node);
        // A hidden file is removed a little later.
        self.world.wait(Duration::from_secs(1));
    }

    /// R8: the disk is full for one WRITE; each open of the file gets the error, and then all works again.
    fn refuse_a_write(&mut self, open: Open) {
        if self.contents[open.file].len() > LONGEST {
            return;
        }
        for other in self.open.clone() {
            self.synchronize(other, false);
        }
        self.world
            .tell_server(fileserver::Input::Fault(Fault::Refuse {
                procedure: Procedure::Write,
                status: Status::NoSpace,
                calls: 1,
            }));
        self.write(open, true);
        for other in self.open.clone() {
            let operation = Operation::Synchronize(other.handle);
            let answer = self.world.call(other.host, other.node, operation);
            if other.file == open.file {
                assert_eq!(answer, Answer::Error(Errno::NOSPC));
                self.synchronize(other, true);
            }
        }
    }

    fn finish(&mut self) {
        while !self.open.is_empty() {
            self.close(0);
        }
        self.world.wait(VALID);
        for host in &self.world.hosts {
            let waiting = host.system.waiting();
            assert_eq!(
                (waiting.requests, waiting.open_files, waiting.nodes),
                (0, 0, 1)
            );
            assert_eq!(host.client.unsafe_bytes(), 0);
        }
    }
}
