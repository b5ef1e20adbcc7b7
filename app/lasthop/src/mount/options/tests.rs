//! Options as users write them.

use files::{BlockSize, Window};

use super::*;

fn parse(text: &str) -> Result<Options, String> {
    let texts: Vec<String> = text.split(',').map(str::to_owned).collect();
    Options::parse(&texts).map_err(|failure| failure.to_string())
}

#[test]
fn usual_options_are_understood() {
    let options =
        parse("rw,hard,rsize=8192,wsize=4096,proto=udp,port=20490,nolock,_netdev").unwrap();
    assert_eq!(options.client.url.read_size, Some(8_192));
    assert_eq!(options.client.url.nfs_port, Some(20_490));
    assert_eq!(options.client.url.transport, Some(Transport::Udp));
    assert_eq!(options.client.files.patience, None);
    assert!(!options.read_only);
    let options = parse("soft=10 s,ro,actimeo=1,block=4096,window=8,bg").unwrap();
    assert_eq!(options.client.files.patience, Some(Duration::from_secs(10)));
    assert_eq!(
        options.client.files.validity.file_max,
        Duration::from_secs(1)
    );
    assert_eq!(options.client.files.block, BlockSize::Fixed(4_096));
    assert_eq!(options.client.files.window, Window::Fixed(8));
    assert!(options.read_only && options.background);
    let options = parse("rsize=1048576,proto=udp,tcp,nosignals").unwrap();
    assert_eq!(options.client.url.read_size, Some(1 << 20));
    assert_eq!(options.client.url.transport, Some(Transport::Tcp));
    assert_eq!(options.client.signals, None);
    assert!(parse("").is_ok());
}

#[test]
fn what_makes_no_sense_is_named() {
    for (text, reason) in [
        ("sofd", "unknown"),
        ("vers=4", "only version 3"),
        ("block=7", "1024 to 32768"),
        ("rsize=many", "a number of bytes"),
        ("durability=journal", "only `server`"),
        ("proto=sctp", "udp, tcp or auto"),
        (
            "policy=bold",
            "exponential, linear, hybrid-linear, adaptive",
        ),
        ("port=0", "from 1 to 65535"),
    ] {
        let error = parse(text).unwrap_err();
        assert!(error.contains(reason), "{text}: {error}");
    }
}
