//! The foundation of the black-box tests: a service, clients with keys, and a receiver of webhooks.

pub mod access;
pub mod backlog;
pub mod bill;
pub mod capacity;
pub mod clock;
pub mod contract;
pub mod faulty;
pub mod golden;
pub mod ledger;
pub mod localstripe;
pub mod mailbox;
pub mod meter;
pub mod platform;
pub mod player;
pub mod recorder;
pub mod records;
pub mod samples;
pub mod seeds;
pub mod snapshot;
pub mod stage;
pub mod tls;
pub mod units;

use std::collections::BTreeSet;
use std::fmt::Display;
use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::panic::Location;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use axum::serve::Listener;
use functions::App;
use functions::app::Ports;
use functions::aws::SystemClock;
use hmac::{Hmac, Mac as _};
use kernel::encryption::EncryptionKeys;
use kernel::time::{hours, minutes};
use kernel::{Currency, Id, Kind, Mode, Money, Origin, Tenant, Timestamp};
use local::{Options, Running};
use models::charging_session::SessionInternal;
use models::payment_method::PaymentMethodInternal;
use models::ports::Clock;
use models::{ChargingSession, PaymentMethod, Stored, Transaction};
use serde_json::{Value, json};
use sha2::Sha256;
use table::Store;
use table::keys::Partition;
use table::list::PageRequest;
use table::stored_item::Record;
use web::settings::Settings;

use crate::tls::TlsPort;

/// Checks that two sets are equal. The error message shows their difference, and `remedy`.
///
/// # Panics
/// The sets differ.
#[track_caller]
pub fn assert_same(found: &BTreeSet<String>, expected: &BTreeSet<String>, remedy: &str) {
    let difference: Vec<_> = found.symmetric_difference(expected).collect();
    assert!(difference.is_empty(), "{remedy}: {difference:?}");
}

/// Checks these members of an object, and ignores all others: `assert_has!(session, {"status": "active", "amount_due": 0})`. A name
/// that begins with a slash is a JSON pointer, and a missing member is null.
#[macro_export]
macro_rules! assert_has {
    ($object:expr, $members:tt) => {
        $crate::check_members(&$object, ::serde_json::json!($members))
    };
}

/// The implementation of [`assert_has`].
///
/// # Panics
/// A member has another value. The message shows the object.
#[track_caller]
pub fn check_members(object: &Value, members: Value) {
    let Value::Object(members) = members else {
        panic!("the members are an object");
    };
    for (name, expected) in members {
        let found = if name.starts_with('/') {
            object.pointer(&name).unwrap_or(&Value::Null)
        } else {
            &object[&name]
        };
        assert_eq!(*found, expected, "`{name}` of {object}");
    }
}

/// A member of each object of a list, as a list.
///
/// # Panics
/// The value is not a list.
#[track_caller]
pub fn each(list: &Value, member: &str) -> Value {
    let items = list.as_array().expect("a list").iter();
    items.map(|item| item[member].clone()).collect()
}

/// Checks that a text, or a JSON value as text, contains this part.
///
/// # Panics
/// The part is missing.
#[track_caller]
pub fn assert_contains(value: &Value, part: &str) {
    let found = match value {
        Value::String(text) => text.contains(part),
        other => other.to_string().contains(part),
    };
    assert!(found, "`{part}` is not in {value}");
}

/// The id of an object.
///
/// # Panics
/// The object has no id.
#[track_caller]
pub fn id_of(object: &Value) -> &str {
    object["id"].as_str().expect("an id")
}

/// A table of JSON values and the expected result of each: `cases! { {"limit": 0} => "limit", {"limit": "x"} => "limit" }`.
#[macro_export]
macro_rules! cases {
    ($($value:tt => $outcome:expr),+ $(,)?) => {
        [$((::serde_json::json!($value), $outcome)),+]
    };
}

/// The path of the object with this id.
///
/// # Panics
/// The kind of the id has no path.
#[track_caller]
pub fn path_of(id: &(impl Display + ?Sized)) -> String {
    let id = id.to_string();
    let mut kinds = Kind::ALL.iter();
    let kind = kinds.find(|kind| id.starts_with(kind.prefix()));
    let name = kind.expect("the id of an object").name();
    let plural = match name.strip_suffix('y') {
        Some(stem) if name != "api_key" => format!("{stem}ies"),
        _ if name.ends_with("ch") => format!("{name}es"),
        _ => format!("{name}s"),
    };
    format!("/v1/{plural}/{id}")
}

/// Tests run at the same time as other tests and processes, so slow work is not an error.
pub const SLACK: u32 = 8;

/// The number of demo stations of a test's own service: importing them takes most of its start.
const FEW_STATIONS: u32 = 12;

