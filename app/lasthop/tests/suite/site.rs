//! A site: gateways that hand a mobile host over to each other.

use std::fs;
use std::net::UdpSocket;
use std::path::Path;
use std::time::Duration;

use edges::namespace::Namespace;
use rig::Process;
use rig::site::{GATEWAYS, Links, MOBILE, Site};
use tempfile::TempDir;

use crate::support::download::Download;
use crate::support::turn::Turn;
use crate::support::{FIXED_HOST, PROGRAM, able, ping, wait_until};

/// A long way.
const FAR: &str = "[each]\nrate = '20 Mbit/s'\ndelay = '30 ms'\nqueue = '200 packets'\n";

/// A site, and what it needs.
pub(crate) struct Hosts {
    pub(crate) site: Site,
    pub(crate) folder: TempDir,
    _turn: Turn,
}

impl Hosts {
    /// Returns a site; the lines `terms` are of the mobile host's section at its home.
    pub(crate) fn create(terms: &str) -> Self {
        Self::on_links(terms, |_| Links::default())
    }

    /// The same with emulated links, one of which behaves as the file at the path that `links` gets: it is [`FAR`].
    fn on_links(terms: &str, links: impl Fn(&Path) -> Links<'_>) -> Self {
        let turn = Turn::take();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("link.toml");
        fs::write(&file, FAR).unwrap();
        let links = links(&file);
        Self {
            site: Site::new(Path::new(PROGRAM), folder.path(), links, terms).unwrap(),
            folder,
            _turn: turn,
        }
    }

    /// Returns a site whose gateways are far from each other, so that they serve and do not relay.
    pub(crate) fn far_apart() -> Self {
        Self::on_links("", |far| Links {
            wires: Some(far),
            ..Links::default()
        })
    }

    /// Turns address translation off at this gateway.
    pub(crate) fn translates_nothing(&self, gateway: &str) {
        self.replace(gateway, "nat = true", "nat = false");
    }

    /// Replaces a line of a gateway's configuration.
    pub(crate) fn replace(&self, gateway: &str, line: &str, by: &str) {
        let file = self.folder.path().join(format!("{gateway}.toml"));
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.contains(line), "{text}");
        fs::write(file, text.replace(line, by)).unwrap();
    }

    /// Has the mobile host move to this gateway.
    pub(crate) fn move_to(&self, gateway: &str) {
        let (code, said) = self.run(&["move", gateway]);
        assert_eq!(code, Some(0), "{said}\n{}", self.site.logs());
    }

    /// Runs a command for the mobile host's daemon; returns its exit code and all that it says.
    fn run(&self, arguments: &[&str]) -> (Option<i32>, String) {
        self.run_at(MOBILE, arguments)
    }

    /// Runs a command for the daemon of this host.
    fn run_at(&self, host: &str, arguments: &[&str]) -> (Option<i32>, String) {
        let output = self.site.run(host, arguments).unwrap();
        let said = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(said).unwrap())
    }
}

/// The gateway `north` serves the mobile host, is drained, and serves it again.
fn drains(hosts: &Hosts) {
    let site = &hosts.site;
    let [_, _, north] = GATEWAYS;
    let (code, said) = hosts.run_at(north, &["drain"]);
    assert_eq!(code, Some(0), "{said}\n{}", site.logs());
    assert_eq!(said, "mobile hosts here: 1\nno mobile host is left here\n");
    assert_ne!(site.serving(), north);
    let (code, said) = hosts.run(&["drain"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("is no gateway of a site"), "{said}");
    let (code, said) = hosts.run_at(north, &["drain", "--end"]);
    assert_eq!(code, Some(0), "{said}");
    hosts.move_to(north);
}

/// The gateway `north` serves the mobile host, and its hop is announced as lost.
fn announces(hosts: &Hosts) {
    let site = &hosts.site;
    let [east, _, north] = GATEWAYS;
    for (host, arguments, refused) in [
        (MOBILE, &["--in", "61 s"][..], "at most 1 min ahead"),
        (MOBILE, &["south"], "knows no gateway 'south'"),
        (east, &[], "this is no mobile host"),
    ] {
        let (code, said) = hosts.run_at(host, &[&["announce"], arguments].concat());
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains(refused), "{said}");
    }
    for arguments in [&["announce", east][..], &["announce", "--in", "300 ms"]] {
        assert_eq!(site.serving(), north, "{}", site.logs());
        assert_eq!(hosts.run(arguments), (Some(0), String::new()));
    }
    let is_elsewhere = || GATEWAYS[..2].contains(&site.serving().as_str());
    wait_until("another gateway", || site.logs(), is_elsewhere);
    hosts.move_to(north);
}

