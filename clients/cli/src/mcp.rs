//! `fleet mcp`: the service as tools of the Model Context Protocol, on standard input and output, for assistants that act for a person.
//!
//! A tool is a task, not an operation: it takes what a person would say and returns what the next step needs, with ids. Tools that spend money or
//! take something away do nothing unless `confirm` is true: before, they say what they would do. What a key may not do, its tools may not do.

use std::sync::Arc;

use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{CallToolResult, ContentBlock, Implementation, ServerCapabilities, ServerConfig};
use rmcp::schemars::{self, JsonSchema};
use rmcp::{ServerHandler, ServiceExt as _, tool, tool_handler, tool_router};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::client::{Client, Request};
use crate::context::Context;
use crate::failure::Failure;

/// The most objects that a search among vehicles or drivers reads.
const SEARCHED: usize = 1_000;

/// Serves the tools until standard input ends.
///
/// # Errors
/// There is no API key, or the other side does not speak the protocol.
pub async fn run(context: Context) -> Result<(), Failure> {
    context.needs_key()?;
    let server = Server {
        client: Arc::new(context.client),
        tool_router: Server::tool_router(),
    };
    let running = server.serve(rmcp::transport::stdio());
    let running = running.await.map_err(Failure::local)?;
    running.waiting().await.map_err(Failure::local)?;
    Ok(())
}

#[derive(Clone)]
struct Server {
    client: Arc<Client>,
    tool_router: ToolRouter<Self>,
}

#[derive(Deserialize, JsonSchema)]
struct Search {
    /// A part of the registration plate, VIN, name or e-mail address, or a whole id.
    query: String,
}

#[derive(Deserialize, JsonSchema)]
struct Named {
    /// The id of the object, such as `res_…`.
    id: String,
}

#[derive(Deserialize, JsonSchema)]
struct Confirmed {
    /// The id of the object.
    id: String,
    /// False or left out: nothing is done, and the response says what would be. True: it is done.
    #[serde(default)]
    confirm: bool,
}

#[derive(Deserialize, Serialize, JsonSchema)]
struct Area {
    /// Degrees.
    latitude: f64,
    /// Degrees.
    longitude: f64,
    /// Metres around that place, at most 100,000.
    radius: u32,
}

#[derive(Deserialize, JsonSchema)]
struct Chargers {
    area: Area,
    /// `CCS`, `CHAdeMO` or `Type2`.
    connector_type: Option<String>,
    /// In kW.
    min_power: Option<f64>,
    /// In minor units of the currency, such as pence, tax included.
    max_price_per_kwh: Option<u32>,
    /// RFC 3339. With `until`: only those with a connector that is free for the whole time.
    from: Option<String>,
    /// RFC 3339.
    until: Option<String>,
}

#[derive(Deserialize, Serialize, JsonSchema)]
struct Wanted {
    /// The id of the driver.
    driver: String,
    /// The id of the vehicle.
    vehicle: String,
    /// RFC 3339 with an offset: when charging should begin.
    ideal_start: String,
    /// RFC 3339 with an offset: when charging should end.
    ideal_end: String,
    /// The window may move so far forward.
    #[serde(skip_serializing_if = "Option::is_none")]
    earliest_start: Option<String>,
    /// The window may move so far back.
    #[serde(skip_serializing_if = "Option::is_none")]
    latest_end: Option<String>,
    /// One to three of `CCS`, `CHAdeMO` and `Type2`; the vehicle's own is among them.
    connector_type: Vec<String>,
    /// Where the station is sought.
    location: Area,
}

#[derive(Deserialize, Serialize, JsonSchema)]
struct WantedByNeed {
    /// The id of the driver.
    driver: String,
    /// The id of the vehicle.
    vehicle: String,
    need: Need,
    /// One to three of `CCS`, `CHAdeMO` and `Type2`; the vehicle's own is among them.
    connector_type: Vec<String>,
    /// Where the station is sought.
    location: Area,
}