/// A service on an embedded table in memory, or on a table of its own at the DynamoDB endpoint `STORE_URL`. Asynchronous work is done
/// when the test calls for it.
///
/// With `API_URL` it is the service deployed there, and each test has an account of its own below that of the test key `API_KEY`. A
/// test that needs more than that service offers to its clients is skipped: its process ends with [`SKIPPED`], so each test has to run
/// in a process of its own, as `infra/e2e` does.
pub struct TestApp {
    /// None if the service runs elsewhere.
    running: Option<Running>,
    /// A full-access test key of the first account.
    pub alice: Client,
    /// A client without a key.
    pub anon: Client,
    /// The initial time of the test's clock.
    started: Timestamp,
}

/// The exit code of a test that cannot run against a deployed service.
pub const SKIPPED: i32 = 77;

/// The URL of the deployed service, if the tests run against one.
fn deployed() -> Option<String> {
    std::env::var("API_URL").ok()
}

/// The access key with which `functions::aws::config` signs.
fn access_key() -> String {
    kernel::environment::variable("AWS_ACCESS_KEY_ID").unwrap_or_else(|| "local".into())
}

/// Ends the process of a test that needs something that a deployed service does not offer.
fn skip(needs: &str) -> ! {
    drop(std::io::stderr().write_all(format!("skipped: it needs {needs}\n").as_bytes()));
    std::process::exit(SKIPPED)
}

/// Sends requests with one key.
#[derive(Clone)]
pub struct Client {
    http: reqwest::Client,
    base_url: String,
    pub key: Option<String>,
    pub account: Option<Id>,
}

/// A response of the service.
#[derive(Debug, Clone)]
pub struct TestResponse {
    /// The method, the path and the body.
    pub request: String,
    pub status: u16,
    pub headers: reqwest::header::HeaderMap,
    pub text: String,
    pub body: Value,
}

impl TestApp {
    pub async fn start() -> Self {
        match deployed() {
            Some(url) => Self::deployed_at(&url).await,
            None => Self::start_with(|_| {}).await,
        }
    }

    /// Starts the service with all demo stations of a local run.
    pub async fn with_demo_stations() -> Self {
        match deployed() {
            Some(url) => Self::deployed_at(&url).await,
            None => Self::start_with(|options| options.demo_stations = local::DEMO_STATIONS).await,
        }
    }

    /// Starts a service with a crew in the account of its test key.
    pub async fn with_crew() -> (Self, Crew) {
        let app = Self::start().await;
        let crew = app.crew(&app.alice).await;
        (app, crew)
    }

    /// Starts a service with a crew, and the station that [`TestApp::station`] creates.
    pub async fn with_station() -> (Self, Crew, String) {
        let (app, crew) = Self::with_crew().await;
        let station = app.station(json!({})).await;
        (app, crew, station)
    }

    async fn deployed_at(url: &str) -> Self {
        let key = std::env::var("API_KEY").expect("API_KEY is a full-access test key");
        let operator = Client::new(url, Some(&key));
        Self {
            alice: operator.child().await,
            anon: Client::new(url, None),
            running: None,
            started: SystemClock.now(),
        }
    }

    /// Starts the service for a test that moves its clock.
    pub async fn with_clock() -> Self {
        let app = Self::start().await;
        app.needs("a clock that can be moved");
        app
    }

    /// Starts the service with changed options.
    pub async fn start_with(change: impl FnOnce(&mut Options)) -> Self {
        if deployed().is_some() {
            skip("a service with options of its own");
        }
        let mut options = Options {
            store: std::env::var("STORE_URL").ok(),
            demo_stations: FEW_STATIONS,
            rate: 100_000,
            json: true,
            table: format!("test-{}", unique()),
            by_hand: true,
            slack: SLACK,
            // The tests' own clients of the table use the credentials of the environment, or their replacement.
            access_key: Some(access_key()),
            starts_at: Some(morning_after(SystemClock.now())),
            table_http: functions::aws::unhurried_config(SLACK)
                .http_client()
                .map(access::guarded),
            ..Options::in_memory()
        };
        change(&mut options);
        let running = Self::run(options).await;
        let anon = Client::new(&running.base_url, None);
        let (key, account) = (Some(running.api_key.clone()), Some(running.account.clone()));
        let alice = Client {
            key,
            account,
            ..anon.clone()
        };
        Self {
            alice,
            anon,
            started: running.app.now(),
            running: Some(running),
        }
    }

    /// Starts the service. A database elsewhere may be too busy to create a table in time: then the request is repeated.
    async fn run(options: Options) -> Running {
        let mut tries = if options.store.is_some() { 4 } else { 1 };
        loop {
            let mut options = options.clone();
            options.table = format!("{}-{tries}", options.table);
            tries -= 1;
            match Running::start(options).await {
                Ok(running) => return running,
                Err(error) => assert!(tries > 0, "the service does not start: {error}"),
            }
        }
    }

    pub fn running(&self) -> &Running {
        match &self.running {
            Some(running) => running,
            None => skip("the clock, the queues or the inside of the service"),
        }
    }

    /// A client of the routes below `/_local`, which require the token of the runner.
    pub fn local(&self) -> Client {
        Client {
            key: Some(self.running().token.clone()),
            account: None,
            ..self.anon.clone()
        }
    }

