//! Helpers that run an experiment as the lab does.

use std::fs;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::Path;

use experiment::{Campaign, Experiment, Override, Plan, Program, Table, run};
use papers::{csdp96, handoff, matrix, mtcp00, nfs_csdp, nfs95, nfs97, ton97};

/// Returns the experiment of this name.
pub(crate) fn named(name: &str) -> &'static dyn Experiment {
    let groups = [
        nfs95::EXPERIMENTS,
        csdp96::EXPERIMENTS,
        nfs97::EXPERIMENTS,
        nfs_csdp::EXPERIMENTS,
        ton97::EXPERIMENTS,
        mtcp00::EXPERIMENTS,
        matrix::EXPERIMENTS,
        handoff::EXPERIMENTS,
    ];
    let mut known = groups.into_iter().flatten();
    *known.find(|known| known.about().name == name).unwrap()
}

/// Returns its plan with overrides.
pub(crate) fn plan(experiment: &dyn Experiment, overrides: &[&str]) -> Plan {
    let about = experiment.about();
    let overrides: Vec<Override> = overrides.iter().map(|text| text.parse().unwrap()).collect();
    Plan::parse(about.name, about.plan, &overrides).unwrap()
}

/// Returns the table of its plan with overrides.
pub(crate) fn table(experiment: &dyn Experiment, overrides: &[&str]) -> Table {
    let folder = tempfile::tempdir().unwrap();
    let program = Program {
        lasthop: "0".into(),
        rustc: "0".into(),
        commit: "unknown".into(),
        dirty: None,
        digest: "0".into(),
    };
    let campaign = Campaign {
        experiment,
        plan: &plan(experiment, overrides),
        folder: folder.path(),
        jobs: std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
        program: &program,
    };
    run(campaign, &mut |_| ControlFlow::Continue(())).unwrap()
}

/// Expects that each change is refused, or is valid if no key is given, and that the error names the key.
pub(crate) fn refuses(experiment: &dyn Experiment, wrong: &[(&str, &str)]) {
    for (change, key) in wrong {
        let cases = plan(experiment, &[change]).cases();
        let problems = cases.iter().filter_map(|case| experiment.check(case).err());
        let problem = problems.map(|problem| problem.to_string()).next();
        let problem = problem.unwrap_or_default();
        assert!(problem.contains(key), "{change}: {problem}");
        assert_eq!(problem.is_empty(), key.is_empty(), "{change}: {problem}");
    }
}

/// Expects that every case of the plans of these experiments is valid.
pub(crate) fn makes_sense(experiments: &[&dyn Experiment]) {
    for experiment in experiments {
        for case in plan(*experiment, &[]).cases() {
            experiment.check(&case).unwrap();
        }
    }
}

/// Expects that a text is the one in git; `UPDATE_GOLDEN=1` rewrites it.
pub(crate) fn is_golden(name: &str, text: &str) {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/{name}.txt"));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&golden, text).unwrap();
    }
    let golden = fs::read_to_string(golden).unwrap();
    assert_eq!(text, golden, "UPDATE_GOLDEN=1 writes it anew");
}