#[derive(Deserialize, Serialize, JsonSchema)]
struct Need {
    /// The level of the battery to reach, in percent. Either this or `energy_wh`.
    #[serde(skip_serializing_if = "Option::is_none")]
    target_level: Option<f64>,
    /// Watt-hours. Either this or `target_level`.
    #[serde(skip_serializing_if = "Option::is_none")]
    energy_wh: Option<u32>,
    /// RFC 3339 with an offset: when the vehicle has to be ready.
    ready_by: String,
    /// RFC 3339 with an offset: charging may not begin before.
    #[serde(skip_serializing_if = "Option::is_none")]
    earliest_start: Option<String>,
    /// `cost` (the default) or `time`.
    #[serde(skip_serializing_if = "Option::is_none")]
    optimize: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
struct Reservations {
    /// `pending`, `confirmed`, `completed`, `cancelled`, `failed` or `expired`.
    status: Option<String>,
    /// The id of a vehicle.
    vehicle: Option<String>,
    /// The id of a driver.
    driver: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
struct Sessions {
    /// `pending`, `active`, `completed`, `cancelled` or `failed`.
    status: Option<String>,
    /// The id of a fleet.
    fleet: Option<String>,
    /// The id of a vehicle.
    vehicle: Option<String>,
    /// RFC 3339: only those made since.
    since: Option<String>,
}

#[derive(Deserialize, Serialize, JsonSchema)]
struct Start {
    /// The id of the station.
    charging_station: String,
    /// The id of the connector at the station.
    connector: String,
    /// The id of the driver.
    driver: String,
    /// The id of the vehicle.
    vehicle: String,
    /// In watt-hours: charging stops there.
    #[serde(skip_serializing_if = "Option::is_none")]
    session_limit: Option<u64>,
}

#[derive(Deserialize, JsonSchema)]
struct Invoices {
    /// `draft`, `open`, `paid`, `void`, `uncollectible` or `overdue`.
    status: Option<String>,
    /// The id of a fleet.
    fleet: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
struct Payment {
    /// The id of the invoice.
    id: String,
    /// The id of the payment method; the default one when left out.
    payment_method: Option<String>,
    /// False or left out: nothing is charged, and the response says what would be. True: it is charged.
    #[serde(default)]
    confirm: bool,
}

#[derive(Deserialize, JsonSchema)]
struct Events {
    /// A type of event, such as `reservation.failed`.
    r#type: Option<String>,
    /// RFC 3339: only those since.
    since: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
struct ReportWanted {
    /// `charging_summary`, `cost_analysis`, `usage_breakdown`, `fleet_efficiency` or `carbon`.
    r#type: String,
    /// RFC 3339, inclusive.
    period_start: String,
    /// RFC 3339, exclusive.
    period_end: String,
    /// The id of a fleet; the whole account when left out.
    fleet: Option<String>,
    /// `vehicle`, `driver`, `fleet`, `station`, `month` or `session`.
    group_by: Option<String>,
}

const STATION: &[&str] = &[
    "id",
    "name",
    "operator",
    "distance_meters",
    "address",
    "connectors",
    "pricing",
    "status",
];
const VEHICLE: &[&str] = &[
    "id",
    "registration_plate",
    "vin",
    "fleet",
    "drivers",
    "charging_standard",
    "battery_capacity",
    "status",
];
const DRIVER: &[&str] = &["id", "name", "email", "fleets", "vehicles", "status"];
const RESERVATION: &[&str] = &[
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
const SESSION: &[&str] = &[
    "id",
    "status",
    "driver",
    "vehicle",
    "charging_station",
    "session_started",
    "session_ended",
    "energy_consumed",
    "amount_due",
    "currency",
    "failed_reason",
];
const INVOICE: &[&str] = &[
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
const EVENT: &[&str] = &["id", "type", "created", "pending_webhooks", "data"];
const DELIVERY: &[&str] = &[
    "id",
    "event",
    "status",
    "attempt",
    "response_status",
    "next_attempt_at",
    "created",
];

#[tool_router]
impl Server {
    #[tool(
        description = "The service's time. Compute times of requests from it: a local service may have a clock that was moved.",
        annotations(title = "Time", read_only_hint = true, idempotent_hint = true)
    )]
    async fn now(&self) -> CallToolResult {
        match self.client.now().await {
            Ok(now) => shown(json!({"now": now.to_string()})),
            Err(failure) => failed(&failure),
        }
    }

    #[tool(
        description = "Find vehicles by a part of the registration plate or VIN, or by id. Shows their drivers and plug, which a reservation needs.",
        annotations(
            title = "Find a vehicle",
            read_only_hint = true,
            idempotent_hint = true
        )
    )]
    async fn find_vehicle(&self, Parameters(search): Parameters<Search>) -> CallToolResult {
        self.find(
            "/v1/vehicles",
            &search.query,
            &["id", "registration_plate", "vin"],
            VEHICLE,
        )
        .await
    }

