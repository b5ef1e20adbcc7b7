//! Several mobile hosts on one emulated air.

use edges::namespace::Namespace;
use edges::netlink::Netlink;

use crate::Failure;
use crate::air::{Air, Link};
use crate::hosts::{End, keep_out_ipv6, on, set_up};

/// A gateway and its mobile hosts, joined by an air; all have the interface `air0`.
#[derive(Debug)]
pub struct Cell {
    /// The gateway, and then the mobile hosts.
    pub hosts: Vec<Namespace>,
    /// The network that joins them.
    pub air: Air,
}

impl Cell {
    /// Makes the hosts and joins them. Their addresses begin with the three bytes of `prefix` and end with 1, 2 and so
    /// on. Each mobile host meets its own one of `errors`, where there are any: links too (`lasthop emulate --errors`).
    pub fn new(
        link: Link<'_>,
        mobiles: usize,
        prefix: &str,
        errors: &[String],
    ) -> Result<Self, Failure> {
        let hosts = (0..=mobiles).map(|_| Namespace::create());
        let hosts: Vec<_> = hosts.collect::<Result<_, _>>()?;
        // The emulator makes all devices in one place, from where they go to their hosts.
        let radio = Namespace::create()?;
        let device = |host: usize| format!("air{host}.new");
        let address = |host: usize| format!("{prefix}.{}/24", host + 1);
        let mut command = link.command();
        for host in 0..=mobiles {
            let side = if host == 0 { "--left" } else { "--right" };
            command.args([side, &format!("{},{}", device(host), address(host))]);
        }
        for (host, errors) in (1..).zip(errors) {
            command.args(["--errors", &format!("{host}={errors}")]);
        }
        let air = Air::start(link, command, Some(&radio))?;
        for (host, namespace) in hosts.iter().enumerate() {
            let device = device(host);
            on(&radio, || {
                Ok(Netlink::open()?.move_link(&device, namespace)?)
            })?;
            on(namespace, || {
                Netlink::open()?.rename_link(&device, "air0")?;
                keep_out_ipv6("air0");
                Ok(())
            })?;
            set_up(End::new(namespace, "air0", &address(host)))?;
        }
        Ok(Self { hosts, air })
    }
}
