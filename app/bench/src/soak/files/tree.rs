//! Random operations on a tree of files, beside the same operations on a local one.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::compare;
use crate::soak::random::Random;
use crate::soak::watch::{Done, Fault, Last};

/// Number of parallel workers, each in its own part of the tree.
const WORKERS: u64 = 3;
/// Few names, so that operations meet the files of others.
const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];
/// Names of files that are kept open. They are separate, because a file that is removed while it is open still has a
/// name at the server, which would prevent the removal of its directory.
const OPEN_NAMES: [&str; 3] = ["open-x", "open-y", "open-z"];
/// Largest depth of the tree.
const DEPTH: u64 = 3;
/// Largest length of a file that is written at once, in bytes.
const LENGTH_MAX: u64 = 50_000;

/// Paths of the trees.
pub(super) struct Trees {
    pub(super) mounted: PathBuf,
    pub(super) reference: PathBuf,
}

/// Works on trees until the time is over; both remain for a comparison with the server.
pub(super) fn run(trees: &Trees, seed: u64, span: Duration, done: &Done) -> Result<(), Fault> {
    let until = Instant::now() + span;
    let outcomes = thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS)
            .map(|number| scope.spawn(move || Worker::work(trees, seed, number, until, done)))
            .collect();
        workers
            .into_iter()
            .map(thread::ScopedJoinHandle::join)
            .collect::<Vec<_>>()
    });
    for outcome in outcomes {
        outcome.map_err(|_| "a worker panicked")??;
    }
    same(&trees.mounted, &trees.reference)
}

/// Compares both trees, except for files that are removed and still open.
pub(super) fn same(got: &Path, wanted: &Path) -> Result<(), Fault> {
    let read =
        |root: &Path| compare::tree(root).map_err(|error| format!("{}: {error}", root.display()));
    compare::differences(&read(got)?, &read(wanted)?)
}

/// A file that is open in both trees.
struct Pair {
    name: &'static str,
    mounted: File,
    reference: File,
}

struct Worker {
    mounted: PathBuf,
    reference: PathBuf,
    random: Random,
    last: Last,
    open: Vec<Pair>,
    number: u64,
}

/// Result of an operation in each tree.
type Said = io::Result<Vec<u8>>;

impl Worker {
    fn work(
        trees: &Trees,
        seed: u64,
        number: u64,
        until: Instant,
        done: &Done,
    ) -> Result<(), Fault> {
        let name = format!("worker-{number}");
        let mut worker = Self {
            mounted: trees.mounted.join(&name),
            reference: trees.reference.join(&name),
            random: Random::new(seed, 100 + number),
            last: Last::default(),
            open: Vec::new(),
            number: 0,
        };
        for root in [&worker.mounted, &worker.reference] {
            fs::create_dir_all(root).map_err(|error| format!("{}: {error}", root.display()))?;
        }
        while Instant::now() < until {
            worker.number += 1;
            let step = worker.step();
            let explain = |fault: Fault| {
                let number = worker.number;
                worker
                    .last
                    .explain(&format!("seed {seed}, {name}, operation {number}: {fault}"))
            };
            step.map_err(explain)?;
            done.count();
        }
        Ok(())
    }

    fn step(&mut self) -> Result<(), Fault> {
        match self.random.below(100) {
            0..=9 => self.path_only("mkdir", |path| fs::create_dir(path)),
            10..=13 => self.path_only("rmdir", |path| fs::remove_dir(path)),
            14..=19 => self.path_only("unlink", |path| fs::remove_file(path)),
            20..=24 => self.path_only("create", |path| {
                OpenOptions::new()
                    .write(true)
                    .create_new(true)
                    .open(path)
                    .map(drop)
            }),
            25..=37 => self.write(),
            38..=43 => self.append(),
            44..=47 => self.truncate(),
            48..=55 => self.two_paths("rename", |from, to| fs::rename(from, to)),
            56..=60 => self.two_paths("link", |from, to| fs::hard_link(from, to)),
            61..=64 => self.symbolic_link(),
            65..=69 => self.change_mode(),
            70..=76 => self.look("read", |path| fs::read(path)),
            77..=81 => self.look("list", names),
            82..=86 => self.look("stat", attributes),
            87..=89 => self.look("readlink", |path| {
                fs::read_link(path).map(|target| target.into_os_string().into_encoded_bytes())
            }),
            90..=92 => self.open_one(),
            93..=97 => self.use_open(),
            _ => self.lose_name(),
        }
    }

    fn path(&mut self) -> PathBuf {
        let depth = 1 + self.random.below(DEPTH);
        (0..depth).map(|_| self.random.one_of(&NAMES)).collect()
    }

    /// Does the same in both trees, and compares the results.
    fn both(&mut self, what: &str, act: impl Fn(&Path) -> Said) -> Result<(), Fault> {
        let (wanted, got) = (act(&self.reference), act(&self.mounted));
        let told = |said: &Said| match said {
            Ok(bytes) => format!("ok, {} bytes", bytes.len()),
            Err(error) => error.to_string(),
        };
        self.last
            .push(format!("{:6} {what}: {}", self.number, told(&wanted)));
        let is_same = match (&got, &wanted) {
            (Ok(got), Ok(wanted)) => got == wanted,
            (Err(got), Err(wanted)) => got.raw_os_error() == wanted.raw_os_error(),
            _ => false,
        };
        if is_same {
            return Ok(());
        }
        Err(format!("{what}: {}, not {}", told(&got), told(&wanted)))
    }

    fn path_only(
        &mut self,
        what: &str,
        act: impl Fn(&Path) -> io::Result<()>,
    ) -> Result<(), Fault> {
        let path = self.path();
        let what = format!("{what} {}", path.display());
        self.both(&what, |root| act(&root.join(&path)).map(|()| Vec::new()))
    }