    /// The service's own parts, for checks that clients cannot make.
    pub fn app(&self) -> &functions::App {
        &self.running().app
    }

    /// Skips tests of features that a deployed service does not have.
    pub fn needs(&self, what: &str) {
        if self.running.is_none() {
            skip(what);
        }
    }

    /// The service with another connection to its table, and another clock.
    pub fn app_with(&self, store: Store, clock: Arc<dyn Clock>) -> App {
        let parts = self.app();
        App::new(
            Ports {
                store,
                clock,
                ..parts.ports.clone()
            },
            parts.settings.clone(),
        )
    }

    /// The service's parts with other encryption keys, which are derived from these master secrets.
    pub fn app_with_keys(&self, master_secrets: &str) -> App {
        let encryption_keys = EncryptionKeys::new(master_secrets).expect("keys");
        self.app_with_settings(|settings| settings.encryption_keys = encryption_keys)
    }

    /// The service's parts with other settings.
    pub fn app_with_settings(&self, change: impl FnOnce(&mut Settings)) -> App {
        let parts = self.app();
        let mut settings = Settings::clone(&parts.settings);
        change(&mut settings);
        App::new(parts.ports.clone(), settings)
    }

    /// Starts another instance of the service on the same table and clock, with its own caches. Returns its URL.
    pub async fn another_instance(&self) -> String {
        let parts = self.app();
        serve(self.app_with(parts.store.clone(), parts.clock.clone())).await
    }

    /// A client of a new child of the client's account, with a full-access key of its own.
    pub async fn child_of(&self, parent: &Client) -> Client {
        parent.child().await
    }

    /// A client with a new key of the client's account that has these scopes.
    pub async fn restricted<S: AsRef<str>>(&self, client: &Client, scopes: &[S]) -> Client {
        let scopes: Vec<&str> = scopes.iter().map(AsRef::as_ref).collect();
        let key = client.post("/v1/api_keys", json!({"scopes": scopes})).await;
        let key = key.expect(200);
        Client {
            key: key.body["secret"].as_str().map(str::to_owned),
            ..client.clone()
        }
    }

    /// Sets the status of an account, like an operator.
    pub async fn set_account_status(&self, account: &Id, status: &str) {
        let invocation = json!({"account": account, "status": status});
        let invocation = serde_json::from_value(invocation).expect("an invocation");
        let set = functions::accounts::set_status::handle(self.app(), invocation);
        set.await.expect("the status is set");
    }

    /// A client of another account.
    pub async fn other_account(&self, mode: Mode) -> Client {
        if self.running.is_none() && mode == Mode::Test {
            let other = Self::start().await;
            return other.alice.clone();
        }
        let (account, key) = self.running().make_account(mode).await.expect("an account");
        self.with_key(key, account)
    }

    /// A client with this key.
    pub fn with_key(&self, key: String, account: Id) -> Client {
        Client {
            key: Some(key),
            account: Some(account),
            ..self.anon.clone()
        }
    }

    pub fn now(&self) -> Timestamp {
        match &self.running {
            Some(running) => running.app.now(),
            None => SystemClock.now(),
        }
    }

    /// The time this number of minutes from now, in the format of clients.
    pub fn in_minutes(&self, count: i64) -> String {
        self.now().plus(minutes(count)).to_string()
    }

    /// Processes everything that is due.
    pub async fn drain(&self) {
        self.running()
            .drain()
            .await
            .expect("everything that is due is worked on");
    }

    /// Moves the time forward, and processes work at the moment at which it is due.
    pub async fn advance(&self, seconds: u32) {
        self.running()
            .advance(seconds)
            .await
            .expect("everything that falls due is worked on");
    }

    /// A fleet, a driver attached to it, and a Type2 vehicle in it.
    pub async fn crew(&self, client: &Client) -> Crew {
        client.crew().await
    }

    /// Adds a station with two free Type2 connectors of 22 kW, `1` and `2`, at 45 pence per kWh with 20 % VAT included. It is at 10°,
    /// 10°, far from all others.
    pub async fn station(&self, change: Value) -> String {
        self.station_in(&self.alice, change).await
    }

    /// The same station, in the mode of the client's key.
    pub async fn station_in(&self, client: &Client, change: Value) -> String {
        let id = Id::new(Kind::ChargingStation, self.now()).to_string();
        self.import_station(client.tenant(), &id, change).await;
        id
    }

    /// Adds a station with two EVSEs: `A` has the Type2 connectors `1` and `2`, `B` has `3`. Otherwise it is as
    /// [`TestApp::station`] makes it.
    pub async fn station_with_cables(&self, change: Value) -> String {
        self.station(with(json!({"connectors": cables()}), change))
            .await
    }

    /// Imports the station again, with these members and otherwise as [`TestApp::station`] creates it.
    pub async fn change_station(&self, id: &str, change: Value) {
        self.import_station(self.alice.tenant(), id, change).await;
    }

