//! The one integration binary. Its tests enter by the front door: the command, the public library, and the files of the repository.
//!
//! One binary, because each further one is linked and started by itself. A new group is a folder here and a line below.

// What the audit of retries says of each kind of key.
mod audit;
// The command as a user meets it.
mod cli;
// No survivor and no lost result, however a run ends.
mod hygiene;
// The sandbox is as its OpenAPI description says.
mod openapi;
// Which pattern saves from which fault.
mod patterns;
// Which points count as reached, and which are planned.
mod points;
// The real SDKs of Stripe are served as the real API serves them.
mod sdk;
// What the tests share: where things are, a campaign in a folder of its own, who is alive.
mod support;
// The house rules, as tests: what may import what, lengths, headers, documents that stay true.
mod tidy;
// Planted bugs are found, correct twins are clean.
mod truth;
// What goes wrong on the wire, without a crash.
mod wire;
// The same world in every life, and nothing else within reach.
mod worlds;
