//! The two directions of a hop.

use std::ops::{Index, IndexMut};

/// Direction of a packet on the hop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// From the gateway to the mobile host.
    Down,
    /// From the mobile host to the gateway.
    Up,
}

impl Direction {
    /// Both directions, in the order in which ties are broken.
    pub const BOTH: [Self; 2] = [Self::Down, Self::Up];

    /// Returns the opposite direction.
    pub const fn reverse(self) -> Self {
        match self {
            Self::Down => Self::Up,
            Self::Up => Self::Down,
        }
    }

    /// Returns the name of the direction in link files and in the names of random streams.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Down => "down",
            Self::Up => "up",
        }
    }
}

impl std::fmt::Display for Direction {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.name())
    }
}

/// One value for each direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PerDirection<V> {
    /// From the gateway to the mobile host.
    pub down: V,
    /// From the mobile host to the gateway.
    pub up: V,
}

impl<V> PerDirection<V> {
    /// Returns the values that `make` returns.
    pub fn from_fn(mut make: impl FnMut(Direction) -> V) -> Self {
        Self {
            down: make(Direction::Down),
            up: make(Direction::Up),
        }
    }
}

impl<V> Index<Direction> for PerDirection<V> {
    type Output = V;

    fn index(&self, direction: Direction) -> &V {
        match direction {
            Direction::Down => &self.down,
            Direction::Up => &self.up,
        }
    }
}

impl<V> IndexMut<Direction> for PerDirection<V> {
    fn index_mut(&mut self, direction: Direction) -> &mut V {
        match direction {
            Direction::Down => &mut self.down,
            Direction::Up => &mut self.up,
        }
    }
}
