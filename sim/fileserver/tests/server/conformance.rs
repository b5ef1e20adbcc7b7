//! The contract of a machine.

use fileserver::{Config, Fault, Faults, Input, Peer, Server, Service};
use machine::conformance;
use nfs::{GetAttributes, MakeDirectory, NewAttributes, Place, ReadDirectoryPlus, Write};
use units::{Duration, Probability};

use crate::rig::{name, nfs_message};

fn config() -> Config {
    let often = Probability::ratio(1, 4);
    Config {
        seed: 5,
        service: Service {
            per_call: Duration::from_millis(3),
            per_byte: Duration::from_nanos(1_200),
            ..Service::default()
        },
        faults: Faults {
            lost_requests: often,
            repeated_requests: often,
            lost_replies: often,
            delayed_replies: often,
            delay: Duration::from_millis(40),
            wrong_transactions: often,
            broken_replies: often,
            try_later: often,
            short_transfers: often,
        },
        ..Config::default()
    }
}

#[test]
fn the_contract_holds() {
    let mut server = Server::new(config()).expect("a configuration");
    let file = server.add_file("file", b"").expect("room");
    let directory = server.root();
    let build = || {
        let mut server = Server::new(config()).expect("a configuration");
        server.add_file("file", b"").expect("room");
        server
    };
    let mut script = Vec::new();
    for round in 0..200_u32 {
        let made = format!("directory {}", round % 50);
        let message = match round % 4 {
            0 => nfs_message(round, GetAttributes { object: directory }),
            1 => nfs_message(
                round % 40,
                MakeDirectory {
                    place: Place {
                        directory,
                        name: name(&made),
                    },
                    attributes: NewAttributes::default(),
                },
            ),
            2 => nfs_message(
                round,
                Write {
                    file,
                    offset: u64::from(round) * 700,
                    stability: nfs::Stability::Unstable,
                    data: &[round as u8; 900],
                },
            ),
            _ => nfs_message(
                round,
                ReadDirectoryPlus {
                    directory,
                    cookie: 0,
                    verifier: nfs::CookieVerifier::default(),
                    directory_count: 4_096,
                    maximum_count: 8_192,
                },
            ),
        };
        let from = Peer(u64::from(round % 3));
        let wait = Duration::from_micros(u64::from(round * 37 % 5) * 1_000);
        script.push((wait, Input::Received { from, message }));
        if round == 120 {
            script.push((Duration::ZERO, Input::Restart));
            script.push((Duration::ZERO, Input::Fault(Fault::ForgetCookies)));
        }
    }
    conformance::check(build, &script, Duration::from_secs(60));
}
