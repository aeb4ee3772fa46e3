//! The requests behind the tools, and their results: short, with the ids that the next step needs.

use std::collections::HashSet;
use std::sync::Arc;

use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Map, Value, json};

use crate::api::{Api, Failure, Request, page_token};

/// The maximum number of objects of a list that are compared with a text.
const COMPARED: usize = 1_000;

/// The maximum number of found objects that are shown.
const SHOWN: usize = 20;

/// The number of results with which a search of the API ends: there may be more.
const MOST_RESULTS: usize = 10;

/// The number of pages of a list that are read until one of them has objects: with a page of 400 objects that the service reads for each,
/// the newest 10,000.
const PAGES: u32 = 25;

/// The tools of one key.
#[derive(Clone)]
pub struct Server {
    pub api: Arc<dyn Api>,
}

/// Objects that are found by a text.
pub struct Searched {
    /// The list of all such objects.
    pub path: &'static str,
    /// Their type in the results of a search.
    pub kind: &'static str,
    /// The prefix of their ids.
    pub prefix: &'static str,
    /// The members that are compared with the text.
    pub compared: &'static [&'static str],
    /// The members that are shown.
    pub members: &'static [&'static str],
}

pub const VEHICLES: Searched = Searched {
    path: "/v1/vehicles",
    kind: "vehicle",
    prefix: "veh_",
    compared: &["registration_plate", "vin"],
    members: VEHICLE,
};
pub const DRIVERS: Searched = Searched {
    path: "/v1/drivers",
    kind: "driver",
    prefix: "drv_",
    compared: &["name", "email"],
    members: DRIVER,
};

pub const STATION: &[&str] = &[
    "id",
    "name",
    "operator",
    "distance_meters",
    "address",
    "connectors",
    "pricing",
    "status",
];
pub const VEHICLE: &[&str] = &[
    "id",
    "registration_plate",
    "vin",
    "fleet",
    "drivers",
    "charging_standard",
    "battery_capacity",
    "status",
];
pub const DRIVER: &[&str] = &["id", "name", "email", "fleets", "vehicles", "status"];
pub const RESERVATION: &[&str] = &[
    "id",
    "status",
    "driver",
    "vehicle",
    "ideal_start",
    "ideal_end",
    "charging_station",
    "connector",
    "reserved_start",
    "reserved_end",
    "free_cancellation_until",
    "failed_reason",
    "match_summary",
    "charging_plan",
    "policy_warnings",
];
pub const SESSION: &[&str] = &[
    "id",
    "status",
    "driver",
    "vehicle",
    "charging_station",
    "session_started",
    "session_ended",
    "energy_consumed",
    "amount_adjusted",
    "amount_due",
    "amount_paid",
    "currency",
    "failed_reason",
    "policy_warnings",
];
pub const INVOICE: &[&str] = &[
    "id",
    "number",
    "status",
    "fleet",
    "amount_due",
    "amount_paid",
    "currency",
    "due_date",
    "period_start",
    "period_end",
];
pub const EVENT: &[&str] = &[
    "id",
    "type",
    "created",
    "pending_webhooks",
    "data.object.id",
];
pub const DELIVERY: &[&str] = &[
    "id",
    "event",
    "status",
    "attempt",
    "response_status",
    "response",
    "next_attempt",
    "created",
];

/// An operation on an object.
pub struct Action<'a> {
    pub id: &'a str,
    /// The prefix of such ids.
    pub prefix: &'a str,
    /// The last part of the path of the operation.
    pub verb: &'a str,
    /// The members of the object that are shown.
    pub members: &'a [&'a str],
    /// Whether the operation has `dry_run`.
    pub has_dry_run: bool,
}

impl Server {
    /// Finds objects by a text: the object with that id, those that the search of the API finds, or else those of the list that contain the
    /// text.
    pub async fn find(&self, searched: &Searched, text: &str) -> CallToolResult {
        let found = self.found(searched, text.trim()).await;
        found.map_or_else(|failure| failed(&failure), shown)
    }

    async fn found(&self, searched: &Searched, text: &str) -> Result<Value, Failure> {
        if let Ok(path) = path(text, Some(searched.prefix)) {
            let found = self.existing(path, searched.members).await?;
            return Ok(json!({"found": Vec::from_iter(found)}));
        }
        let (ids, is_all) = self.search(searched.kind, text).await?;
        let mut found = Vec::new();
        for id in ids {
            let path = format!("{}/{id}", searched.path);
            found.extend(self.existing(path, searched.members).await?);
        }
        if is_all && !found.is_empty() {
            return Ok(json!({"found": found}));
        }
        self.contained(searched, text, found).await
    }

