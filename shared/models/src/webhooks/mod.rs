//! Webhooks: the part of delivering events that has no input or output. The function `deliver-webhook` sends the requests.
//!
//! Terms. An *event* describes a change of an object. A *delivery* is one event for one endpoint; it is stored as an item with its state.
//! An *attempt* is one request to the endpoint.
//!
//! Life cycle. The relay of the table's stream writes an event with a delivery for each subscribed endpoint, and sends a message for each
//! delivery. The worker claims the attempt by a conditional write, sends the request, and writes the outcome. After a failure the next
//! attempt is due after a wait ([`attempt`]): ten attempts over about three days. An endpoint is disabled if it responds with 410 or
//! requests it, or if it has failed for 120 hours. While an endpoint fails, its deliveries are held ([`breaker`]).
//!
//! Invariants. An attempt is made by one worker only: the claim is conditional on the number of the attempt. Each request is signed with
//! every valid secret of the endpoint ([`signature`]). The events of an object can be sent to an endpoint in order ([`order`]). No requests
//! are sent to an endpoint of `type` `polling`: its client reads the feed of events ([`feed`]).
//!
//! Crashes. If a worker dies after its claim, the claim ends after a minute; the sweeper then sends the message of the delivery again. The
//! receiver may have received the request by then. It may therefore receive an event more than once, and recognises it by the event's id.

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
