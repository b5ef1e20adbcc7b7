//! `lasthop lab` as a user types it: results, interruptions, full disks, errors.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::turn::Turn;

const PROGRAM: &str = env!("CARGO_BIN_EXE_lasthop");

/// A plan long enough to be interrupted.
const LONG: &str = r#"
[experiment]
name = "channel-errors"
seeds = 60
[parameters]
packets = 60000
rate = "2 Mbit/s"
size = "1 kB"
[schemes.distance]
model = "distance"
mean = "64 KiB"
[schemes.burst]
model = "burst"
packets = 3
spacing = "64 KiB"
"#;

fn lab(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(PROGRAM);
    command.arg("lab").args(arguments).current_dir(folder);
    command.output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// What a command prints that succeeds.
fn said(folder: &Path, arguments: &[&str]) -> String {
    let output = lab(folder, arguments);
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

/// What a command says that ends with this code.
fn refusal(folder: &Path, code: i32, arguments: &[&str]) -> String {
    let output = lab(folder, arguments);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{said}");
    said
}

/// The results that are the same bytes each time.
fn results(folder: &Path) -> Vec<String> {
    let names = ["plan.toml", "runs.csv", "summary.csv", "runs.journal"];
    names
        .map(|name| fs::read_to_string(folder.join(name)).unwrap())
        .to_vec()
}

fn journal_lines(folder: &Path) -> usize {
    let journal = fs::read_to_string(folder.join("runs.journal")).unwrap_or_default();
    journal.matches('\n').count()
}

/// Starts the long plan and waits until at least `runs` of its runs are stored.
fn started(folder: &Path, runs: usize) -> Child {
    fs::write(folder.join("long.toml"), LONG).unwrap();
    let mut command = Command::new(PROGRAM);
    command.args(["lab", "run", "./long.toml", "--jobs", "2", "--out", "out"]);
    command
        .current_dir(folder)
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    while journal_lines(&folder.join("out")) <= runs {
        assert!(
            child.try_wait().unwrap().is_none(),
            "it ended before it was interrupted"
        );
        std::thread::sleep(Duration::from_millis(1));
    }
    child
}

/// The words of a command line.
fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

#[test]
fn a_group_runs_and_prints_rows() {
    let _turn = Turn::take();
    let folder = tempfile::tempdir().unwrap();
    assert!(said(folder.path(), &["list"]).contains("channel-errors"));
    let shown = said(folder.path(), &["show", "channel-errors"]);
    assert!(
        shown.contains("[schemes.burst]") && shown.contains("Claims"),
        "{shown}"
    );
    let line = words("run channel --seeds 4 --set packets=20000 --json");
    let rows: Vec<Value> = serde_json::from_str(&said(folder.path(), &line)).unwrap();
    assert_eq!(rows.len(), 16, "4 schemes at 2 sizes, 2 metrics");
    let row = rows[0].as_object().unwrap();
    let keys: Vec<_> = row.keys().map(String::as_str).collect();
    let mut known =
        words("experiment scheme parameters metric unit mean ci95 min max runs published");
    known.sort_unstable();
    assert_eq!(keys, known);
    assert_eq!(row["runs"], 4);
    assert_eq!(row["parameters"]["size"], "100 B");
    let stored = folder.path().join("lasthop-lab/channel-errors/runs.csv");
    assert!(stored.exists());
}

#[test]
fn several_names_run_one_after_the_other_and_share_a_page() {
    let _turn = Turn::take();
    let folder = tempfile::tempdir().unwrap();
    let mut line = words("run nfs95-table7 nfs97-fig9-range --seeds 2 --set");
    line.push("copy.file=50000 B");
    let printed = said(folder.path(), &line);
    let places = ["nfs95-table7:", "nfs97-fig9-range:"].map(|name| printed.find(name).unwrap());
    assert!(places[0] < places[1]);
    said(folder.path(), &["report"]);
    let page = fs::read_to_string(folder.path().join("lasthop-lab/report.html")).unwrap();
    assert!(page.contains("id=\"nfs95-table7\"") && page.contains("id=\"nfs97-fig9-range\""));
    let twice = refusal(folder.path(), 2, &words("run nfs95 nfs95-table7"));
    assert!(twice.contains("nfs95-table7 is asked for twice"), "{twice}");
}

#[test]
fn schemes_are_compared_and_claims_checked() {
    let _turn = Turn::take();
    let folder = tempfile::tempdir().unwrap();
    let line = words("run channel-errors --seeds 3 --against distance --out compared");
    let compared = said(folder.path(), &line);
    assert!(
        compared.contains("loss, against distance on common seeds"),
        "{compared}"
    );
    let line = words("run channel-errors --against x");
    let said_of = refusal(folder.path(), 2, &line);
    assert!(said_of.contains("there is no scheme 'x'"), "{said_of}");
    let line = words("run channel-errors --check --json --out checked");
    let whole: Value = serde_json::from_str(&said(folder.path(), &line)).unwrap();
    assert_eq!(whole["claims"][0]["holds"], true, "{whole:#}");
}

#[test]
fn one_and_two_jobs_give_the_same_bytes() {
    let _turn = Turn::take();
    let folder = tempfile::tempdir().unwrap();
    for jobs in ["1", "2"] {
        said(
            folder.path(),
            &[
                "run",
                "channel-errors",
                "--seeds",
                "5",
                "--jobs",
                jobs,
                "--out",
                jobs,
            ],
        );
    }
    assert_eq!(
        results(&folder.path().join("1")),
        results(&folder.path().join("2"))
    );
}

#[test]
fn killed_or_interrupted_it_goes_on_to_the_same_bytes() {
    let _turn = Turn::take();
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let mut killed = started(folder.path(), 5);
    killed.kill().unwrap();
    killed.wait().unwrap();
    let stored = journal_lines(&out);
    assert!(stored > 5 && !out.join("runs.csv").exists());
    let interrupted = started(folder.path(), stored + 5);
    kill_process(Pid::from_child(&interrupted), Signal::INT).unwrap();
    let output = interrupted.wait_with_output().unwrap();
    let said_last = text(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{said_last}");
    assert!(said_last.contains("are there already"), "{said_last}");
    assert!(
        said_last.contains("the same command goes on"),
        "{said_last}"
    );
    said(folder.path(), &["run", "./long.toml", "--out", "out"]);
    said(
        folder.path(),
        &["run", "./long.toml", "--out", "whole", "--jobs", "1"],
    );
    assert_eq!(results(&out), results(&folder.path().join("whole")));
}

#[test]
fn a_second_run_in_the_same_folder_waits_its_turn() {
    let _turn = Turn::take();
    let folder = tempfile::tempdir().unwrap();
    let mut first = started(folder.path(), 1);
    let said = refusal(folder.path(), 2, &["run", "./long.toml", "--out", "out"]);
    assert!(said.contains("another lasthop works in out"), "{said}");
    first.kill().unwrap();
    first.wait().unwrap();
}

/// A limit on the size of files refuses to write like a full disk does, and needs no privilege.
#[test]
fn a_disk_that_takes_no_more_is_an_error_and_loses_nothing() {
    let _turn = Turn::take();
    let folder = tempfile::tempdir().unwrap();
    let run = [
        PROGRAM,
        "lab",
        "run",
        "channel-errors",
        "--seeds",
        "200",
        "--out",
        "out",
    ];
    let limited = format!("trap '' XFSZ; ulimit -f 4; exec {}", run.join(" "));
    let output = Command::new("sh")
        .args(["-c", &limited])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(
        error.contains("cannot write") && error.contains("runs.journal"),
        "{error}"
    );
    let out = folder.path().join("out");
    assert!(!out.join("runs.csv").exists() && !out.join("summary.csv").exists());
    assert!(journal_lines(&out) > 10);
    let tail = said(
        folder.path(),
        &["run", "channel-errors", "--seeds", "200", "--out", "out"],
    );
    assert!(tail.contains("results: out"));
    said(
        folder.path(),
        &["run", "channel-errors", "--seeds", "200", "--out", "whole"],
    );
    assert_eq!(results(&out), results(&folder.path().join("whole")));
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let mut command = Command::new(PROGRAM);
    let shown = command
        .args(["lab", "show", "channel-errors"])
        .stdout(full)
        .output()
        .unwrap();
    assert_eq!(shown.status.code(), Some(1), "{}", text(&shown.stderr));
}

#[test]
fn the_page_stands_alone_and_says_what_it_shows() {
    let _turn = Turn::take();
    let folder = tempfile::tempdir().unwrap();
    said(folder.path(), &["run", "channel-errors", "--seeds", "5"]);
    said(folder.path(), &["report"]);
    let page = fs::read_to_string(folder.path().join("lasthop-lab/report.html")).unwrap();
    for outside in ["http://", "https://", "src=", "@import", "url("] {
        let found = page.replace("http://www.w3.org/2000/svg", "");
        assert!(!found.contains(outside), "the page refers to {outside}");
    }
    for part in [
        "<!DOCTYPE html>",
        "lang=\"en\"",
        "name=\"viewport\"",
        "prefers-color-scheme: dark",
        "<caption>",
        "scope=\"col\"",
        "role=\"img\" aria-label=",
        "hash of the plan",
        "1440 B",
        "holds",
    ] {
        assert!(page.contains(part), "the page lacks {part}");
    }
    said(folder.path(), &["report", "lasthop-lab/channel-errors"]);
    assert!(
        folder
            .path()
            .join("lasthop-lab/channel-errors/report.html")
            .exists()
    );
}

#[test]
fn what_is_wrong_is_said_with_its_remedy() {
    let _turn = Turn::take();
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let said = refusal(at, 2, &["run", "ton"]);
    assert!(
        said.contains("there is no experiment 'ton'; known are"),
        "{said}"
    );
    let said = refusal(at, 2, &["run", "channel-errors", "--set", "speed=1"]);
    assert!(
        said.contains("--set speed=1: `parameters.speed`: unknown field"),
        "{said}"
    );
    let said = refusal(at, 2, &["run", "channel-errors", "--set", "speed"]);
    assert!(said.contains("write it like"), "{said}");
    let said = refusal(at, 2, &["run", "channel-errors", "--seeds", "0"]);
    assert!(
        said.contains("--seeds 0: `experiment.seeds`: give a count from 1"),
        "{said}"
    );
    let said = refusal(at, 2, &["run", "./none.toml"]);
    assert!(said.contains("cannot read the plan ./none.toml"), "{said}");
    fs::write(at.join("a.toml"), LONG.replace("mean =", "means =")).unwrap();
    let said = refusal(at, 2, &["run", "./a.toml"]);
    assert!(
        said.contains("./a.toml:11:9: `schemes.distance.means`: unknown field"),
        "{said}"
    );
    let said = refusal(at, 2, &["report"]);
    assert!(said.contains("lasthop-lab holds no results"), "{said}");
    let said = refusal(
        at,
        2,
        &["trace", "channel-errors", "--seed", "1", "--pcap", "a.pcap"],
    );
    assert!(said.contains("sends no packets to record"), "{said}");
    let other = [
        "trace",
        "channel-errors",
        "--seed",
        "1",
        "--pcap",
        "a.pcap",
        "--scheme",
        "x",
    ];
    let said = refusal(at, 2, &other);
    assert!(
        said.contains("there is no scheme 'x'; known are independent, distance"),
        "{said}"
    );
    assert!(!at.join("a.pcap").exists() && !at.join("lasthop-lab").exists());
}

#[test]
fn other_runs_are_kept_until_told() {
    let _turn = Turn::take();
    let folder = tempfile::tempdir().unwrap();
    let run = ["run", "channel-errors", "--seeds", "2", "--set"];
    said(folder.path(), &[&run[..], &["packets=100"]].concat());
    let other = [&run[..], &["packets=200"]].concat();
    let said_first = refusal(folder.path(), 2, &other);
    assert!(
        said_first.contains("another plan") && said_first.contains("--fresh"),
        "{said_first}"
    );
    said(folder.path(), &[&other[..], &["--fresh"]].concat());
}
