//! Addresses as text.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use nfs::url::{Fault, Transport, Url, UrlError, UrlOptions};
use proptest::prelude::*;

fn parsed(text: &str) -> Url {
    Url::parse(text.as_bytes()).unwrap()
}

#[track_caller]
fn refused(text: &str, at: usize, fault: Fault) {
    assert_eq!(
        Url::parse(text.as_bytes()),
        Err(UrlError { at, fault }),
        "{text}"
    );
}

#[test]
fn the_usual_forms() {
    let url = parsed("nfs://files.example/srv/notes%20of%20mine/a+b#1");
    assert_eq!(
        (url.host.as_str(), url.port, url.path.as_slice()),
        ("files.example", None, &b"/srv/notes of mine/a+b#1"[..])
    );
    assert_eq!(url.options, UrlOptions::default());
    let url = parsed("NFS://192.0.2.7:20490");
    assert_eq!((url.port, url.path.as_slice()), (Some(20_490), &b"/"[..]));
    let url = parsed("nfs://[2001:db8::1]:1/a?proto=tcp&mountport=20480&rsize=4096&export=/a%2Fb");
    assert_eq!((url.host.as_str(), url.port), ("2001:db8::1", Some(1)));
    let options = UrlOptions {
        export: Some(b"/a/b".into()),
        mount_port: Some(20_480),
        transport: Some(Transport::Tcp),
        read_size: Some(4_096),
        ..UrlOptions::default()
    };
    assert_eq!(url.options, options);
    assert_eq!(parsed("nfs://[fe80::1%25eth0]/").host, "fe80::1%eth0");
    assert_eq!(parsed("nfs://h?").path, b"/");
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    refused("http://h/", 0, Fault::Scheme);
    refused("nfs:///a", 6, Fault::NoHost);
    refused("nfs://a b/", 7, Fault::Host);
    refused("nfs://me@h/", 8, Fault::User);
    refused("nfs://[::1/", 6, Fault::Bracket);
    refused("nfs://[::1]x/", 11, Fault::Bracket);
    refused("nfs://[192.0.2.1]/", 7, Fault::Address);
    refused("nfs://h:0/", 8, Fault::Port);
    refused("nfs://h:65536/", 8, Fault::Port);
    refused("nfs://h:/", 8, Fault::Port);
    refused("nfs://2001:db8::1/", 11, Fault::Port);
    refused("nfs://h/100%", 11, Fault::Percent);
    refused("nfs://h/%zz", 8, Fault::Percent);
    refused("nfs://h/a%00b", 9, Fault::Zero);
    refused("nfs://h/?ro", 9, Fault::Option);
    refused("nfs://h/?rsize=1&speed=9", 15, Fault::Size);
    refused("nfs://h/?speed=9", 9, Fault::Unknown("speed".into()));
    refused(
        "nfs://h/?proto=udp&proto=tcp",
        19,
        Fault::Twice("proto".into()),
    );
    refused("nfs://h/?proto=sctp", 15, Fault::Transport);
    refused("nfs://h/?export=a", 16, Fault::Export);
    let said = Url::parse(b"nfs://h/?speed=9").unwrap_err().to_string();
    assert!(said.contains("there is no option `speed`; there are export, mountport"));
    assert!(said.ends_with("(at byte 9)"));
}

fn url() -> impl Strategy<Value = Url> {
    let port = || prop::option::of(1..=u16::MAX);
    let size = || prop::option::of(1_024..=32_768_u32);
    let path = || {
        prop::collection::vec(1..=u8::MAX, 0..40).prop_map(|mut path| {
            path.insert(0, b'/');
            path
        })
    };
    let host = prop_oneof![
        "[a-z0-9._-]{1,20}",
        any::<std::net::Ipv6Addr>().prop_map(|address| address.to_string())
    ];
    let transport = prop::option::of(prop_oneof![
        Just(Transport::Auto),
        Just(Transport::Udp),
        Just(Transport::Tcp)
    ]);
    let options = (
        prop::option::of(path()),
        port(),
        port(),
        transport,
        size(),
        size(),
    )
        .prop_map(
            |(export, mount_port, nfs_port, transport, read_size, write_size)| UrlOptions {
                export,
                mount_port,
                nfs_port,
                transport,
                read_size,
                write_size,
            },
        );
    (host, port(), path(), options).prop_map(|(host, port, path, options)| Url {
        host,
        port,
        path,
        options,
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(url in url()) {
        prop_assert_eq!(Url::parse(url.to_string().as_bytes()), Ok(url));
    }

    #[test]
    fn any_text_is_an_address_or_an_error_within_it(text in prop::collection::vec(any::<u8>(), 0..60)) {
        let text = [b"nfs://", text.as_slice()].concat();
        match Url::parse(&text) {
            Ok(url) => prop_assert_eq!(Url::parse(url.to_string().as_bytes()), Ok(url)),
            Err(error) => prop_assert!(error.at <= text.len()),
        }
    }
}