    /// Returns the ids of the objects of a kind that begin with a text, and whether these are all; none if the key may not search, or the
    /// text cannot be searched for.
    async fn search(&self, kind: &str, text: &str) -> Result<(Vec<String>, bool), Failure> {
        let request = Request::get("/v1/search").with("query", text);
        let page = match self.api.send(request).await {
            Err(Failure::Refused {
                status: 400 | 403, ..
            }) => Value::Null,
            sent => sent?,
        };
        let results = page["data"].as_array().map_or(&[][..], Vec::as_slice);
        let of_kind = results.iter().filter(|result| result["type"] == kind);
        let ids = of_kind.filter_map(|result| result["id"].as_str().map(str::to_owned));
        Ok((ids.collect(), results.len() < MOST_RESULTS))
    }

    /// Returns an object, unless it was deleted.
    async fn existing(&self, path: String, members: &[&str]) -> Result<Option<Value>, Failure> {
        match self.api.send(Request::get(path)).await {
            Err(Failure::Refused { status: 404, .. }) => Ok(None),
            sent => Ok(Some(part(&sent?, members))),
        }
    }

    /// Adds the objects of a list whose members contain a text, among the newest 1,000, to those that were found before.
    async fn contained(
        &self,
        searched: &Searched,
        text: &str,
        mut found: Vec<Value>,
    ) -> Result<Value, Failure> {
        let text = squeezed(text);
        let contains = |object: &Value| {
            let mut values = searched
                .compared
                .iter()
                .filter_map(|name| object[*name].as_str());
            values.any(|value| squeezed(value).contains(&text))
        };
        let mut request = Request::get(searched.path).with("limit", "100");
        let known: HashSet<String> = found
            .iter()
            .map(|object| object["id"].to_string())
            .collect();
        let is_new = |object: &&Value| !known.contains(&object["id"].to_string());
        let mut read = 0;
        loop {
            let page = self.api.send(request.clone()).await?;
            let objects = page["data"].as_array().map_or(&[][..], Vec::as_slice);
            read += objects.len();
            let contained = objects.iter().filter(|object| contains(object));
            let contained = contained.filter(is_new);
            found.extend(contained.map(|object| part(object, searched.members)));
            let next = page["next_page_url"].as_str();
            if let (Some(url), true) = (next, read < COMPARED) {
                request = request.next_page(url);
                continue;
            }
            let (has_more, is_complete) = (found.len() > SHOWN, next.is_none());
            found.truncate(SHOWN);
            return Ok(
                json!({"found": found, "has_more": has_more, "searched": read,
                "searched_all": is_complete}),
            );
        }
    }

    /// Returns the objects of a page of a list, the first one without a token. With a filter that few objects match, a page may be empty
    /// although another one is not.
    pub async fn list(
        &self,
        request: Request,
        page: Option<String>,
        members: &[&str],
    ) -> CallToolResult {
        let mut request = with_all(request.with("limit", "20"), [("page", page)]);
        let mut left = PAGES;
        loop {
            left -= 1;
            let page = match self.api.send(request.clone()).await {
                Ok(page) => page,
                Err(failure) => return failed(&failure),
            };
            let objects = page["data"].as_array().map_or(&[][..], Vec::as_slice);
            let next = page["next_page_url"].as_str();
            if let (Some(url), true, 1..) = (next, objects.is_empty(), left) {
                request = request.next_page(url);
                continue;
            }
            let objects = objects.iter().map(|object| part(object, members));
            let objects: Vec<_> = objects.collect();
            let next_page = next.and_then(page_token);
            return shown(
                json!({"data": objects, "has_more": next.is_some(), "next_page": next_page}),
            );
        }
    }

    /// Retrieves an object; only one whose id has this prefix, if there is one.
    pub async fn retrieve(
        &self,
        id: &str,
        prefix: Option<&str>,
        members: Option<&[&str]>,
    ) -> CallToolResult {
        let path = match path(id, prefix) {
            Ok(path) => path,
            Err(why) => return refused(why),
        };
        self.send(Request::get(path), members).await
    }

    pub async fn post(&self, path: &str, body: Value, members: Option<&[&str]>) -> CallToolResult {
        self.send(Request::post(path, body), members).await
    }

    /// Sends a request and shows these members of its response, or all.
    pub async fn send(&self, request: Request, members: Option<&[&str]>) -> CallToolResult {
        match self.api.send(request).await {
            Ok(object) => shown(match members {
                Some(members) => part(&object, members),
                None => object,
            }),
            Err(failure) => failed(&failure),
        }
    }

