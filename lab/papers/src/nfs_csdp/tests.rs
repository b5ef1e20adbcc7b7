//! Runs and their parts.

use experiment::Plan;

use super::network::SetUp;
use super::run::Run;
use super::tables;
use crate::csdp96::packet::MobilePacket;
use crate::nfs::addresses::{SERVER, mobile};
use crate::nfs::packet::Packet;

fn set_ups(overrides: &[&str], seed: u64) -> Vec<SetUp> {
    let overrides: Vec<_> = overrides.iter().map(|text| text.parse().unwrap()).collect();
    let plan = Plan::parse("read", tables::READ.about.plan, &overrides).unwrap();
    let cases = plan.cases().into_iter();
    cases
        .map(|case| SetUp::read(&case, seed).unwrap())
        .collect()
}

#[test]
fn a_run_is_a_function_of_its_seed() {
    for set_up in set_ups(&["clients=4", "copy.file=100 kB"], 7) {
        let measured = || Run::of(&set_up).unwrap().measurements().unwrap();
        assert_eq!(measured(), measured());
    }
}

#[test]
fn a_packet_is_of_the_mobile_host_at_its_end() {
    let last = set_ups(&["clients=32"], 1);
    let site = last[0].parameters.site(1);
    for number in [0, 31] {
        let address = site.address(number);
        assert_eq!(mobile(address).map(u64::from), Some(number));
        for hosts in [[SERVER, address], [address, SERVER]] {
            let bytes = bytes::Bytes::new();
            let packet = Packet::Ip { hosts, bytes };
            assert_eq!(packet.mobile().map(u64::from), Some(number));
        }
    }
    assert_eq!(mobile(SERVER), None);
}
