//! Copies of a download at the gateway that a mobile host is about to move to.

use hosts::Input;
use tcp::{Config, Control};
use units::{Bytes, Duration, Probability};

use crate::site::{attachments, is_whole};
use crate::support::MOBILE;
use crate::support::ends::Ends;
use crate::support::roaming::{HOME, Roaming, Setting};

const SECOND: Duration = Duration::from_secs(1);

/// Returns a site whose gateways are so far from each other, with a download that has reached its rate, and whose
/// window fills the path and so much of a queue; all of it if that is `None`.
fn download(wire: Duration, queue: Option<Bytes>) -> Roaming {
    let setting = Setting {
        wire,
        ..Setting::default()
    };
    let mut site = Roaming::new(setting);
    site.run(SECOND, true);
    let config = Config {
        timestamps: true,
        window_scaling: true,
        ..Config::kernel(Control::Cubic)
    };
    let path = setting.rate.bytes_in((setting.delay + wire) * 2);
    site.connect_now(Ends::new(&Config {
        receive_buffer: queue.map_or(config.receive_buffer, |queue| path + queue),
        ..config
    }));
    site.run(SECOND * 4, true);
    site
}

#[test]
fn a_move_stalls_a_download_for_a_round_trip_of_the_hop_however_far_the_gateway_is() {
    for wire in [10, 40, 100].map(Duration::from_millis) {
        let mut site = download(wire, Some(Bytes::new(30_000)));
        let (before, mut from) = (attachments(&site), HOME);
        // The first packets from one gateway to another find out how much crosses there.
        let visits = [2, 3, HOME].map(|to| (to, false));
        let moves = [2, 3, 2, HOME, 3, HOME, 2].map(|to| (to, true));
        for (number, (to, is_judged)) in visits.into_iter().chain(moves).enumerate() {
            site.take_stall();
            site.move_to(to);
            site.run(SECOND, true);
            let stall = site.take_stall();
            site.run(SECOND, true);
            assert_eq!(attachments(&site), before + number + 1);
            // From the home, what was sent last comes by a longer way than what came before.
            let longer = if from == HOME { wire } else { Duration::ZERO };
            let most = longer.max(site.network.setting.delay * 2) + Duration::from_millis(6);
            assert!(
                !is_judged || stall <= most,
                "wire {wire}, {from} to {to}: {stall}, not {most}"
            );
            from = to;
        }
        assert!(site.is_connected());
    }
}

/// The hop to the gateway that serves ends for ever, as was announced so long before.
#[test]
fn an_announced_end_of_the_hop_stalls_a_download_no_longer_than_a_move() {
    for wire in [10, 40].map(Duration::from_millis) {
        let mut site = download(wire, Some(Bytes::new(30_000)));
        // The first packets from one gateway to another find out how much crosses there.
        for to in [2, 3, HOME, 2, 3, HOME] {
            site.move_to(to);
            site.run(SECOND * 2, true);
        }
        for within in [500, 500, 500, 300, 300, 300].map(Duration::from_millis) {
            let at = site.serving_host().expect("a gateway");
            site.take_stall();
            site.input(
                MOBILE,
                Input::HandoffAnnounced {
                    within,
                    gateway: None,
                },
            );
            site.run(within, true);
            site.network.more[at].1 = Probability::ALWAYS;
            site.run(SECOND, true);
            let stall = site.take_stall();
            site.network.more[at].1 = Probability::NEVER;
            site.run(SECOND * 2, true);
            // From the home copies take the longer way, and may come too late.
            let longer = if at == HOME { wire * 2 } else { Duration::ZERO };
            let most = site.network.setting.delay * 2 + longer + Duration::from_millis(6);
            assert!(
                stall <= most,
                "wire {wire}, {within} from {at}: {stall}, not {most}"
            );
        }
        assert!(site.is_connected());
    }
}

/// What is sent again overtakes its queue, at the former gateway and at the next one.
#[test]
fn a_full_queue_and_its_drops_make_a_move_no_longer() {
    for wire in [10, 40].map(Duration::from_millis) {
        let mut site = download(wire, None);
        for (number, to) in [2, 3, 2, 3, 2, 3, 2, 3, 2, 3, 2].into_iter().enumerate() {
            // A loss from before the move is repaired before it.
            while site.take_stall() > Duration::from_millis(30) {
                site.run(Duration::from_millis(300), true);
            }
            site.move_to(to);
            site.run(SECOND, true);
            // A drop during the move takes a round trip of the path to repair, and of the hop.
            let delay = site.network.setting.delay;
            let most = (delay * 2 + wire) * 2;
            let stall = site.take_stall();
            assert!(number < 2 || stall <= most, "wire {wire}, to {to}: {stall}");
            site.run(SECOND, true);
        }
        assert!(site.is_connected());
    }
}

/// The next gateway has copies from some number on, and the mobile host goes on with the former one as it does not hear
/// that. When it leaves without them, the number is old.
#[test]
fn copies_that_were_given_up_come_no_second_time() {
    for cut in (6..20).map(|number| Duration::from_millis(number * 10)) {
        let mut site = Roaming::new(Setting {
            wire: Duration::from_millis(20),
            ..Setting::default()
        });
        site.run(SECOND * 3, false);
        for to in [2, 3] {
            site.move_to(to);
            site.run(cut, false);
            site.network.cut = vec![[MOBILE, to]];
            site.run(Duration::from_millis(450), false);
            site.network.cut = Vec::new();
            site.run(SECOND * 2, false);
            assert_eq!(site.serving_host(), Some(to));
        }
        is_whole(&mut site);
    }
}
