//! Attacks on a running service by a hostile tenant, a careless client, a slow receiver or a foreign web page. Each test names the
//! rule that has to hold.

mod accounts;
mod connections;
mod cross_origin;
mod expand;
mod floods;
mod ids;
mod isolation;
mod keys;
mod local_token;
mod money;
mod networks;
mod oversize;
mod pulls;
mod receivers;
mod scopes;
mod urls;
