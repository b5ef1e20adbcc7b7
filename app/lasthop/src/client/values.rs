//! Settings of the NFS client as users write them.

use clap::ValueEnum;
use clap::builder::PossibleValue;
use files::{BlockSize, Window};
use rpc::{Adaptive, Exponential, HybridLinear, Linear, Policy};
use units::{Bytes, Duration};

/// Largest number of blocks in a window.
const WINDOW_MAX: usize = 1_024;

/// Retransmission policy of calls.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum PolicyName {
    /// The classic client's doubling
    Exponential,
    /// A constant more each time
    Linear,
    /// A constant more a few times, then doubling
    HybridLinear,
    /// By measured round trips and what the hop reports
    Adaptive,
}

impl From<PolicyName> for Policy {
    fn from(name: PolicyName) -> Self {
        match name {
            PolicyName::Exponential => Self::Exponential(Exponential::default()),
            PolicyName::Linear => Self::Linear(Linear::default()),
            PolicyName::HybridLinear => Self::HybridLinear(HybridLinear::default()),
            PolicyName::Adaptive => Self::Adaptive(Adaptive::default()),
        }
    }
}

/// Returns the policy of this name.
pub(crate) fn policy(text: &str) -> Result<PolicyName, String> {
    PolicyName::from_str(text, false).map_err(|_| {
        let names = PolicyName::value_variants()
            .iter()
            .filter_map(ValueEnum::to_possible_value);
        let names: Vec<_> = names
            .map(|name: PossibleValue| name.get_name().to_owned())
            .collect();
        format!("a policy is one of {}", names.join(", "))
    })
}

/// Returns the number of bytes of a block, with or without a unit.
pub(crate) fn block(text: &str) -> Result<BlockSize, String> {
    if text == "auto" {
        return Ok(BlockSize::Auto);
    }
    let bytes = match text.parse::<u64>() {
        Ok(bytes) => bytes,
        Err(_) => text
            .parse::<Bytes>()
            .map_err(|error| error.to_string())?
            .get(),
    };
    let size = u32::try_from(bytes)
        .ok()
        .filter(|size| (files::BLOCK_MIN..=files::BLOCK_MAX).contains(size));
    size.map(BlockSize::Fixed)
        .ok_or_else(|| "a block has 1024 to 32768 bytes, or 'auto'".into())
}

/// Returns the number of blocks of a window.
pub(crate) fn window(text: &str) -> Result<Window, String> {
    match (text, text.parse()) {
        ("auto", _) => Ok(Window::Auto),
        (_, Ok(blocks)) if (1..=WINDOW_MAX).contains(&blocks) => Ok(Window::Fixed(blocks)),
        _ => Err("a window has 1 to 1024 blocks, or 'auto'".into()),
    }
}

/// Returns a time with its unit, or in seconds as in mount(8).
pub(crate) fn time(text: &str) -> Result<Duration, String> {
    match text.parse::<u32>() {
        Ok(seconds) => Ok(Duration::from_secs(seconds.into())),
        Err(_) => text.parse().map_err(|error| format!("{error}")),
    }
}