    async fn import_station(&self, tenant: Tenant, id: &str, change: Value) {
        let connector =
            |id: &str| json!({"id": id, "power": 22.0, "status": "available", "type": "Type2"});
        let station = json!({
            "id": id, "object": "charging_station", "created": self.now(), "updated": self.now(), "name": "Depot",
            "address": {"line1": "1 Dock Road", "city": "London", "postal_code": "E16 1AA", "country": "GB"},
            "availability": {"connectors_available": 2, "connectors_total": 2, "opening_hours": [], "range": []},
            "capabilities": {"24_7_access": true, "amenities": [], "payment_methods": [], "requires_membership": false,
                "reservable": true},
            "connectors": [connector("1"), connector("2")], "location": {"latitude": 10.0, "longitude": 10.0},
            "operator": "Voltway", "operator_contact": "", "status": "active", "timezone": "UTC",
            "pricing": [{"currency": "gbp", "price": 45, "step_size": 1, "tax": "vat", "tax_included": true,
                "tax_percent": "20", "type": "ENERGY"}],
        });
        let station = serde_json::from_value(with(station, change)).expect("a station");
        let origin = kernel::Origin::background(tenant, self.now());
        let imported = self.app().store.import_stations(&origin, vec![station]);
        imported.await.expect("the station is stored");
    }

    /// The body of a session on a station's first connector.
    pub fn session(&self, crew: &Crew, station: &str) -> Value {
        json!({"charging_station": station, "connector": "1", "driver": crew.driver, "vehicle": crew.vehicle})
    }

    /// The body of a reservation this number of minutes ahead, for an hour in central London, where demo stations are.
    pub fn reservation(&self, crew: &Crew, minutes: i64) -> Value {
        json!({
            "driver": crew.driver, "vehicle": crew.vehicle, "connector_type": ["Type2"],
            "ideal_start": self.in_minutes(minutes), "ideal_end": self.in_minutes(minutes + 60),
            "location": {"latitude": 51.507, "longitude": -0.128, "radius": 8000},
        })
    }

    /// Writes an item of alice's that no client could write.
    async fn store<T: Record>(&self, mut stored: Stored<T>) -> String {
        let tenant = self.alice.tenant();
        let origin = Origin::background(tenant, self.now());
        self.app()
            .store
            .create(&origin, &mut stored)
            .await
            .expect("the object is stored");
        stored.object.id().to_string()
    }

    /// A session that ended a moment ago, with 30 kWh for 11.90, with changed members.
    pub async fn completed_session(&self, crew: &Crew, change: Value) -> String {
        let now = self.now();
        let started = now.plus(hours(-2));
        // The time of new ids never lies in the past.
        let seed = Id::new(Kind::ChargingSession, now);
        let id = Id::derived(Kind::ChargingSession, started, seed.as_str());
        let session = json!({"id": id, "amount_due": 1190, "amount_paid": 0,
            "charging_station": Id::from_number(Kind::ChargingStation, 1), "connector": "1", "country": "GB",
            "created": started, "currency": "usd", "driver": crew.driver, "energy_consumed": 30_000, "fleet": crew.fleet,
            "power": 22.0, "session_ended": now.plus(minutes(-1)), "session_started": started, "started_by": "api",
            "status": "completed", "updated": now, "vehicle": crew.vehicle});
        let mut session = with(session, change);
        let (due, paid) = (&session["amount_due"], &session["amount_paid"]);
        let gross = due.as_i64().expect("an amount") + paid.as_i64().expect("an amount");
        let (status, ended) = (&session["status"], &session["session_ended"]);
        let charged = json!({"energy": session["energy_consumed"]});
        let cost = json!({"total": {"net": gross.min(1000), "gross": gross}, "paid": paid, "source": "tariff"});
        session["state"] = match status.as_str() {
            Some("completed") => {
                json!({"status": status, "ended": ended, "charged": charged, "cost": cost,
                "settlement": {"final": {"at": ended}}})
            }
            Some("failed") => json!({"status": status, "ended": ended, "charged": charged}),
            _ => {
                json!({"status": status, "charged": charged, "cost": cost, "operated_by": {"network": {"heard_at": now}}})
            }
        };
        let session: ChargingSession = serde_json::from_value(session).expect("a session");
        let internal = SessionInternal {
            evse: "1".to_owned(),
            ..SessionInternal::default()
        };
        self.store(Stored::with_internal(session, internal)).await
    }

    /// Creates a card of alice's account with this token, with changed members.
    pub async fn payment_method(&self, token: &str, change: Value) -> String {
        let now = self.now();
        let method = json!({"id": Id::new(Kind::PaymentMethod, now), "object": "payment_method", "card": null,
            "created": now, "driver": null, "fleet": null, "metadata": {}, "type": "card", "updated": now});
        let method: PaymentMethod = serde_json::from_value(with(method, change)).expect("a method");
        let internal = PaymentMethodInternal {
            token: Some(token.to_owned()),
            customer: None,
        };
        self.store(Stored::with_internal(method, internal)).await
    }

