//! Configurations that are refused, and requests beyond the configured limit.

use files::{BlockSize, Client, Config, Error, Operation, ServerLimits, Window};
use nfs::Status;
use units::{Bytes, Duration};

use crate::drive::{Pair, Way};

/// Returns the error for a configuration, if it is refused.
fn refusal(change: impl FnOnce(&mut Config)) -> Option<String> {
    let mut config = Config::default();
    change(&mut config);
    let rpc = rpc::Client::new(rpc::Config::default(), 7).expect("a configuration");
    let client = Client::new(config, ServerLimits::default(), rpc, 7);
    client.err().map(|error| error.to_string())
}

#[test]
fn each_wrong_value_is_refused_and_named() {
    let refused = [
        ("block", refusal(|c| c.block = BlockSize::Fixed(1_023))),
        ("block", refusal(|c| c.block = BlockSize::Fixed(32_769))),
        ("window", refusal(|c| c.window = Window::Fixed(0))),
        ("window", refusal(|c| c.window = Window::Fixed(1_025))),
        (
            "dirty_limit",
            refusal(|c| c.dirty_limit = Bytes::new(65_535)),
        ),
        ("requests", refusal(|c| c.requests = 0)),
        ("patience", refusal(|c| c.patience = Some(Duration::ZERO))),
    ];
    for (name, error) in refused {
        let error = error.unwrap_or_else(|| panic!("a wrong `{name}` is accepted"));
        assert!(error.contains(&format!("`{name}`")), "{error}");
    }
}

#[test]
fn the_largest_and_smallest_values_are_accepted() {
    for (size, blocks) in [(1_024, 1), (32_768, 1_024)] {
        let error = refusal(|config| {
            config.block = BlockSize::Fixed(size);
            config.window = Window::Fixed(blocks);
            config.dirty_limit = Bytes::new(65_536);
            config.requests = 1;
        });
        assert_eq!(error, None);
    }
}

#[test]
fn a_client_with_too_many_requests_refuses_all_but_closing() {
    let config = Config {
        requests: 2,
        ..Config::default()
    };
    let mut pair = Pair::new(config, fileserver::Config::default(), Way::default());
    let (open, _) = pair.create("file");
    let entry = pair.entry("missing");
    let look_up = || Operation::LookUp(entry.clone());
    let waiting = [pair.start(look_up()), pair.start(look_up())];
    let refused = pair.call(look_up());
    assert!(matches!(refused, Err(Error::TooMany { limit: 2 })));
    pair.close(open);
    for ticket in waiting {
        let missing = pair.end(ticket);
        assert!(matches!(
            missing,
            Err(Error::Refused {
                status: Status::NoEntry,
                ..
            })
        ));
    }
}
