//! What daemons do with the network of the hosts that they run on, in network namespaces.

use std::net::{Ipv6Addr, SocketAddrV6};
use std::thread;
use std::time::{Duration, Instant};

use edges::namespace::Namespace;
use edges::netlink::{MAIN_TABLE, Netlink, Route};
use edges::sysctl;
use socket2::{Domain, Protocol, Socket, Type};

use crate::support::{GATEWAY_OUTSIDE, Hosts, able, fetch, fetch_from};

/// Advertises a router on the link "wire" of a host, for half an hour (RFC 4861 §4.2).
fn advertise(router: &Namespace) {
    let index = router.run(|| {
        let links = Netlink::open().unwrap().links().unwrap();
        links.iter().find(|link| link.name == "wire").unwrap().index
    });
    let open = || Socket::new(Domain::IPV6, Type::RAW, Some(Protocol::ICMPV6)).unwrap();
    let socket = router.run(open).unwrap();
    socket.set_multicast_hops_v6(255).unwrap();
    let everybody = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
    let to = SocketAddrV6::new(everybody, 0, 0, index.unwrap());
    let advertisement = [134, 0, 0, 0, 64, 0, 7, 8, 0, 0, 0, 0, 0, 0, 0, 0];
    // Until its own address there is certain, it cannot.
    let _ = socket.send_to(&advertisement, &to.into());
}

/// Whether a host knows a default route of IPv6.
fn has_default_route(host: &Namespace) -> bool {
    let routes = host.run(|| Netlink::open().unwrap().routes(MAIN_TABLE).unwrap());
    let is_default = |route: &Route| route.destination.to_string() == "::/0";
    routes.unwrap().iter().any(is_default)
}

#[test]
fn a_default_route_from_a_router_survives_a_gateway() {
    if !able() {
        return;
    }
    let hosts = Hosts::create();
    let parameter = "net/ipv6/conf/wire/accept_ra";
    let read = || hosts.gateway.run(|| sysctl::read(parameter).unwrap());
    assert_eq!(read().unwrap(), "1");
    hosts.wait_until("a router is heard", || {
        advertise(&hosts.fixed);
        thread::sleep(Duration::from_millis(200));
        has_default_route(&hosts.gateway)
    });
    let gateway = hosts.start("gateway");
    let _mobile = hosts.start("mobile");
    hosts.wait_until_connected();
    let forwards = || sysctl::read("net/ipv6/conf/all/forwarding").unwrap();
    assert_eq!(hosts.gateway.run(forwards).unwrap(), "1");
    assert!(has_default_route(&hosts.gateway));
    assert_eq!(read().unwrap(), "2");
    assert!(gateway.terminate().success());
    assert_eq!(read().unwrap(), "1");
    assert!(has_default_route(&hosts.gateway));
}

/// Datagrams of the mobile host that its kernel has refused so far.
fn refused(hosts: &Hosts) -> u64 {
    let status = hosts.status("mobile");
    status["bearer"]["refused"].as_u64().unwrap()
}

#[test]
fn it_rests_while_its_interface_is_down() {
    if !able() {
        return;
    }
    let hosts = Hosts::create();
    let [_gateway, mobile] = hosts.start_both();
    let default = Route::to("0.0.0.0/0".parse().unwrap()).via("10.1.0.1".parse().unwrap());
    let transfer = |done: &std::sync::atomic::AtomicBool| {
        fetch(&hosts, 100 << 20);
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    };
    let done = std::sync::atomic::AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| transfer(&done));
        let through = || {
            let status = hosts.status("mobile");
            status["device"]["sent"].as_u64().unwrap_or_default() > 100
        };
        hosts.wait_until("something has come", through);
        let down = || Netlink::open().unwrap().set_down("air").unwrap();
        hosts.mobile.run(down).unwrap();
        let shut = || !hosts.peer("mobile")["unreachable_for"].is_null();
        hosts.wait_until("the host knows that it has no link", shut);
        let (begun, before, ticks) = (Instant::now(), refused(&hosts), mobile.processor_time());
        thread::sleep(Duration::from_secs(5));
        let (refused, seconds) = (refused(&hosts) - before, begun.elapsed().as_secs() + 1);
        let used = mobile.processor_time().saturating_sub(ticks);
        println!("in {seconds} s without a link: {refused} refused, {used:?} of a processor used");
        // Once a second it is tried, with what the pacer lets go at once.
        assert!(refused <= 40 * seconds, "{refused} refused in {seconds} s");
        let up = || {
            let mut netlink = Netlink::open().unwrap();
            netlink.set_up("air").unwrap();
            netlink.add_route(&default).unwrap();
        };
        hosts.mobile.run(up).unwrap();
    });
    assert!(done.into_inner());
    let inner = "fd73::1".parse().unwrap();
    fetch_from(&hosts, (&hosts.gateway, inner), 1 << 20);
    assert_eq!(fetch(&hosts, 1 << 10), GATEWAY_OUTSIDE);
}
