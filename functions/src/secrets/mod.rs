//! The secrets in items: those of webhook endpoints with the values of their headers, and the tokens of charging networks.

pub mod reencrypt;
