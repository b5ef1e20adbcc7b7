//! Routes of a site that follow its mobile host, by the script and the configurations of a routing daemon in the guide.

use std::fs;
use std::path::Path;
use std::process::Command;

use rig::Process;
use rig::site::{GATEWAYS, MOBILE};

use crate::site::Hosts;
use crate::support::download::Download;
use crate::support::{PROGRAM, able, wait_until};

/// Returns the blocks of the guide's page on sites that begin with this line and have these words.
fn blocks(kind: &str, words: &str) -> Vec<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/site.md");
    let page = fs::read_to_string(page).unwrap();
    let fence = format!("```{kind}\n");
    let blocks = page.split(&fence).skip(1);
    let blocks = blocks.filter_map(|block| block.split("```").next());
    let found = blocks.filter(|block| block.contains(words));
    found.map(str::to_owned).collect()
}

/// The script and the routing daemons of two gateways, and of the host behind them.
struct Routing<'a> {
    hosts: &'a Hosts,
    programs: Vec<Process>,
}

impl Routing<'_> {
    fn start(&mut self, name: &str, host: usize, mut command: Command) {
        let site = &self.hosts.site;
        let host = [&site.fixed, &site.gateways[1], &site.gateways[2]][host];
        command.current_dir(self.hosts.folder.path());
        let started = Process::start(command, name, self.hosts.folder.path(), Some(host));
        self.programs.push(started.unwrap());
    }

    /// Starts BIRD on a gateway, or on the host behind both if `host` is zero.
    fn announce(&mut self, host: usize, configuration: &str) {
        let name = format!("bird{host}");
        let text = format!(
            "log stderr all;\nrouter id 192.0.2.{};\n{configuration}",
            host + 1
        );
        let file = self.hosts.folder.path().join(format!("{name}.conf"));
        fs::write(file, text).unwrap();
        let mut command = Command::new("bird");
        command.args([
            "-f",
            "-c",
            &format!("{name}.conf"),
            "-s",
            &format!("{name}.ctl"),
        ]);
        self.start(&name, host, command);
    }

    /// Runs the guide's script on a gateway.
    fn follow(&mut self, gateway: usize, script: &str) {
        let name = GATEWAYS[gateway];
        let signals = format!("{PROGRAM} signals --json --name {name} --state-dir {name}");
        let script = script.replace("lasthop signals --json", &signals);
        let mut command = Command::new("sh");
        command.args([
            "-c",
            &script.replace("tablet@east", &format!("{MOBILE}@{}", GATEWAYS[0])),
        ]);
        self.start(&format!("script{gateway}"), gateway, command);
    }

    fn words(&self) -> String {
        let words = self.programs.iter().map(Process::words);
        words.collect::<Vec<_>>().join("\n") + &self.hosts.site.logs()
    }
}

#[test]
#[ignore = "needs BIRD 2 (Debian's bird2)"]
fn a_routing_daemon_leads_packets_straight_to_the_gateway_that_serves() {
    if !able() {
        return;
    }
    let hosts = Hosts::far_apart();
    let site = &hosts.site;
    let [east, west, north] = GATEWAYS;
    let mut routing = Routing {
        hosts: &hosts,
        programs: Vec::new(),
    };
    let [script] = blocks("sh", "ip route replace").try_into().unwrap();
    let [gateway, router] = blocks("bird", "protocol bgp").try_into().unwrap();
    hosts.translates_nothing(west);
    hosts.translates_nothing(north);
    let _daemons = site.start_all().unwrap();
    for number in [1, 2] {
        site.connect_outside(number).unwrap();
        routing.announce(
            number,
            &gateway.replace("10.2.1.", &format!("10.2.{number}.")),
        );
        routing.follow(number, &script);
    }
    let (_, sections) = router.split_once("protocol bgp west").unwrap();
    let second = sections.replace("10.2.1.", "10.2.2.");
    routing.announce(0, &format!("{router}protocol bgp north{second}"));
    Download::between(
        [&site.mobile, &site.fixed],
        || routing.words(),
        |download| {
            for to in [west, north, west, east, north] {
                let before = [1, 2].map(|gateway| site.outside(gateway));
                hosts.move_to(to);
                download.goes_on();
                for (number, before) in [1, 2].into_iter().zip(before) {
                    let comes_straight = || site.outside(number) > before + 500_000;
                    if GATEWAYS[number] == to {
                        wait_until("packets come straight", || routing.words(), comes_straight);
                    }
                }
            }
        },
    );
}