    #[tool(
        description = "Find drivers by a part of the name or e-mail address, or by id.",
        annotations(title = "Find a driver", read_only_hint = true, idempotent_hint = true)
    )]
    async fn find_driver(&self, Parameters(search): Parameters<Search>) -> CallToolResult {
        self.find(
            "/v1/drivers",
            &search.query,
            &["id", "name", "email"],
            DRIVER,
        )
        .await
    }

    #[tool(
        description = "Find charging stations near a place, nearest first, with their connectors and prices.",
        annotations(title = "Find chargers", read_only_hint = true, idempotent_hint = true)
    )]
    async fn find_chargers(&self, Parameters(wanted): Parameters<Chargers>) -> CallToolResult {
        let area = &wanted.area;
        let mut request = Request::get("/v1/charging_stations")
            .with("latitude", area.latitude.to_string())
            .with("longitude", area.longitude.to_string())
            .with("radius", area.radius.to_string());
        let filters = [
            ("connector_type[]", wanted.connector_type),
            ("min_power", wanted.min_power.map(|power| power.to_string())),
            (
                "max_price_per_kwh",
                wanted.max_price_per_kwh.map(|price| price.to_string()),
            ),
            ("from", wanted.from),
            ("until", wanted.until),
        ];
        request = with_all(request, filters);
        self.list(request, STATION).await
    }

    #[tool(
        description = "What a reservation would get now, best first, with the price and the reason of each place in the order. Books nothing.",
        annotations(
            title = "Preview a reservation",
            read_only_hint = true,
            idempotent_hint = true
        )
    )]
    async fn preview_reservation(&self, Parameters(wanted): Parameters<Wanted>) -> CallToolResult {
        self.post("/v1/reservations/candidates", json!(wanted), None)
            .await
    }

    #[tool(
        description = "Reserve a connector for a vehicle. The service assigns station and connector about half an hour before the start; until then the reservation is pending.",
        annotations(
            title = "Reserve",
            read_only_hint = false,
            destructive_hint = false,
            idempotent_hint = false
        )
    )]
    async fn reserve(&self, Parameters(wanted): Parameters<Wanted>) -> CallToolResult {
        self.post("/v1/reservations", json!(wanted), Some(RESERVATION))
            .await
    }

    #[tool(
        description = "Reserve what a vehicle needs by a time, such as 80 % by 06:00, at the lowest cost: the service chooses connector and time. \
            `charging_plan` of the response says when, how much and what it costs, and by how much the need is missed if it cannot be met.",
        annotations(
            title = "Reserve by need",
            read_only_hint = false,
            destructive_hint = false,
            idempotent_hint = false
        )
    )]
    async fn reserve_by_need(
        &self,
        Parameters(wanted): Parameters<WantedByNeed>,
    ) -> CallToolResult {
        self.post("/v1/reservations", json!(wanted), Some(RESERVATION))
            .await
    }

    #[tool(
        description = "List reservations, newest first.",
        annotations(
            title = "List reservations",
            read_only_hint = true,
            idempotent_hint = true
        )
    )]
    async fn list_reservations(
        &self,
        Parameters(asked): Parameters<Reservations>,
    ) -> CallToolResult {
        let filters = [
            ("status", asked.status),
            ("vehicle", asked.vehicle),
            ("driver", asked.driver),
        ];
        self.list(
            with_all(Request::get("/v1/reservations"), filters),
            RESERVATION,
        )
        .await
    }

    #[tool(
        description = "Explain a reservation: its status, why it failed or moved, how many stations were in the area and what refused the others.",
        annotations(
            title = "Explain a reservation",
            read_only_hint = true,
            idempotent_hint = true
        )
    )]
    async fn explain_reservation(&self, Parameters(named): Parameters<Named>) -> CallToolResult {
        self.retrieve(&named.id, Some(RESERVATION)).await
    }

    #[tool(
        description = "Cancel a reservation. Free until `free_cancellation_until`.",
        annotations(
            title = "Cancel a reservation",
            read_only_hint = false,
            destructive_hint = true,
            idempotent_hint = true
        )
    )]
    async fn cancel_reservation(&self, Parameters(asked): Parameters<Confirmed>) -> CallToolResult {
        self.act(
            &asked.id,
            "res_",
            "cancel",
            json!({}),
            asked.confirm,
            RESERVATION,
        )
        .await
    }

    #[tool(
        description = "List charging sessions, newest first, with energy (Wh) and cost (minor units).",
        annotations(
            title = "List charging sessions",
            read_only_hint = true,
            idempotent_hint = true
        )
    )]
    async fn list_sessions(&self, Parameters(asked): Parameters<Sessions>) -> CallToolResult {
        let filters = [
            ("status", asked.status),
            ("fleet", asked.fleet),
            ("vehicle", asked.vehicle),
            ("created[gte]", asked.since),
        ];
        self.list(
            with_all(Request::get("/v1/charging_sessions"), filters),
            SESSION,
        )
        .await
    }

    #[tool(
        description = "Start charging at a connector. Costs money in live mode.",
        annotations(
            title = "Start charging",
            read_only_hint = false,
            destructive_hint = false,
            idempotent_hint = false
        )
    )]
    async fn start_charging(&self, Parameters(start): Parameters<Start>) -> CallToolResult {
        self.post("/v1/charging_sessions", json!(start), Some(SESSION))
            .await
    }

    #[tool(
        description = "Stop a charging session.",
        annotations(
            title = "Stop charging",
            read_only_hint = false,
            destructive_hint = true,
            idempotent_hint = true
        )
    )]
    async fn stop_charging(&self, Parameters(asked): Parameters<Confirmed>) -> CallToolResult {
        self.act(&asked.id, "cs_", "stop", json!({}), asked.confirm, SESSION)
            .await
    }

    #[tool(
        description = "List invoices, newest first.",
        annotations(title = "List invoices", read_only_hint = true, idempotent_hint = true)
    )]
    async fn list_invoices(&self, Parameters(asked): Parameters<Invoices>) -> CallToolResult {
        let filters = [("status", asked.status), ("fleet", asked.fleet)];
        self.list(with_all(Request::get("/v1/invoices"), filters), INVOICE)
            .await
    }

    #[tool(
        description = "Pay an open invoice.",
        annotations(
            title = "Pay an invoice",
            read_only_hint = false,
            destructive_hint = true,
            idempotent_hint = true
        )
    )]
    async fn pay_invoice(&self, Parameters(asked): Parameters<Payment>) -> CallToolResult {
        let body = asked
            .payment_method
            .map_or_else(|| json!({}), |method| json!({"payment_method": method}));
        self.act(&asked.id, "inv_", "pay", body, asked.confirm, INVOICE)
            .await
    }

    #[tool(
        description = "Make a report of a period in the background. `show` with its id has the link once its status is `succeeded`.",
        annotations(
            title = "Request a report",
            read_only_hint = false,
            destructive_hint = false,
            idempotent_hint = false
        )
    )]
    async fn request_report(&self, Parameters(asked): Parameters<ReportWanted>) -> CallToolResult {
        let mut parameters = json!({"type": asked.r#type, "period_start": asked.period_start, "period_end": asked.period_end});
        if let Some(group) = asked.group_by {
            parameters["group_by"] = group.into();
        }
        let mut body = json!({"parameters": parameters});
        if let Some(fleet) = asked.fleet {
            body["fleet"] = fleet.into();
        }
        self.post("/v1/reports", body, Some(&["id", "status"]))
            .await
    }

    #[tool(
        description = "What happened: events of the account, newest first. They are kept for 30 days.",
        annotations(title = "Recent events", read_only_hint = true, idempotent_hint = true)
    )]
    async fn recent_events(&self, Parameters(asked): Parameters<Events>) -> CallToolResult {
        let filters = [("type", asked.r#type), ("created[gte]", asked.since)];
        self.list(with_all(Request::get("/v1/events"), filters), EVENT)
            .await
    }

    #[tool(
        description = "Which webhook endpoints are disabled or have deliveries that failed lately, and how the receivers answered.",
        annotations(
            title = "Failed webhooks",
            read_only_hint = true,
            idempotent_hint = true
        )
    )]
    async fn failed_webhooks(&self) -> CallToolResult {
        match self.failed_deliveries().await {
            Ok(found) => shown(json!({"endpoints": found})),
            Err(failure) => failed(&failure),
        }
    }

    #[tool(
        description = "Send an event to its webhook endpoints again.",
        annotations(
            title = "Send an event again",
            read_only_hint = false,
            destructive_hint = false,
            idempotent_hint = false
        )
    )]
    async fn resend_event(&self, Parameters(named): Parameters<Named>) -> CallToolResult {
        match path(&named.id, Some("evt_")) {
            Ok(path) => {
                self.post(&format!("{path}/redeliver"), json!({}), Some(EVENT))
                    .await
            }
            Err(why) => refused(why),
        }
    }

    #[tool(
        description = "Any object as a whole, by its id: account, charge card, charging session, charging station, driver, event, fleet, invoice, payment method, policy, report, reservation, transaction, vehicle or webhook endpoint.",
        annotations(
            title = "Show an object",
            read_only_hint = true,
            idempotent_hint = true
        )
    )]
    async fn show(&self, Parameters(named): Parameters<Named>) -> CallToolResult {
        self.retrieve(&named.id, None).await
    }
}

