//! Room trial.
