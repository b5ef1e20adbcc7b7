//! ls, cat, stat, df, mkdir and rm.

use fileserver::{Config, FalseAnswer, Fault, Input, Item};

use super::rig::{PROTOCOLS, Rig, content};

#[test]
fn ls_shows_what_is_there() {
    for protocol in PROTOCOLS {
        let rig = Rig::new(protocol, Config::default());
        rig.add("b", b"12345");
        rig.add("a/inner", b"");
        rig.add(".hidden", b"");
        std::os::unix::fs::symlink("b", rig.path("link")).unwrap();
        rig.done(&["cp", "-r", "link", &rig.url("")]);
        assert_eq!(rig.done(&["ls", &rig.url("")]), "a\nb\nlink\n");
        assert_eq!(
            rig.done(&["ls", "-a", &rig.url("")]),
            ".hidden\na\nb\nlink\n"
        );
        let long = rig.done(&["ls", "-l", &rig.url("")]);
        let lines: Vec<_> = long.lines().collect();
        assert!(
            lines[0].starts_with("drwx") && lines[0].ends_with(" a"),
            "{long}"
        );
        assert!(
            lines[1].contains(" 5 20") && lines[1].ends_with("Z b"),
            "{long}"
        );
        assert!(
            lines[2].starts_with('l') && lines[2].ends_with(" link -> b"),
            "{long}"
        );
        let json = rig.run(&["ls", "--json", &rig.url("b")]).json();
        assert_eq!(
            (&json[0]["size"], &json[0]["kind"]),
            (&5.into(), &"file".into())
        );
        assert_eq!(rig.done(&["cat", &rig.url("link")]), "12345");
    }
}

#[test]
fn large_directories_are_listed_whole() {
    let rig = Rig::new("udp", Config::default());
    for number in 0..2_000 {
        rig.add(&format!("many/file {number:04}"), b"");
    }
    let listed = rig.done(&["ls", &rig.url("many")]);
    let names: Vec<_> = (0..2_000)
        .map(|number| format!("file {number:04}"))
        .collect();
    assert_eq!(listed.lines().collect::<Vec<_>>(), names);
    rig.done(&["rm", "-r", &rig.url("many")]);
    assert!(rig.tree().is_empty());
}

#[test]
fn directories_are_made_and_removed() {
    let rig = Rig::new("udp", Config::default());
    let ended = rig.run(&["mkdir", &rig.url("a/b/c")]);
    assert!(ended.refusal(1).contains("no such file"), "{}", ended.said);
    for _ in 0..2 {
        rig.done(&["mkdir", "-p", "-m", "700", &rig.url("a/b/c")]);
    }
    assert_eq!(rig.tree().get(&b"a/b/c"[..]), Some(&Item::Directory));
    assert!(
        rig.run(&["mkdir", &rig.url("a")])
            .refusal(1)
            .contains("exists")
    );
    assert!(rig.run(&["rm", &rig.url("a")]).refusal(1).contains("-r"));
    assert!(
        rig.run(&["rm", &rig.url("no")])
            .refusal(1)
            .contains("no such file")
    );
    rig.done(&["rm", "-f", &rig.url("no")]);
    rig.done(&["rm", "-r", &rig.url("a")]);
    assert!(rig.tree().is_empty());
    assert!(
        rig.run(&["rm", "-r", &rig.url("")])
            .refusal(1)
            .contains("export")
    );
}

#[test]
fn stat_and_df_tell_what_the_server_says() {
    let rig = Rig::new("tcp", Config::default());
    rig.add("file", &content(10_000, 1));
    let told = rig.done(&["stat", &rig.url("file")]);
    assert!(told.contains("size       10000 bytes"), "{told}");
    let json = rig
        .run(&["stat", "--json", &rig.url("file"), &rig.url("")])
        .json();
    assert_eq!(json[0]["size"], 10_000);
    assert_eq!(json[1]["kind"], "directory");
    let json = rig.run(&["df", "--json", &rig.url("")]).json();
    assert_eq!(json[0]["size"], 256 << 20);
    assert!(rig.done(&["df", &rig.url("")]).contains("256 MiB"));
}

#[test]
fn names_that_lead_elsewhere_are_not_seen() {
    let rig = Rig::new("udp", Config::default());
    rig.add("tree/file", b"content");
    rig.server.input(Input::Fault(Fault::FalseAnswer(Some(
        FalseAnswer::SlashNames,
    ))));
    assert_eq!(rig.done(&["ls", "-a", &rig.url("tree")]), "");
    rig.done(&["cp", "-r", &rig.url("tree"), "back"]);
    assert_eq!(std::fs::read_dir(rig.path("back")).unwrap().count(), 0);
    for lie in [
        FalseAnswer::LongNames,
        FalseAnswer::CookieLoop,
        FalseAnswer::EmptyPages,
        FalseAnswer::HugeCounts,
        FalseAnswer::TooMuchData,
        FalseAnswer::NoData,
    ] {
        rig.server
            .input(Input::Fault(Fault::FalseAnswer(Some(lie))));
        let ended = rig.run(&["cp", "-r", &rig.url("tree"), "back"]);
        assert!(matches!(ended.code, Some(0 | 1)), "{lie:?}: {}", ended.said);
        if ended.code == Some(1) {
            ended.refusal(1);
        } else {
            let back = std::fs::read(rig.path("back/tree/file"));
            assert!(
                matches!(back.as_deref(), Err(_) | Ok(b"content")),
                "{lie:?}"
            );
        }
    }
}