#[tool_handler(router = self.tool_router)]
impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let mut info = ServerConfig::new(ServerCapabilities::builder().enable_tools().build());
        info.server_info = Implementation::new("fleet", env!("CARGO_PKG_VERSION"));
        info.instructions = Some(
            "Charging for fleets of electric vehicles. Times are RFC 3339; amounts are integers in the currency's minor unit; energy is in Wh. \
             To reserve for a vehicle: `now`, `find_vehicle` (its drivers and plug), then `reserve`. Tools with `confirm` do nothing until it is true: \
             show the person what they would do first."
                .into(),
        );
        info
    }
}

impl Server {
    /// Those of a list whose members contain a text.
    async fn find(
        &self,
        path: &str,
        query: &str,
        searched: &[&str],
        members: &[&str],
    ) -> CallToolResult {
        let wanted = squeezed(query);
        let first = Request::get(path).with("limit", "100");
        let mut page = match self.client.send(&first).await {
            Ok(response) => response.body,
            Err(failure) => return failed(&failure),
        };
        let (mut found, mut read) = (Vec::new(), 0);
        loop {
            let objects = page["data"].as_array().cloned().unwrap_or_default();
            read += objects.len();
            found.extend(objects.into_iter().filter(|object| {
                let mut texts = searched
                    .iter()
                    .filter_map(|member| object[*member].as_str());
                texts.any(|text| squeezed(text).contains(&wanted))
            }));
            let Some(next) = page["next_page_url"].as_str().map(str::to_owned) else {
                break;
            };
            if read >= SEARCHED {
                break;
            }
            page = match self.client.next_page(&next, &first).await {
                Ok(response) => response.body,
                Err(failure) => return failed(&failure),
            };
        }
        let whole = page["next_page_url"].is_null();
        let found: Vec<_> = found
            .iter()
            .take(20)
            .map(|object| part(object, members))
            .collect();
        shown(json!({"found": found, "searched": read, "searched_all": whole}))
    }

