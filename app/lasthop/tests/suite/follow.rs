//! Inner addresses that follow a mobile host of a site on a LAN, from gateway to gateway.

use std::process::Command;

use rig::Process;
use rig::site::{GATEWAYS, Site};
use rustix::process::Signal;

use crate::site::Hosts;
use crate::support::download::Download;
use crate::support::{able, wait_until};

const SECTION: &str = "nat = false\n[follow]\nnetworks = [\"10.73.0.0/24\"]\nlan = \"wire\"\n";

/// Returns a site whose mobile host is a neighbour of the fixed host's; the
/// lines `terms` are of the mobile host's section at its home.
pub(crate) fn on_lan(terms: &str) -> Hosts {
    let hosts = Hosts::create(terms);
    hosts.site.join_lan().unwrap();
    for (gateway, nat) in GATEWAYS.into_iter().zip(["false", "true", "true"]) {
        hosts.replace(gateway, &format!("nat = {nat}\n"), SECTION);
    }
    hosts
}

/// Waits until another gateway than this one serves the mobile host, as it stands in; returns its number.
fn next_after(hosts: &Hosts, gone: &str) -> usize {
    let site = &hosts.site;
    let is_elsewhere = || !["", gone].contains(&site.serving().as_str());
    wait_until("another gateway", || site.logs(), is_elsewhere);
    let next = site.serving();
    let stands_in = || {
        site.status(&next)
            .to_string()
            .contains(r#""site":"stands_in""#)
    };
    wait_until("it stands in", || site.logs(), stands_in);
    let number = GATEWAYS.iter().position(|gateway| *gateway == next);
    number.expect("a gateway")
}

/// Waits until the home knows again where its mobile host is.
fn home_is_back(hosts: &Hosts) {
    let site = &hosts.site;
    let knows = || {
        let status = site.status(GATEWAYS[0]).to_string();
        status.contains(r#""site":{"at":"#)
    };
    wait_until("its home knows", || site.logs(), knows);
}

/// Runs `act` with the daemons of a site while its mobile host downloads.
fn during_download(act: impl FnOnce(&Hosts, &mut [Process], &Download<'_>)) {
    if !able() {
        return;
    }
    let hosts = on_lan("");
    let site = &hosts.site;
    let mut daemons = site.start_all().unwrap();
    Download::between(
        [&site.mobile, &site.fixed],
        || site.logs(),
        |download| {
            download.take_pause();
            act(&hosts, &mut daemons, download);
        },
    );
}

/// The home and the gateway that stands in for it die, and come back.
#[test]
fn connections_go_on_while_their_home_is_dead() {
    during_download(|hosts, daemons, download| {
        let site = &hosts.site;
        let kill = |daemons: &mut [Process], gateway: usize| {
            daemons[gateway].kill();
            next_after(hosts, GATEWAYS[gateway])
        };
        let first = kill(daemons, 0);
        download.goes_on();
        println!("the home dies: {:?}", download.take_pause());
        let second = kill(daemons, first);
        download.goes_on();
        println!("the next one dies: {:?}", download.take_pause());
        for gateway in [0, first] {
            daemons[gateway] = site.start(GATEWAYS[gateway]).unwrap();
        }
        home_is_back(hosts);
        download.goes_on();
        println!("the home is back: {:?}", download.take_pause());
        hosts.move_to(GATEWAYS[0]);
        daemons[second].kill();
        download.goes_on();
    });
}

/// Runs `nft` on a gateway; returns what it says.
fn nft(site: &Site, gateway: usize, arguments: &[&str]) -> String {
    let mut nft = Command::new("nft");
    nft.args(arguments);
    let done = site.gateways[gateway].run(|| nft.output()).unwrap();
    let done = done.unwrap();
    assert!(done.status.success(), "{done:?}");
    String::from_utf8_lossy(&done.stdout).into_owned()
}

/// Returns a set of the lease of a gateway.
fn of_lease(site: &Site, gateway: usize, set: &str) -> String {
    let table = format!("lasthop_{}_lease", GATEWAYS[gateway]);
    nft(site, gateway, &["list", "set", "netdev", &table, set])
}

/// Returns true if the kernel of a gateway answers its neighbours for mobile hosts.
fn answers(site: &Site, gateway: usize) -> bool {
    of_lease(site, gateway, "valid").contains("expires")
}

/// Has a host drop what comes and leaves by UDP, but on the LAN.
const CUT: &str = "table inet cut {
    chain in { type filter hook input priority 0; iifname != wire meta l4proto udp drop; }
    chain out { type filter hook output priority 0; oifname != wire meta l4proto udp drop; }
}";

/// A home that is cut off from all but the LAN answers there no more for what another gateway has announced, until it
/// hears that gateway.
#[test]
fn connections_go_on_while_their_home_is_cut_off() {
    during_download(|hosts, _, download| {
        let site = &hosts.site;
        let is_taken = || of_lease(site, 0, "taken4").contains("elements");
        nft(site, 0, &[CUT]);
        next_after(hosts, GATEWAYS[0]);
        wait_until("it is taken", || site.logs(), is_taken);
        assert!(answers(site, 0));
        download.goes_on();
        println!("the home is cut off: {:?}", download.take_pause());
        nft(site, 0, &["delete table inet cut"]);
        wait_until("it is back", || site.logs(), || !is_taken());
        home_is_back(hosts);
        download.goes_on();
        println!("it is back: {:?}", download.take_pause());
    });
}

/// A home that stands still answers its neighbours no more, as its lease ends.
#[test]
fn connections_go_on_while_their_home_stands_still() {
    during_download(|hosts, daemons, download| {
        let site = &hosts.site;
        daemons[0].signal(Signal::STOP);
        next_after(hosts, GATEWAYS[0]);
        assert!(!answers(site, 0));
        download.goes_on();
        println!("the home stands still: {:?}", download.take_pause());
        daemons[0].signal(Signal::CONT);
        home_is_back(hosts);
        download.goes_on();
        wait_until("it answers", || site.logs(), || answers(site, 0));
        download.goes_on();
        println!("it goes on: {:?}", download.take_pause());
    });
}
