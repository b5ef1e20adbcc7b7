//! A fade ends no connection: the end of the hop that the sender can reach holds it with a closed window.

use channel::Link;
use hosts::{TcpMethod, TcpTerms};
use tcp::Config;
use units::Duration;

use crate::support::ends::Ends;
use crate::support::{GATEWAY, MOBILE, Pair};

const SECOND: Duration = Duration::from_secs(1);
const BYTES: u64 = 8_000_000;
/// Methods that hold senders.
const METHODS: [TcpMethod; 2] = [TcpMethod::Arq, TcpMethod::Snoop];

/// Returns a connection over which `from` sends, in the middle of its transfer. Each end gives up after `retries`
/// timeouts in a row.
fn transfer(method: TcpMethod, from: usize, retries: u32) -> Pair {
    let terms = [TcpTerms::Follow, TcpTerms::Choose(method)];
    let mut pair = Pair::on_terms(Link::named("l2-clean").expect("a link"), 3, terms);
    pair.run_for(SECOND);
    let mut config = Config::modern();
    config.timing.retries = retries;
    pair.connect(Ends::new(&config), (from, BYTES));
    pair.run_for(SECOND * 2);
    let read = pair.ends().read(1 - from).0;
    assert!((1..BYTES).contains(&read), "{read} bytes before the fade");
    pair
}

fn fade(pair: &mut Pair, lasts: Duration) {
    pair.blackout = pair.now..pair.now + lasts;
    pair.run_for(lasts);
}

#[test]
fn a_fade_of_ten_minutes_ends_no_connection() {
    for (method, from) in METHODS
        .into_iter()
        .flat_map(|method| [(method, GATEWAY), (method, MOBILE)])
    {
        let told = format!("{method:?} from {from}");
        let mut pair = transfer(method, from, 2);
        fade(&mut pair, SECOND * 600);
        let (before, over) = (pair.ends().read(1 - from).0, pair.now);
        while pair.ends().read(1 - from).0 == before && pair.now.since(over) < SECOND * 60 {
            pair.run_for(Duration::from_millis(100));
        }
        eprintln!("{told} after {:?}: {:?} closed {:?}", pair.now.since(over), pair.events.iter().filter(|e| e.0 > over).collect::<Vec<_>>(), pair.ends().closed);
        pair.run_for(SECOND * 30);
        assert_eq!(pair.ends().read(1 - from), (BYTES, true), "{told}");
        assert_eq!(
            (pair.ends().reset, pair.ends().wrong),
            ([false; 2], 0),
            "{told}"
        );
    }
}
