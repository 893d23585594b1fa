//! Room plan.
