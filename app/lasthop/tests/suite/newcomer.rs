//! Two commands make a hop under the circumstances that newcomers have, or one of them says why not.

use rig::{Circumstances, Newcomer, Outcome};

use crate::support::turn::Turn;
use crate::support::{PROGRAM, able};

/// Returns how a first try goes.
fn first_try(circumstances: Circumstances) -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    let newcomer = Newcomer::new(PROGRAM.as_ref(), folder.path(), circumstances).unwrap();
    newcomer
        .try_it()
        .unwrap_or_else(|error| panic!("{circumstances}: {error}"))
}

/// `cargo xtask bench newcomer` tries all combinations.
#[test]
fn the_first_try_works_or_the_reason_is_said() {
    if !able() {
        return;
    }
    let _turn = Turn::take();
    let usual = Circumstances {
        mtu: 1_500,
        drops_forwarded: false,
        strict_source_check: false,
        is_advertised: false,
        clash: false,
    };
    for circumstances in [
        Circumstances {
            mtu: 1_280,
            strict_source_check: true,
            is_advertised: true,
            ..usual
        },
        Circumstances {
            mtu: 1_492,
            ..usual
        },
    ] {
        let outcome = first_try(circumstances);
        assert!(
            matches!(outcome, Outcome::Works { .. }),
            "{circumstances}: {outcome:?}"
        );
    }
    for (circumstances, reason) in [
        (
            Circumstances {
                drops_forwarded: true,
                ..usual
            },
            "forward",
        ),
        (
            Circumstances {
                clash: true,
                ..usual
            },
            "which this host reaches by wlan0",
        ),
    ] {
        let outcome = first_try(circumstances);
        let Outcome::SaysWhy(words) = outcome else {
            panic!("{circumstances}: {outcome:?}");
        };
        assert!(words.contains(reason), "{words}");
    }
}
