//! What is copied arrives.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::time::{Duration, SystemTime};

use fileserver::Config;

use super::rig::{PROTOCOLS, Rig, content, local_tree};

#[test]
fn one_file_both_ways_over_udp_and_tcp() {
    for protocol in PROTOCOLS {
        let rig = Rig::new(protocol, Config::default());
        for (name, length) in [
            ("empty", 0),
            ("one", 1),
            ("odd", 70_001),
            ("large", 9_000_000),
        ] {
            let content = content(length, 1);
            rig.write(name, &content);
            let report = rig
                .run(&["cp", "--json", "--verify", name, &rig.url("")])
                .json();
            assert_eq!(report["bytes"], length);
            assert_eq!(
                report["connections"][0]["protocol"],
                protocol.to_uppercase()
            );
            assert_eq!(rig.stored(name), Some(content.clone()), "{name} {protocol}");
            rig.done(&["cp", "--verify", &rig.url(name), "back"]);
            assert_eq!(fs::read(rig.path("back")).unwrap(), content);
        }
        assert_eq!(rig.tree().len(), 4, "nothing is left behind");
    }
}

#[test]
fn servers_that_can_little_do_as_well() {
    let rig = Rig::new("udp", Config::least());
    let content = content(300_000, 2);
    rig.write("a/b/file", &content);
    rig.done(&["cp", "-r", "a", &rig.url("")]);
    assert_eq!(rig.stored("a/b/file"), Some(content));
    rig.done(&["cp", "-r", &rig.url("a"), "copy"]);
    assert_eq!(local_tree(&rig.path("copy")), local_tree(&rig.path("a")));
}

fn make_tree(rig: &Rig) {
    for number in 0..300 {
        let name = format!("tree/d{}/f{number}", number % 7);
        rig.write(&name, &content(number * 17, number as u64));
    }
    fs::create_dir(rig.path("tree/nothing here")).unwrap();
    symlink("d1/f1", rig.path("tree/link")).unwrap();
    symlink("/no/where", rig.path("tree/d1/dangling")).unwrap();
}

#[test]
fn trees_both_ways_and_between_servers() {
    for protocol in PROTOCOLS {
        let (rig, other) = (
            Rig::new(protocol, Config::default()),
            Rig::new("udp", Config::default()),
        );
        make_tree(&rig);
        let tree = local_tree(&rig.path("tree"));
        let report = rig
            .run(&["cp", "-r", "--json", "tree", &rig.url("new")])
            .json();
        assert_eq!(report["files"], 300);
        // Into a directory that is there, under its own name; and once more over itself.
        for _ in 0..2 {
            rig.done(&["cp", "-r", "tree", &rig.url("new")]);
        }
        rig.done(&["cp", "-r", &rig.url("new/tree"), &other.url("moved")]);
        rig.done(&["cp", "-r", &other.url("moved"), "back"]);
        assert_eq!(local_tree(&rig.path("back")), tree);
    }
}

#[test]
fn rights_and_times_are_kept_if_asked_for() {
    let rig = Rig::new("udp", Config::default());
    let long_ago = SystemTime::UNIX_EPOCH + Duration::new(1_234_567_890, 123_456_789);
    let file = rig.write("tree/file", b"content");
    fs::File::open(&file)
        .unwrap()
        .set_modified(long_ago)
        .unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o440)).unwrap();
    let folder = rig.path("tree");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o750)).unwrap();
    fs::File::open(&folder)
        .unwrap()
        .set_modified(long_ago)
        .unwrap();
    rig.done(&["cp", "-rp", "tree", &rig.url("")]);
    rig.done(&["cp", "-rp", &rig.url("tree"), "back"]);
    for (name, mode) in [("back", 0o750), ("back/file", 0o440)] {
        let metadata = fs::metadata(rig.path(name)).unwrap();
        assert_eq!(metadata.mode() & 0o7777, mode, "{name}");
        assert_eq!(metadata.modified().unwrap(), long_ago, "{name}");
    }
    // Without being asked: rights as for any new file, and now.
    rig.done(&["cp", &rig.url("tree/file"), "fresh"]);
    let metadata = fs::metadata(rig.path("fresh")).unwrap();
    assert_eq!(metadata.mode() & 0o200, 0, "as the source has it");
    assert_ne!(metadata.modified().unwrap(), long_ago);
}

#[test]
fn several_sources_need_a_directory() {
    let rig = Rig::new("udp", Config::default());
    rig.write("a", b"a");
    rig.write("b", b"b");
    let refused = rig.run(&["cp", "a", "b", &rig.url("c")]);
    assert!(
        refused.refusal(1).contains("no such file"),
        "{}",
        refused.said
    );
    rig.done(&["mkdir", &rig.url("c")]);
    rig.done(&["cp", "a", "b", &rig.url("c")]);
    assert_eq!(rig.stored("c/b"), Some(b"b".into()));
    // What cannot be copied keeps nobody else from it.
    let half = rig.run(&["cp", "a", "c", &rig.url("c")]);
    assert!(half.refusal(1).contains("c: No such file"), "{}", half.said);
    let directory = rig.run(&["cp", &rig.url("c"), "."]);
    assert!(directory.refusal(1).contains("-r"), "{}", directory.said);
}

#[test]
fn small_files_cost_few_calls() {
    let rig = Rig::new("udp", Config::default());
    for number in 0..1_000 {
        rig.write(&format!("many/{number}"), &content(4_096, number));
    }
    rig.done(&["cp", "-r", "many", &rig.url("")]);
    let calls = rig
        .server
        .with(|server| server.counters().executed_in_all());
    assert!(calls < 6_000, "{calls} calls");
    rig.done(&["cp", "-r", &rig.url("many"), "back"]);
    assert_eq!(local_tree(&rig.path("back")), local_tree(&rig.path("many")));
}

#[test]
fn a_directory_is_not_copied_into_itself() {
    let rig = Rig::new("udp", Config::default());
    rig.write("tree/file", b"content");
    rig.done(&["cp", "-r", "tree", &rig.url("")]);
    let (remote, inner) = (rig.url("tree"), rig.url("tree/copy"));
    for places in [["tree", "tree/copy"], [remote.as_str(), inner.as_str()]] {
        let ended = rig.run(&["cp", "-r", places[0], places[1]]);
        assert!(ended.refusal(1).contains("into itself"), "{}", ended.said);
    }
    let copied = |tree: &fileserver::Tree, name: &[u8]| tree.contains_key(name);
    assert!(copied(&local_tree(&rig.path("tree")), b"copy/file"));
    assert!(copied(&rig.tree(), b"tree/copy/file"));
    assert!(!copied(&rig.tree(), b"tree/copy/copy"));
    let same = rig.run(&["cp", "-r", &remote, &rig.url("")]);
    assert!(same.refusal(1).contains("the same"), "{}", same.said);
}
