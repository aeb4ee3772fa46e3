//! Starts the service of a test, and moves its clock, its settings and its accounts.

use std::io::Write as _;
use std::sync::Arc;

use functions::App;
use functions::app::Ports;
use functions::aws::SystemClock;
use kernel::encryption::EncryptionKeys;
use kernel::time::minutes;
use kernel::{Id, Kind, Mode, Timestamp};
use local::{Options, Running};
use models::ports::Clock;
use serde_json::json;
use table::Store;
use web::settings::Settings;

use crate::{Client, Crew, SKIPPED, SLACK, TestApp, access, access_key, deployed, serve};

/// The number of demo stations of a test's own service: importing them takes most of its start.
const FEW_STATIONS: u32 = 12;

/// Ends the process of a test that needs something that a deployed service does not offer.
fn skip(needs: &str) -> ! {
    drop(std::io::stderr().write_all(format!("skipped: it needs {needs}\n").as_bytes()));
    std::process::exit(SKIPPED)
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
}

impl Drop for TestApp {
    fn drop(&mut self) {
        let has_undelivered = self.running.as_ref().is_some_and(Running::has_undelivered);
        if !std::thread::panicking() && has_undelivered {
            panic!("messages were left undelivered: drain the app before the test ends");
        }
    }
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
