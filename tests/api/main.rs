//! Black-box tests, over HTTP, against the running service. One file per resource, as the routes.

mod accounts;
mod api_keys;
mod charging_sessions;
mod charging_stations;
mod drivers;
mod edge;
mod estimations;
mod events;
mod expand;
mod faults;
mod fleets;
mod idempotency;
mod layout;
mod openapi;
mod pages;
mod payment_methods;
mod policies;
mod recovery;
mod reservations;
mod samples;
mod transactions;
mod vehicles;
mod versions;
mod wallets;
mod webhook_endpoints;
mod webhooks;
