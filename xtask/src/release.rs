//! `cargo xtask release VERSION`: all steps of a release but the push.
//!
//! It works in a work tree of its own beside the repository's, on a commit that no branch has yet. So nothing has
//! changed if a step fails, and a dry run is a run that ends before the last step.

mod bill;
mod changelog;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::dist::{PACKAGES, unreadable, unwritable};
use crate::package;
use xtask::shell::{Failure, Shell};

/// The manifest that has the version of all crates.
const MANIFEST: &str = "Cargo.toml";
const CHANGELOG: &str = "CHANGELOG.md";
/// A recipe with a version of its own, after these words.
const RECIPE: &str = "packaging/openwrt/Makefile";
const RECIPE_VERSION: &str = "PKG_VERSION:=";
/// The work tree of a release, below `target`, and the file of checksums.
const TREE: &str = "target/release-tree";
const SUMS: &str = "SHA256SUMS";

/// Options of `cargo xtask release`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// The new version, such as 0.2.0.
    version: String,
    /// Do all of it, but keep neither commit nor tag.
    #[arg(long)]
    dry_run: bool,
    /// Leave out `cargo xtask check`, and the tests of the package and in a browser.
    #[arg(long, requires = "dry_run")]
    no_check: bool,
    /// Show what each program prints while it runs.
    #[arg(short, long)]
    verbose: bool,
}

/// Makes a release.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let shell = Shell::new(options.verbose);
    let git = Git { shell: &shell };
    let tag = format!("v{}", options.version);
    refuse_unless_ready(&git, &shell, &options.version, &tag)?;
    let tree = Tree::create(&git)?;
    let inside = Shell {
        root: tree.root.clone(),
        verbose: options.verbose,
    };
    println!("setting the version and the date");
    prepare(&inside, &options.version)?;
    let own = Git { shell: &inside };
    own.run(&[
        "commit",
        "--all",
        "--quiet",
        "--message",
        &format!("Release {}", options.version),
    ])?;
    if !options.no_check {
        println!("checking it, which takes a quarter of an hour");
        inside.run(inside.cargo(&["xtask", "check"]))?;
    }
    let mut packages = package::build(&inside)?.to_vec();
    if !options.no_check {
        println!("testing the package");
        package::test(&inside)?;
        println!("showing the page of `lasthop web` to a browser");
        inside.run(inside.cargo(&["xtask", "browser"]))?;
    }
    packages.push(bill::write(&inside, &options.version)?);
    let sums = write_sums(&inside, &packages)?;
    println!("{}", sums.display());
    if options.dry_run {
        println!("dry run: neither commit nor tag is kept");
        return Ok(());
    }
    let commit = own.run(&["rev-parse", "HEAD"])?;
    git.run(&["merge", "--ff-only", "--quiet", commit.trim()])?;
    let message = format!("lasthop {}", options.version);
    git.run(&[
        "tag",
        "--annotate",
        "--message",
        &message,
        &tag,
        commit.trim(),
    ])?;
    println!(
        "released {tag}; to publish it: git push --follow-tags, and upload the files of {SUMS}"
    );
    Ok(())
}

/// Refuses a version that is not the next one, and a work tree with changes.
fn refuse_unless_ready(git: &Git<'_>, shell: &Shell, next: &str, tag: &str) -> Result<(), Failure> {
    let present = version(shell)?;
    let found = |what: String| Err(Failure::Found(what));
    match (numbers(&present), numbers(next)) {
        (_, None) => return found(format!("'{next}' is not a version; write it like 0.2.0")),
        (Some(present_numbers), Some(next_numbers)) if next_numbers < present_numbers => {
            return found(format!(
                "{next} comes before the present version, {present}"
            ));
        }
        _ => {}
    }
    if !git.run(&["status", "--porcelain"])?.is_empty() {
        return found("the work tree has changes; commit them, or put them away".into());
    }
    if !git.run(&["tag", "--list", tag])?.is_empty() {
        return found(format!("{tag} exists already"));
    }
    Ok(())
}

/// Returns the three numbers of a version.
fn numbers(version: &str) -> Option<[u64; 3]> {
    let numbers: Option<Vec<u64>> = version.split('.').map(|part| part.parse().ok()).collect();
    numbers?.try_into().ok()
}

/// Returns the version of all crates.
pub(crate) fn version(shell: &Shell) -> Result<String, Failure> {
    let path = shell.root.join(MANIFEST);
    let text = fs::read_to_string(&path).map_err(unreadable(&path))?;
    let found = version_line(&text).and_then(|line| line.split('"').nth(1));
    let missing = || Failure::Found(format!("{MANIFEST} has no `version = \"…\"`"));
    found.map(str::to_owned).ok_or_else(missing)
}

