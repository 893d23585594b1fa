//! Room campaign.

pub mod findings;
