//! The sample events in `events/`, sent to a service on which their objects exist.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use kernel::{Id, Kind, Origin};
use local::demo::KEY;
use models::charging_session::network::{AtNetwork, Billed, Total};
use models::charging_session::review::{PendingReview, Prices, ReviewReason};
use models::charging_session::{NetworkSession, Operator, SessionState, Settlement};
use models::credit_note::{Credit, CreditNoteType};
use models::network::{EvseId, Module, ObjectId, Owner, PartyId};
use models::ports::network::Subject;
use models::{ChargingSession, CreditNote, Invoice};
use serde_json::{Value, json};
use table::networks::ReceivedObject;
use table::shown::Shows;
use web::{Method, Route};

use crate::{Client, Receiver, TestApp, TestResponse};

/// A sample event with the ids and times of existing objects.
pub struct Sample {
    pub event: Value,
    route: Route,
}

impl Sample {
    /// Creates the objects that the route's sample event refers to.
    ///
    /// # Panics
    /// The route has no sample event, or one of the objects cannot be created.
    pub async fn prepare(app: &TestApp, receiver: &Receiver, route: &Route) -> Self {
        let (mut event, known) = prepared(app, receiver, route.name).await;
        if let Some(id) = unknown_id(&event) {
            let created = create(&app.alice, route.resource(), &known).await;
            let text = event.to_string().replace(&id, &created);
            event = serde_json::from_str(&text).expect("JSON");
        }
        Self {
            event,
            route: *route,
        }
    }

    /// Sends the event's request, which has to succeed.
    ///
    /// # Panics
    /// The status of the response is not 200, or 302 for a route that redirects to a file.
    pub async fn send(&self, app: &TestApp) -> TestResponse {
        let event = &self.event;
        let headers: Vec<(&str, &str)> = event["headers"]
            .as_object()
            .expect("headers")
            .iter()
            .filter(|(name, _)| *name != "host")
            .map(|(name, value)| (name.as_str(), value.as_str().expect("a header")))
            .collect();
        let path = event["rawPath"].as_str().expect("a path").to_owned();
        let path = match event["rawQueryString"].as_str() {
            None | Some("") => path,
            Some(query) => format!("{path}?{query}"),
        };
        let body = event["body"].as_str().map(str::to_owned);
        let method = self.route.method.as_str();
        let answer = app.anon.send(method, &path, body, &headers).await;
        let want = if matches!(self.route.shows, Shows::File(_)) {
            302
        } else {
            200
        };
        assert_eq!(
            answer.status, want,
            "{}: if an object is in another state than the sample event needs, `prepared` in tests/samples.rs changes it: {}",
            self.route.name, answer.text
        );
        answer
    }
}

/// Creates an object of a resource with the body of its sample event, in which it refers to objects that exist.
///
/// # Panics
/// The resource has no route that creates, or the object cannot be created.
async fn create(client: &Client, resource: &str, known: &[String]) -> String {
    let path = format!("/v1/{resource}");
    let mut routes = functions::endpoints()
        .into_iter()
        .map(|endpoint| endpoint.route);
    let route = routes.find(|route| route.method == Method::Post && route.path == path);
    let name = route
        .unwrap_or_else(|| panic!("{resource} are not created"))
        .name;
    let event: Value = serde_json::from_str(&text(name)).expect("JSON");
    let mut body = event["body"].as_str().expect("a body").to_owned();
    for id in known {
        let prefix = Id::from(id.as_str()).kind().map_or("?", Kind::prefix);
        while let Some(at) = body.find(&format!("{prefix}{MADE_UP}")) {
            body.replace_range(at..at + id.len(), id);
        }
    }
    let body = serde_json::from_str(&body).expect("JSON");
    client.post(&path, body).await.id()
}

/// The beginning of the ids in sample events, after their prefixes.
const MADE_UP: &str = "01a1f000000070008000000000000";

