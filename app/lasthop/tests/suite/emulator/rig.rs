//! The emulator as a process between two network namespaces, and UDP sockets on its two sides.

use std::net::UdpSocket;

use ::rig::needs::{can_test, no_hosts};
use edges::namespace::Namespace;

use crate::support::air::{Air, GATEWAY, MOBILE};

pub(crate) struct Rig {
    pub(crate) gateway: Namespace,
    pub(crate) mobile: Namespace,
    pub(crate) air: Air,
}

impl Rig {
    /// Starts the emulator with the link in `text`; `None` where this machine lets us make no hosts.
    pub(crate) fn start(text: &str, seed: u64) -> Option<Self> {
        if !can_test(no_hosts()) {
            return None;
        }
        let [gateway, mobile] = ::rig::hosts().unwrap();
        let air = Air::between([&gateway, &mobile], text, seed);
        Some(Self {
            gateway,
            mobile,
            air,
        })
    }

    /// A socket on the gateway's side that is connected to one on the mobile host's side.
    pub(crate) fn sockets(&self) -> (UdpSocket, UdpSocket) {
        let bind = |namespace: &Namespace, address: &str| {
            namespace
                .run(|| UdpSocket::bind((address, 7)).unwrap())
                .unwrap()
        };
        let (gateway, mobile) = (bind(&self.gateway, GATEWAY), bind(&self.mobile, MOBILE));
        gateway.connect((MOBILE, 7)).unwrap();
        mobile.connect((GATEWAY, 7)).unwrap();
        (gateway, mobile)
    }
}
