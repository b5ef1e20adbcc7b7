//! Random operations on one file, beside the bytes that it should have.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::soak::random::Random;
use crate::soak::watch::{Done, Fault, Last};

/// The longest file, and the longest read or write, in bytes.
const FILE_MAX: u64 = 1_000_000;
const LENGTH_MAX: u64 = 70_000;
/// Number of operations per seed.
const OPERATIONS: u32 = 1_000;

/// Paths of the file for programs, and at the server.
pub(super) struct Places {
    pub(super) mounted: PathBuf,
    pub(super) exported: PathBuf,
}

/// Works on files, one seed after the other, until the time is over. Each seed that is begun is completed.
pub(super) fn run(places: &Places, seed: u64, span: Duration, done: &Done) -> Result<(), Fault> {
    let until = Instant::now() + span;
    let mut seed = seed;
    loop {
        let mut model =
            Model::new(places, seed).map_err(|error| format!("seed {seed}: {error}"))?;
        for _ in 0..OPERATIONS {
            let step = model.step();
            step.map_err(|fault| model.last.explain(&format!("seed {seed}: {fault}")))?;
            done.count();
        }
        model
            .end()
            .map_err(|fault| model.last.explain(&format!("seed {seed}: {fault}")))?;
        if Instant::now() >= until {
            return Ok(());
        }
        seed += 1;
    }
}

/// A file, and its expected bytes.
struct Model {
    mounted: PathBuf,
    exported: PathBuf,
    /// Two openings of the file, each of which sees the other's writes.
    files: [File; 2],
    content: Vec<u8>,
    random: Random,
    last: Last,
    number: u32,
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).open(path)
}

impl Model {
    fn new(places: &Places, seed: u64) -> io::Result<Self> {
        let name = format!("one-file-{seed}");
        let mounted = places.mounted.join(&name);
        File::create(&mounted)?;
        Ok(Self {
            files: [open(&mounted)?, open(&mounted)?],
            exported: places.exported.join(&name),
            mounted,
            content: Vec::new(),
            random: Random::new(seed, 1),
            last: Last::default(),
            number: 0,
        })
    }

    fn step(&mut self) -> Result<(), Fault> {
        self.number += 1;
        let outcome = match self.random.below(100) {
            0..=34 => self.read(),
            35..=64 => self.write(),
            65..=71 => self.append(),
            72..=79 => self.resize(),
            80..=84 => self.synchronize(),
            85..=92 => self.look(),
            93..=98 => self.reopen(),
            _ => {
                self.pause();
                Ok(())
            }
        };
        outcome.map_err(|error| format!("operation {}: {error}", self.number))
    }

    fn note(&mut self, operation: &str) {
        self.last.push(format!("{:5} {operation}", self.number));
    }

    fn range(&mut self) -> (u64, usize) {
        let offset = self.random.below(FILE_MAX);
        // Short ones are as frequent as long ones.
        let most = 1 + self.random.below(LENGTH_MAX);
        let length = 1 + self.random.below(most.min(FILE_MAX - offset));
        (offset, length as usize)
    }

    fn opening(&mut self) -> usize {
        self.random.below(2) as usize
    }

    fn read(&mut self) -> io::Result<()> {
        let ((offset, length), opening) = (self.range(), self.opening());
        self.note(&format!("read {length} at {offset} (opening {opening})"));
        let mut got = vec![0; length];
        let mut filled = 0;
        while filled < length {
            match self.files[opening].read_at(&mut got[filled..], offset + filled as u64)? {
                0 => break,
                count => filled += count,
            }
        }
        let end = self.content.len();
        let wanted = &self.content[end.min(offset as usize)..end.min(offset as usize + length)];
        same(&got[..filled], wanted, offset)
    }

    fn write(&mut self) -> io::Result<()> {
        let ((offset, length), opening) = (self.range(), self.opening());
        self.note(&format!("write {length} at {offset} (opening {opening})"));
        let data = self.random.bytes(length);
        self.files[opening].write_all_at(&data, offset)?;
        self.place(offset as usize, &data);
        Ok(())
    }

    fn append(&mut self) -> io::Result<()> {
        let length = 1 + self.random.below(5_000) as usize;
        let room = FILE_MAX as usize + LENGTH_MAX as usize;
        if self.content.len() + length > room {
            return Ok(());
        }
        self.note(&format!("append {length} to {}", self.content.len()));
        let data = self.random.bytes(length);
        let mut file = OpenOptions::new().append(true).open(&self.mounted)?;
        file.write_all(&data)?;
        self.place(self.content.len(), &data);
        Ok(())
    }

    fn place(&mut self, start: usize, data: &[u8]) {
        let end = start + data.len();
        self.content.resize(self.content.len().max(end), 0);
        self.content[start..end].copy_from_slice(data);
    }

    fn resize(&mut self) -> io::Result<()> {
        let (size, opening) = (self.random.below(FILE_MAX), self.opening());
        self.note(&format!("cut or extend {} to {size}", self.content.len()));
        self.files[opening].set_len(size)?;
        self.content.resize(size as usize, 0);
        Ok(())
    }

    /// Synchronizes the file through one opening, and checks that the server has all its bytes.
    fn synchronize(&mut self) -> io::Result<()> {
        let opening = self.opening();
        self.note(&format!("fsync (opening {opening})"));
        self.files[opening].sync_all()?;
        same(&fs::read(&self.exported)?, &self.content, 0)
    }

    fn look(&mut self) -> io::Result<()> {
        let opening = self.opening();
        self.note("stat");
        for size in [
            self.files[opening].metadata()?.len(),
            fs::metadata(&self.mounted)?.len(),
        ] {
            let wanted = self.content.len();
            if size != wanted as u64 {
                return Err(io::Error::other(format!("has {size} bytes, not {wanted}")));
            }
        }
        Ok(())
    }

    fn reopen(&mut self) -> io::Result<()> {
        let opening = self.opening();
        self.note(&format!("close and open (opening {opening})"));
        self.files[opening] = open(&self.mounted)?;
        Ok(())
    }

    /// Waits until delayed writes are sent without a request.
    fn pause(&mut self) {
        let span = self.random.below(100);
        self.note(&format!("wait {span} ms"));
        std::thread::sleep(Duration::from_millis(span));
    }

    fn end(&mut self) -> Result<(), Fault> {
        let end = |model: &mut Self| {
            model.synchronize()?;
            same(&fs::read(&model.mounted)?, &model.content, 0)?;
            fs::remove_file(&model.mounted)
        };
        end(self).map_err(|error| format!("at the end: {error}"))
    }
}

/// Returns an error with the place at which bytes from `offset` on differ from the expected ones.
fn same(got: &[u8], wanted: &[u8], offset: u64) -> io::Result<()> {
    let differs = got
        .iter()
        .zip(wanted)
        .position(|(got, wanted)| got != wanted);
    if let Some(at) = differs {
        let place = offset + at as u64;
        let (got, wanted) = (got[at], wanted[at]);
        return Err(io::Error::other(format!(
            "byte {place} is {got:#04x}, not {wanted:#04x}"
        )));
    }
    if got.len() != wanted.len() {
        let (got, wanted) = (got.len(), wanted.len());
        return Err(io::Error::other(format!(
            "{got} bytes from {offset} on, not {wanted}"
        )));
    }
    Ok(())
}