    /// A client's transactions in test mode, newest first.
    pub async fn transactions(&self, client: &Client) -> Vec<Transaction> {
        let tenant = client.tenant();
        let partition = Partition::Kind {
            tenant: &tenant,
            kind: Kind::Transaction,
        };
        let (store, page_request) = (&self.app().store, PageRequest::first(100));
        let found = store.list(partition, &page_request, vec![]).await;
        let transactions = found.expect("a list").items.into_iter();
        transactions
            .map(|stored: Stored<Transaction>| stored.object)
            .collect()
    }
}

impl TestApp {
    /// A transaction of the client's account, as a charge would create it.
    pub async fn transaction(&self, client: &Client, movement: Value) -> String {
        use models::Transaction;
        use models::transaction::{Movement, TransactionStatus, TransactionType};
        let id = |name: &str| movement[name].as_str().map(Id::from);
        let movement = Movement {
            kind: TransactionType::Charge,
            amount: Money::new(1250, Currency::USD),
            description: "Charging".into(),
            payment_method: id("payment_method"),
            driver: id("driver"),
            fleet: id("fleet"),
            vehicle: id("vehicle"),
            charging_session: None,
        };
        let status = if movement.driver.is_some() {
            TransactionStatus::Succeeded
        } else {
            TransactionStatus::Failed
        };
        let transaction = Transaction::new(movement, status, self.now());
        let id = transaction.id.to_string();
        let tenant = client.tenant();
        let origin = kernel::origin::Origin::background(tenant, self.now());
        let mut tx = self.app().store.begin(&origin);
        let internal = models::transaction::TransactionInternal::charged("a sample".into());
        let mut stored = Stored::with_internal(transaction, internal);
        tx.create(&mut stored).expect("an item of the transaction");
        tx.commit_without_response()
            .await
            .expect("the transaction is stored");
        id
    }
}

impl Drop for TestApp {
    fn drop(&mut self) {
        let has_undelivered = self.running.as_ref().is_some_and(Running::has_undelivered);
        if !std::thread::panicking() && has_undelivered {
            panic!("messages were left undelivered: drain the app before the test ends");
        }
    }
}

/// Ids that belong together.
#[derive(Debug, Clone)]
pub struct Crew {
    pub fleet: String,
    pub driver: String,
    pub vehicle: String,
}

pub fn fleet() -> Value {
    json!({"name": "Night shift", "email": "ops@fleet.example",
        "address": {"line1": "1 Bow Road", "city": "London", "postal_code": "E3 4LH", "country": "GB"}})
}

pub fn driver() -> Value {
    json!({"name": "Ada Byron", "email": "ada@fleet.example"})
}

pub fn vehicle(fleet: &str) -> Value {
    json!({"fleet": fleet, "registration_plate": "AB12 CDE", "vin": "WVWZZZ1KZAW000001", "battery_capacity": 60000,
        "charging_standard": "Type2", "max_ac_power": 22080})
}

/// Three Type2 connectors, two of which are cables of one EVSE.
pub fn cables() -> Value {
    let cable = |id: &str, evse: &str| json!({"id": id, "evse": evse, "power": 22.0, "status": "available", "type": "Type2"});
    json!([cable("1", "A"), cable("2", "A"), cable("3", "B")])
}

/// The body with changed members.
pub fn with(mut body: Value, change: Value) -> Value {
    let (Some(body_members), Value::Object(change)) = (body.as_object_mut(), change) else {
        panic!("both are objects");
    };
    body_members.extend(change);
    body
}

fn unique() -> String {
    Id::new(Kind::Request, kernel::Timestamp::from_unix_millis(0)).to_string()
        + &std::process::id().to_string()
}

/// The next moment at which it is ten in the morning in UTC, on the 3rd to the 26th of a month. Tests begin then, regardless of the
/// machine's time: periods of fleets, calendar items and bills change at midnight and with the month, and a test that ran around
/// midnight or at the end of a month by chance would find more than expected.
fn morning_after(now: Timestamp) -> Timestamp {
    const DAY: i64 = 24 * 3600;
    const MORNING: i64 = 10 * 3600;
    let days = (now.unix_seconds() - MORNING).div_euclid(DAY) + 1;
    let mornings = (days..).map(|day| Timestamp::from_unix_millis(1000 * (day * DAY + MORNING)));
    let mut amid_a_month = mornings.filter(|morning| (3..=26).contains(&morning.utc_date().day()));
    amid_a_month.next().unwrap_or(now)
}

/// Serves the routes of an app on a port of its own. Returns the URL.
pub async fn serve(app: App) -> String {
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await;
    let listener = listener.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    tokio::spawn(async move { axum::serve(listener, functions::router(app)).await });
    url
}

/// A client that shows redirects instead of following them.
fn unredirected() -> reqwest::ClientBuilder {
    let client = reqwest::Client::builder().no_proxy();
    client.redirect(reqwest::redirect::Policy::none())
}