/// Returns the line of the version of all crates.
fn version_line(manifest: &str) -> Option<&str> {
    let section = manifest.split_once("[workspace.package]")?.1;
    section.lines().find(|line| line.starts_with("version = "))
}

/// Sets the version in manifest, lock file and recipe, and gives the unreleased changes their version and date.
fn prepare(shell: &Shell, version: &str) -> Result<(), Failure> {
    edit(&shell.root.join(MANIFEST), |text| {
        let line = version_line(text).ok_or("it has no version")?;
        Ok(text.replacen(line, &format!("version = \"{version}\""), 1))
    })?;
    shell.run(shell.cargo(&["update", "--workspace", "--offline"]))?;
    edit(&shell.root.join(RECIPE), |text| {
        let is_version = |line: &&str| line.starts_with(RECIPE_VERSION);
        let line = text.lines().find(is_version).ok_or("it has no version")?;
        Ok(text.replacen(line, &format!("{RECIPE_VERSION}{version}"), 1))
    })?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let days = now.map_or(0, |since| since.as_secs() / (24 * 60 * 60));
    let date = changelog::date(days);
    edit(&shell.root.join(CHANGELOG), |text| {
        changelog::release(text, version, &date)
    })
}

fn edit(
    path: &Path,
    change: impl FnOnce(&str) -> Result<String, &'static str>,
) -> Result<(), Failure> {
    let text = fs::read_to_string(path).map_err(unreadable(path))?;
    let wrong = |what| Failure::Found(format!("{}: {what}", path.display()));
    fs::write(path, change(&text).map_err(wrong)?).map_err(unwritable(path))
}

/// Writes the checksums of the files, which lie in one folder, beside them.
fn write_sums(shell: &Shell, files: &[PathBuf]) -> Result<PathBuf, Failure> {
    let folder = shell.root.join(PACKAGES);
    let mut sum = Command::new("sha256sum");
    sum.current_dir(&folder);
    sum.args(files.iter().filter_map(|file| file.file_name()));
    let path = folder.join(SUMS);
    fs::write(&path, shell.run(sum)?).map_err(unwritable(&path))?;
    Ok(path)
}

/// Git in a work tree.
struct Git<'a> {
    shell: &'a Shell,
}

impl Git<'_> {
    fn run(&self, arguments: &[&str]) -> Result<String, Failure> {
        let mut command = Command::new("git");
        command.current_dir(&self.shell.root).args(arguments);
        self.shell.run(command)
    }
}

/// A work tree on no branch, which is removed when this is dropped. It shares `target` with the repository's own.
struct Tree<'a> {
    git: &'a Git<'a>,
    root: PathBuf,
}

impl<'a> Tree<'a> {
    fn create(git: &'a Git<'a>) -> Result<Self, Failure> {
        let root = git.shell.root.join(TREE);
        let tree = Self { git, root };
        tree.remove();
        let path = tree.root.to_string_lossy();
        git.run(&["worktree", "add", "--quiet", "--detach", &path, "HEAD"])?;
        let target = tree.root.join("target");
        let shared = git.shell.root.join("target");
        std::os::unix::fs::symlink(shared, &target).map_err(unwritable(&target))?;
        Ok(tree)
    }

    /// Removes it, if it is there.
    fn remove(&self) {
        let path = self.root.to_string_lossy();
        // If it is not there, nothing is left to do.
        let _ = self.git.run(&["worktree", "remove", "--force", &path]);
    }
}

impl Drop for Tree<'_> {
    fn drop(&mut self) {
        self.remove();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_stands_in_the_manifest() {
        let shell = Shell::new(false);
        assert_eq!(version(&shell).unwrap(), env!("CARGO_PKG_VERSION"));
        assert_eq!(numbers("0.12.3"), Some([0, 12, 3]));
        let recipe = fs::read_to_string(shell.root.join(RECIPE)).unwrap();
        let line = format!("\n{RECIPE_VERSION}{}\n", env!("CARGO_PKG_VERSION"));
        assert!(recipe.contains(&line), "the recipe has another version");
        for wrong in ["", "1", "1.2", "1.2.3.4", "1.2.x", "v1.2.3", "1.2.3-rc1"] {
            assert_eq!(numbers(wrong), None, "{wrong}");
        }
    }
}
