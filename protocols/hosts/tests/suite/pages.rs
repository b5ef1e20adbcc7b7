//! A status in pages: every peer once, and no page that grows with their number.

use hosts::{Host, Input, PeerSummary, Role};
use machine::Machine;
use session::Decline;
use units::{Duration, Instant};

use crate::support::build;

const PEERS: usize = 4_000;
const NOW: Instant = Instant::from_millis(5_000);

fn gateway() -> Host {
    let peer = |number: usize| {
        let address = format!("10.9.{}.{}", number >> 8, number & 0xff);
        let name = format!("mobile-{number}");
        build::peer(&name, &[(&address, 32)])
    };
    let peers = (0..PEERS).map(peer).collect();
    let config = build::config(Role::Gateway, "gateway", peers);
    let mut gateway = build::host(config, build::entropy(7, "gateway"));
    // Numbers of peers that have gone stay free.
    for number in [0, 15, 16, 127, 128, 3_999] {
        let key = build::private_key(&format!("mobile-{number}")).public_key();
        gateway.handle_input(NOW, Input::Revoke(key, Decline::Revoked));
    }
    gateway
}

/// Returns the names of the peers in all pages, and checks the length of each as JSON.
fn names(mut page: impl FnMut(usize) -> (Vec<String>, Option<usize>, usize)) -> Vec<String> {
    let (mut names, mut from) = (Vec::new(), Some(0));
    while let Some(first) = from {
        let (more, next, length) = page(first);
        assert!(length <= 128 << 10, "{length} bytes from {first} on");
        names.extend(more);
        assert!(next.is_none_or(|next| next > first));
        from = next;
    }
    names
}

#[test]
fn pages_have_every_peer_once_and_are_short() {
    let gateway = gateway();
    let whole = gateway.status(NOW);
    let expected: Vec<_> = whole.peers.iter().map(|peer| peer.name.clone()).collect();
    assert_eq!(expected.len(), PEERS - 6);
    let of_status = names(|from| {
        let page = gateway.status_page(NOW, from);
        let length = serde_json::to_string(&page).expect("JSON").len();
        let names = page.peers.into_iter().map(|peer| peer.name).collect();
        (names, page.more_from, length)
    });
    assert_eq!(of_status, expected);
    let of_summary = names(|from| {
        let page = gateway.summary_page(NOW, from);
        let length = serde_json::to_string(&page).expect("JSON").len();
        let names = page.peers.into_iter().map(|peer| peer.name).collect();
        (names, page.more_from, length)
    });
    assert_eq!(of_summary, expected);
    let beyond = gateway.summary_page(NOW, usize::MAX);
    assert_eq!((beyond.peers.len(), beyond.more_from), (0, None));
}

#[test]
fn a_summary_has_the_numbers_of_the_status() {
    let gateway = gateway();
    let later = NOW + Duration::from_secs(7);
    let summary = gateway.summary_page(later, 300).peers.swap_remove(0);
    assert_eq!((summary.number, summary.name.as_str()), (300, "mobile-300"));
    let status = gateway.status_page(later, 300).peers.swap_remove(0);
    assert_eq!(PeerSummary::of(300, &status), summary);
    assert!(!summary.is_connected);
    assert_eq!(
        (summary.round_trip_us, summary.airtime_percent),
        (None, None)
    );
}

/// Packets wait while a page is made, so the memory of all peers is not counted for each page.
#[test]
fn a_page_has_the_memory_as_it_was_counted_within_the_last_second() {
    let mut gateway = gateway();
    let held = |gateway: &Host, millis: u64| {
        let page = gateway.status_page(NOW + Duration::from_millis(millis), 2_000);
        (page.memory, page.memory_most)
    };
    let before = gateway.memory();
    assert_eq!(held(&gateway, 0), before);
    let key = build::private_key("mobile-2000").public_key();
    gateway.handle_input(NOW, Input::Revoke(key, Decline::Revoked));
    let after = gateway.memory();
    assert!(after.0 < before.0);
    assert_eq!(gateway.status(NOW).memory, after.0, "the whole is exact");
    assert_eq!(held(&gateway, 999), before);
    assert_eq!(held(&gateway, 1_000), after);
}
