//! Black-box tests, over HTTP, against the running service. One file per resource, as the routes.

mod reservations;
mod samples;
