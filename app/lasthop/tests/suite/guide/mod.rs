//! The commands of the guide run as they stand there, and print what the guide shows (docs/decisions/0024).
//!
//! Commands are in blocks that begin with ```` ```console ````: a line `HOST# COMMAND`, and then its output. Blocks
//! between `<!-- console` and `-->` are not shown to readers. The commands of a page run in order, on the hosts of a
//! [`Site`] of its own. What varies from run to run, such as times and addresses, is not compared ([`mask`]). A line
//! `…` stands for any lines, also none.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use page::{Page, Step};
use site::Site;

use crate::support::{LONG, able};

mod mask;
mod page;
mod site;

/// Variable that makes the tests write what they saw into the pages.
const WRITE: &str = "GUIDE";
/// Commands that change nothing. They show what may come a moment later, so they run until they print what they should.
const LOOKS: [&str; 3] = ["lasthop status", "lasthop peers", "lasthop doctor"];
/// Time between two runs of a command that changes nothing.
const PAUSE: Duration = Duration::from_millis(100);
/// Time that such a command has until its output is written into a page: the traffic of the hop has settled.
const SETTLING: Duration = Duration::from_secs(2);

/// Returns the folder of the pages.
fn guide() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide")
}

/// Runs the commands of a page, and compares; or writes what it saw.
fn follow(name: &str) {
    if !able() {
        return;
    }
    let path = guide().join(name);
    let mut page = Page::parse(&fs::read_to_string(&path).unwrap());
    let is_to_write = std::env::var_os(WRITE).is_some();
    let mut site = Site::create();
    let mut stale = Vec::new();
    for step in page.steps_mut() {
        let printed = run(&mut site, step, if is_to_write { SETTLING } else { LONG });
        if let Err(printed) = printed {
            let Step {
                line,
                host,
                command,
                shown,
            } = &*step;
            let [shown, seen] = [shown, &printed].map(|lines| lines.join("\n"));
            stale.push(format!(
                "docs/guide/{name}:{line}: {host}# {command}\nshown:\n{shown}\nprinted:\n{seen}\n"
            ));
            step.shown = printed;
        }
    }
    if is_to_write {
        fs::write(&path, page.text()).unwrap();
        return;
    }
    assert!(
        stale.is_empty(),
        "{}if the change is meant: cargo xtask guide --bless\n",
        stale.join("\n")
    );
}

/// Runs a command until it prints what the page shows; if it never does, returns what it prints.
fn run(site: &mut Site, step: &Step, patience: Duration) -> Result<(), Vec<String>> {
    let end = Instant::now() + patience;
    let is_look = LOOKS.iter().any(|look| step.command.starts_with(look));
    loop {
        let printed = site.run(&step.host, &step.command);
        if mask::equal(&step.shown, &printed) {
            return Ok(());
        }
        if !is_look || Instant::now() > end {
            return Err(printed);
        }
        std::thread::sleep(PAUSE);
    }
}

/// A test for each of these pages, and the list of them.
macro_rules! pages {
    ($($name:ident: $page:literal,)+) => {
        const PAGES: &[&str] = &[$($page),+];

        $(#[test]
        fn $name() {
            follow($page);
        })+
    };
}

pages! {
    choosing: "choosing.md",
    first_ten_minutes: "first-ten-minutes.md",
    operation: "operation.md",
    remove: "remove.md",
    router: "router.md",
    shared_air: "shared-air.md",
    train: "train.md",
    vps: "vps.md",
}

#[test]
fn every_page_with_commands_is_followed() {
    let pages = fs::read_dir(guide()).unwrap().map(|entry| entry.unwrap());
    let has_steps = |path: &Path| Page::parse(&fs::read_to_string(path).unwrap()).has_steps();
    let pages = pages.filter(|entry| has_steps(&entry.path()));
    let mut pages: Vec<_> = pages
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    pages.sort();
    assert_eq!(pages, PAGES);
}
