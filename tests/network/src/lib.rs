//! What the tests stand on: the service's runner as a process ([`Runner`]), and a charging network made of the server, the client and
//! the objects of `ocpi-kit` ([`Cpo`]), which answers each request as the test has decided.

mod cpo;
mod runner;

pub use cpo::{CommandReply, Cpo, Fault};
pub use runner::{Response, Runner};
