//! Shared parts of the system tests.

use std::net::IpAddr;

use edges::namespace::Namespace;
use edges::netlink::Netlink;
use ipnet::IpNet;

/// Returns true if network namespaces can be created. Otherwise the test is skipped with a message, but fails under
/// CI=true.
pub(crate) fn privileged() -> bool {
    match Namespace::create() {
        Ok(_) => true,
        Err(error) => skip(&error.to_string()),
    }
}

/// Returns true if the program is installed; otherwise the test is skipped like that.
pub(crate) fn has_program(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).any(|folder| folder.join(name).is_file());
    found || skip(&format!("the program '{name}' is missing"))
}

/// Prints why a test is skipped; under CI that is an error.
pub(crate) fn skip(reason: &str) -> bool {
    assert!(
        std::env::var_os("CI").is_none(),
        "under CI nothing is skipped: {reason}"
    );
    eprintln!("skipped: {reason}");
    false
}

/// Returns a prefix, or an address with its prefix length.
pub(crate) fn net(text: &str) -> IpNet {
    text.parse().unwrap()
}

/// Returns an address.
pub(crate) fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// Two namespaces connected by a veth pair, "near" in the left and "far" in the right one.
pub(crate) struct Pair {
    /// One end.
    pub(crate) left: Namespace,
    /// The other.
    pub(crate) right: Namespace,
}

impl Pair {
    /// Connects two new namespaces.
    pub(crate) fn create(left_address: IpNet, right_address: IpNet) -> Self {
        let (left, right) = (Namespace::create().unwrap(), Namespace::create().unwrap());
        left.run(|| connect(&right, left_address, right_address))
            .unwrap();
        Self { left, right }
    }
}

/// Connects the calling thread's namespace with `right`.
pub(crate) fn connect(right: &Namespace, left_address: IpNet, right_address: IpNet) {
    let mut netlink = Netlink::open().unwrap();
    netlink.create_veth("near", "far.new").unwrap();
    netlink.move_link("far.new", right).unwrap();
    netlink.add_address("near", left_address).unwrap();
    netlink.set_up("near").unwrap();
    right
        .run(|| {
            let mut netlink = Netlink::open().unwrap();
            netlink.rename_link("far.new", "far").unwrap();
            netlink.add_address("far", right_address).unwrap();
            netlink.set_up("far").unwrap();
            assert!(netlink.addresses("far").unwrap().contains(&right_address));
        })
        .unwrap();
}
