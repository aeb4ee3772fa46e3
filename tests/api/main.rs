//! Black-box tests, over HTTP, against the running service. One file per resource, as the routes.

mod accounts;
mod api_keys;
mod charging_stations;
mod drivers;
mod edge;
mod events;
mod faults;
mod fleets;
mod idempotency;
mod invoices;
mod layout;
mod pages;
mod recovery;
mod reports;
mod reservations;
mod samples;
mod vehicles;
mod webhook_endpoints;
mod webhooks;
