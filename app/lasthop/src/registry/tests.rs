//! Members that are none; etcd itself is in the live tests.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::thread;

use super::{Change, connect, open};
use crate::config::Source;
use crate::config::entry::Kind;
use crate::config::gateway::GatewayConfig;

const HOST: &str = "# A mobile host\naddresses = [\"10.73.0.2\"]\n";

/// Starts a server that answers each request with a status and a body; returns its address.
fn server(status: &'static str, body: &'static str) -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = [0; 4096];
            let _ = stream.read(&mut request);
            let length = body.len();
            let answer = format!(
                "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
            );
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    address
}

/// Writes the configuration of a gateway with a folder and a registry at these addresses; returns its path.
fn configured(folder: &std::path::Path, endpoints: &[String], more: &str) -> PathBuf {
    let password = folder.join("password");
    std::fs::write(&password, "secret\n").unwrap();
    std::fs::set_permissions(&password, PermissionsExt::from_mode(0o600)).unwrap();
    std::fs::create_dir(folder.join("peers")).unwrap();
    std::fs::write(folder.join("peers/tablet7.toml"), HOST).unwrap();
    let text = format!(
        "private_key_file = \"key\"\npeers_folder = \"peers\"\n[tun]\naddresses = [\"10.73.0.1/24\"]\n[registry]\n\
         endpoints = {endpoints:?}\nprefix = \"/lasthop/east/\"\nuser = \"east\"\npassword_file = \"password\"\n{more}"
    );
    let path = folder.join("gateway.toml");
    std::fs::write(&path, text).unwrap();
    path
}

/// Returns the errors of a refresh and of a change with a registry that answers so. The folder stays as it was.
fn errors(status: &'static str, body: &'static str) -> [String; 2] {
    let folder = tempfile::tempdir().unwrap();
    let path = configured(folder.path(), &[server(status, body)], "");
    let source = Source::read(&path).unwrap();
    let mut registry = open(&source, connect(&source).unwrap()).unwrap();
    let refreshed = registry.refresh().unwrap_err();
    let (kind, name, text) = (Kind::Mobile, "cam1".into(), HOST.into());
    let changed = registry.commit(&Change::Put { kind, name, text });
    let mut files = std::fs::read_dir(folder.path().join("peers")).unwrap();
    assert_eq!(files.next().unwrap().unwrap().file_name(), "tablet7.toml");
    assert!(files.next().is_none());
    [refreshed.to_string(), changed.unwrap_err().to_string()]
}

#[test]
fn what_is_not_etcd_is_named_and_changes_nothing() {
    for (status, body, words) in [
        ("200 OK", "hello", "refuses"),
        ("200 OK", "{\"token\":7}", "refuses"),
        ("200 OK", "{\"token\":\"t\"}", "refuses"),
        (
            "404 Not Found",
            "no such page",
            "is not etcd (HTTP status 404)",
        ),
        ("503 Service Unavailable", "", "does not answer"),
        (
            "400 Bad Request",
            "{\"error\":\"no\",\"code\":3}",
            "refuses: no",
        ),
    ] {
        for error in errors(status, body) {
            assert!(error.contains(words), "{body}: {error}");
        }
    }
}

#[test]
fn a_registry_that_cannot_be_reached_safely_is_refused_with_its_place() {
    let at = |endpoints: &[&str], more: &str| {
        let folder = tempfile::tempdir().unwrap();
        let endpoints: Vec<_> = endpoints.iter().map(|one| (*one).to_owned()).collect();
        let path = configured(folder.path(), &endpoints, more);
        std::fs::remove_file(folder.path().join("peers/tablet7.toml")).unwrap();
        let loaded = GatewayConfig::load(&Source::read(&path).unwrap());
        loaded.map(drop).map_err(|error| error.to_string())
    };
    for (endpoints, more, words) in [
        (&["http://192.0.2.1:2379"][..], "", "is not encrypted"),
        (&["https://192.0.2.1:2379"], "", "`ca_file` is missing"),
        (&["192.0.2.1:2379"], "", "is no address of a member"),
        (&["https://192.0.2.1"], "", "is not a host with a port"),
        (&[], "", "at least one member"),
        (&["http://[::1]:2379"], "prefix2 = 1", "unknown field"),
    ] {
        let error = at(endpoints, more).unwrap_err();
        assert!(
            error.contains(words) && error.contains("gateway.toml:"),
            "{error}"
        );
    }
    at(&["http://127.0.0.1:2379", "http://[::1]:2379"], "").unwrap();
    at(&["https://etcd1.example.org:2379"], "ca_file = \"ca.pem\"").unwrap();
}
