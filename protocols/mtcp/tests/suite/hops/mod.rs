//! What the wide profile makes of hops that lose.

mod growing;
mod hop;
mod losses;