    /// The first page of a list.
    async fn list(&self, request: Request, members: &[&str]) -> CallToolResult {
        match self.client.send(&request.with("limit", "20")).await {
            Ok(response) => {
                let objects = response.body["data"]
                    .as_array()
                    .cloned()
                    .unwrap_or_default();
                let objects: Vec<_> = objects.iter().map(|object| part(object, members)).collect();
                shown(
                    json!({"data": objects, "has_more": !response.body["next_page_url"].is_null()}),
                )
            }
            Err(failure) => failed(&failure),
        }
    }

    async fn retrieve(&self, id: &str, members: Option<&[&str]>) -> CallToolResult {
        let path = match path(id, None) {
            Ok(path) => path,
            Err(why) => return refused(why),
        };
        match self.client.send(&Request::get(path)).await {
            Ok(response) => shown(members.map_or(response.body.clone(), |members| {
                part(&response.body, members)
            })),
            Err(failure) => failed(&failure),
        }
    }

    async fn post(&self, path: &str, body: Value, members: Option<&[&str]>) -> CallToolResult {
        match self.client.send(&Request::post(path, body)).await {
            Ok(response) => shown(members.map_or(response.body.clone(), |members| {
                part(&response.body, members)
            })),
            Err(failure) => failed(&failure),
        }
    }