impl Client {
    /// A client of a service elsewhere.
    pub fn new(base_url: &str, key: Option<&str>) -> Self {
        // A second installation fails and changes nothing.
        drop(rustls::crypto::ring::default_provider().install_default());
        let mut http = unredirected();
        // Names below `localhost` mean this machine, even if its resolver does not support them.
        let url: reqwest::Url = base_url.parse().expect("an address");
        if let Some(host) = url.host_str().filter(|host| host.ends_with(".localhost")) {
            let port = url.port_or_known_default().unwrap_or_default();
            http = http.resolve(host, SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
        }
        if url.scheme() == "http" {
            // Reading the certificates of the system takes longer than most requests of a test.
            http = http.tls_certs_only([]);
        }
        let http = http.build().expect("a client");
        Self {
            http,
            base_url: base_url.to_owned(),
            key: key.map(str::to_owned),
            account: None,
        }
    }

    /// The same client, with connections from another address of this machine.
    pub fn from_address(&self, address: Ipv4Addr) -> Self {
        let http = unredirected();
        let http = http.local_address(IpAddr::from(address)).build();
        Self {
            http: http.expect("a client"),
            ..self.clone()
        }
    }

    /// A fleet, a driver attached to it, and a Type2 vehicle in it.
    pub async fn crew(&self) -> Crew {
        let fleet = self.post("/v1/fleets", fleet()).await.id();
        let driver = self.post("/v1/drivers", driver()).await.id();
        self.post(
            &format!("/v1/drivers/{driver}/attach"),
            json!({"fleet": fleet}),
        )
        .await
        .expect(200);
        let vehicle = self.post("/v1/vehicles", vehicle(&fleet)).await.id();
        Crew {
            fleet,
            driver,
            vehicle,
        }
    }

    /// A client of a new account below this one.
    pub async fn child(&self) -> Self {
        let body = json!({"name": "Test", "email": "ops@fleet.example", "type": "business"});
        let account = self.post("/v1/accounts", body).await.id();
        let acting = [("service-account", account.as_str())];
        let key = self
            .send("POST", "/v1/api_keys", Some("{}".into()), &acting)
            .await
            .expect(200);
        Self {
            key: key.body["secret"].as_str().map(str::to_owned),
            account: Some(Id::from(account.as_str())),
            ..self.clone()
        }
    }

    /// The client's account, in test mode.
    pub fn tenant(&self) -> Tenant {
        Tenant {
            account: self.account.clone().expect("an account"),
            mode: match &self.key {
                Some(key) if key.starts_with("sk_live_") => Mode::Live,
                _ => Mode::Test,
            },
        }
    }

    /// The response to a POST. None if the service ends before it is complete.
    pub async fn try_post(
        &self,
        path: &str,
        body: Value,
        headers: &[(&str, &str)],
    ) -> Option<TestResponse> {
        self.try_send("POST", path, Some(body.to_string()), headers)
            .await
            .ok()
    }

    pub async fn get(&self, path: &str) -> TestResponse {
        self.send("GET", path, None, &[]).await
    }

    pub async fn post(&self, path: &str, body: Value) -> TestResponse {
        self.send("POST", path, Some(body.to_string()), &[]).await
    }

    /// The body of the response to a GET, which has to succeed.
    #[track_caller]
    pub fn get_ok(&self, path: &str) -> impl Future<Output = Value> {
        self.send_ok("GET", path, None)
    }

    /// The body of the response to a POST, which has to succeed.
    #[track_caller]
    pub fn post_ok(&self, path: &str, body: Value) -> impl Future<Output = Value> {
        self.send_ok("POST", path, Some(body.to_string()))
    }

    /// The body of the response to a DELETE, which has to succeed.
    #[track_caller]
    pub fn delete_ok(&self, path: &str) -> impl Future<Output = Value> {
        self.send_ok("DELETE", path, None)
    }

    #[track_caller]
    fn send_ok(
        &self,
        method: &str,
        path: &str,
        body: Option<String>,
    ) -> impl Future<Output = Value> {
        let caller = Location::caller();
        async move {
            let response = self.send(method, path, body, &[]).await;
            let text = &response.text;
            assert_eq!(response.status, 200, "{caller}: {method} {path}: {text}");
            response.body
        }
    }

    /// Creates an object, and returns its id.
    #[track_caller]
    pub fn create(&self, path: &str, body: Value) -> impl Future<Output = String> {
        let created = self.post_ok(path, body);
        async move { id_of(&created.await).to_owned() }
    }

    pub async fn delete(&self, path: &str) -> TestResponse {
        self.send("DELETE", path, None, &[]).await
    }

    /// Sends a request with further headers; a body is JSON unless a header says otherwise.
    pub async fn send(
        &self,
        method: &str,
        path: &str,
        body: Option<String>,
        headers: &[(&str, &str)],
    ) -> TestResponse {
        self.try_send(method, path, body, headers)
            .await
            .expect("an answer")
    }

    async fn try_send(
        &self,
        method: &str,
        path: &str,
        body: Option<String>,
        headers: &[(&str, &str)],
    ) -> Result<TestResponse, reqwest::Error> {
        let url = if path.starts_with("http") {
            path.to_owned()
        } else {
            format!("{}{path}", self.base_url)
        };
        let described = format!("{method} {path} {}", body.as_deref().unwrap_or_default());
        let mut request = self.http.request(method.parse().expect("a method"), url);
        if let Some(key) = &self.key {
            request = request.bearer_auth(key);
        }
        if let Some(body) = body {
            if !headers.iter().any(|(name, _)| *name == "content-type") {
                request = request.header("content-type", "application/json");
            }
            request = request.body(body);
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = request.send().await?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let text = response.text().await?;
        let body = serde_json::from_str(&text).unwrap_or(Value::Null);
        let current = kernel::version::CURRENT;
        if headers
            .get("service-version")
            .is_some_and(|version| version == current)
        {
            contract::check(
                method,
                path.strip_prefix(&self.base_url).unwrap_or(path),
                status,
                &body,
            );
        }
        Ok(TestResponse {
            request: described,
            status,
            headers,
            text,
            body,
        })
    }

    /// Fails unless the filters by `created` find each object of a list.
    pub async fn assert_found_by_created(&self, path: &str) {
        let objects = self.get_ok(path).await["data"].clone();
        for object in objects.as_array().expect("a list") {
            let at = object["created"].as_str().expect("a time");
            let separator = if path.contains('?') { '&' } else { '?' };
            let found = self
                .get(&format!(
                    "{path}{separator}created[gte]={at}&created[lte]={at}"
                ))
                .await
                .ids();
            assert!(found.iter().any(|id| object["id"] == **id), "{object}");
        }
    }

    /// Walks a list by its next pages, and returns every id.
    pub async fn walk(&self, path: &str) -> Vec<String> {
        let mut ids = Vec::new();
        let mut next = Some(path.to_owned());
        while let Some(path) = next {
            let page = self.get(&path).await.expect(200);
            ids.extend(page.ids());
            next = page.body["next_page_url"].as_str().map(str::to_owned);
        }
        ids
    }
}

impl TestResponse {
    /// Checks the status, and returns the response.
    #[track_caller]
    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}: {}", self.request, self.text);
        self
    }

