//! The foundation of the tests: the service's runner as a process ([`Runner`]), and a charging network that consists of the server,
//! the client and the objects of `ocpi-kit` ([`Cpo`]), and responds to each request as the test has specified.

mod cpo;
mod runner;

pub use cpo::{CommandReply, Cpo, Fault};
pub use runner::{Response, Runner};
