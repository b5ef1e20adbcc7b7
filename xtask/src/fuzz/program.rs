//! The program with all targets under libFuzzer.

use std::fmt::Write;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::files;
use xtask::shell::{Failure, Shell};

/// Options of the compiler that make each edge of the code a counter, and each comparison visible.
const INSTRUMENTED: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares";
/// The platform, named so that the options do not apply to build scripts.
const PLATFORM: &str = "x86_64-unknown-linux-gnu";
/// Interval between two lines about one target.
const INTERVAL: Duration = Duration::from_secs(10);
/// Time after which an input counts as one that hangs, in seconds, and limit of memory, in MiB.
const TIMEOUT: u32 = 60;
const MEMORY: u32 = 2_048;
/// Longest input that is printed.
const PRINTED: usize = 256;

/// A target, and the length of its longest useful input in bytes.
pub(super) struct Target {
    pub(super) name: String,
    longest: usize,
}

/// The program, and the folders that it uses.
pub(super) struct Program {
    path: PathBuf,
    root: PathBuf,
    /// Folder of what is found; it is not committed.
    work: PathBuf,
}

/// A line of libFuzzer about its progress.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Progress {
    /// Number of inputs that were run.
    pub(super) inputs: u64,
    /// Number of edges of the code that they reached.
    pub(super) edges: u64,
    rest: String,
}

impl Progress {
    /// Parses a line such as `#8 NEW cov: 93 ft: 311 corp: 154/38Kb exec/s: 70 rss: 33Mb`.
    pub(super) fn parse(line: &str) -> Option<Self> {
        let (inputs, rest) = line.strip_prefix('#')?.split_once(char::is_whitespace)?;
        let (_, rest) = rest.split_once("cov: ")?;
        let (edges, rest) = rest.split_once(' ')?;
        Some(Self {
            inputs: inputs.parse().ok()?,
            edges: edges.parse().ok()?,
            rest: rest.split(" L: ").next().unwrap_or_default().into(),
        })
    }
}

impl Program {
    /// Builds the program with the instrumented targets.
    pub(super) fn build(shell: &Shell) -> Result<Self, Failure> {
        let folder = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
        let work = folder
            .unwrap_or_else(|| shell.root.join("target"))
            .join("fuzz");
        let mut cargo = shell.cargo(&["build", "--release", "--target", PLATFORM]);
        cargo.args(["--manifest-path", "fuzz/targets/Cargo.toml"]);
        cargo
            .env("RUSTFLAGS", INSTRUMENTED)
            .env("CARGO_TARGET_DIR", &work);
        shell.run(cargo)?;
        Ok(Self {
            path: work.join(PLATFORM).join("release/fuzz-targets"),
            root: shell.root.clone(),
            work,
        })
    }

    /// Returns all targets, as the program names them.
    pub(super) fn targets(&self) -> Result<Vec<Target>, Failure> {
        let mut command = Command::new(&self.path);
        command.env("FUZZ_TARGET", "list");
        let output = Shell::quiet(&self.root).run(command)?;
        let target = |line: &str| {
            let (name, longest) = line.strip_prefix("target ")?.split_once(' ')?;
            Some(Target {
                name: name.into(),
                longest: longest.parse().ok()?,
            })
        };
        Ok(output.lines().filter_map(target).collect())
    }

    /// Returns the committed inputs of a target.
    pub(super) fn corpus(&self, target: &Target) -> PathBuf {
        self.root.join("fuzz/corpus").join(&target.name)
    }

    /// Returns the inputs that were found here; they are many.
    pub(super) fn found(&self, target: &Target) -> Result<PathBuf, Failure> {
        folder(self.work.join("corpus").join(&target.name))
    }

    /// Returns the file with the floor of coverage.
    pub(super) fn floor(&self) -> PathBuf {
        self.root.join("fuzz/coverage.txt")
    }

    /// Runs libFuzzer with these arguments to its end; `line` gets each line of its output. Returns true if it
    /// succeeded.
    pub(super) fn start(
        &self,
        target: &Target,
        arguments: &[String],
        line: &mut dyn FnMut(&str),
    ) -> Result<bool, Failure> {
        let mut command = Command::new(&self.path);
        command.env("FUZZ_TARGET", &target.name).args(arguments);
        command.arg(format!("-max_len={}", target.longest));
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let failed = |source| Failure::Start {
            command: self.path.display().to_string(),
            source,
        };
        let mut child = command.spawn().map_err(failed)?;
        let lines = child.stderr.take().map(BufReader::new);
        for text in lines
            .into_iter()
            .flat_map(|lines| lines.split(b'\n'))
            .map_while(Result::ok)
        {
            line(&String::from_utf8_lossy(&text));
        }
        Ok(child.wait().map_err(failed)?.success())
    }

