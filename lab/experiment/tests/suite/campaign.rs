//! Campaigns: the same bytes for any number of cores and interruptions, and errors that lose nothing.

use std::collections::BTreeSet;
use std::fs;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Mutex;

use experiment::channel_errors::ChannelErrors;
use experiment::report::Chapter;
use experiment::{
    About, Campaign, Case, Experiment, LabError, Measurements, Metric, Plan, PlanError, Program,
    Progress, RunError, Summary, Table, load, load_plan, run,
};

const PLAN: &str = r#"
[experiment]
name = "channel-errors"
seeds = 6
[parameters]
packets = 300
rate = "2 Mbit/s"
[axes]
size = ["100 B", "1440 B"]
[schemes.independent]
model = "independent"
p = "2 %"
[schemes.distance]
model = "distance"
mean = "64 KiB"
"#;

const FADING: &str = "model = \"temporal\"\n\
    good = { distribution = \"exponential\", mean = \"100 ms\" }\n\
    bad = { distribution = \"exponential\", mean = \"10 ms\" }";

fn program(digest: &str) -> Program {
    Program {
        lasthop: "0".into(),
        rustc: "0".into(),
        commit: "unknown".into(),
        dirty: None,
        digest: digest.into(),
    }
}

fn campaign(
    experiment: &dyn Experiment,
    plan: &str,
    folder: &Path,
    jobs: usize,
) -> Result<Table, LabError> {
    broken_off(experiment, plan, folder, jobs, &mut |_| {
        ControlFlow::Continue(())
    })
}

fn broken_off(
    experiment: &dyn Experiment,
    plan: &str,
    folder: &Path,
    jobs: usize,
    observer: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<Table, LabError> {
    let campaign = Campaign {
        experiment,
        plan: &Plan::parse("a.toml", plan, &[]).unwrap(),
        folder,
        jobs: NonZeroUsize::new(jobs).unwrap(),
        program: &program("this"),
    };
    run(campaign, observer)
}

/// Returns the results that must be the same bytes each time.
fn results(folder: &Path) -> Vec<(&'static str, String)> {
    let names = ["plan.toml", "runs.csv", "summary.csv", "runs.journal"];
    let read = |name| (name, fs::read_to_string(folder.join(name)).unwrap());
    names.map(read).to_vec()
}

#[test]
fn results_are_the_same_bytes_for_any_number_of_jobs() {
    let folders = [1, 2, 7].map(|jobs| {
        let folder = tempfile::tempdir().unwrap();
        campaign(&ChannelErrors, PLAN, folder.path(), jobs).unwrap();
        folder
    });
    let [one, two, seven] = folders.map(|folder| results(folder.path()));
    assert_eq!(one, two);
    assert_eq!(one, seven);
}

#[test]
fn a_campaign_broken_off_anywhere_goes_on_to_the_same_bytes() {
    let whole = tempfile::tempdir().unwrap();
    campaign(&ChannelErrors, PLAN, whole.path(), 1).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut highest = 0;
    for _ in 0..100 {
        let mut begun = None;
        let mut few = |progress: Progress| {
            let begun = *begun.get_or_insert(progress.done);
            assert_eq!(progress.resumed, begun, "what was stored is not run again");
            if progress.done >= begun + 3 {
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        };
        match broken_off(&ChannelErrors, PLAN, folder.path(), 2, &mut few) {
            Ok(_) => break,
            Err(LabError::Interrupted) => {}
            Err(error) => panic!("{error}"),
        }
        let plan = load_plan(folder.path()).unwrap();
        let sofar = load(&ChannelErrors, &plan, folder.path())
            .unwrap()
            .count_runs();
        assert!(sofar >= highest + 3, "each attempt stores what it ran");
        assert!(
            !folder.path().join("runs.csv").exists(),
            "no half of a result"
        );
        highest = sofar;
    }
    assert!(highest > 0);
    assert_eq!(results(folder.path()), results(whole.path()));
}

#[test]
fn more_seeds_keep_what_was_run_and_give_the_same_bytes() {
    let [grown, fresh] = [(), ()].map(|()| tempfile::tempdir().unwrap());
    campaign(&ChannelErrors, PLAN, grown.path(), 2).unwrap();
    let more = PLAN.replace("seeds = 6", "seeds = 9");
    let mut first = None;
    let mut observer = |progress: Progress| {
        first.get_or_insert(progress);
        ControlFlow::Continue(())
    };
    broken_off(&ChannelErrors, &more, grown.path(), 2, &mut observer).unwrap();
    let first = first.unwrap();
    assert_eq!((first.resumed, first.total), (24, 36));
    campaign(&ChannelErrors, &more, fresh.path(), 2).unwrap();
    assert_eq!(results(grown.path()), results(fresh.path()));
    let table = campaign(&ChannelErrors, PLAN, grown.path(), 2).unwrap();
    assert_eq!(table.count_runs(), 24, "fewer seeds are fewer again");
}

#[test]
fn a_folder_of_other_runs_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    campaign(&ChannelErrors, PLAN, folder.path(), 1).unwrap();
    let other = PLAN.replace("packets = 300", "packets = 301");
    let error = campaign(&ChannelErrors, &other, folder.path(), 1).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("another plan; name another folder"),
        "{error}"
    );
    let plan = Plan::parse("a.toml", PLAN, &[]).unwrap();
    let campaign = Campaign {
        experiment: &ChannelErrors,
        plan: &plan,
        folder: folder.path(),
        jobs: NonZeroUsize::MIN,
        program: &program("that"),
    };
    let error = run(campaign, &mut |_| ControlFlow::Continue(())).unwrap_err();
    assert!(
        error.to_string().contains("another build of lasthop"),
        "{error}"
    );
    let empty = tempfile::tempdir().unwrap();
    assert!(matches!(load_plan(empty.path()), Err(LabError::Nothing(_))));
}

