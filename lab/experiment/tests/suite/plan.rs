//! Plans: their content, and the errors of wrong ones.

use experiment::channel_errors::ChannelErrors;
use experiment::{Experiment, Override, Plan, check};

const PLAN: &str = r#"[experiment]
name = "channel-errors"
seeds = 3

[parameters]
packets = 100
rate = "2 Mbit/s"

[axes]
size = ["100 B", "1440 B"]
medium = [{ name = "slow", rate = "1 Mbit/s" }, { name = "fast", rate = "1 Gbit/s" }]

[schemes.none]
model = "none"

[schemes.distance]
model = "distance"
mean = "64 KiB"
"#;

/// Returns the error of the plan with `new` in place of `old`, with these overrides.
fn error(old: &str, new: &str, overrides: &[&str]) -> String {
    assert!(PLAN.contains(old), "{old}");
    let overrides = overrides.iter().map(|text| text.parse());
    let outcome = overrides
        .collect::<Result<Vec<Override>, _>>()
        .and_then(|overrides| Plan::parse("a.toml", &PLAN.replacen(old, new, 1), &overrides));
    match outcome {
        Err(error) => error.to_string(),
        Ok(plan) => check(&ChannelErrors, &plan).unwrap_err().to_string(),
    }
}

#[track_caller]
fn says(said: &str, parts: &[&str]) {
    for part in parts {
        assert!(said.contains(part), "no '{part}' in:\n{said}");
    }
}

fn plan(overrides: &[&str]) -> Plan {
    let overrides: Vec<_> = overrides.iter().map(|text| text.parse().unwrap()).collect();
    Plan::parse("a.toml", PLAN, &overrides).unwrap()
}

fn described(plan: &Plan) -> Vec<String> {
    plan.cases()
        .iter()
        .map(experiment::Case::describe)
        .collect()
}

#[test]
fn cases_are_all_combinations_in_the_plans_order() {
    let plan = plan(&[]);
    check(&ChannelErrors, &plan).unwrap();
    assert_eq!(described(&plan).len(), 8);
    assert_eq!(
        described(&plan)[..3],
        [
            "none, size = 100 B, medium = slow",
            "distance, size = 100 B, medium = slow",
            "none, size = 100 B, medium = fast",
        ]
    );
}

#[test]
fn errors_name_key_line_and_what_is_allowed() {
    for (old, new, parts) in [
        (
            "packets = 100",
            "packets = 100\nspeed = 3",
            &[
                "a.toml:7:9: `parameters.speed`: unknown field `speed`",
                "`packets`",
                "7 | speed = 3",
            ][..],
        ),
        (
            "\"1 Mbit/s\"",
            "\"1 Mbit\"",
            &[
                "a.toml:11:35: `parameters.rate`: unknown unit 'Mbit'",
                "Gbit/s",
            ],
        ),
        (
            "\"1440 B\"",
            "\"-1 B\"",
            &["a.toml:10:18: `parameters.size`: '-1 B' does not begin with a number"],
        ),
        (
            "\"1440 B\"",
            "\"2 GiB\"",
            &["a.toml:10:18: `parameters.size`: allowed: 1 B to 64 KiB"],
        ),
        (
            "mean =",
            "means =",
            &[
                "a.toml:18:9",
                "`schemes.distance.means`: unknown field `means`, expected `mean`",
            ],
        ),
        (
            "mean = \"64 KiB\"",
            "",
            &["a.toml:16:10: `schemes.distance`: missing field `mean`"],
        ),
        ("\"64 KiB\"", "0", &["schemes.distance"]),
        (
            "packets = 100",
            "",
            &["a.toml:5:2: `parameters`: missing field `packets`"],
        ),
        (
            "[parameters]",
            "[parameter]",
            &["a.toml:5:2: `parameter`: unknown field", "`parameters`"],
        ),
        ("seeds = 3", "seeds = ", &["a.toml:3:"]),
    ] {
        says(&error(old, new, &[]), parts);
    }
    let said = error("\"2 Mbit/s\"", "20", &["axes.medium=[1]"]);
    says(
        &said,
        &[
            "`parameters.rate`",
            "a.toml:7:8",
            "a quantity is text with its unit",
        ],
    );
}

