//! Ledgers as tests: each kind of key is told apart.
