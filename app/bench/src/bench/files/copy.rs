//! One timed copy by one client, compared with its source.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use rig::Ganesha;
use serde_json::Value;

use crate::failure::Failure;
use crate::hop::Hop;

/// Direction of a copy: from the server, or to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Read,
    Write,
}

impl Direction {
    pub(crate) const BOTH: [Self; 2] = [Self::Read, Self::Write];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

/// The client of a copy.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Client<'a> {
    /// libnfs's program, over TCP. A directory is copied by a shell loop, one file at a time.
    Peer,
    /// lasthop, with these options.
    Lasthop(&'a Path, &'a [&'a str]),
}

/// Measurements of a copy.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Copied {
    pub(crate) seconds: f64,
    /// Retransmitted calls, if the client reports them.
    pub(crate) repeated: Option<u64>,
}

/// Creates the source of a copy: `name`, of random bytes, on both hosts; if `files` is not 0, a directory of so many.
pub(crate) fn prepare(hop: &Hop, name: &str, bytes: u64, files: u32) -> Result<(), Failure> {
    let failed = |error| Failure::Found(format!("cannot make what is copied: {error}"));
    let (ours, theirs) = (hop.path("client").join(name), hop.path("export").join(name));
    for path in [&ours, &theirs] {
        fs::create_dir_all(path.parent().unwrap_or(path)).map_err(failed)?;
    }
    let fill = |path: &Path| {
        let mut random = File::open("/dev/urandom")?.take(bytes);
        io::copy(&mut random, &mut File::create(path)?)
    };
    if files == 0 {
        fill(&ours).map_err(failed)?;
        return fs::hard_link(ours, theirs).map_err(failed);
    }
    for path in [&ours, &theirs] {
        fs::create_dir_all(path).map_err(failed)?;
    }
    for number in 0..files {
        let file = format!("file-{number:04}");
        fill(&ours.join(&file)).map_err(failed)?;
        fs::hard_link(ours.join(&file), theirs.join(&file)).map_err(failed)?;
    }
    Ok(())
}

/// Copies `name` in the given direction, to a place where nothing exists.
pub(crate) fn copy(
    client: Client,
    way: Direction,
    name: &str,
    hop: &Hop,
    server: &Ganesha,
) -> Result<Copied, Failure> {
    let (from, to) = match way {
        Direction::Read => ("export", "client"),
        Direction::Write => ("client", "export"),
    };
    let source = hop.path(from).join(name);
    let target = hop.path(to).join(format!("{name}-copy"));
    remove(&target)?;
    let remote = |path: &Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        server.url(&name)
    };
    let local = |path: &Path| path.display().to_string();
    let ends = match way {
        Direction::Read => [remote(&source), local(&target)],
        Direction::Write => [local(&source), remote(&target)],
    };
    let command = match client {
        Client::Lasthop(program, options) => ours(program, options, &ends, source.is_dir()),
        Client::Peer if source.is_dir() => {
            fs::create_dir(&target).map_err(|error| Failure::Found(error.to_string()))?;
            peers_loop(&source, &ends)
        }
        Client::Peer => {
            let mut command = Command::new("nfs-cp");
            command.args(ends);
            command
        }
    };
    let begun = Instant::now();
    let text = hop.run(&hop.mobile, command)?;
    let seconds = begun.elapsed().as_secs_f64();
    let mut compare = Command::new("diff");
    compare.args([Path::new("-rq"), &source, &target]);
    hop.shell.run(compare)?;
    remove(&target)?;
    Ok(Copied {
        seconds,
        repeated: repeated(&text),
    })
}

fn ours(program: &Path, options: &[&str], ends: &[String; 2], tree: bool) -> Command {
    let mut command = Command::new(program);
    command.arg("nfs").args(options).args(["cp", "--json"]);
    command.args(tree.then_some("-r")).args(ends);
    command
}

/// Returns a shell loop around nfs-cp, which takes one file. The names come from the folder itself, without a call.
fn peers_loop(source: &Path, ends: &[String; 2]) -> Command {
    let each = ends.each_ref().map(|end| match end.split_once('?') {
        Some((path, query)) => format!("\"{path}/${{file##*/}}?{query}\""),
        None => format!("\"{end}/${{file##*/}}\""),
    });
    let [from, to] = each;
    let source = source.display();
    let line = format!("for file in {source}/*; do nfs-cp {from} {to} || exit 1; done");
    let mut command = Command::new("sh");
    command.args(["-c", &line]);
    command
}

fn remove(path: &PathBuf) -> Result<(), Failure> {
    let removed = if path.is_dir() {
        fs::remove_dir_all(path)
    } else {
        fs::remove_file(path)
    };
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Failure::Found(format!(
            "cannot remove {}: {error}",
            path.display()
        ))),
        _ => Ok(()),
    }
}

/// Returns the sum over all kinds of calls in our report, which may follow other lines.
fn repeated(text: &str) -> Option<u64> {
    let report = text.find('{').map(|begin| &text[begin..])?;
    let report: Value = serde_json::from_str(report).ok()?;
    let connections = report["connections"].as_array()?.iter();
    let repeated = |connection: &Value| sum(&connection["calls"]["repeated"]);
    Some(connections.map(repeated).sum())
}

/// Returns the sum of all numbers in a value.
fn sum(value: &Value) -> u64 {
    match value {
        Value::Array(values) => values.iter().map(sum).sum(),
        Value::Object(values) => values.values().map(sum).sum(),
        other => other.as_u64().unwrap_or(0),
    }
}
