//! Room campaign.
