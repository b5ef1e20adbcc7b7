//! A link whose configuration has been checked.

use std::sync::Arc;

use crate::config::{DirectionConfig, LinkConfig, Medium};
use crate::errors::{ErrorConfig, Timeline};
use crate::journey::{JitterConfig, JourneyConfig, ReorderingConfig};
use crate::opportunities::Opportunities;
use crate::plan::Plan;
use crate::problem::{LinkError, Problem};
use crate::process::ProcessConfig;
use crate::{Direction, PerDirection};
use units::{Duration, Probability};

/// Checked configuration of the channel between two hosts.
#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    name: String,
    description: String,
    medium: Medium,
    access: Duration,
    plans: PerDirection<Plan>,
    traces: PerDirection<Option<Arc<Opportunities>>>,
    processes: PerDirection<Option<Arc<ProcessConfig>>>,
    journeys: PerDirection<JourneyConfig>,
    errors: PerDirection<ErrorConfig>,
}

/// Faults that replace those of a link, in both directions; what is `None` stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FaultChanges {
    /// Variation of the delay, and true if it may reorder packets.
    pub jitter: Option<(JitterConfig, bool)>,
    /// Packets that are held back.
    pub reordering: Option<ReorderingConfig>,
    /// Probability that a packet arrives twice.
    pub duplicates: Option<Probability>,
    /// Probability that a packet arrives with flipped bits.
    pub corruption: Option<Probability>,
}

/// Function that reads a file named in a link's file; the error is a sentence.
pub type ReadFile<'a> = &'a dyn Fn(&str) -> Result<String, String>;

impl Link {
    /// Parses a link from TOML; `file_name` is used in errors and as the link's name.
    ///
    /// A link that names further files (traces) needs [`Self::from_toml_with`].
    pub fn from_toml(text: &str, file_name: &str) -> Result<Self, LinkError> {
        let refuse = |_: &str| Err("this link must stand alone and cannot name a file".to_owned());
        Self::from_toml_with(text, file_name, &refuse)
    }

    /// Parses a link from TOML, and reads the files that it names through `read`.
    pub fn from_toml_with(
        text: &str,
        file_name: &str,
        read: ReadFile<'_>,
    ) -> Result<Self, LinkError> {
        let config: LinkConfig = toml::from_str(text).map_err(|source| LinkError::Syntax {
            file: file_name.into(),
            source: Box::new(source),
        })?;
        Self::from_config(config, file_name, read)
    }

    /// Checks a configuration made by a program; `name` is used in errors and as the link's name.
    pub fn from_config(
        config: LinkConfig,
        name: &str,
        read: ReadFile<'_>,
    ) -> Result<Self, LinkError> {
        Self::check(config, name, read).map_err(|problem| problem.in_file(name))
    }

    fn check(config: LinkConfig, name: &str, read: ReadFile<'_>) -> Result<Self, Problem> {
        let directions = directions(&config)?;
        let mut errors = errors(&config, &directions)?;
        for direction in Direction::BOTH {
            let key = match config.errors {
                Some(_) => "errors".to_owned(),
                None => format!("{direction}.errors"),
            };
            prepare(&mut errors[direction], read).map_err(|problem| problem.within(&key))?;
            let alike = config.medium == Medium::HalfDuplex && errors.down == errors.up;
            if errors[direction].is_common() && !alike {
                let text = "'shared' needs medium = 'half-duplex', and one error model for both directions";
                return Err(Problem::new("state", text).within(&key));
            }
        }
        let plan = |direction: Direction| {
            let plan = directions[direction].plan();
            plan.map_err(|problem| problem.within(table(&config, direction)))
        };
        let trace = |direction: Direction| {
            let trace = trace(&directions[direction], &config, read);
            trace.map_err(|problem| problem.within(table(&config, direction)))
        };
        let process = |direction: Direction| {
            let process = process(&directions[direction], &config);
            process.map_err(|problem| problem.within(table(&config, direction)))
        };
        let journey = |direction: Direction| {
            let journey = directions[direction].journey();
            journey.map_err(|problem| problem.within(table(&config, direction)))
        };
        Ok(Self {
            name: name.into(),
            medium: config.medium,
            access: config.access,
            plans: PerDirection {
                down: plan(Direction::Down)?,
                up: plan(Direction::Up)?,
            },
            traces: PerDirection {
                down: trace(Direction::Down)?,
                up: trace(Direction::Up)?,
            },
            processes: PerDirection {
                down: process(Direction::Down)?,
                up: process(Direction::Up)?,
            },
            journeys: PerDirection {
                down: journey(Direction::Down)?,
                up: journey(Direction::Up)?,
            },
            errors,
            description: config.description,
        })
    }

    /// Returns the name of a built-in link, or of the file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the description of the link, in one line.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// Returns the medium of both directions.
    pub fn medium(&self) -> Medium {
        self.medium
    }

    /// Returns the time that each packet occupies the air besides its bytes.
    pub fn access(&self) -> Duration {
        self.access
    }

    /// Returns rate, delay and queue bound of one direction over time. With a [`trace`](Self::trace) the rate is
    /// unlimited here.
    pub fn plan(&self, direction: Direction) -> &Plan {
        &self.plans[direction]
    }

    /// Returns the delivery opportunities of one direction, if they replace a rate.
    pub fn trace(&self, direction: Direction) -> Option<&Arc<Opportunities>> {
        self.traces[direction].as_ref()
    }

    /// Returns the rate process of one direction, if it replaces a rate.
    pub fn process(&self, direction: Direction) -> Option<&Arc<ProcessConfig>> {
        self.processes[direction].as_ref()
    }

    pub(crate) fn journey(&self, direction: Direction) -> &JourneyConfig {
        &self.journeys[direction]
    }