    /// Executes an operation on an object. Without `confirm` the result shows what would be done: from the service's dry run, or, if the
    /// operation has no dry run, with the object in its current state.
    pub async fn act(&self, action: &Action<'_>, body: Value, confirm: bool) -> CallToolResult {
        let Action {
            id,
            prefix,
            verb,
            members,
            has_dry_run,
        } = action;
        let path = match path(id, Some(prefix)) {
            Ok(path) => path,
            Err(why) => return refused(why),
        };
        let request = Request::post(format!("{path}/{verb}"), body);
        let (name, request, next) = match (confirm, has_dry_run) {
            (true, _) => return self.send(request, Some(members)).await,
            (false, true) => (
                "result",
                request.with("dry_run", "true"),
                "Call again with confirm: true to do it.",
            ),
            (false, false) => (
                "now",
                Request::get(path),
                "Call again with confirm: true to do it. Whether it is possible is checked only then.",
            ),
        };
        match self.api.send(request).await {
            Ok(object) => shown(
                json!({"would": verb, "done": false, name: part(&object, members), "next": next}),
            ),
            Err(failure) => failed(&failure),
        }
    }

    /// Returns the endpoints that have failed deliveries or are not enabled, each with these deliveries.
    pub async fn failed_deliveries(&self) -> Result<Vec<Value>, Failure> {
        let endpoints = Request::get("/v1/webhook_endpoints").with("limit", "100");
        let endpoints = self.api.send(endpoints).await?;
        let mut found = Vec::new();
        for endpoint in endpoints["data"].as_array().into_iter().flatten() {
            let id = endpoint["id"].as_str().unwrap_or_default();
            let path = format!("/v1/webhook_endpoints/{id}/deliveries");
            let request = Request::get(path)
                .with("status", "failed")
                .with("limit", "50");
            let failed = self.api.send(request).await?;
            let failed = failed["data"].as_array().into_iter().flatten();
            let failed: Vec<_> = failed.map(|delivery| part(delivery, DELIVERY)).collect();
            if !failed.is_empty() || endpoint["status"] != "enabled" {
                let mut shown = part(endpoint, &["id", "url", "status", "disabled_reason"]);
                shown["failed"] = failed.into();
                found.push(shown);
            }
        }
        Ok(found)
    }
}

/// Removes the parts of a text that people write differently: `ab12 cde` finds `AB12CDE`.
pub fn squeezed(text: &str) -> String {
    let kept = text.chars().filter(|c| !c.is_whitespace() && *c != '-');
    kept.flat_map(char::to_lowercase).collect()
}

pub fn with_all<const N: usize>(request: Request, filters: [(&str, Option<String>); N]) -> Request {
    let given = filters
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)));
    given.fold(request, |request, (name, value)| request.with(name, value))
}

/// Returns these members of an object, without those that are null or absent. A name with dots leads to a member of a member.
pub fn part(object: &Value, members: &[&str]) -> Value {
    let values = members.iter().map(|member| {
        let value = object.pointer(&format!("/{}", member.replace('.', "/")));
        ((*member).to_owned(), value.cloned().unwrap_or_default())
    });
    let present: Map<_, _> = values.filter(|(_, value)| !value.is_null()).collect();
    Value::Object(present)
}

/// Returns the path of the object with an id, whose prefix determines its kind.
pub fn path(id: &str, expected: Option<&str>) -> Result<String, String> {
    const PATHS: [(&str, &str); 19] = [
        ("acct_", "accounts"),
        ("bat_", "batches"),
        ("ccd_", "charge_cards"),
        ("chst_", "charging_stations"),
        ("cs_", "charging_sessions"),
        ("crn_", "credit_notes"),
        ("drv_", "drivers"),
        ("est_", "estimations"),
        ("evt_", "events"),
        ("flt_", "fleets"),
        ("inv_", "invoices"),
        ("pm_", "payment_methods"),
        ("pol_", "policies"),
        ("res_", "reservations"),
        ("rpt_", "reports"),
        ("site_", "sites"),
        ("txn_", "transactions"),
        ("veh_", "vehicles"),
        ("wh_", "webhook_endpoints"),
    ];
    let known = PATHS.iter().find(|(prefix, _)| {
        id.starts_with(prefix) && expected.is_none_or(|expected| expected == *prefix)
    });
    let plain = id.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    match known {
        Some((_, resource)) if plain => Ok(format!("/v1/{resource}/{id}")),
        _ => {
            let prefixes: Vec<_> = PATHS.iter().map(|(prefix, _)| *prefix).collect();
            let expected = expected.map_or(prefixes.join(", "), str::to_owned);
            Err(format!(
                "`{id}` is no id of the expected kind: it must begin with {expected}"
            ))
        }
    }
}

pub fn shown(value: Value) -> CallToolResult {
    CallToolResult::structured(value)
}

pub fn refused(why: String) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(why)])
}

