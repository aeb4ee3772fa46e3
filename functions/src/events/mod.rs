//! Events: changes of resources, as they are delivered to webhook endpoints. They are kept for 30 days.
//!
//! A key sees an event only if it may read both events and the kind of object that the event shows.

use web::Conditional;

pub mod list;
pub mod list_deliveries;
pub mod redeliver;
pub mod retrieve;

/// The scope condition in the OpenAPI document of the routes that show one event.
const SHOWS_ONE: Conditional = Conditional {
    scope: "<resource>:read",
    when: "always, of the kind of object that the event shows; without it the event is refused with 403",
};
