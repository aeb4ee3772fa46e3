//! The secrets that rows hold: those of webhook endpoints and the tokens of charging networks.

pub mod reencrypt;
