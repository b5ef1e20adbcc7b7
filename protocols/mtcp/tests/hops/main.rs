//! What the wide profile makes of hops that lose.

mod hop;
mod losses;
