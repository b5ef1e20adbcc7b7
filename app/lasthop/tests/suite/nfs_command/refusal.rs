//! What is wrong before anything is done.

use fileserver::Config;

use super::rig::Rig;

#[test]
fn addresses_and_options_that_make_no_sense() {
    let rig = Rig::new("udp", Config::default());
    for (arguments, words) in [
        (&["ls", "http://h/"][..], "begins with `nfs://`"),
        (&["ls", "nfs://h/?speed=1"], "there is no option `speed`"),
        (&["ls", "nfs://h:1/?nfsport=2"], "leave one out"),
        (&["--block", "512", "ls", "nfs://h/"], "1024 to 32768"),
        (&["--window", "0", "ls", "nfs://h/"], "1 to 1024"),
        (&["--caller", "me", "ls", "nfs://h/"], "UID:GID"),
        (&["--policy", "hope", "ls", "nfs://h/"], "hybrid-linear"),
        (
            &["--config", "absent.toml", "ls", "nfs://h/"],
            "absent.toml",
        ),
    ] {
        let ended = rig.run(arguments);
        assert!(ended.refusal(2).contains(words), "{}", ended.said);
    }
}

#[test]
fn servers_that_cannot_be_reached() {
    let rig = Rig::new("udp", Config::default());
    let free = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let ended = rig.run(&[
        "ls",
        &format!("nfs://127.0.0.1:{port}/export?mountport={port}"),
    ]);
    for words in [
        "UDP port",
        "TCP port",
        "connection refused",
        "check that the server runs",
    ] {
        assert!(ended.refusal(1).contains(words), "{}", ended.said);
    }
    let port = rig.server.address().port();
    let ended = rig.run(&[
        "ls",
        &format!("nfs://127.0.0.1:{port}/other/place?mountport={port}"),
    ]);
    for words in [
        "exports nothing that `/other/place` lies in",
        "it exports /export",
    ] {
        assert!(ended.refusal(1).contains(words), "{}", ended.said);
    }
    let ended = rig.run(&["ls", "nfs://no.such.host.invalid/"]);
    assert!(
        ended.refusal(1).contains("has no address"),
        "{}",
        ended.said
    );
}

#[test]
fn the_configuration_file_is_heard() {
    let rig = Rig::new("udp", Config::default());
    rig.add("file", b"content");
    rig.write(
        "nfs.toml",
        b"[files]\nblock = { fixed = 4096 }\n[calls]\nin_flight = 4\n\
          [calls.retransmission]\npolicy = \"hybrid-linear\"\n",
    );
    assert_eq!(
        rig.done(&["--config", "nfs.toml", "cat", &rig.url("file")]),
        "content"
    );
    rig.write("wrong.toml", b"[files]\nspeed = 9\n");
    let ended = rig.run(&["--config", "wrong.toml", "cat", &rig.url("file")]);
    assert!(ended.refusal(2).contains("wrong.toml:2"), "{}", ended.said);
}

#[test]
fn help_has_examples() {
    let rig = Rig::new("udp", Config::default());
    for arguments in [&["--help"][..], &["cp", "--help"]] {
        assert!(rig.done(arguments).contains("Examples:"));
    }
}
