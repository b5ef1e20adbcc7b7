//! A fade ends no connection: the end of the hop that the sender can reach holds it with a closed window.

use channel::Link;
use hosts::{EventKind, TcpMethod, TcpTerms};
use tcp::Config;
use units::{Duration, Instant};

use crate::support::ends::Ends;
use crate::support::roaming::{HOME, NAMES, Roaming, Setting};
use crate::support::{GATEWAY, MOBILE, Pair, WALL};

const SECOND: Duration = Duration::from_secs(1);
const BYTES: u64 = 8_000_000;
/// A gateway that is not the home of the mobile host.
const AWAY: usize = HOME + 1;
/// Methods that hold senders.
const HOLDING: [TcpMethod; 2] = [TcpMethod::Arq, TcpMethod::Snoop];

/// Returns a connection over which `from` sends, in the middle of its transfer. Each end gives up at the third
/// timeout in a row.
fn transfer(method: TcpMethod, from: usize) -> Pair {
    let mut pair = over("l2-clean", method, from);
    pair.run_for(SECOND * 2);
    let read = pair.ends().read(1 - from).0;
    assert!((1..BYTES).contains(&read), "{read} bytes before the fade");
    pair
}

/// Returns such a connection over a named link, at its beginning.
fn over(link: &str, method: TcpMethod, from: usize) -> Pair {
    let terms = [TcpTerms::Follow, TcpTerms::Choose(method)];
    let mut pair = Pair::on_terms(Link::named(link).expect("a link"), 3, terms);
    pair.run_for(SECOND);
    let mut config = Config::modern();
    config.timing.retries = 2;
    pair.connect(Ends::new(&config), (from, BYTES));
    pair
}

fn fade(pair: &mut Pair, lasts: Duration) {
    pair.blackout = pair.now..pair.now + lasts;
    pair.run_for(lasts);
}

/// Returns the time when `host` learned that the fade was over.
fn hop_is_back(pair: &Pair, host: usize) -> Option<Instant> {
    let ended = |(_, at, kind): &&(Instant, usize, EventKind)| {
        *at == host && matches!(kind, EventKind::FadeEnded { .. })
    };
    pair.events.iter().rev().find(ended).map(|(at, ..)| *at)
}

fn sent_bytes(pair: &Pair, from: usize) -> u64 {
    pair.status(from).hop.stats.sent.wire_bytes
}

fn each_way() -> impl Iterator<Item = (TcpMethod, usize)> {
    let ways = |method| [GATEWAY, MOBILE].map(|from| (method, from));
    HOLDING.into_iter().flat_map(ways)
}

#[test]
fn a_fade_of_ten_minutes_ends_no_connection() {
    for (method, from) in each_way() {
        let told = format!("{method:?} from {from}");
        let mut pair = transfer(method, from);
        fade(&mut pair, SECOND * 30);
        // Snoop repeats one segment, which waits once as much is on its way as the hop may carry.
        let tenths = (0..300).map(|_| {
            fade(&mut pair, SECOND / 10);
            pair.status(from).hop.queued
        });
        let queued = tenths.max().expect("some");
        fade(&mut pair, SECOND * 540);
        assert!(
            pair.status(from).hop.queued <= queued,
            "{told}: copies wait"
        );
        let before = pair.ends().read(1 - from).0;
        while pair.ends().read(1 - from).0 == before {
            pair.run_for(Duration::from_millis(10));
            assert_eq!(pair.ends().reset, [false; 2], "{told}");
        }
        let back = hop_is_back(&pair, from).expect("the end of the fade");
        let waited = pair.now.since(back);
        assert!(waited < SECOND / 4, "{told}: {waited} after the fade");
        let (sent, left) = (sent_bytes(&pair, from), BYTES - before);
        pair.run_for(SECOND * 30);
        let sent = sent_bytes(&pair, from) - sent;
        assert!(sent * 4 < left * 5, "{told}: {sent} bytes for {left}");
        assert_eq!(pair.ends().read(1 - from), (BYTES, true), "{told}");
        assert_eq!(
            (pair.ends().reset, pair.ends().wrong),
            ([false; 2], 0),
            "{told}"
        );
    }
}

/// The end-to-end method is what it says.
#[test]
fn plain_tcp_gives_up_when_it_wants_to() {
    for from in [GATEWAY, MOBILE] {
        let mut pair = transfer(TcpMethod::Plain, from);
        fade(&mut pair, SECOND * 60);
        assert!(pair.ends().reset[from]);
    }
}

/// A window that closes costs a round trip: losses and short fades are repaired without.
#[test]
fn losses_and_short_fades_close_no_window() {
    for (method, from) in each_way() {
        let mut pair = over("l3-p1", method, from);
        pair.run_for(SECOND / 2);
        for _ in 0..20 {
            fade(&mut pair, Duration::from_millis(150));
            pair.run_for(Duration::from_millis(150));
        }
        pair.run_for(SECOND * 60);
        assert_eq!(pair.ends().read(1 - from), (BYTES, true));
        assert_eq!(pair.ends().closed, [0; 2], "{method:?} from {from}");
    }
}

/// Returns a site in which a far gateway serves a mobile host, which has a download, until it has been out of reach for
/// so long that the sender's next probe is far away.
fn out_of_reach() -> Roaming {
    let mut site = Roaming::new(Setting {
        wire: Duration::from_millis(10),
        is_told: true,
        ..Setting::default()
    });
    site.run(SECOND, true);
    site.connect(Ends::new(&Config::modern()));
    site.run(SECOND * 2, true);
    site.move_to(AWAY);
    site.run(SECOND * 3, true);
    assert_eq!(site.serving(), NAMES[AWAY]);
    site.network.cut = [HOME, AWAY, AWAY + 1].map(|at| [MOBILE, at]).to_vec();
    site.run(SECOND * 28, true);
    site
}

/// A mobile host that has begun anew knows nothing of the connection, and nothing from before follows it.
#[test]
fn a_sender_goes_on_when_its_mobile_host_begins_anew_at_another_gateway() {
    let mut site = out_of_reach();
    site.network.cut.clear();
    site.restart_mobile(WALL + 40_000_000_000);
    let took = site.time_to_read(1, SECOND * 60);
    assert!(took < SECOND, "{took}");
    assert!(site.is_connected());
}

#[test]
fn a_sender_goes_on_when_the_gateway_that_has_held_it_is_lost() {
    let mut site = out_of_reach();
    site.network.cut = [MOBILE, HOME, AWAY + 1].map(|at| [at, AWAY]).to_vec();
    let took = site.time_to_read(1, SECOND * 60);
    assert!(took < SECOND * 4, "{took}");
    assert!(site.is_connected());
}
