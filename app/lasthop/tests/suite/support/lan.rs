//! A local network of the gateway with two access points, between which a mobile host moves: bridges, joined by cables.

use std::thread;
use std::time::{Duration, Instant};

use edges::namespace::Namespace;
use edges::netlink::Netlink;
use rig::End;

/// The mobile host's cable, at the access point's end.
const CABLE: &str = "cable";
/// The bridge at which the gateway stands, and the two access points.
const SWITCH: &str = "switch";
pub(crate) const POINTS: [&str; 2] = ["point1", "point2"];

/// The network in the middle.
pub(crate) struct Lan(Namespace);

impl Lan {
    /// Joins the two hosts, by a link that both call "air"; the mobile host stands at the first access point.
    pub(crate) fn between([gateway, mobile]: [&Namespace; 2]) -> Self {
        let lan = Self(Namespace::create().unwrap());
        lan.0.run(|| build([gateway, mobile])).unwrap();
        for (host, address) in [(gateway, "10.1.0.1/24"), (mobile, "10.1.0.2/24")] {
            rig::set_up(End::new(host, "air", address)).unwrap();
        }
        lan
    }

    /// Moves the mobile host to that access point; for so long it is at none. Gives how long it took in all.
    pub(crate) fn hand_off(&self, point: &str, outage: Duration) -> Duration {
        let change = || {
            let mut netlink = Netlink::open().unwrap();
            let begun = Instant::now();
            netlink.set_down(CABLE).unwrap();
            netlink.set_bridge(CABLE, None).unwrap();
            thread::sleep(outage);
            netlink.set_bridge(CABLE, Some(point)).unwrap();
            netlink.set_up(CABLE).unwrap();
            begun.elapsed()
        };
        self.0.run(change).unwrap()
    }
}

fn build([gateway, mobile]: [&Namespace; 2]) {
    let mut netlink = Netlink::open().unwrap();
    for bridge in [SWITCH, POINTS[0], POINTS[1]] {
        netlink.create_bridge(bridge).unwrap();
        netlink.set_up(bridge).unwrap();
    }
    let mut cable = |(near, bridge): (&str, &str), (far, beyond): (&str, &str)| {
        netlink.create_veth(near, far).unwrap();
        for (end, bridge) in [(near, bridge), (far, beyond)] {
            netlink.set_bridge(end, Some(bridge)).unwrap();
            netlink.set_up(end).unwrap();
        }
    };
    cable(("down1", SWITCH), ("up1", POINTS[0]));
    cable(("down2", SWITCH), ("up2", POINTS[1]));
    for (port, bridge, host) in [("gateway", SWITCH, gateway), (CABLE, POINTS[0], mobile)] {
        netlink.create_veth(port, "air").unwrap();
        netlink.move_link("air", host).unwrap();
        netlink.set_bridge(port, Some(bridge)).unwrap();
        netlink.set_up(port).unwrap();
    }
}
