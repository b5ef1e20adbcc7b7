//! Two hosts that mount the same server, over a network that loses messages and a server that restarts, beside a
//! reference file system in memory (`sim/programs`).
//!
//! Properties: close-to-open between the hosts; synchronized data survive a crash of the server (R6, R7); an error of
//! a write is reported to each open of the file (R8); nothing is written to another file of the same name (R9); every
//! request ends, and no reference remains.

mod world;

use fileserver::Fault;
use mount::{Config, Errno, FileSystem, OpenFlags, Tape};
use nfs::{Procedure, Status};
use programs::{Action, LONGEST, NAMES, Opening};
use units::Duration;

use world::{World, config};

const SIZE: u64 = 12_000;
/// Longer than a client's cache of a directory is valid.
const VALID: Duration = Duration::from_secs(61);

/// The hosts, and what their programs do.
struct Model<'a> {
    world: World,
    tape: &'a [u8],
    /// Host that changed names last: the other one may use cached old ones for a while.
    changed: usize,
}

/// Runs a tape of bytes: the seed of the losses, then steps of programs on either host. Returns the recordings of
/// both mounts, which a replay has confirmed.
pub(crate) fn run(bytes: &[u8]) -> (Config, [Tape; 2]) {
    let (seed, tape) = bytes.split_first().unwrap_or((&0, &[]));
    let mut model = Model {
        world: World::new(*seed),
        tape,
        changed: 0,
    };
    while !model.tape.is_empty() {
        model.step();
    }
    model.finish();
    let config = config(model.world.server.root());
    let tapes = model
        .world
        .hosts
        .map(|host| host.tape.expect("it is recorded"));
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

    fn open(&self) -> &[Opening] {
        self.world.reference.open()
    }

    /// Returns true if another host has the file of this name open: a writer then gets only the consistency of NFS.
    fn is_elsewhere(&self, host: usize, name: usize) -> bool {
        let file = self.world.reference.file(name);
        let others = |open: &Opening| Some(open.file) == file && open.host != host;
        self.open().iter().any(others)
    }

    /// Returns an open file, by its place among all, and the action that `action` makes of its number at the host.
    fn with_open(&self, place: usize, action: impl FnOnce(usize) -> Action) -> (Opening, Action) {
        let opening = self.open()[place];
        let before = self.open()[..place]
            .iter()
            .filter(|open| open.host == opening.host);
        (opening, action(before.count()))
    }

    /// Lets a program act on an open file, by its place among all.
    fn act(&mut self, place: usize, action: impl FnOnce(usize) -> Action) -> Opening {
        let (opening, action) = self.with_open(place, action);
        self.world.act(opening.host, action);
        opening
    }

    fn step(&mut self) {
        let (kind, number) = (self.byte(), self.byte());
        let (host, name) = (usize::from(number & 1), usize::from(number / 2) % NAMES);
        match kind % 16 {
            kind @ 0..=7 => self.use_a_name(kind, host, name, number),
            8 => self.world.tell_server(fileserver::Input::Restart),
            9 => self
                .world
                .wait(Duration::from_millis(u64::from(number) * 20)),
            kind => {
                let place = usize::from(number) % self.open().len().max(1);
                if place < self.open().len() {
                    self.use_open(kind, place, number & 64 != 0);
                }
            }
        }
    }

    fn use_a_name(&mut self, kind: u8, host: usize, name: usize, number: u8) {
        self.use_names(host, !matches!(kind, 2 | 3 | 6 | 7));
        let is_elsewhere = self.is_elsewhere(host, name);
        let size = if kind == 7 && self.world.reference.file(name).is_some() && !is_elsewhere {
            u64::from(self.byte()) * 40
        } else {
            0
        };
        let flags = OpenFlags {
            exclusive: number & 32 != 0,
            truncate: number & 64 != 0,
        };
        let to = usize::from(number / 8) % NAMES;
        let replaced = self.world.reference.file(to);
        let is_replaced_open = self.open().iter().any(|open| Some(open.file) == replaced);
        let truncates = number & 0x60 == 0x60;
        let action = match kind {
            6 => Action::List,
            _ if is_elsewhere => return,
            0 | 1 => Action::Create { name, flags },
            2 | 3 if self.open().len() > 8 => return,
            2 | 3 => Action::Open { name, truncates },
            4 => Action::Remove { name },
            5 if is_replaced_open => return,
            5 => Action::Rename { name, to },
            _ => Action::Resize { name, size },
        };
        self.world.act(host, action);
    }

    fn use_open(&mut self, kind: u8, place: usize, flag: bool) {
        match kind {
            10 => self.write(place, flag),
            11 => self.read(place, flag),
            12 => self.synchronize(place, flag),
            13 => self.close(place),
            14 => drop(self.act(place, |open| Action::Attributes { open })),
            _ => self.refuse_a_write(place),
        }
    }

    fn write(&mut self, place: usize, appends: bool) {
        let offset = u64::from(self.byte()) * SIZE / 256;
        let length = usize::from(self.byte()) * 16 + 1;
        self.act(place, |open| Action::Write {
            open,
            offset,
            length,
            appends,
        });
    }

    /// Reads the whole file; with `interrupted` a signal may end it.
    fn read(&mut self, place: usize, interrupted: bool) {
        let (opening, action) = self.with_open(place, |open| Action::Read { open });
        self.world.start(opening.host, action);
        if interrupted {
            let span = Duration::from_millis(u64::from(self.byte() % 8));
            self.world.wait(span);
            self.world.interrupt(opening.host);
        }
        self.world.end(opening.host);
    }

    /// R6, R7: synchronized data are stable, so a crash of the server does not harm them.
    fn synchronize(&mut self, place: usize, crash: bool) {
        self.act(place, |open| Action::Synchronize { open });
        if crash {
            self.world.tell_server(fileserver::Input::Restart);
        }
    }

    fn close(&mut self, place: usize) {
        self.act(place, |open| Action::Close { open });
        // A hidden file is removed a little later.
        self.world.wait(Duration::from_secs(1));
    }

    /// R8: the disk is full for one WRITE; each open of the file gets the error, and then all works again.
    fn refuse_a_write(&mut self, place: usize) {
        let file = self.open()[place].file;
        if self.world.reference.size(file) > LONGEST {
            return;
        }
        for other in 0..self.open().len() {
            self.synchronize(other, false);
        }
        let refuse = Fault::Refuse {
            procedure: Procedure::Write,
            status: Status::NoSpace,
            calls: 1,
        };
        self.world.tell_server(fileserver::Input::Fault(refuse));
        self.world.reference.set_faulty(true);
        self.write(place, true);
        self.world.reference.set_faulty(false);
        self.world.reference.owe(file);
        for other in 0..self.open().len() {
            self.synchronize(other, false);
            if self.open()[other].file == file {
                assert_eq!(self.open()[other].error, Some(Errno::NOSPC));
                self.synchronize(other, true);
            }
        }
    }

    fn finish(&mut self) {
        while !self.open().is_empty() {
            self.close(0);
        }
        self.world.wait(VALID);
        self.world
            .reference
            .check(&self.world.server)
            .expect("all is stored");
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
