//! Room scenario.
