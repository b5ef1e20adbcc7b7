//! `cargo xtask guide`: the folder `docs` as a book of HTML pages, by mdBook; and what CI checks of its pages.
//!
//! CI does not build the book, because mdBook takes minutes to compile. What can break it is checked without mdBook: a
//! page that the summary does not name, and links that lead nowhere (docs/decisions/0024).

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use crate::files;
use page::Page;
use xtask::shell::{Failure, Shell};

mod page;
#[cfg(test)]
mod tests;

/// Version of mdBook that `docs/book.toml` is written for.
const RELEASE: &str = "0.5.4";
/// Variables that make tests of lasthop write pages, in place of comparing them.
const WRITERS: [&str; 2] = ["GUIDE", "METRICS"];
/// Where mdBook is installed, relative to the root.
const TOOL: &str = "target/mdbook";
/// The folder with the pages of the book, and the list of them.
const BOOK: &str = "docs";
const SUMMARY: &str = "docs/SUMMARY.md";
/// Where the book is written to; `docs/book.toml` has it too.
const OUTPUT: &str = "target/guide/index.html";

/// Options of `cargo xtask guide`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Write into the pages what their commands print now, and the page of metrics; make no book.
    #[arg(long)]
    bless: bool,
    /// Show what each program prints while it runs.
    #[arg(short, long)]
    verbose: bool,
}

/// Checks the pages, and makes the book; builds mdBook first if it is missing.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let shell = Shell::new(options.verbose);
    if options.bless {
        let mut tests = shell.cargo(&["test", "--package", "lasthop", "guide"]);
        tests.envs(WRITERS.map(|name| (name, "write")));
        shell.run(tests)?;
    }
    check(&shell.root)?;
    if options.bless {
        return Ok(());
    }
    let program = shell.root.join(TOOL).join("bin/mdbook");
    if !program.exists() {
        println!("building mdBook {RELEASE}, which takes minutes");
        let arguments = ["install", "--locked", "mdbook", "--version", RELEASE];
        let mut install = shell.cargo(&arguments);
        install.args([
            "--no-default-features",
            "--features",
            "search",
            "--root",
            TOOL,
        ]);
        shell.run(install)?;
    }
    let mut build = Command::new(program);
    build.current_dir(&shell.root).args(["build", BOOK]);
    shell.run(build)?;
    println!("{OUTPUT}");
    Ok(())
}

/// The pages of Markdown by their paths, relative to the root of the repository.
type Pages = BTreeMap<PathBuf, Page>;

/// Checks that the summary names every page of the book once, and that every link in a page leads somewhere. Returns
/// the number of pages: those of the book, and those at the root.
pub(crate) fn check(root: &Path) -> Result<usize, Failure> {
    let pages = pages(root)?;
    let mut findings = summary(&pages);
    for (path, page) in &pages {
        for link in &page.links {
            if let Err(what) = follow(root, &pages, path, &link.target) {
                findings.push(format!("{}:{}: {what}", path.display(), link.line));
            }
        }
    }
    Failure::unless_empty(&findings)?;
    Ok(pages.len())
}

/// Reads the pages at the root, and those of the book.
fn pages(root: &Path) -> Result<Pages, Failure> {
    let mut pages = Pages::new();
    let mut folders = vec![root.join(BOOK)];
    let mut paths = files::of_folder(root)?;
    while let Some(folder) = folders.pop() {
        for path in files::of_folder(&folder)? {
            if path.is_dir() {
                folders.push(path);
            } else {
                paths.push(path);
            }
        }
    }
    let is_page = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "md");
    for path in paths.into_iter().filter(is_page) {
        let text = files::read(&path)?;
        let inside = path.strip_prefix(root).unwrap_or(&path);
        pages.insert(inside.into(), Page::parse(&text));
    }
    Ok(pages)
}

/// Returns what is wrong with the list of the book's pages.
fn summary(pages: &Pages) -> Vec<String> {
    let Some(summary) = pages.get(Path::new(SUMMARY)) else {
        return vec![format!("there is no {SUMMARY}")];
    };
    let mut named: BTreeMap<PathBuf, usize> = BTreeMap::new();
    for link in &summary.links {
        *named.entry(Path::new(BOOK).join(&link.target)).or_default() += 1;
    }
    let of_book = |path: &&PathBuf| path.starts_with(BOOK) && *path != Path::new(SUMMARY);
    let finding = |path: &PathBuf| {
        let what = match named.get(path) {
            None => "does not name",
            Some(1) => return None,
            Some(_) => "names more than once",
        };
        Some(format!("{SUMMARY} {what} {}", path.display()))
    };
    pages.keys().filter(of_book).filter_map(finding).collect()
}

/// Follows a link of a page; returns what is wrong with it.
fn follow(root: &Path, pages: &Pages, from: &Path, target: &str) -> Result<(), String> {
    if target.contains("://") {
        return Ok(());
    }
    let (file, fragment) = match target.split_once('#') {
        Some((file, fragment)) => (file, Some(fragment)),
        None => (target, None),
    };
    let path = if file.is_empty() {
        from.into()
    } else {
        resolve(from.parent().unwrap_or(Path::new("")), file)
    };
    if !root.join(&path).exists() {
        return Err(format!("there is no file {}", path.display()));
    }
    if from.starts_with(BOOK) && (!path.starts_with(BOOK) || root.join(&path).is_dir()) {
        return Err(format!("{} is not in the book", path.display()));
    }
    let Some(fragment) = fragment else {
        return Ok(());
    };
    match pages.get(&path) {
        Some(page) if page.fragments.contains(fragment) => Ok(()),
        _ => Err(format!("{} has no heading #{fragment}", path.display())),
    }
}

/// Returns the path that a relative link names, from this folder.
fn resolve(folder: &Path, link: &str) -> PathBuf {
    let mut path = folder.to_path_buf();
    for part in Path::new(link).components() {
        match part {
            // Above the root there is nothing: such a link keeps its dots, and no file has that path.
            Component::ParentDir if path.pop() => {}
            Component::CurDir => {}
            other => path.push(other),
        }
    }
    path
}