    /// The id of the object in the response.
    #[track_caller]
    pub fn id(&self) -> String {
        assert_eq!(self.status, 200, "{}", self.text);
        self.body["id"].as_str().expect("an id").to_owned()
    }

    /// The ids of a page.
    pub fn ids(&self) -> Vec<String> {
        let objects = self.body["data"].as_array().cloned().unwrap_or_default();
        objects
            .iter()
            .filter_map(|object| object["id"].as_str().map(str::to_owned))
            .collect()
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
    }

    /// Status, type, code and param of an error.
    pub fn error(&self) -> (u16, &str, Option<&str>, Option<&str>) {
        assert_eq!(self.body["object"], "error", "{}", self.text);
        let body = &self.body;
        (
            self.status,
            body["type"].as_str().unwrap_or_default(),
            body["code"].as_str(),
            body["param"].as_str(),
        )
    }

    /// Checks that this is an `invalid_request_error` with this status, code and param. The message shows the request, so that rows of
    /// a table need no other name.
    #[track_caller]
    pub fn expect_error<'a>(
        &self,
        status: u16,
        code: impl Into<Option<&'a str>>,
        param: impl Into<Option<&'a str>>,
    ) {
        let expected = (status, "invalid_request_error", code.into(), param.into());
        assert_eq!(self.error(), expected, "{}: {}", self.request, self.text);
    }
}

/// A receiver of webhooks on this machine, with scripted responses.
pub struct Receiver {
    pub url: String,
    inbox: Arc<Mutex<Inbox>>,
}

