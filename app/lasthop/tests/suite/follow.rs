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

/// The home and the gateway that stands in for it die, and come back.
#[test]
fn connections_go_on_while_their_home_is_dead() {
    if !able() {
        return;
    }
    let hosts = on_lan("");
    let site = &hosts.site;
    let mut daemons = site.start_all().unwrap();
    let kill = |daemons: &mut [Process], gateway: usize| {
        daemons[gateway].kill();
        next_after(&hosts, GATEWAYS[gateway])
    };
    Download::between(
        [&site.mobile, &site.fixed],
        || site.logs(),
        |download| {
            download.take_pause();
            let first = kill(&mut daemons, 0);
            download.goes_on();
            println!("the home dies: {:?}", download.take_pause());
            let second = kill(&mut daemons, first);
            download.goes_on();
            println!("the next one dies: {:?}", download.take_pause());
            for gateway in [0, first] {
                daemons[gateway] = site.start(GATEWAYS[gateway]).unwrap();
            }
            home_is_back(&hosts);
            download.goes_on();
            println!("the home is back: {:?}", download.take_pause());
            hosts.move_to(GATEWAYS[0]);
            daemons[second].kill();
            download.goes_on();
        },
    );
}

/// Returns true if the kernel of a gateway answers its neighbours for mobile hosts.
fn answers(site: &Site, gateway: usize) -> bool {
    let name = GATEWAYS[gateway];
    let table = format!("lasthop_{name}_lease");
    let mut list = Command::new("nft");
    list.args(["list", "set", "netdev", &table, "valid"]);
    let listed = site.gateways[gateway].run(|| list.output());
    let listed = listed.unwrap().unwrap();
    assert!(listed.status.success(), "{listed:?}");
    String::from_utf8_lossy(&listed.stdout).contains("expires")
}

/// A home that stands still answers its neighbours no more, as its lease ends.
#[test]
fn connections_go_on_while_their_home_stands_still() {
    if !able() {
        return;
    }
    let hosts = on_lan("");
    let site = &hosts.site;
    let daemons = site.start_all().unwrap();
    Download::between(
        [&site.mobile, &site.fixed],
        || site.logs(),
        |download| {
            download.take_pause();
            daemons[0].signal(Signal::STOP);
            next_after(&hosts, GATEWAYS[0]);
            assert!(!answers(site, 0));
            download.goes_on();
            println!("the home stands still: {:?}", download.take_pause());
            daemons[0].signal(Signal::CONT);
            home_is_back(&hosts);
            download.goes_on();
            wait_until("it answers", || site.logs(), || answers(site, 0));
            download.goes_on();
            println!("it goes on: {:?}", download.take_pause());
        },
    );
}