/// The gateway `north`, which serves the mobile host and is not its home, dies.
fn loses_north(hosts: &Hosts, daemons: &mut [Process], download: &Download<'_>) {
    let site = &hosts.site;
    let [east, west, _] = GATEWAYS;
    daemons[2].kill();
    let is_elsewhere = || [east, west].contains(&site.serving().as_str());
    wait_until("another gateway", || site.logs(), is_elsewhere);
    download.goes_on();
}

#[test]
fn a_download_goes_on_while_gateways_hand_its_mobile_host_over() {
    if !able() {
        return;
    }
    let hosts = Hosts::create("");
    let site = &hosts.site;
    let mut daemons = site.start_all().unwrap();
    let [east, west, north] = GATEWAYS;
    Download::between(
        [&site.mobile, &site.fixed],
        || site.logs(),
        |download| {
            for to in [west, north, west, east, north] {
                hosts.move_to(to);
                download.goes_on();
            }
            let (code, said) = hosts.run(&["move", north]);
            assert_eq!(
                (code, said),
                (Some(0), "north serves this host already\n".into())
            );
            let (code, said) = hosts.run(&["move", "south"]);
            assert_eq!(code, Some(2), "{said}");
            assert!(said.contains("knows no gateway 'south'"), "{said}");
            announces(&hosts);
            download.goes_on();
            drains(&hosts);
            download.goes_on();
            let at_home = String::from_utf8(site.run(east, &["status"]).unwrap().stdout).unwrap();
            assert!(at_home.contains("at north"), "{at_home}");
            let (_, page) = hosts.run(&["status"]);
            assert!(page.contains("in reserve"), "{page}");
            loses_north(&hosts, &mut daemons, download);
            let next = site.serving();
            let (code, said) = hosts.run(&["move", north]);
            assert_eq!(code, Some(1), "{said}");
            let words = format!("north has not answered; {next} goes on");
            assert!(said.contains(&words), "{said}");
            download.goes_on();
        },
    );
}