#[test]
fn absurd_seeds_axes_and_schemes_are_refused() {
    for seeds in [
        "0",
        "-1",
        "1e3",
        "1000001",
        "\"many\"",
        "{ min = 1, max = 9, ci95 = \"1 %\" }",
    ] {
        let said = error("seeds = 3", &format!("seeds = {seeds}"), &[]);
        says(&said, &["`experiment.seeds`: give a count from 1 to"]);
    }
    let said = error(
        "seeds = 3",
        "seeds = { min = 2, max = 9, ci = \"1 %\" }",
        &[],
    );
    says(
        &said,
        &["a.toml:3:34: `experiment.seeds.ci`: unknown field `ci`"],
    );
    let adaptive = "seeds = { min = 2, max = 9, ci95 = \"1 %\", metric = \"speed\" }";
    let said = error("seeds = 3", adaptive, &[]);
    says(
        &said,
        &["no metric is called 'speed'; known are loss, burst"],
    );
    says(
        &error("seeds = 3", "seeds = 1000000", &["axes.size=[]"]),
        &["an axis is a list"],
    );
    let many: Vec<_> = (0..20)
        .map(|n| {
            format!(
                "a{n} = [1, 2]
"
            )
        })
        .collect();
    let many = many.concat();
    let said = error("[schemes.none]", &format!("{many}[schemes.none]"), &[]);
    says(
        &said,
        &["`axes`: all combinations are more than 100000 cases"],
    );
    says(&error("\"1440 B\"", "\"100 B\"", &[]), &["stands twice"]);
    says(
        &error("name = \"slow\", ", "", &[]),
        &["a.toml:11:11", "needs a `name`"],
    );
    says(
        &error("[schemes.none]", "[schemes]\nnone = 3\n[other]", &[]),
        &["other"],
    );
    let plan = plan(&["experiment.seeds=1000000", "axes.size=[1,2,3,4,5]"]);
    let said = check(&ChannelErrors, &plan).unwrap_err().to_string();
    says(&said, &["--set axes.size=[1,2,3,4,5]", "parameters.size"]);
}

#[test]
fn overrides_change_parameters_axes_and_schemes_with_the_same_checks() {
    let held = plan(&[
        "size=200 B",
        "medium=fast",
        "schemes.distance.mean=1 MiB",
        "packets=7",
    ]);
    check(&ChannelErrors, &held).unwrap();
    assert_eq!(
        described(&held),
        [
            "none, size = 200 B, medium = fast",
            "distance, size = 200 B, medium = fast"
        ]
    );
    assert!(held.constants().contains(&("packets".into(), "7".into())));
    let again = Plan::parse("again", &held.text(), &[]).unwrap();
    assert_eq!(again.hash(), held.hash());
    says(
        &error("", "", &["size=3"]),
        &["--set size=3: `parameters.size`"],
    );
    says(
        &error("", "", &["speed=3"]),
        &["--set speed=3: `parameters.speed`: unknown field"],
    );
    says(
        &error("", "", &["medium=wide"]),
        &["--set medium=wide", "has only: slow, fast"],
    );
    says(
        &error("", "", &["nonsense"]),
        &["'nonsense' changes nothing"],
    );
    says(&error("", "", &["=3"]), &["'=3' changes nothing"]);
    let seeds = Override::seeds(0);
    let said = Plan::parse("a.toml", PLAN, &[seeds])
        .unwrap_err()
        .to_string();
    says(&said, &["--seeds 0: `experiment.seeds`"]);
}

#[test]
fn the_hash_is_of_the_content_and_not_of_its_form() {
    let hash = |text: &str| Plan::parse("a", text, &[]).unwrap().hash();
    let same = PLAN.replace(
        "packets = 100\nrate = \"2 Mbit/s\"",
        "rate='2 Mbit/s' # as it was\npackets=100",
    );
    assert_eq!(hash(PLAN), hash(&same));
    assert_eq!(hash(PLAN), hash(&PLAN.replace("seeds = 3", "seeds = 30")));
    for (old, new) in [
        ("64 KiB", "65 KiB"),
        ("channel-errors", "other"),
        ("100 B", "101 B"),
        ("distance]", "far]"),
    ] {
        assert_ne!(hash(PLAN), hash(&PLAN.replace(old, new)), "{new}");
    }
    assert_eq!(
        hash(PLAN),
        "e2d3d04a9d5686b7f6ffa3550ab1e96f",
        "the hash of a plan never changes"
    );
}

#[test]
fn the_default_plan_is_sound() {
    let about = ChannelErrors.about();
    let plan = Plan::parse(about.name, about.plan, &[]).unwrap();
    check(&ChannelErrors, &plan).unwrap();
    assert_eq!(plan.experiment(), about.name);
}