#[derive(Default)]
struct Inbox {
    received: Vec<Received>,
    /// Statuses and headers of the next responses; after these, 200.
    answers: Vec<(u16, Vec<(&'static str, String)>)>,
    body: String,
    hangs: bool,
}

/// A webhook as it was received.
#[derive(Debug, Clone)]
pub struct Received {
    pub headers: HeaderMap,
    pub raw: Vec<u8>,
    pub event: Value,
    /// The status of the response.
    pub status: u16,
}

impl Receiver {
    pub async fn start() -> Self {
        let port = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await;
        Self::on(port.expect("a port"), "http://127.0.0.1")
    }

    /// A receiver that speaks TLS.
    pub fn behind(port: TlsPort) -> Self {
        Self::on(port, "https://localhost")
    }

    fn on<L: Listener<Addr = SocketAddr>>(port: L, host: &str) -> Self {
        let address = port.local_addr().expect("an address");
        let url = format!("{host}:{}/hook", address.port());
        let inbox = Arc::new(Mutex::new(Inbox::default()));
        let router = Router::new()
            .route("/hook", post(receive))
            .with_state(inbox.clone());
        tokio::spawn(async move { axum::serve(port, router).await });
        Self { url, inbox }
    }

    /// A receiver with an endpoint of the client's account.
    pub async fn subscribed(client: &Client, events: &[&str]) -> Self {
        let receiver = Self::start().await;
        receiver.subscribe(client, events).await;
        receiver
    }

    /// Creates an endpoint of the client's account for these events. Returns its id.
    pub async fn subscribe(&self, client: &Client, events: &[&str]) -> String {
        let endpoint = json!({"url": self.url, "enabled_events": events});
        client.create("/v1/webhook_endpoints", endpoint).await
    }

    /// Creates an endpoint of the client's account for the events of new fleets, with changed members. Returns its path.
    pub async fn hook(&self, client: &Client, change: Value) -> String {
        let body = json!({"url": self.url, "enabled_events": ["fleet.created"]});
        let endpoint = client.create("/v1/webhook_endpoints", with(body, change));
        path_of(&endpoint.await)
    }

    /// Sets the statuses of the next responses.
    pub fn answer(&self, statuses: &[u16]) {
        let answers = statuses.iter().map(|status| (*status, Vec::new()));
        self.inbox.lock().expect("an inbox").answers.extend(answers);
    }

    /// Sets the status and a header of the next response.
    pub fn answer_with(&self, status: u16, name: &'static str, value: &str) {
        self.inbox
            .lock()
            .expect("an inbox")
            .answers
            .push((status, vec![(name, value.to_owned())]));
    }

    /// Responds with 200 from now on.
    pub fn recover(&self) {
        let mut inbox = self.inbox.lock().expect("an inbox");
        inbox.answers.clear();
        inbox.hangs = false;
    }

    /// Sends no responses from now on.
    pub fn hang(&self) {
        self.inbox.lock().expect("an inbox").hangs = true;
    }

    /// Sets the body of the responses from now on.
    pub fn answer_body(&self, body: &str) {
        self.inbox.lock().expect("an inbox").body = body.to_owned();
    }

    pub fn received(&self) -> Vec<Received> {
        self.inbox.lock().expect("an inbox").received.clone()
    }

    /// The types of the events received, in order.
    pub fn types(&self) -> Vec<String> {
        self.received()
            .iter()
            .map(|delivery| {
                delivery.event["type"]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned()
            })
            .collect()
    }
}

async fn receive(
    State(inbox): State<Arc<Mutex<Inbox>>>,
    headers: HeaderMap,
    body: Bytes,
) -> (StatusCode, HeaderMap, String) {
    let event = serde_json::from_slice(&body).unwrap_or(Value::Null);
    let hangs = inbox.lock().expect("an inbox").hangs;
    if hangs {
        tokio::time::sleep(Duration::from_secs(60)).await;
    }
    let mut inbox = inbox.lock().expect("an inbox");
    let (status, extra) = if inbox.answers.is_empty() {
        (200, Vec::new())
    } else {
        inbox.answers.remove(0)
    };
    inbox.received.push(Received {
        headers,
        raw: body.to_vec(),
        event,
        status,
    });
    let mut headers = HeaderMap::new();
    for (name, value) in extra {
        headers.insert(name, value.parse().expect("a header"));
    }
    let status = StatusCode::from_u16(status).expect("a status");
    (status, headers, inbox.body.clone())
}

/// A header of a webhook.
pub fn header<'a>(received: &'a Received, name: &str) -> &'a str {
    received
        .headers
        .get(name)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default()
}

pub fn hmac(key: &[u8], parts: &[&[u8]]) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key");
    parts.iter().for_each(|part| mac.update(part));
    mac.finalize().into_bytes().to_vec()
}

/// Checks both signatures of a webhook: the service's own by its published recipe, and that of Standard Webhooks with its library.
/// Both are made at the machine's time, regardless of the service's clock: receivers refuse signatures older than five minutes.
#[track_caller]
pub fn verify(received: &Received, secret: &str) {
    let (stamp, given) = header(received, "service-signature")
        .split_once(",v1=")
        .expect("a signature");
    let stamp = stamp.strip_prefix("t=").expect("a time");
    assert_eq!(
        given,
        hex::encode(hmac(
            secret.as_bytes(),
            &[stamp.as_bytes(), b".", &received.raw]
        ))
    );
    let unix = header(received, "webhook-timestamp");
    let signed = match Timestamp::parse(stamp) {
        Ok(signed) => signed.unix_seconds().to_string(),
        Err(_) => stamp.to_owned(),
    };
    assert_eq!(signed, unix, "both signatures have the same time");
    let receiver = standardwebhooks::Webhook::new(secret).expect("a secret");
    let verified = receiver.verify(&received.raw, &received.headers);
    verified.unwrap_or_else(|error| panic!("{error}: {stamp}"));
    assert_eq!(received.event["id"], header(received, "webhook-id"));
}
