//! One gateway and four mobile hosts on one emulated air that fades, each in a network namespace.

use std::thread;

use crate::support::able;
use crate::support::cell::{Cell, MOBILES, SIZE};

#[test]
fn mobile_hosts_on_one_air_get_all_of_theirs() {
    if !able() {
        return;
    }
    let cell = Cell::create("");
    let daemons: Vec<_> = (0..=MOBILES).map(|host| cell.start(host)).collect();
    cell.wait_until("all are connected", || {
        let peers = cell.peers();
        peers.len() == MOBILES && peers.iter().all(|peer| !peer["keys_age"].is_null())
    });
    thread::scope(|scope| {
        for mobile in 1..=MOBILES {
            let cell = &cell;
            scope.spawn(move || cell.fetch(mobile));
        }
    });
    for peer in cell.peers() {
        let served = peer["air"]["served"].as_u64().unwrap();
        assert!(served > 0, "{} was never served", peer["name"]);
        let wire = peer["hop"]["stats"]["sent"]["wire_bytes"].as_u64();
        assert!(wire.unwrap() > SIZE as u64);
    }
    for index in 0..MOBILES {
        let page = cell.page(index);
        assert_eq!(page.matches("\n  turns").count(), 1, "{page}");
    }
    for daemon in daemons {
        assert!(daemon.terminate().success());
    }
    let report = cell.end();
    assert_eq!(report["unroutable_packets"], 0);
    let mobiles = report["mobiles"].as_array().unwrap();
    assert_eq!(mobiles.len(), MOBILES);
    let mut lost = 0;
    for mobile in mobiles {
        let down = &mobile["down"];
        assert!(down["delivered"]["bytes"].as_u64().unwrap() > SIZE as u64);
        lost += down["dropped_air"]["packets"].as_u64().unwrap();
        assert!(down["good_share"].as_f64().unwrap() < 1.0);
        assert!(mobile["airtime_down_ms"].as_f64().unwrap() > 0.0);
    } // One alone may have nothing to send it while it fades.
    assert!(lost > 0, "{report}");
}