    fn two_paths(
        &mut self,
        what: &str,
        act: impl Fn(&Path, &Path) -> io::Result<()>,
    ) -> Result<(), Fault> {
        let (from, to) = (self.path(), self.path());
        let what = format!("{what} {} to {}", from.display(), to.display());
        self.both(&what, |root| {
            act(&root.join(&from), &root.join(&to)).map(|()| Vec::new())
        })
    }

    fn look(&mut self, what: &str, act: impl Fn(&Path) -> Said) -> Result<(), Fault> {
        let path = self.path();
        self.both(&format!("{what} {}", path.display()), |root| {
            act(&root.join(&path))
        })
    }

    fn content(&mut self, most: u64) -> Vec<u8> {
        let most = 1 + self.random.below(most);
        let length = self.random.below(most);
        self.random.bytes(length as usize)
    }

    fn write(&mut self) -> Result<(), Fault> {
        let content = self.content(LENGTH_MAX);
        self.path_only(&format!("write {}", content.len()), |path| {
            fs::write(path, &content)
        })
    }

    fn append(&mut self) -> Result<(), Fault> {
        let content = self.content(5_000);
        self.path_only(&format!("append {}", content.len()), |path| {
            OpenOptions::new()
                .append(true)
                .open(path)?
                .write_all(&content)
        })
    }

    fn truncate(&mut self) -> Result<(), Fault> {
        let size = self.random.below(LENGTH_MAX);
        self.path_only(&format!("set the size {size} of"), |path| {
            OpenOptions::new().write(true).open(path)?.set_len(size)
        })
    }

    /// Creates a symbolic link. Its target is a name beside the link or below it, which may not exist: it never leaves
    /// the tree.
    fn symbolic_link(&mut self) -> Result<(), Fault> {
        let target = self.path();
        self.path_only(&format!("symlink {} as", target.display()), |path| {
            symlink(&target, path)
        })
    }

    fn change_mode(&mut self) -> Result<(), Fault> {
        let mode = self.random.one_of(&[0o600, 0o644, 0o700, 0o755, 0o777]);
        self.path_only(&format!("chmod {mode:o}"), |path| {
            fs::set_permissions(path, Permissions::from_mode(mode))
        })
    }

    fn open_one(&mut self) -> Result<(), Fault> {
        let name = self.random.one_of(&OPEN_NAMES);
        if self.open.len() >= 4 {
            let oldest = self.open.remove(0);
            self.last
                .push(format!("{:6} close {}", self.number, oldest.name));
            drop(oldest);
        }
        let open = |root: &Path| {
            let mut options = OpenOptions::new();
            options
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .open(root.join(name))
        };
        let (mounted, reference) = (open(&self.mounted), open(&self.reference));
        self.last.push(format!("{:6} open {name}", self.number));
        match (mounted, reference) {
            (Ok(mounted), Ok(reference)) => {
                self.open.push(Pair {
                    name,
                    mounted,
                    reference,
                });
                Ok(())
            }
            (mounted, reference) => Err(format!("open {name}: {mounted:?} and {reference:?}")),
        }
    }

    /// Writes to an open file, or reads all of it, even if it has no name any more.
    fn use_open(&mut self) -> Result<(), Fault> {
        if self.open.is_empty() {
            return Ok(());
        }
        let at = self.random.below(self.open.len() as u64) as usize;
        let offset = self.random.below(LENGTH_MAX);
        let content = self.content(LENGTH_MAX);
        let Pair {
            name,
            mounted,
            reference,
        } = &self.open[at];
        let act = |file: &File| {
            file.write_all_at(&content, offset)?;
            let mut all = vec![0; file.metadata()?.len() as usize];
            file.read_exact_at(&mut all, 0).map(|()| all)
        };
        let (wanted, got) = (act(reference), act(mounted));
        let length = content.len();
        self.last.push(format!(
            "{:6} write {length} at {offset} of {name}, and read",
            self.number
        ));
        match (got, wanted) {
            (Ok(got), Ok(wanted)) if got == wanted => Ok(()),
            (Ok(_), Ok(_)) => Err(format!("{name}, which is open, has other content")),
            (got, wanted) => {
                let (got, wanted) = (got.err(), wanted.err());
                Err(format!("{name}, which is open: {got:?}, not {wanted:?}"))
            }
        }
    }

    /// Removes the name of a file that may be open, or gives it to another one.
    fn lose_name(&mut self) -> Result<(), Fault> {
        let (name, other) = (
            self.random.one_of(&OPEN_NAMES),
            self.random.one_of(&OPEN_NAMES),
        );
        if self.random.below(2) == 0 {
            let what = format!("unlink {name}");
            self.both(&what, |root| {
                fs::remove_file(root.join(name)).map(|()| Vec::new())
            })
        } else {
            let what = format!("rename {name} to {other}");
            self.both(&what, |root| {
                fs::rename(root.join(name), root.join(other)).map(|()| Vec::new())
            })
        }
    }
}

/// Returns the names in a directory, in order.
fn names(path: &Path) -> Said {
    let mut names = Vec::new();
    for entry in fs::read_dir(path)? {
        names.push(entry?.file_name().into_encoded_bytes());
    }
    names.sort();
    Ok(names.join(&b'/'))
}

/// Returns the attributes of a file that must be equal in both trees.
fn attributes(path: &Path) -> Said {
    let found = fs::symlink_metadata(path)?;
    let size = if found.is_dir() { 0 } else { found.len() };
    let (mode, links) = (found.mode(), found.nlink());
    Ok(format!("mode {mode:o}, {links} links, {size} bytes").into_bytes())
}