/// Returns a failure in a form on which an assistant can act: the whole error object if the service refused.
pub fn failed(failure: &Failure) -> CallToolResult {
    match failure {
        Failure::Refused { body, .. } => CallToolResult::structured_error(body.clone()),
        Failure::Unreachable(why) => refused(why.clone()),
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use futures::future::BoxFuture;

    use super::*;

    #[test]
    fn a_plate_is_found_however_it_is_written() {
        assert!(squeezed("AB12 CDE").contains(&squeezed("ab12-cde")));
        assert!(!squeezed("AB12 CDE").contains(&squeezed("ab13")));
    }

    #[test]
    fn ids_lead_to_their_resources_and_nowhere_else() {
        assert_eq!(path("res_1", None).as_deref(), Ok("/v1/reservations/res_1"));
        assert_eq!(
            path("cs_1", Some("cs_")).as_deref(),
            Ok("/v1/charging_sessions/cs_1")
        );
        for wrong in ["res_1/cancel", "../v1", "", "key_1"] {
            assert!(path(wrong, None).is_err(), "{wrong}");
        }
        assert!(path("cs_1", Some("res_")).is_err());
    }

    /// A list of empty pages, of which the last has an object.
    struct EmptyPages(u32);

    impl Api for EmptyPages {
        fn send(&self, request: Request) -> BoxFuture<'_, Result<Value, Failure>> {
            let page = request.query.iter().find(|(name, _)| name == "page");
            let page: u32 = page.map_or(1, |(_, page)| page.parse().unwrap());
            let next = format!(
                "https://fleet.example/v1/reservations?limit=20&page={}",
                page + 1
            );
            let body = if page < self.0 {
                json!({"data": [], "next_page_url": next})
            } else {
                json!({"data": [{"id": "res_1"}], "next_page_url": null})
            };
            Box::pin(std::future::ready(Ok(body)))
        }

        fn now(&self) -> BoxFuture<'_, Result<String, Failure>> {
            Box::pin(std::future::ready(Ok("2026-03-01T08:00:00Z".to_owned())))
        }
    }

    #[test]
    fn empty_pages_are_passed_over() {
        let listed = |pages| {
            let api = Arc::new(EmptyPages(pages));
            let server = Server { api };
            let list = server.list(Request::get("/v1/reservations"), None, &["id"]);
            list.now_or_never().unwrap().structured_content.unwrap()
        };
        let found = json!({"data": [{"id": "res_1"}], "has_more": false, "next_page": null});
        assert_eq!([listed(1), listed(PAGES)], [found.clone(), found]);
        let next = (PAGES + 1).to_string();
        assert_eq!(
            listed(PAGES + 1),
            json!({"data": [], "has_more": true, "next_page": next})
        );
    }

    /// Drivers of whom a search of the API finds the first ten, one of them a fleet; their names end with their numbers.
    struct Drivers(usize);

    impl Api for Drivers {
        fn send(&self, request: Request) -> BoxFuture<'_, Result<Value, Failure>> {
            let driver =
                |number| json!({"id": format!("drv_{number}"), "name": format!("Nordic {number}")});
            let body = match (request.path.as_str(), request.path.rsplit_once("drv_")) {
                ("/v1/search", _) => {
                    let of_type =
                        |number, kind| json!({"id": format!("drv_{number}"), "type": kind});
                    let mut results: Vec<Value> = vec![of_type(0, "fleet")];
                    results.extend(
                        (1..self.0.min(MOST_RESULTS)).map(|number| of_type(number, "driver")),
                    );
                    json!({"data": results})
                }
                (_, Some((_, number))) => driver(number.parse().unwrap()),
                _ => {
                    json!({"data": Vec::from_iter((1..self.0).map(driver)), "next_page_url": null})
                }
            };
            Box::pin(std::future::ready(Ok(body)))
        }

        fn now(&self) -> BoxFuture<'_, Result<String, Failure>> {
            unreachable!("nothing here depends on the time")
        }
    }

    #[test]
    fn a_search_that_is_cut_short_says_so_or_goes_on() {
        let found = |drivers| {
            let api = Arc::new(Drivers(drivers));
            let server = Server { api };
            let found = server.find(&DRIVERS, "nordic").now_or_never().unwrap();
            let found = found.structured_content.unwrap();
            (
                found["found"].as_array().unwrap().len(),
                found["has_more"].clone(),
            )
        };
        assert_eq!(found(9), (8, Value::Null));
        assert_eq!(found(10), (9, json!(false)));
        assert_eq!(found(21), (20, json!(false)));
        assert_eq!(found(31), (20, json!(true)));
    }

    #[test]
    fn parts_have_what_is_there() {
        let event = json!({"id": "evt_1", "type": null, "data": {"object": {"id": "res_1"}}});
        let shown = part(&event, &["id", "type", "data.object.id", "created"]);
        assert_eq!(shown, json!({"id": "evt_1", "data.object.id": "res_1"}));
    }
}