/// An experiment with runs as the test defines them; it notes the seeds of each scheme.
struct ScriptedExperiment {
    measure: fn(&str, u64) -> Result<Measurements, RunError>,
    seen: Mutex<BTreeSet<(String, u64)>>,
}

const TOLD: About = About {
    name: "told",
    group: "tests",
    title: "",
    source: "",
    plan: "",
    metrics: &[Metric {
        name: "value",
        unit: "",
        description: "",
    }],
    published: "[told]\nrows = [{ scheme = \"a\", value = 2 }, { scheme = \"b\", axis = 1, value = 4.5 }]",
    calibration: &[],
    deviations: "",
};

impl ScriptedExperiment {
    fn new(measure: fn(&str, u64) -> Result<Measurements, RunError>) -> Self {
        let seen = Mutex::default();
        Self { measure, seen }
    }

    fn run_plan(&self, seeds: &str) -> Result<Table, LabError> {
        let folder = tempfile::tempdir().unwrap();
        let plan = format!(
            "[experiment]\nname = \"told\"\nseeds = {seeds}\n[schemes.a]\n[schemes.b]\n[axes]\naxis = [1, 2]"
        );
        campaign(self, &plan, folder.path(), 2)
    }
}

impl Experiment for ScriptedExperiment {
    fn about(&self) -> &About {
        &TOLD
    }

    fn check(&self, _: &Case) -> Result<(), PlanError> {
        Ok(())
    }

    fn run(&self, case: &Case, seed: u64) -> Result<Measurements, RunError> {
        let scheme = case.scheme_name();
        self.seen.lock().unwrap().insert((scheme.into(), seed));
        (self.measure)(scheme, seed)
    }
}

#[expect(clippy::unnecessary_wraps, reason = "what a run gives")]
fn value(value: f64) -> Result<Measurements, RunError> {
    Ok(Measurements::new().with("value", value))
}

#[test]
fn a_run_that_fails_or_panics_is_named() {
    let failing = ScriptedExperiment::new(|scheme, seed| match (scheme, seed) {
        ("b", 2) => Err(RunError::Failed("the air is out".into())),
        _ => value(1.0),
    });
    let error = failing.run_plan("3").unwrap_err().to_string();
    assert!(
        error.contains("told, b, axis = ") && error.contains("seed 2: the air is out"),
        "{error}"
    );
    let panicking = ScriptedExperiment::new(|_, seed| {
        assert!(seed < 2, "a bug");
        value(1.0)
    });
    let error = panicking.run_plan("3").unwrap_err().to_string();
    assert!(error.contains("(it panicked)"), "{error}");
    let odd = ScriptedExperiment::new(|_, _| value(f64::NAN));
    assert!(
        odd.run_plan("1")
            .unwrap_err()
            .to_string()
            .contains("no number")
    );
    let unknown = ScriptedExperiment::new(|_, _| Ok(Measurements::new().with("speed", 1.0)));
    assert!(
        unknown
            .run_plan("1")
            .unwrap_err()
            .to_string()
            .contains("none of its metrics")
    );
}

#[test]
fn adaptive_seeds_end_when_the_interval_is_narrow() {
    // Scheme a is the same each time; b differs by ±50 %, so that its interval stays wide.
    let told = ScriptedExperiment::new(|scheme, seed| match scheme {
        "a" => value(5.0),
        _ => value(if seed % 2 == 0 { 5.0 } else { 15.0 }),
    });
    let table = told
        .run_plan("{ min = 4, max = 40, ci95 = \"2 %\" }")
        .unwrap();
    let runs = |scheme| {
        table
            .summary(scheme, &[("axis", "1")], "value")
            .unwrap()
            .runs
    };
    assert_eq!((runs("a"), runs("b")), (4, 40));
    let table = told
        .run_plan("{ min = 4, max = 400, ci95 = \"20 %\" }")
        .unwrap();
    let summary = table.summary("b", &[("axis", "2")], "value").unwrap();
    assert!(
        summary.ci95.unwrap() <= 0.2 * summary.mean && summary.runs < 40,
        "{summary:?}"
    );
    let seen = told.seen.lock().unwrap();
    assert!((1..=4).all(|seed| seen.contains(&("a".into(), seed))));
}

