//! The emulator as a process between two network namespaces, and UDP sockets on its two sides.

use std::net::UdpSocket;

use edges::namespace::{Namespace, NamespaceError};

use crate::support::air::{Air, GATEWAY, MOBILE};

pub(crate) struct Rig {
    pub(crate) gateway: Namespace,
    pub(crate) mobile: Namespace,
    pub(crate) air: Air,
}

/// `None` where this machine lets us make no namespaces; under CI=true that is a failure.
fn namespaces() -> Option<[Namespace; 2]> {
    let made = Namespace::create().and_then(|gateway| Ok([gateway, Namespace::create()?]));
    match made {
        Ok(pair) => Some(pair),
        Err(error @ NamespaceError::CreationNotPermitted) if std::env::var_os("CI").is_none() => {
            println!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

impl Rig {
    /// Starts the emulator with the link in `text`.
    pub(crate) fn start(text: &str, seed: u64) -> Option<Self> {
        let [gateway, mobile] = namespaces()?;
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
