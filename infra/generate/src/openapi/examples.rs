//! Examples: the objects in `infra/generate/examples`.

use kernel::Kind;
use models::EventType;
use serde_json::{Value, json};
use table::shown::Shows;
use web::Route;

use super::parts::is_warned;
use crate::root;

/// The name of the example of a match's candidates.
const CANDIDATES: &str = "reservation_candidates";

/// The name of the example of the plan of a site.
const PLAN: &str = "site_plan";

/// The content of the file with that name in the folder.
pub fn example(name: &str) -> Value {
    let path = root().join(format!("infra/generate/examples/{name}.json"));
    let text = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).expect("JSON")
}

/// The example of an object of that kind. The examples are from a day on which a vehicle charged and was billed for it.
pub fn object(kind: Kind) -> Value {
    let mut object = example(kind.name());
    if kind == Kind::Event {
        object["data"]["object"] = self::object(Kind::Reservation);
    }
    object
}

/// An event of that type.
pub fn event(kind: EventType) -> Value {
    let mut event = object(Kind::Event);
    event["type"] = json!(kind.as_str());
    event["data"] = match kind {
        EventType::Ping => {
            json!({"object": {"webhook_endpoint": object(Kind::WebhookEndpoint)["id"]}})
        }
        kind => json!({"object": object(kind.subject())}),
    };
    if kind.has_previous_attributes() {
        event["data"]["previous_attributes"] = json!({"metadata": {}});
    }
    event
}

/// The name of an operation's example; many operations share one.
pub fn name(route: &Route) -> String {
    match route.shows {
        Shows::Object(kind) if is_warned(route) => format!("{}_with_warnings", kind.name()),
        _ if route.name == "create-api-key" => "created_api_key".to_owned(),
        Shows::Object(kind) => kind.name().to_owned(),
        Shows::Page(kind) => format!("page_of_{}", kind.name()),
        Shows::Parts { part, .. } => format!("page_of_{}s", part.name()),
        Shows::Candidates => CANDIDATES.to_owned(),
        Shows::SitePlan => PLAN.to_owned(),
        Shows::Departures => "replaced_departures".to_owned(),
        Shows::Feed => "event_feed".to_owned(),
        Shows::Computed(kind) => kind.name().to_owned(),
        Shows::Deleted(kind) => format!("deleted_{}", kind.name()),
        Shows::File(_) => unreachable!("a redirect shows nothing"),
    }
}

/// The example of an operation's response.
pub fn response(route: &Route) -> Value {
    let page =
        |object: Value| json!({"data": [object], "next_page_url": null, "previous_page_url": null});
    match route.shows {
        Shows::Object(kind) => {
            let mut object = object(kind);
            if route.name == "create-api-key" {
                object["secret"] = json!("rk_test_…");
            }
            if is_warned(route) {
                object["policy_warnings"] = json!([]);
            }
            object
        }
        Shows::Page(kind) => page(object(kind)),
        Shows::Parts {
            part: Kind::LineItem,
            ..
        } => page(object(Kind::Invoice)["line_items"][0].clone()),
        Shows::Parts { part, .. } => page(example(part.name())),
        Shows::Candidates => example(CANDIDATES),
        Shows::File(_) => unreachable!("a redirect shows nothing"),
        Shows::SitePlan => example(PLAN),
        Shows::Departures => {
            let mut departures = object(Kind::VehicleDepartures);
            let id = departures["departures"][0]["id"].clone();
            departures["results"] = json!([{"departure": id, "result": "created"}]);
            departures
        }
        Shows::Feed => {
            json!({"data": [object(Kind::Event)], "cursor": "page_…", "has_more": false, "redelivered": []})
        }
        Shows::Computed(kind) => example(kind.name()),
        Shows::Deleted(kind) => {
            json!({"id": object(kind)["id"], "object": kind.name(), "deleted": true})
        }
    }
}
