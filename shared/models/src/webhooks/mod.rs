//! Webhooks: the pure part of delivering events. The function `deliver-webhook` sends the requests.
//!
//! Terms. An *event* describes a change of an object. A *delivery* is one event for one endpoint; its row holds the state.
//! An *attempt* is one request to the endpoint.
//!
//! Life cycle. The relay of the table's stream writes an event with a delivery for each subscribed endpoint, and sends a
//! message for each. The worker claims the attempt by a conditional write, sends the request, and writes the outcome. After
//! a failure the next attempt is due after a wait ([`attempt`]): ten attempts over about three days. An endpoint that
//! responds with 410 or asks for it, or that has failed for 120 hours, is disabled. While an endpoint fails, its deliveries are held ([`breaker`]).
//!
//! Invariants. An attempt is made by one worker only: the claim is conditional on the number of the attempt. Each request is
//! signed with every valid secret of the endpoint ([`signature`]). An endpoint can have the events of an object sent in order ([`order`]).
//! An endpoint of `type` `polling` is sent nothing: its client reads the feed of events ([`feed`]).
//!
//! Crashes. A worker that dies after its claim leaves a delivery whose claim ends after a minute; the sweeper then sends
//! its message again. The receiver can have had the request by then: it may receive an event more than once, and recognises
//! it by the event's id.

pub mod attempt;
pub mod breaker;
pub mod feed;
pub mod fleets;
pub mod headers;
pub mod health;
pub mod options;
pub mod order;
pub mod secret;
pub mod signature;