#[test]
fn published_numbers_and_pairs_find_their_cases() {
    let told = ScriptedExperiment::new(|scheme, seed| {
        value(seed as f64 + if scheme == "a" { 1.0 } else { 0.0 })
    });
    let table = told.run_plan("5").unwrap();
    let published: Vec<_> = table.rows().iter().map(|row| row.published).collect();
    assert_eq!(published, [Some(2.0), Some(4.5), Some(2.0), None]);
    assert_eq!(table.rows()[0].ratio(), Some(2.0));
    let paired = table.paired(["a", "b"], &[("axis", "1")], "value").unwrap();
    assert_eq!(
        (paired.difference.mean, paired.difference.ci95),
        (1.0, Some(0.0))
    );
    assert!(paired.is_significant());
    assert!((paired.ratio - 4.0 / 3.0).abs() < 1e-12);
    for (scheme, said) in [("a", "several cases"), ("c", "not run: c")] {
        let error = table.mean(scheme, &[], "value").unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn the_statistics_agree_with_known_values() {
    // Student (1908), the two soporifics: mean difference 1.58, t = 4.0621 with 9 degrees of freedom.
    let drugs = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4];
    let summary = Summary::of(&drugs).unwrap();
    assert!((summary.mean - 1.58).abs() < 1e-12);
    // R: t.test(extra ~ group, paired = TRUE) gives the interval 0.7001142 to 2.4598858.
    assert!(
        (summary.ci95.unwrap() - 0.879_885_8).abs() < 1e-6,
        "{summary:?}"
    );
    assert_eq!((summary.min, summary.max, summary.runs), (0.0, 4.6, 10));
    // t(0.975; 1) = 12.7062.
    let two = Summary::of(&[0.0, 2.0]).unwrap();
    assert!((two.ci95.unwrap() - 12.706_205).abs() < 1e-5);
    assert_eq!(Summary::of(&[3.0]).unwrap().ci95, None);
    assert_eq!(Summary::of(&[]), None);
}

#[test]
fn claims_are_judged_with_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let table = campaign(&ChannelErrors, ChannelErrors.about().plan, folder.path(), 2).unwrap();
    let judged = table.judge(&ChannelErrors);
    assert!(
        judged.iter().all(|judged| judged.word() == "holds"),
        "{judged:?}"
    );
    assert!(judged[0].numbers().contains(" for 2.000"));
    let without = PLAN
        .replace("model = \"independent\"\np = \"2 %\"", FADING)
        .replace("model = \"distance\"\nmean = \"64 KiB\"", FADING);
    let folder = tempfile::tempdir().unwrap();
    let table = campaign(&ChannelErrors, &without, folder.path(), 2).unwrap();
    assert_eq!(table.judge(&ChannelErrors)[0].word(), "unknown");
}

#[test]
fn the_table_is_the_golden_one() {
    let folder = tempfile::tempdir().unwrap();
    let table = campaign(&ChannelErrors, PLAN, folder.path(), 2).unwrap();
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/channel-errors.txt");
    let text = experiment::text::tables(&table);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&golden, &text).unwrap();
    }
    assert_eq!(
        text,
        fs::read_to_string(golden).unwrap(),
        "UPDATE_GOLDEN=1 writes it anew"
    );
}

#[test]
fn many_schemes_at_many_places_are_a_grid() {
    let sizes: Vec<_> = (1..=6).map(|number| format!("\"{number}00 B\"")).collect();
    let axis = format!("size = [{}]", sizes.join(", "));
    let mut plan = PLAN.replace("size = [\"100 B\", \"1440 B\"]", &axis);
    plan.extend((3..=12).map(|number| {
        format!("[schemes.number-{number}]\nmodel = \"independent\"\np = \"{number} %\"\n")
    }));
    let folder = tempfile::tempdir().unwrap();
    let table = campaign(&ChannelErrors, &plan, folder.path(), 2).unwrap();
    let text = experiment::text::tables(&table);
    let lines: Vec<_> = text.lines().take(14).collect();
    assert!(
        lines[1].starts_with("scheme") && lines[1].ends_with("600 B"),
        "{}",
        lines[1]
    );
    assert!(
        lines[13].starts_with("number-12") && lines[13].matches(" ± ").count() == 6,
        "{}",
        lines[13]
    );
    let plan = Plan::parse("plan", &plan, &[]).unwrap();
    let chapter = Chapter::new(&ChannelErrors, plan, table, folder.path()).unwrap();
    let page = experiment::report::page(&[chapter]).unwrap();
    assert_eq!(page.matches("class=\"number shaded\"").count(), 2 * 12 * 6);
    assert!(!page.contains("<svg"));
}
