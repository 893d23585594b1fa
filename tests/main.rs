//! The gate: one integration binary that enters by the front door, the command and the public library.

mod support; // where things are, a campaign, who is alive
mod truth; // planted bugs are found, correct twins are clean
