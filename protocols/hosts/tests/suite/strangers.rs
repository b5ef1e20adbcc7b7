//! What strangers send to a gateway costs no allocation, and nothing of it is kept.

use hosts::{Input, Output, Status};
use machine::Machine;
use scheduler::config::Discipline;
use session::INITIATION_BYTES;
use wire::address::HopAddress;
use wire::packet::PacketBuffer;

use crate::support::build::datagram;
use crate::support::cell::{Cell, Fades, Setting, WARM_UP};
use crate::support::intruder::initiation;

const EACH: usize = 2_000;

fn dropped(status: &Status, cause: &str) -> u64 {
    let mut causes = status.datagrams_dropped.iter();
    let found = causes.find(|(name, _)| name == cause);
    found.map_or(0, |(_, count)| *count)
}

#[test]
fn they_cost_no_allocation() {
    let mut cell = Cell::new(
        &Setting::usual(Discipline::default(), 2),
        vec![Fades::default(); 2],
    );
    cell.begin();
    cell.run_until(WARM_UP);
    let now = cell.now;
    let known = initiation("stranger", 0);
    let version = known[1];
    let kinds: [(&str, Vec<u8>); 5] = [
        ("Malformed", vec![9; 1_400]),
        ("UnknownIndex", vec![4; 1_400]),
        (
            "BadMac",
            [&[1, version][..], &[0; INITIATION_BYTES - 2]].concat(),
        ),
        (
            "UnexpectedHandshake",
            [&[3, version][..], &[0; 66]].concat(),
        ),
        ("Unproven", known),
    ];
    let inputs = |bytes: &Vec<u8>| -> Vec<Input> {
        let input = |number: usize| {
            let address = std::net::Ipv4Addr::from_bits(0xcb00_0000 + number as u32);
            let from = HopAddress::Udp((address, 9).into());
            datagram(from, now, PacketBuffer::copy_of(bytes))
        };
        (0..EACH).map(input).collect()
    };
    // The first initiations use up what such may cost, and what is measured finds the storage that there is.
    for (_, bytes) in &kinds {
        for input in inputs(bytes) {
            cell.tell(None, input);
        }
    }
    for (cause, bytes) in &kinds {
        let before = dropped(&cell.gateway.status(now), cause);
        let inputs = inputs(bytes);
        let gateway = &mut cell.gateway;
        let mut longest = 0;
        let counted = allocation_counter::measure(|| {
            for input in inputs {
                gateway.handle_input(now, input);
                while let Some(Output::Datagram { buffer, .. }) = gateway.poll_output() {
                    longest = longest.max(buffer.len());
                }
            }
        });
        assert_eq!(counted.count_total, 0, "{cause}");
        assert!(longest <= bytes.len(), "{cause}: {longest}");
        assert_eq!(longest > 0, *cause == "Unproven", "{cause}: an answer");
        let after = dropped(&cell.gateway.status(now), cause);
        assert_eq!(after - before, EACH as u64, "{cause}");
    }
}