    /// Runs one input.
    pub(super) fn run_input(&self, target: &Target, input: &Path) -> Result<(), Failure> {
        let arguments = [input.display().to_string()];
        let is_good = self.start(target, &arguments, &mut |line| println!("{line}"))?;
        let broken = || Failure::Found(format!("the input breaks {}", target.name));
        is_good.then_some(()).ok_or_else(broken)
    }

    /// Searches for inputs that break a target, and for ones that reach more code.
    pub(super) fn search(&self, target: &Target, time: Duration) -> Result<(), Failure> {
        let (name, broken) = (
            &target.name,
            folder(self.work.join("broken").join(&target.name))?,
        );
        let before = files::of_folder(&broken)?;
        let arguments = [
            self.found(target)?.display().to_string(),
            self.corpus(target).display().to_string(),
            format!("-artifact_prefix={}/", broken.display()),
            format!("-max_total_time={}", time.as_secs().max(1)),
            format!("-timeout={TIMEOUT}"),
            format!("-rss_limit_mb={MEMORY}"),
            "-reload=0".into(),
        ];
        let (start, mut printed) = (Instant::now(), Instant::now());
        let (mut last, mut cause) = (Progress::default(), String::new());
        let is_good = self.start(target, &arguments, &mut |line| {
            if let Some(progress) = Progress::parse(line) {
                last = progress;
            } else if line.contains("panicked at") || !cause.is_empty() && cause.len() < 2_000 {
                cause = format!("{cause}{line}\n");
            }
            if printed.elapsed() >= INTERVAL {
                printed = Instant::now();
                report(name, start, &last);
            }
        })?;
        report(name, start, &last);
        if is_good {
            return Ok(());
        }
        let cause = cause.split("stack backtrace").next().unwrap_or_default();
        let new = files::of_folder(&broken)?
            .into_iter()
            .find(|file| !before.contains(file));
        Err(Failure::Found(describe(name, new.as_deref(), cause)))
    }
}

/// Prints a line about a target.
fn report(name: &str, start: Instant, progress: &Progress) {
    let Progress {
        inputs,
        edges,
        rest,
    } = progress;
    let seconds = start.elapsed().as_secs();
    println!("{name:<18} {seconds:>5} s  {inputs} inputs, {edges} edges, {rest}");
}

/// Returns the text about an input that breaks a target.
fn describe(name: &str, file: Option<&Path>, cause: &str) -> String {
    let Some(file) = file else {
        return format!("{name}: libFuzzer failed and left no input\n{cause}");
    };
    let bytes = fs::read(file).unwrap_or_default();
    let content = if bytes.len() <= PRINTED {
        let written = bytes.iter().fold(String::new(), |mut written, byte| {
            // A string takes everything.
            let _ = write!(written, "{byte:02x}");
            written
        });
        format!("it is {written}")
    } else {
        format!("it has {} bytes", bytes.len())
    };
    let path = file.display();
    format!(
        "{name}: an input breaks it; {content}\n{cause}to repeat it: cargo xtask fuzz {name} --input {path}"
    )
}

/// Returns a folder, which it makes if needed.
fn folder(path: PathBuf) -> Result<PathBuf, Failure> {
    fs::create_dir_all(&path).map_err(|source| Failure::Read {
        path: path.clone(),
        source,
    })?;
    Ok(path)
}

#[cfg(test)]
mod test {
    use super::Progress;

    #[test]
    fn progress_is_read_from_a_line() {
        let line = "#521826\tREDUCE cov: 93 ft: 295 corp: 142/24Kb exec/s: 74546 rss: 33Mb L: 173/3041 MS: 4";
        let progress = Progress::parse(line).expect("progress");
        assert_eq!((progress.inputs, progress.edges), (521_826, 93));
        assert_eq!(
            progress.rest,
            "ft: 295 corp: 142/24Kb exec/s: 74546 rss: 33Mb"
        );
        assert_eq!(Progress::parse("INFO: Seed: 1"), None);
    }
}