/// The id in an event's path, if it is still that of the file because no object of the resource has been created.
fn unknown_id(event: &Value) -> Option<String> {
    let id = event["rawPath"].as_str()?.split('/').nth(3)?;
    id.contains(MADE_UP).then(|| id.to_owned())
}

/// The sample event with this name in the repository.
///
/// # Panics
/// There is no such sample event.
pub fn text(name: &str) -> String {
    let path = format!("{}/../events/{name}.json", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{path}: {error}: `cargo run -p generate events` writes it"))
}

/// The sample event with that name, and the ids of the objects that exist for it.
async fn prepared(app: &TestApp, receiver: &Receiver, name: &str) -> (Value, Vec<String>) {
    let alice = &app.alice;
    let mut crew = app.crew(alice).await;
    let reservation = alice
        .post("/v1/reservations", app.reservation(&crew, 120))
        .await
        .id();
    let hook = match name {
        "poll-webhook-endpoint" => json!({"type": "polling", "enabled_events": ["ping"]}),
        _ => json!({"url": receiver.url, "enabled_events": ["ping"]}),
    };
    let endpoint = alice.post("/v1/webhook_endpoints", hook).await.id();
    let key = alice.post("/v1/api_keys", json!({})).await.id();
    let token = json!({"type": "card", "token": "tok_success"});
    let method = alice.post("/v1/payment_methods", token).await.id();
    let rules = json!({"name": "Anything", "rules": {}});
    let policy = alice.post("/v1/policies", rules).await.id();
    let card = charge_card(alice, &crew.vehicle).await;
    let transaction = app.transaction(alice, json!({"driver": crew.driver})).await;
    app.drain().await;
    let event = alice.get("/v1/events?limit=1").await.ids().remove(0);
    let station = app.station(json!({})).await;
    let mut session = String::new();
    if name.ends_with("-charging-session") && name != "create-charging-session" {
        let body = app.session(&crew, &station);
        session = alice.post("/v1/charging_sessions", body).await.id();
        match name {
            "end-charging-session" => lose(app, alice, &session).await,
            "review-charging-session" => put_under_review(app, alice, &session).await,
            // The item is as large as that of a session with a cost.
            _ => app.advance(1200).await,
        }
    }
    if name == "retrieve-signed-meter-values" {
        let body = app.session(&crew, &station);
        session = alice.post("/v1/charging_sessions", body).await.id();
        sign(app, alice, &session).await;
    }
    let mut estimation = String::new();
    if name == "retrieve-estimation" {
        let body = json!({"charging_station": station, "vehicle": crew.vehicle, "battery_level": 20,
            "battery_target_level": 80});
        estimation = alice.post("/v1/estimations", body).await.id();
    }
    if name == "attach-driver" {
        crew.driver = alice.post("/v1/drivers", crate::driver()).await.id();
    }
    app.completed_session(&crew, json!({})).await;
    let window = json!({"period_start": app.in_minutes(-60), "period_end": app.in_minutes(1)});
    let invoice = alice.post("/v1/invoices", window).await.id();
    if matches!(
        name,
        "pay-invoice"
            | "void-invoice"
            | "retrieve-invoice-document"
            | "create-credit-note"
            | "retrieve-credit-note-document"
    ) {
        let path = format!("/v1/invoices/{invoice}/finalize");
        alice.post_ok(&path, json!({})).await;
    }
    let report = alice.post("/v1/reports", json!({})).await.id();
    if name.starts_with("delete-") {
        // No object may refer to the deleted one.
        alice
            .post(&format!("/v1/reservations/{reservation}/cancel"), json!({}))
            .await
            .expect(200);
    }
    if name == "retrieve-vehicle-telemetry" {
        let path = format!("/v1/vehicles/{}/telemetry", crew.vehicle);
        alice.post_ok(&path, json!({"battery": {"level": 1}})).await;
    }
    if name == "replace-vehicle-departures" {
        let depot = json!({"name": "Depot", "time_zone": "UTC"});
        let site = alice.post("/v1/sites", depot).await.id();
        let path = format!("/v1/vehicles/{}", crew.vehicle);
        alice.post_ok(&path, json!({"site": site})).await;
    }
    if name == "retrieve-webhook-endpoint-replay" {
        let path = format!("/v1/webhook_endpoints/{endpoint}/replay");
        let replay = json!({"from": app.in_minutes(-60)});
        alice.post_ok(&path, replay).await;
    }
    if name == "delete-fleet" {
        crew.fleet = alice.post("/v1/fleets", crate::fleet()).await.id();
    }
    let account = alice.account.clone().expect("an account").to_string();
    let secret = alice.key.clone().expect("a key");
    let id = |prefix: &str, number: u8| format!("{prefix}_01a1f00000007000800000000000000{number}");
    let mut text = text(name);
    let mut known = Vec::new();
    for (from, to) in [
        (KEY.into(), secret),
        (id("acct", 1), account),
        (id("flt", 2), crew.fleet),
        (id("drv", 3), crew.driver),
        (id("veh", 4), crew.vehicle),
        (id("res", 5), reservation),
        (id("wh", 6), endpoint.clone()),
        (id("evt", 7), event),
        (id("key", 8), key),
        (id("chst", 9), station),
        ("rpt_01a1f00000007000800000000000000a".into(), report),
        ("pm_01a1f00000007000800000000000000a".into(), method),
        ("pol_01a1f00000007000800000000000000c".into(), policy),
        ("ccd_01a1f00000007000800000000000000d".into(), card),
        ("04A1B2C3D4E5F6".into(), unused_uid()),
        ("txn_01a1f00000007000800000000000000b".into(), transaction),
        ("cs_01a1f00000007000800000000000000a".into(), session),
        ("est_01a1f00000007000800000000000000b".into(), estimation),
        ("inv_01a1f00000007000800000000000000a".into(), invoice),
        ("2027-01-15T09:00:00Z".into(), app.in_minutes(300)),
        ("2027-01-15T10:00:00Z".into(), app.in_minutes(360)),
    ] {
        text = text.replace(&from, &to);
        known.push(to);
    }
    // There is room for 16 endpoints only.
    if !name.contains("webhook-endpoint") {
        alice
            .delete_ok(&format!("/v1/webhook_endpoints/{endpoint}"))
            .await;
    }
    (serde_json::from_str(&text).expect("JSON"), known)
}

/// Changes a session as if its charging network had lost it.
async fn lose(app: &TestApp, client: &Client, session: &str) {
    let lost = AtNetwork {
        hold: None,
        heard_at: app.now(),
        stop: None,
        stalled_at: Some(app.now()),
        profile: None,
        clearing: None,
    };
    change_session(app, client, session, |state| match state {
        SessionState::Active { operated_by, .. } => *operated_by = Operator::Network(lost),
        _ => panic!("{state:?}"),
    })
    .await;
}

/// Adds a charging network's CDR with signed meter values to a session.
async fn sign(app: &TestApp, client: &Client, session: &str) {
    change_session(app, client, session, |_| {}).await;
    let (store, tenant) = (&app.app().store, client.tenant());
    let id = Id::from(session);
    let stored = store.load::<ChargingSession>(&tenant, &id).await;
    let mut stored = stored.expect("the session");
    let network = stored.internal.network.as_mut().expect("a network");
    let owner = network.owner().clone();
    let id = ObjectId::new(owner, Module::Cdrs, session).expect("an id");
    network.cdrs.push(Billed {
        id: id.clone(),
        total: Total::default(),
        credit: false,
        credits: None,
        last_updated: app.now(),
        currency: stored.object.currency,
    });
    let value = json!({"nature": "End", "plain_data": "", "signed_data": "OCMF|{}|{}"});
    let data = json!({"encoding_method": "OCMF", "public_key": "30", "signed_values": [value]});
    let received = ReceivedObject {
        id,
        object: json!({"id": session, "signed_data": data, "last_updated": app.now()}),
        received: app.now(),
        revision: 0,
        station: None,
        matched: Some(Subject::new(tenant.clone(), session.into())),
    };
    let origin = Origin::background(tenant, app.now());
    let mut tx = store.begin(&origin);
    tx.save(&mut stored).expect("the session's item");
    tx.put_received(&received).expect("the CDR's item");
    let committed = tx.commit_without_response().await;
    committed.expect("the session is stored");
}

/// Ends a session, and changes it as if a charging network had billed an implausible price.
async fn put_under_review(app: &TestApp, client: &Client, session: &str) {
    let stop = format!("/v1/charging_sessions/{session}/stop");
    client.post_ok(&stop, json!({})).await;
    change_session(app, client, session, |state| match state {
        SessionState::Completed {
            charged,
            cost,
            settlement,
            ..
        } => {
            *settlement = Settlement::UnderReview(PendingReview {
                opened: app.now(),
                reason: ReviewReason::Price,
                prices: Prices {
                    network: Total::new(100_000, 120_000),
                    ours: cost.total,
                },
                energy: charged.energy,
                disputed: None,
                note: None,
                repeat_at: None,
            });
        }
        _ => panic!("{state:?}"),
    })
    .await;
}

/// Changes the state of a session, which is then at the station of a charging network.
async fn change_session(
    app: &TestApp,
    client: &Client,
    session: &str,
    change: impl FnOnce(&mut SessionState),
) {
    let (store, tenant) = (&app.app().store, client.tenant());
    let stored = store
        .load::<ChargingSession>(&tenant, &session.into())
        .await;
    let mut stored = stored.expect("the session");
    let owner = Owner::new(
        Id::from_number(Kind::Network, 1),
        PartyId::new("NL", "EXA").expect("a party"),
    );
    let named = |module, id| ObjectId::new(owner.clone(), module, id).expect("an id");
    let network = NetworkSession {
        session: Some(named(Module::Sessions, "S1")),
        ..NetworkSession::at(EvseId::new(named(Module::Locations, "AMS-1"), "E1"), None)
    };
    stored.internal.network = Some(Box::new(network));
    change(&mut stored.object.state);
    let origin = Origin::background(tenant, app.now());
    let committed = store.save(&origin, &mut stored).await;
    committed.expect("the session is stored");
}

/// A uid that no charge card of a test has: two cards must not have the same uid, even in different accounts.
pub fn unused_uid() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    format!("04{:012X}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// A charge card of a vehicle.
///
/// # Panics
/// The card cannot be created.
pub async fn charge_card(client: &Client, vehicle: &str) -> String {
    let body = json!({"uid": unused_uid(), "vehicle": vehicle, "visual_number": "0000 0417"});
    client.post("/v1/charge_cards", body).await.id()
}

/// A credit note with the amount zero on a draft.
async fn credit_note(app: &TestApp, client: &Client, draft: &str) -> String {
    let (store, tenant, now) = (&app.app().store, client.tenant(), app.now());
    let id = Id::from(draft);
    let draft = store.load::<Invoice>(&tenant, &id).await;
    let credit = Credit::of_amount(CreditNoteType::Manual, Vec::new(), None);
    let line = Id::new(Kind::LineItem, now);
    let note = CreditNote::on_draft(&draft.expect("the draft").object, credit, line, now);
    let mut note = note.expect("a credit note");
    let origin = Origin::background(tenant, now);
    let committed = store.create(&origin, &mut note).await;
    committed.expect("the credit note is stored");
    note.object.id.to_string()
}

/// Creates an object of each kind in a client's test mode. Returns their ids by the names of their resources.
pub async fn one_of_each(app: &TestApp, client: &Client) -> BTreeMap<&'static str, String> {
    let crew = app.crew(client).await;
    let reservation = client
        .post("/v1/reservations", app.reservation(&crew, 120))
        .await
        .id();
    let hook = json!({"url": "https://fleet.example/hook", "enabled_events": ["ping"]});
    let endpoint = client.post("/v1/webhook_endpoints", hook).await.id();
    let key = client.post("/v1/api_keys", json!({})).await.id();
    let wallet = json!({"type": "wallet"});
    let method = client.post("/v1/payment_methods", wallet).await.id();
    let transaction = app.transaction(client, json!({})).await;
    let rules = json!({"name": "Anything", "rules": {}});
    let policy = client.post("/v1/policies", rules).await.id();
    app.drain().await;
    let event = client.get("/v1/events?limit=1").await.ids().remove(0);
    let station = client
        .get("/v1/charging_stations?limit=1")
        .await
        .ids()
        .remove(0);
    let depot = app.station(json!({})).await;
    let body_of_session = app.session(&crew, &depot);
    let session = client.post("/v1/charging_sessions", body_of_session);
    let session = session.await.id();
    let body_of_estimation = json!({"charging_station": depot, "vehicle": crew.vehicle, "battery_level": 20,
        "battery_target_level": 80});
    let estimation = client.post("/v1/estimations", body_of_estimation);
    let estimation = estimation.await.id();
    let window = json!({"period_start": app.in_minutes(-60), "period_end": app.in_minutes(1)});
    let invoice = client.post("/v1/invoices", window).await.id();
    let note = credit_note(app, client, &invoice).await;
    let report = client.post("/v1/reports", json!({})).await.id();
    let card = charge_card(client, &crew.vehicle).await;
    let account = client.account.clone().expect("an account").to_string();
    let mut objects = BTreeMap::from([
        ("accounts", account),
        ("api_keys", key),
        ("charge_cards", card),
        ("charging_sessions", session),
        ("charging_stations", station),
        ("credit_notes", note),
        ("drivers", crew.driver),
        ("estimations", estimation),
        ("events", event),
        ("fleets", crew.fleet),
        ("payment_methods", method),
        ("policies", policy),
        ("invoices", invoice),
        ("reports", report),
        ("reservations", reservation),
        ("transactions", transaction),
        ("vehicles", crew.vehicle),
        ("webhook_endpoints", endpoint),
    ]);
    let routes = functions::endpoints()
        .into_iter()
        .map(|endpoint| endpoint.route);
    for route in routes.filter(|route| route.path.contains("{id}")) {
        if !objects.contains_key(route.resource()) {
            let known: Vec<String> = objects.values().cloned().collect();
            let id = create(client, route.resource(), &known).await;
            objects.insert(route.resource(), id);
        }
    }
    objects
}

/// The lists of objects that are not nested in other objects.
pub fn lists() -> impl Iterator<Item = Route> {
    let routes = functions::endpoints()
        .into_iter()
        .map(|endpoint| endpoint.route);
    routes.filter(|route| matches!(route.shows, Shows::Page(_)) && !route.path.contains("{id}"))
}

/// The path of a route to one of these objects.
pub fn path_to(route: &Route, objects: &BTreeMap<&'static str, String>) -> String {
    let resource = route.path.split('/').nth(2).expect("a resource");
    let id = objects.get(resource).map_or("", String::as_str);
    route.path.replace("{id}", id)
}

/// A response without the values that change by themselves: the values of an active session, the times at which a station is free, the
/// link to a report, and the id of a request.
pub fn steady(mut shown: Value) -> Value {
    let moving: &[&str] = match shown["object"].as_str() {
        Some("charging_session") => &[
            "amount_due",
            "cost_breakdown",
            "energy_consumed",
            "net",
            "tax",
            "updated",
        ],
        Some("charging_station") => &["availability"],
        Some("report") => &["url"],
        Some("error") => &["request"],
        // The plan of a site is computed for each request.
        None => &["planned_at"],
        _ => &[],
    };
    if let Some(members) = shown.as_object_mut() {
        members.retain(|name, _| !moving.contains(&name.as_str()));
    }
    shown
}