    /// Returns the link with these faults.
    ///
    /// # Errors
    /// If a time does not lie above 0 s and not above 60 s.
    pub fn with_faults(mut self, changes: &FaultChanges) -> Result<Self, LinkError> {
        for direction in Direction::BOTH {
            let journey = &mut self.journeys[direction];
            if let Some((jitter, overtaking)) = &changes.jitter {
                journey.jitter = Some(jitter.clone());
                journey.faults.overtaking = *overtaking;
            }
            let faults = &mut journey.faults;
            faults.reordering = changes.reordering.clone().or(faults.reordering.take());
            faults.duplicates = changes.duplicates.unwrap_or(faults.duplicates);
            faults.corruption = changes.corruption.unwrap_or(faults.corruption);
            journey
                .check()
                .map_err(|problem| problem.in_file(&self.name))?;
        }
        Ok(self)
    }

    /// Returns the key of a property that only a channel between two hosts supports, if the link has one: jitter, a
    /// policer, faults.
    pub fn not_for_many(&self) -> Option<String> {
        let key = |direction: Direction| {
            let key = self.journeys[direction].first_key()?;
            Some(format!("{direction}.{key}"))
        };
        Direction::BOTH.into_iter().find_map(key)
    }

    /// Returns the error model of one direction.
    pub fn errors(&self, direction: Direction) -> &ErrorConfig {
        &self.errors[direction]
    }

    /// Returns the good and bad periods that packets of one direction meet in a run with `seed`, from time zero on;
    /// `None` if the error model has no states in time. They do not depend on traffic.
    pub fn timeline(&self, direction: Direction, seed: u64) -> Option<Timeline> {
        self.errors[direction].timeline(seed, direction)
    }
}

/// Returns the name of the table that holds a direction's properties.
fn table(config: &LinkConfig, direction: Direction) -> &'static str {
    match config.each {
        Some(_) => "each",
        None => direction.name(),
    }
}

fn directions(config: &LinkConfig) -> Result<PerDirection<DirectionConfig>, Problem> {
    match (&config.each, &config.down, &config.up) {
        (Some(each), None, None) => Ok(PerDirection {
            down: each.clone(),
            up: each.clone(),
        }),
        (None, Some(down), Some(up)) => Ok(PerDirection {
            down: down.clone(),
            up: up.clone(),
        }),
        (Some(_), ..) => {
            let text = "stands for both directions; leave out [down] and [up], or [each]";
            Err(Problem::new("each", text))
        }
        (None, None, None) => {
            let text = "missing; give [each] for both directions, or [down] and [up]";
            Err(Problem::new("each", text))
        }
        (None, None, Some(_)) => Err(Problem::new("down", "missing; [up] needs [down] beside it")),
        (None, Some(_), None) => Err(Problem::new("up", "missing; [down] needs [up] beside it")),
    }
}

fn errors(
    config: &LinkConfig,
    directions: &PerDirection<DirectionConfig>,
) -> Result<PerDirection<ErrorConfig>, Problem> {
    let given = |direction: Direction| directions[direction].errors.as_ref();
    if let Some(errors) = &config.errors {
        if Direction::BOTH
            .into_iter()
            .any(|direction| given(direction).is_some())
        {
            let text = "stands for both directions; leave it out, or the errors of each direction";
            return Err(Problem::new("errors", text));
        }
        return Ok(PerDirection {
            down: errors.clone(),
            up: errors.clone(),
        });
    }
    if let Some(each) = &config.each
        && each.errors.is_some()
    {
        let text = "write [errors] for both directions, or [down.errors] and [up.errors]";
        return Err(Problem::new("each.errors", text));
    }
    Ok(PerDirection::from_fn(|direction| {
        given(direction).cloned().unwrap_or_default()
    }))
}

/// Reads the files that the model needs and checks it.
fn prepare(errors: &mut ErrorConfig, read: ReadFile<'_>) -> Result<(), Problem> {
    if let ErrorConfig::Replay(config) = errors {
        let text = read(&config.file).map_err(|error| unreadable("file", &config.file, &error))?;
        config.load(&text)?;
    }
    errors.check()
}

fn trace(
    config: &DirectionConfig,
    link: &LinkConfig,
    read: ReadFile<'_>,
) -> Result<Option<Arc<Opportunities>>, Problem> {
    let Some(file) = &config.mahimahi else {
        return Ok(None);
    };
    if link.medium == Medium::HalfDuplex {
        let text = "a trace belongs to one direction, so the medium must be 'separate'";
        return Err(Problem::new("mahimahi", text));
    }
    if !link.access.is_zero() {
        let text = "a trace says all of the time that packets take, so `access` must be left out";
        return Err(Problem::new("mahimahi", text));
    }
    let text = read(file).map_err(|error| unreadable("mahimahi", file, &error))?;
    let trace = Opportunities::parse(&text)
        .map_err(|error| Problem::new("mahimahi", format!("'{file}', {error}")))?;
    Ok(Some(Arc::new(trace)))
}

fn process(
    config: &DirectionConfig,
    link: &LinkConfig,
) -> Result<Option<Arc<ProcessConfig>>, Problem> {
    let Some(process) = &config.process else {
        return Ok(None);
    };
    if link.medium == Medium::HalfDuplex || !link.access.is_zero() {
        let text = "belongs to one direction and says all of the time that packets take, so the medium must be \
                    'separate', and `access` left out";
        return Err(Problem::new("process", text));
    }
    let checked = process.check();
    checked.map_err(|problem| problem.within("process"))?;
    Ok(Some(Arc::new(process.clone())))
}

fn unreadable(key: &str, file: &str, error: &str) -> Problem {
    Problem::new(key, format!("cannot read '{file}': {error}"))
}
