//! The experiments and plans that the command line selects.

use std::path::Path;

use experiment::{Experiment, Override, Plan};

use super::registry;
use crate::failure::Failure;

/// Upper limit of a plan; a longer file is not one.
const MOST_BYTES: u64 = 1 << 20;

/// An experiment with its plan.
pub(crate) struct Choice {
    pub(crate) experiment: &'static dyn Experiment,
    pub(crate) plan: Plan,
}

/// Refuses a scheme that the plan does not have.
pub(crate) fn known_scheme(plan: &Plan, scheme: &str) -> Result<(), Failure> {
    let known: Vec<_> = plan.schemes().into_iter().map(|(name, _)| name).collect();
    if known.iter().any(|name| name == scheme) {
        return Ok(());
    }
    let known = known.join(", ");
    Err(Failure::setting(format!(
        "there is no scheme '{scheme}'; known are {known}"
    )))
}

/// Returns the experiments of `name` (one, all of a group, or that of a plan's file: a name with a `/` or a `.` is a
/// file), each with its plan, changed by `overrides`.
pub(crate) fn choose(name: &str, overrides: &[Override]) -> Result<Vec<Choice>, Failure> {
    if name.contains(['/', '.']) {
        let plan = Plan::parse(name, &read(name)?, overrides).map_err(Failure::setting)?;
        let experiment = registry::named(plan.experiment())?;
        return Ok(vec![Choice { experiment, plan }]);
    }
    let experiments = registry::named_or_group(name)?.into_iter();
    let choices = experiments.map(|experiment| {
        let about = experiment.about();
        let name = format!("{}.toml", about.name);
        let plan = Plan::parse(&name, about.plan, overrides).map_err(Failure::setting)?;
        Ok(Choice { experiment, plan })
    });
    choices.collect()
}

/// Returns the experiments of several names, without duplicates.
pub(crate) fn choose_all(names: &[String], overrides: &[Override]) -> Result<Vec<Choice>, Failure> {
    let mut choices: Vec<Choice> = Vec::new();
    for choice in names.iter().map(|name| choose(name, overrides)) {
        for choice in choice? {
            let name = choice.experiment.about().name;
            if choices
                .iter()
                .any(|known| known.experiment.about().name == name)
            {
                let what =
                    format!("{name} is asked for twice; name it, its group or a plan of it once");
                return Err(Failure::setting(what));
            }
            choices.push(choice);
        }
    }
    Ok(choices)
}

fn read(name: &str) -> Result<String, Failure> {
    let failed =
        |error: std::io::Error| Failure::setting(format!("cannot read the plan {name}: {error}"));
    if Path::new(name).metadata().map_err(failed)?.len() > MOST_BYTES {
        return Err(Failure::setting(format!("{name} is too long for a plan")));
    }
    std::fs::read_to_string(name).map_err(failed)
}
