//! What once harmed a host: each as a test between real daemons, beside those in `contained`, `restarts` and
//! `hostile_split`.

mod crowd;
mod floods;
mod jitter;
mod keys;
mod redirection;

use std::fs;

use edges::namespace::Namespace;
use rig::daemons::status;
use rig::{RawIdentity, RawMobile};

use crate::support::{Hosts, PROGRAM};

/// Address of the gateway on the hop.
const GATEWAY: &str = "10.1.0.1:51830";
/// Inner address of the raw mobile host.
const RAW: [u8; 4] = [10, 73, 0, 9];

/// Adds a mobile host to the gateway's configuration, for which tests write the frames.
fn add_raw_mobile(hosts: &Hosts) {
    let [a, b, c, d] = RAW;
    let key = RawIdentity::key_named("raw").public_key();
    let peer = format!(
        "[[peers]]\nname = \"raw\"\npublic_key = \"{key}\"\naddresses = [\"{a}.{b}.{c}.{d}\"]\n"
    );
    let file = hosts.folder.path().join("gateway.toml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(file, text + &peer).unwrap();
}

/// Returns the public key of the gateway.
fn gateway_key(hosts: &Hosts) -> session::PublicKey {
    let state = hosts.folder.path().join("state");
    hosts.wait_until("the gateway runs", || !hosts.status("gateway").is_null());
    let status = status(PROGRAM.as_ref(), "gateway", &state).unwrap();
    status["host"]["public_key"]
        .as_str()
        .unwrap()
        .parse()
        .unwrap()
}

/// Connects the raw mobile host from this place.
fn raw_mobile(hosts: &Hosts, at: &Namespace) -> RawMobile {
    let identity = RawIdentity::new(RawIdentity::key_named("raw"), gateway_key(hosts));
    RawMobile::connect(at, GATEWAY.parse().unwrap(), identity).unwrap()
}

/// Returns the identity of the mobile host, for another host.
fn copied_identity(hosts: &Hosts) -> RawIdentity {
    let key = hosts.folder.path().join("mobile.key");
    RawIdentity::of_file(&key, gateway_key(hosts)).unwrap()
}