/// While the home is dead, and when it is back.
#[test]
fn a_gateway_stands_in_for_a_home_that_has_died() {
    if !able() {
        return;
    }
    let hosts = Hosts::create("");
    let site = &hosts.site;
    for gateway in [1, 2] {
        site.connect_outside(gateway).unwrap();
    }
    let mut daemons = site.start_all().unwrap();
    let [east, ..] = GATEWAYS;
    let download = |act: &mut dyn FnMut()| {
        let ends = [&site.mobile, &site.fixed];
        Download::between(
            ends,
            || site.logs(),
            |download| {
                act();
                download.goes_on();
            },
        );
    };
    download(&mut || ());
    daemons[0].kill();
    download(&mut || {
        assert_ne!(site.serving(), east);
        let at_it = site.status(&site.serving()).to_string();
        assert!(at_it.contains(r#""site":"stands_in""#), "{at_it}");
        assert!(
            site.logs().contains("east: does not answer"),
            "{}",
            site.logs()
        );
        daemons[0] = site.start(east).unwrap();
        let at_home = || site.status(east).to_string();
        let next = site.serving();
        wait_until(
            "its home knows",
            || site.logs(),
            || at_home().contains(&format!("{{\"at\":\"{next}\"}}")),
        );
    });
    // New ones leave at the home again, and those before do not disturb it.
    download(&mut || {
        hosts.move_to(east);
    });
}

/// Gateways that are far from each other serve: what one has of a mobile host goes on by the next one.
#[test]
fn a_download_goes_on_while_far_gateways_serve_in_turn() {
    if !able() {
        return;
    }
    let hosts = Hosts::far_apart();
    let site = &hosts.site;
    let [east, west, north] = GATEWAYS;
    hosts.translates_nothing(west);
    let mut daemons = site.start_all().unwrap();
    Download::between(
        [&site.mobile, &site.fixed],
        || site.logs(),
        |download| {
            for to in [west, north, west, east, north] {
                hosts.move_to(to);
                let (_, page) = hosts.run(&["status"]);
                assert!(!page.contains("relays"), "{page}");
                download.goes_on();
            }
            follows_routes(&hosts, download);
            loses_north(&hosts, &mut daemons, download);
        },
    );
}

/// What the first datagram of a QUIC connection begins with, and its length.
const QUIC_INITIAL: [u8; 1_200] = {
    let mut bytes = [0; 1_200];
    [bytes[0], bytes[4]] = [0xc0, 1];
    bytes
};

/// Datagrams from a socket of the mobile host to one of the fixed host.
struct Datagrams {
    client: UdpSocket,
    server: UdpSocket,
}

impl Datagrams {
    fn to(hosts: &Hosts, port: u16) -> Self {
        let site = &hosts.site;
        let open =
            |host: &Namespace, port| host.run(|| UdpSocket::bind(("0.0.0.0", port)).unwrap());
        let [client, server] =
            [(&site.mobile, 0), (&site.fixed, port)].map(|(host, port)| open(host, port).unwrap());
        client.connect((FIXED_HOST, port)).unwrap();
        server
            .set_read_timeout(Some(Duration::from_millis(500)))
            .unwrap();
        Self { client, server }
    }

    /// Returns the address from which this datagram comes.
    fn source(&self, datagram: &[u8]) -> String {
        let mut bytes = [0; 2_000];
        // Some may be lost while the mobile host moves.
        let came = (0..20).find_map(|_| {
            self.client.send(datagram).unwrap();
            self.server.recv_from(&mut bytes).ok()
        });
        let (length, from) = came.expect("a datagram");
        assert_eq!(&bytes[..length], datagram);
        from.ip().to_string()
    }
}

/// Connections leave where their mobile host is, and stay there wherever it goes.
#[test]
fn connections_leave_where_they_began() {
    if !able() {
        return;
    }
    let hosts = Hosts::far_apart();
    let site = &hosts.site;
    let [east, west, north] = GATEWAYS;
    for (index, gateway) in GATEWAYS.iter().enumerate().skip(1) {
        hosts.replace(gateway, "nat = true", "nat = true\nlocal_breakout = true");
        site.connect_outside(index).unwrap();
    }
    let _daemons = site.start_all().unwrap();
    let download = |act: &mut dyn FnMut(&Download<'_>)| {
        let ends = [&site.mobile, &site.fixed];
        Download::between(ends, || site.logs(), act);
    };
    for (start, places) in [
        (west, [north, east, west, north]),
        (north, [west, north, east, west]),
    ] {
        hosts.move_to(start);
        let outside = || [1, 2].map(|gateway| site.outside(gateway));
        let [there, elsewhere] = if start == west { [0, 1] } else { [1, 0] };
        // Before the system is ready for it, connections leave at the home.
        let leave_there = || {
            let before = outside()[there];
            download(&mut |_| ());
            outside()[there] > before + 500_000
        };
        wait_until("connections leave there", || site.logs(), leave_there);
        let before = outside();
        let [quic, others] = [443, 53].map(|port| Datagrams::to(&hosts, port));
        let exit = format!("10.2.{}.1", there + 1);
        assert_eq!(quic.source(&QUIC_INITIAL), exit);
        assert_eq!(others.source(b"a question"), "10.73.0.2");
        rig::set(&site.mobile, "net/ipv4/ping_group_range", "0 0").unwrap();
        let before_pings = outside()[there];
        (0..20).for_each(|_| ping(&site.mobile, FIXED_HOST));
        assert!(outside()[there] >= before_pings + 20 * 32);
        download(&mut |download| {
            for place in places {
                hosts.move_to(place);
                download.goes_on();
                assert_eq!(quic.source(b"goes on"), exit);
            }
        });
        let after = outside();
        let bytes = |gateway: usize| after[gateway] - before[gateway];
        assert!(
            bytes(there) > 4_000_000,
            "{before:?} {after:?}\n{}",
            site.logs()
        );
        assert!(bytes(elsewhere) < 10_000, "{before:?} {after:?}");
    }
}

/// Routes of the site lead straight to the gateway that serves, and follow a move late.
fn follows_routes(hosts: &Hosts, download: &Download<'_>) {
    let site = &hosts.site;
    let [_, west, north] = GATEWAYS;
    hosts.move_to(west);
    site.connect_outside(1).unwrap();
    site.lead_straight(1).unwrap();
    let before = site.outside(1);
    // What is on its way may be megabytes, and comes by the home.
    let is_straight = || site.outside(1) > before + 1_000_000;
    wait_until("packets come straight", || site.logs(), is_straight);
    download.goes_on();
    hosts.move_to(north);
    download.goes_on();
}

/// The home remains the other end of the hop, and other gateways relay.
#[test]
fn a_download_that_is_split_goes_on_by_way_of_other_gateways() {
    if !able() {
        return;
    }
    let hosts = Hosts::create("tcp = \"split\"");
    let site = &hosts.site;
    let mut daemons = site.start_all().unwrap();
    let [east, west, north] = GATEWAYS;
    Download::between(
        [&site.mobile, &site.fixed],
        || site.logs(),
        |download| {
            for to in [west, north, east, north] {
                hosts.move_to(to);
                download.goes_on();
            }
            let (_, page) = hosts.run(&["status"]);
            assert!(page.contains("relays"), "{page}");
            let at_home = String::from_utf8(site.run(east, &["status"]).unwrap().stdout).unwrap();
            assert!(at_home.contains("at north"), "{at_home}");
            // The home is upgraded, while another gateway relays and while it serves itself, and so is the other one.
            for (to, gateway) in [(north, 0), (east, 0), (north, 2)] {
                hosts.move_to(to);
                let name = GATEWAYS[gateway];
                site.succeed(name, &mut daemons[gateway]).unwrap();
                download.goes_on();
            }
            hosts.move_to(north);
            loses_north(&hosts, &mut daemons, download);
        },
    );
}

#[test]
fn a_mobile_host_moves_by_itself_to_a_gateway_with_a_shorter_way_to_its_home() {
    if !able() {
        return;
    }
    let hosts = Hosts::on_links("", |far| Links {
        hops: [Some(far), None, None],
        wires: None,
    });
    let site = &hosts.site;
    let _daemons = site.start_all().unwrap();
    let [east, west, north] = GATEWAYS;
    let is_near = || [west, north].contains(&site.serving().as_str());
    Download::between(
        [&site.mobile, &site.fixed],
        || site.logs(),
        |download| {
            wait_until("a nearer gateway", || site.logs(), is_near);
            download.goes_on();
            assert!(site.logs().contains(" is better: "), "{}", site.logs());
            let (_, page) = hosts.run(&["status", "--peer", &site.serving()]);
            assert!(page.contains(" ms to the home and back, "), "{page}");
            // What the user chooses holds, until lasthop is to choose again.
            hosts.move_to(east);
            let (code, said) = hosts.run(&["move"]);
            assert_eq!(code, Some(0), "{said}");
            assert!(said.contains("chooses"), "{said}");
            wait_until("a nearer gateway", || site.logs(), is_near);
            download.goes_on();
        },
    );
}