    /// Does something with an object, or shows the object and says what would be done.
    async fn act(
        &self,
        id: &str,
        prefix: &str,
        action: &str,
        body: Value,
        confirm: bool,
        members: &[&str],
    ) -> CallToolResult {
        let path = match path(id, Some(prefix)) {
            Ok(path) => path,
            Err(why) => return refused(why),
        };
        if confirm {
            return self
                .post(&format!("{path}/{action}"), body, Some(members))
                .await;
        }
        match self.client.send(&Request::get(path)).await {
            Ok(response) => shown(
                json!({"would": action, "done": false, "now": part(&response.body, members),
                "next": "Call again with confirm: true to do it."}),
            ),
            Err(failure) => failed(&failure),
        }
    }

    /// The endpoints with what went wrong at each.
    async fn failed_deliveries(&self) -> Result<Vec<Value>, Failure> {
        let endpoints = self
            .client
            .send(&Request::get("/v1/webhook_endpoints").with("limit", "100"))
            .await?;
        let mut found = Vec::new();
        for endpoint in endpoints.body["data"].as_array().into_iter().flatten() {
            let id = endpoint["id"].as_str().unwrap_or_default();
            let request =
                Request::get(format!("/v1/webhook_endpoints/{id}/deliveries")).with("limit", "50");
            let deliveries = self.client.send(&request).await?;
            let deliveries = deliveries.body["data"].as_array().into_iter().flatten();
            let failed = deliveries.filter(|delivery| delivery["status"] == "failed");
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

/// A text without what people write differently: `ab12 cde` finds `AB12CDE`.
fn squeezed(text: &str) -> String {
    let kept = text.chars().filter(|c| !c.is_whitespace() && *c != '-');
    kept.flat_map(char::to_lowercase).collect()
}

fn with_all<const N: usize>(request: Request, filters: [(&str, Option<String>); N]) -> Request {
    let given = filters
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)));
    given.fold(request, |request, (name, value)| request.with(name, value))
}

/// These members of an object, without those that are null or absent.
fn part(object: &Value, members: &[&str]) -> Value {
    let members = members.iter().filter(|member| !object[**member].is_null());
    let members: Map<_, _> = members
        .map(|member| ((*member).to_owned(), object[*member].clone()))
        .collect();
    Value::Object(members)
}

/// The path of the object with an id, whose prefix says what it is.
fn path(id: &str, expected: Option<&str>) -> Result<String, String> {
    const PATHS: [(&str, &str); 15] = [
        ("acct_", "accounts"),
        ("ccd_", "charge_cards"),
        ("chst_", "charging_stations"),
        ("cs_", "charging_sessions"),
        ("drv_", "drivers"),
        ("evt_", "events"),
        ("flt_", "fleets"),
        ("inv_", "invoices"),
        ("pm_", "payment_methods"),
        ("pol_", "policies"),
        ("res_", "reservations"),
        ("rpt_", "reports"),
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

fn shown(value: Value) -> CallToolResult {
    CallToolResult::structured(value)
}

fn refused(why: String) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(why)])
}

/// A failure as an assistant can act on it: the whole error object where the service refused.
fn failed(failure: &Failure) -> CallToolResult {
    match failure {
        Failure::Refused(refusal) => CallToolResult::structured_error(refusal.body.clone()),
        failure => refused(failure.to_string()),
    }
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn tools_that_change_something_say_so() {
        let tools = Server::tool_router().list_all();
        assert!(tools.len() >= 20, "{}", tools.len());
        for tool in tools {
            let annotations = tool.annotations.expect("annotations");
            let confirms = tool.input_schema["properties"].get("confirm").is_some();
            assert_eq!(
                annotations.destructive_hint == Some(true),
                confirms,
                "{}",
                tool.name
            );
            assert!(
                annotations.read_only_hint.is_some() && tool.description.is_some(),
                "{}",
                tool.name
            );
        }
    }
}
