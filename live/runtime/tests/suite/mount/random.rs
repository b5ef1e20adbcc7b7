//! Random operations on the mount and on a directory of this host, with the same results for programs.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, symlink};
use std::path::{Path, PathBuf};

use machine::RandomStream;

use super::rig::{Rig, Setup};

/// Size of the largest file, in bytes.
const SIZE: u64 = 150_000;
const NAMES: [&str; 6] = ["one", "two", "three", "d/one", "d/two", "d/e/one"];
const DIRECTORIES: [&str; 3] = ["d", "d/e", "f"];

/// Files that are open in both places.
struct Both {
    near: File,
    far: File,
}

struct Model {
    near: PathBuf,
    far: PathBuf,
    open: Vec<Both>,
    random: RandomStream,
}

/// Returns the result of an operation as a program sees it.
fn seen<T>(result: io::Result<T>) -> Result<T, Option<i32>> {
    result.map_err(|error| error.raw_os_error())
}

impl Model {
    fn pick<'a>(&mut self, names: &[&'a str]) -> &'a str {
        names[self.random.below(names.len() as u64) as usize]
    }

    fn compare<T: PartialEq + std::fmt::Debug>(
        &self,
        what: &str,
        operation: impl Fn(&Path) -> io::Result<T>,
    ) {
        let (far, near) = (seen(operation(&self.far)), seen(operation(&self.near)));
        assert!(
            far == near,
            "{what}: the mount {far:?}, the directory {near:?}"
        );
    }

    /// Waits for hidden files: closing removes them a little later.
    fn wait_for_hidden_files(&self) {
        let is_hidden = |entry: io::Result<fs::DirEntry>| {
            entry.is_ok_and(|entry| entry.file_name().to_string_lossy().starts_with(".nfs"))
        };
        for directory in DIRECTORIES {
            let far = self.far.join(directory);
            while fs::read_dir(&far).is_ok_and(|mut entries| entries.any(is_hidden)) {
                std::thread::yield_now();
            }
        }
    }

    /// Executes one operation in both places.
    fn step(&mut self) {
        let (name, other) = (self.pick(&NAMES), self.pick(&NAMES));
        let directory = self.pick(&DIRECTORIES);
        let any_open = !self.open.is_empty();
        match self.random.below(22) {
            0..2 => self.compare(&format!("write {name}"), |root| {
                fs::write(root.join(name), other.repeat(1_000))
            }),
            2..4 => self.compare(&format!("read {name}"), |root| fs::read(root.join(name))),
            4 => self.compare(&format!("mkdir {directory}"), |root| {
                fs::create_dir(root.join(directory))
            }),
            // A file that is removed while it is open keeps its directory from being removed.
            5 if any_open => {}
            5 => {
                self.wait_for_hidden_files();
                self.compare(&format!("rmdir {directory}"), |root| {
                    fs::remove_dir(root.join(directory))
                });
            }
            6 => self.compare(&format!("unlink {name}"), |root| {
                fs::remove_file(root.join(name))
            }),
            7 => self.compare(&format!("rename {name} {other}"), |root| {
                fs::rename(root.join(name), root.join(other))
            }),
            8 => self.compare(&format!("link {name} {other}"), |root| {
                fs::hard_link(root.join(name), root.join(other))
            }),
            9 => self.compare(&format!("symlink {name}"), |root| {
                symlink("one", root.join(name))
            }),
            10 => self.compare(&format!("list {directory}"), |root| {
                list(&root.join(directory))
            }),
            11 => self.compare(&format!("stat {name}"), |root| {
                let metadata = fs::symlink_metadata(root.join(name))?;
                // A file that is removed while it is open keeps a hidden name until it is closed.
                let links = if any_open { 0 } else { metadata.nlink() };
                Ok((metadata.mode(), metadata.len(), links))
            }),
            12 => self.open(name),
            13 => {
                if !self.open.is_empty() {
                    let index = self.random.below(self.open.len() as u64) as usize;
                    self.open.swap_remove(index);
                }
            }
            _ => self.on_open(),
        }
    }

    fn open(&mut self, name: &str) {
        let (create, truncate, append) = (
            self.random.below(2) == 0,
            self.random.below(4) == 0,
            self.random.below(4) == 0,
        );
        let open = |root: &Path| {
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(create);
            options.truncate(truncate && !append).append(append);
            options.open(root.join(name))
        };
        match (open(&self.far), open(&self.near)) {
            (Ok(far), Ok(near)) if self.open.len() < 8 => self.open.push(Both { near, far }),
            (far, near) => {
                assert_eq!(seen(far.map(drop)), seen(near.map(drop)), "open {name}");
            }
        }
    }

    fn on_open(&mut self) {
        let Some(last) = (self.open.len() as u64).checked_sub(1) else {
            return;
        };
        let index = self.random.below(last + 1) as usize;
        let (offset, length) = (self.random.below(SIZE), self.random.below(40_000) as usize);
        let (what, fill) = (self.random.below(8), self.random.next_u64() as u8);
        let Both { near, far } = &self.open[index];
        let on = |file: &File| -> io::Result<(Vec<u8>, u64)> {
            let mut data = vec![fill; length];
            let mut count = 0;
            match what {
                0..3 => count = file.write_at(&data, offset)?,
                3..6 => {
                    count = file.read_at(&mut data, offset)?;
                    data.truncate(count);
                }
                6 => file.set_len(offset)?,
                _ => file.sync_data()?,
            }
            Ok((data, count as u64 + file.metadata()?.len()))
        };
        let (far, near) = (seen(on(far)), seen(on(near)));
        assert!(
            far == near,
            "operation {what} at {offset} with {length} bytes"
        );
    }
}

fn list(directory: &Path) -> io::Result<Vec<std::ffi::OsString>> {
    let names = fs::read_dir(directory)?.map(|entry| Ok(entry?.file_name()));
    let mut names: Vec<_> = names.collect::<io::Result<_>>()?;
    // A file that is removed while it is open has a hidden name until it is closed.
    names.retain(|name| !name.to_string_lossy().starts_with(".nfs"));
    names.sort();
    Ok(names)
}

fn run(seed: u64, steps: usize, setup: Setup) {
    println!("seed {seed}");
    let Some(rig) = Rig::new(setup) else { return };
    let beside = tempfile::tempdir().unwrap();
    let mut model = Model {
        near: beside.path().into(),
        far: rig.point().into(),
        open: Vec::new(),
        random: RandomStream::named(seed, "operations"),
    };
    for _ in 0..steps {
        model.step();
    }
    model.open.clear();
    for name in NAMES {
        model.compare(&format!("read {name} at the end"), |root| {
            fs::read(root.join(name))
        });
    }
}

#[test]
fn programs_see_what_they_see_in_a_directory_of_this_host() {
    for seed in 1..=3 {
        run(seed, 1_500, Setup::default());
    }
}

#[test]
fn the_least_server_with_losses_makes_no_difference() {
    let chance = |text: &str| text.parse().unwrap();
    let faults = fileserver::Faults {
        lost_requests: chance("1 %"),
        lost_replies: chance("1 %"),
        short_transfers: chance("5 %"),
        ..fileserver::Faults::default()
    };
    let server = fileserver::Config {
        faults,
        reply_cache: 1_024,
        ..fileserver::Config::least()
    };
    let setup = Setup {
        server,
        ..Setup::default()
    };
    // Each loss costs a timeout, so fewer steps take as long.
    run(4, 300, setup);
}
