//! The committed inputs: the fewest that reach all code that is known to be reached, and those with a name.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::program::{Program, Progress, Target};
use crate::files;
use xtask::shell::Failure;

/// Length of the names that libFuzzer gives.
const HASH: usize = 40;
/// Percentage of the edges in the floor that must be reached: hash tables of the standard library differ each time.
const LEAST: u64 = 97;
/// First lines of the file with the floor.
const HEAD: &str = "# Edges of the code that each target's corpus reaches: `cargo xtask fuzz --minimize` writes this \
    file,\n# and `cargo xtask fuzz --coverage` compares.\n";

/// Replaces the committed inputs without a name by the fewest that reach the same code as all that were found.
pub(super) fn minimize(program: &Program, targets: &[Target]) -> Result<(), Failure> {
    for target in targets {
        let (kept, found) = (program.corpus(target), program.found(target)?);
        fs::create_dir_all(&kept).map_err(|source| failed(&kept, source))?;
        for file in files::of_folder(&kept)? {
            if let Some(name) = file.file_name().filter(|name| name.len() == HASH) {
                fs::copy(&file, found.join(name)).map_err(|source| failed(&file, source))?;
                fs::remove_file(&file).map_err(|source| failed(&file, source))?;
            }
        }
        let arguments = [
            "-set_cover_merge=1".into(),
            "-use_counters=0".into(),
            kept.display().to_string(),
            found.display().to_string(),
        ];
        if !program.start(target, &arguments, &mut |_| {})? {
            let found = found.display();
            return Err(Failure::Found(format!(
                "an input in {found} breaks {}",
                target.name
            )));
        }
    }
    let mut floor = read(&program.floor())?;
    for target in targets {
        let (edges, inputs, bytes) = edges(program, target)?;
        println!(
            "{:<18} {edges:>6} edges by {inputs} inputs of {bytes} bytes",
            target.name
        );
        floor.insert(target.name.clone(), edges);
    }
    let lines = floor
        .iter()
        .map(|(name, edges)| format!("{name:<18} {edges:>6}\n"));
    let text = HEAD.to_owned() + &lines.collect::<String>();
    fs::write(program.floor(), text).map_err(|source| failed(&program.floor(), source))
}

/// Compares the code that the committed inputs reach with the floor.
pub(super) fn measure(program: &Program, targets: &[Target]) -> Result<(), Failure> {
    let floor = read(&program.floor())?;
    let mut findings = Vec::new();
    for target in targets {
        let (edges, inputs, bytes) = edges(program, target)?;
        let least = floor.get(&target.name).copied().unwrap_or(u64::MAX);
        println!(
            "{:<18} {edges:>6} of {least} edges by {inputs} inputs of {bytes} bytes",
            target.name
        );
        if edges.saturating_mul(100) < least.saturating_mul(LEAST) {
            findings.push(format!("{} reaches {edges} edges of {least}", target.name));
        }
    }
    Failure::unless_empty(&findings)
}

/// Returns the number of edges that the committed inputs of a target reach, of the inputs, and of their bytes.
fn edges(program: &Program, target: &Target) -> Result<(u64, usize, u64), Failure> {
    let folder = program.corpus(target);
    let inputs = files::of_folder(&folder)?;
    let sizes = inputs.iter().filter_map(|file| file.metadata().ok());
    let bytes = sizes.map(|metadata| metadata.len()).sum();
    let arguments = ["-runs=0".into(), folder.display().to_string()];
    let mut last = Progress::default();
    let is_good = program.start(target, &arguments, &mut |line| {
        if let Some(progress) = Progress::parse(line) {
            last = progress;
        }
    })?;
    if !is_good {
        let folder = folder.display();
        return Err(Failure::Found(format!(
            "an input in {folder} breaks {}",
            target.name
        )));
    }
    Ok((last.edges, inputs.len(), bytes))
}

/// Reads the floor.
fn read(path: &Path) -> Result<BTreeMap<String, u64>, Failure> {
    if !path.exists() {
        return Ok(BTreeMap::new());
    }
    let text = fs::read_to_string(path).map_err(|source| failed(path, source))?;
    let line = |line: &str| {
        let (name, edges) = line.split_once(' ')?;
        Some((name.to_owned(), edges.trim().parse().ok()?))
    };
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    Ok(lines.filter_map(line).collect())
}

fn failed(path: &Path, source: std::io::Error) -> Failure {
    Failure::Read {
        path: path.into(),
        source,
    }
}
