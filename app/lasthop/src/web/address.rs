//! The addresses at which the page may be served. It has no password, so nobody else may reach it: only this host, or
//! the hosts of the tunnel.

use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use edges::undo::daemon_addresses;

use crate::failure::Failure;

/// Checks that `listen` is a loopback address, or one of the inner addresses of the daemon `name`.
pub(super) fn check(listen: SocketAddr, state_dir: &Path, name: &str) -> Result<(), Failure> {
    if listen.ip().to_canonical().is_loopback() {
        return Ok(());
    }
    // A daemon that does not run has none.
    let inner = daemon_addresses(state_dir, name).unwrap_or_default();
    let inner: Vec<_> = inner.iter().map(ipnet::IpNet::addr).collect();
    if inner.contains(&listen.ip()) {
        return Ok(());
    }
    Err(Failure::setting(refusal(listen, name, &inner)))
}

fn refusal(listen: SocketAddr, name: &str, inner: &[IpAddr]) -> String {
    let port = listen.port();
    let own: Vec<_> = inner.iter().map(ToString::to_string).collect();
    let own = if own.is_empty() {
        format!("the daemon '{name}' has no tunnel address now")
    } else {
        format!(
            "the tunnel addresses of the daemon '{name}' are {}",
            own.join(", ")
        )
    };
    format!(
        "the page is not served at {}: everybody who reaches that address could read it, as it has no password. Use a \
         loopback address, or one inside the tunnel ({own}). To read it from elsewhere, use an SSH tunnel (ssh -L \
         {port}:127.0.0.1:{port} THIS_HOST), or a reverse proxy with a password",
        listen.ip()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(listen: &str) -> Result<(), String> {
        let folder = tempfile::tempdir().unwrap();
        let listen = listen.parse().unwrap();
        check(listen, folder.path(), "gateway").map_err(|failure| failure.to_string())
    }

    #[test]
    fn loopback_is_allowed_and_the_rest_of_the_world_is_not() {
        for listen in [
            "127.0.0.1:9530",
            "127.9.9.9:1",
            "[::1]:9530",
            "[::ffff:127.0.0.1]:80",
        ] {
            assert_eq!(outcome(listen), Ok(()), "{listen}");
        }
        for listen in [
            "0.0.0.0:9530",
            "[::]:9530",
            "192.0.2.1:9530",
            "[fe80::1]:9530",
        ] {
            let error = outcome(listen).unwrap_err();
            for part in [
                "no password",
                "no tunnel address now",
                "ssh -L 9530:127.0.0.1:9530",
                "proxy",
            ] {
                assert!(error.contains(part), "no '{part}' in: {error}");
            }
        }
    }
}
