//! Torn lines, damage, and two different results of one run.

use std::fs;
use std::io::Write;

use super::*;

const IDENTITY: &str = "lasthop-runs 1 plan program";

fn sample() -> Runs {
    let key = |case, seed| RunKey { case, seed };
    Runs::from([
        (key(0, 1), vec![Some(0.1 + 0.2), None]),
        (key(0, 2), vec![Some(-3e-300), Some(7.0)]),
        (key(1, 1), vec![Some(1e21), Some(1.0 / 3.0)]),
    ])
}

/// Returns a folder with the sample, written as a campaign writes it.
fn written() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    Content::default().rewrite(folder.path(), IDENTITY).unwrap();
    let mut journal = Journal::open(folder.path()).unwrap();
    for (key, values) in sample() {
        journal.append(key, &values).unwrap();
    }
    journal.sync().unwrap();
    folder
}

#[test]
fn what_is_written_is_read_to_the_last_bit() {
    let content = Content::read(written().path()).unwrap();
    assert_eq!(content.identity.as_deref(), Some(IDENTITY));
    assert_eq!((content.runs, content.dropped), (sample(), 0));
}

#[test]
fn a_tail_torn_at_any_byte_loses_only_its_own_line() {
    let folder = written();
    let path = folder.path().join(JOURNAL);
    let whole = fs::read(&path).unwrap();
    let header = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    for length in header..whole.len() {
        fs::write(&path, &whole[..length]).unwrap();
        let content = Content::read(folder.path()).unwrap();
        let lines = whole[header..length].iter().filter(|byte| **byte == b'\n');
        assert_eq!(content.runs.len(), lines.count());
        assert!(content.dropped <= 1);
        assert!(
            content
                .runs
                .iter()
                .all(|run| sample().get(run.0) == Some(run.1))
        );
        if length % 16 != 0 {
            continue;
        }
        content.rewrite(folder.path(), IDENTITY).unwrap();
        let again = Content::read(folder.path()).unwrap();
        assert_eq!((again.runs, again.dropped), (content.runs, 0));
    }
}

#[test]
fn a_damaged_line_is_dropped_and_the_others_stay() {
    let folder = written();
    let path = folder.path().join(JOURNAL);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("0 2 -", "0 3 -")).unwrap();
    let content = Content::read(folder.path()).unwrap();
    assert_eq!((content.runs.len(), content.dropped), (2, 1));
    fs::write(&path, [text.as_bytes(), &[0; 512]].concat()).unwrap();
    let content = Content::read(folder.path()).unwrap();
    assert_eq!((content.runs, content.dropped), (sample(), 1));
}

#[test]
fn two_results_of_one_run_must_be_equal() {
    let folder = written();
    let mut journal = Journal::open(folder.path()).unwrap();
    let key = RunKey { case: 0, seed: 1 };
    journal.append(key, &[Some(0.1 + 0.2), None]).unwrap();
    assert_eq!(Content::read(folder.path()).unwrap().runs, sample());
    journal.append(key, &[Some(0.3), None]).unwrap();
    let error = Content::read(folder.path()).unwrap_err().to_string();
    assert!(error.contains("seed 1 differ"), "{error}");
}

#[test]
fn a_full_disk_is_an_error() {
    let full = || OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut journal = Journal {
        path: "/dev/full".into(),
        file: full(),
        synced: Instant::now(),
        is_dirty: false,
    };
    assert!(
        full().write_all(b"x").is_err(),
        "this device is always full"
    );
    let error = journal
        .append(RunKey { case: 0, seed: 1 }, &[])
        .unwrap_err();
    assert!(error.to_string().contains("/dev/full"), "{error}");
}
