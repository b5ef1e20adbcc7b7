//! Errors in a core's configuration.

/// A configuration value that breaks a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{core} configuration: {rule}")]
pub struct ConfigError {
    core: &'static str,
    rule: &'static str,
}

/// Checks the configuration of `core`: each rule is a pair of whether it holds and the message for when it does not.
///
/// ```
/// let rules = [(true, "`window` must be at least 1"), (false, "`age` must be more than 0 s")];
/// let error = machine::check_rules("TCP", &rules).unwrap_err();
/// assert_eq!(error.to_string(), "TCP configuration: `age` must be more than 0 s");
/// ```
///
/// # Errors
/// If a rule does not hold; the error names the first such rule.
pub fn check_rules(core: &'static str, rules: &[(bool, &'static str)]) -> Result<(), ConfigError> {
    let broken = rules.iter().find(|(holds, _)| !holds);
    broken.map_or(Ok(()), |&(_, rule)| Err(ConfigError { core, rule }))
}
