//! Attacks on a running service: what a hostile tenant, a careless client, a slow receiver or a foreign web page tries.
//! Each test names the rule that has to hold.

mod accounts;
mod cross_origin;
mod expand;
mod isolation;
mod keys;
mod money;
mod networks;
mod oversize;
mod receivers;
mod scopes;
