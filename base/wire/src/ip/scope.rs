//! Addresses that mean the same host in some networks only. An IPv4 address mapped into IPv6 is none of these.

use std::net::IpAddr;

/// Returns true for an address of a private network (RFC 1918, RFC 4193).
pub fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_private(),
        IpAddr::V6(address) => address.is_unique_local(),
    }
}

/// Returns true for an address of a carrier behind its NAT (RFC 6598).
pub fn is_shared(address: IpAddr) -> bool {
    matches!(address, IpAddr::V4(address)
        if matches!(address.octets(), [100, second, ..] if second & 0xc0 == 64))
}

/// Returns true for a unicast address of one link (RFC 3927, RFC 4291 section 2.5.6).
pub fn is_link_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_scope_has_its_addresses() {
        for (text, private, shared, link) in [
            ("10.0.0.1", true, false, false),
            ("172.31.0.1", true, false, false),
            ("192.168.1.1", true, false, false),
            ("100.64.0.1", false, true, false),
            ("100.127.255.255", false, true, false),
            ("100.128.0.1", false, false, false),
            ("169.254.0.1", false, false, true),
            ("192.0.2.1", false, false, false),
            ("fd00::1", true, false, false),
            ("fe80::1", false, false, true),
            ("2001:db8::1", false, false, false),
            ("::ffff:10.0.0.1", false, false, false),
        ] {
            let address = text.parse().expect("an address");
            assert_eq!(is_private(address), private, "{text}");
            assert_eq!(is_shared(address), shared, "{text}");
            assert_eq!(is_link_local(address), link, "{text}");
        }
    }
}
