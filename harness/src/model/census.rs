//! The census: every crash point of one clean run, in the order in which they came.

use serde::{Deserialize, Serialize};

use super::point::Point;

/// One crash point of the clean run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CensusPoint {
    /// Its name, counted from the latest answer before it.
    pub point: Point,
    /// Other names of the same call. First one that leaves open all parts of its path that could be random, where it has such; then
    /// its own counted from earlier anchors, the latest first: where threads change their order between runs, a count from further
    /// back is steadier.
    pub aliases: Vec<Point>,
    /// Microseconds from the start of the life.
    pub at_us: u64,
    /// The process that made the call, by its order of birth in the life, from 1; 0 for a moment of a request.
    pub process: u32,
}

/// Every crash point of one clean run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Census {
    /// The points, in order.
    pub points: Vec<CensusPoint>,
    /// Index of the first point that belongs to a promised effect (its `received`), where there is one.
    pub window_start: Option<usize>,
}
