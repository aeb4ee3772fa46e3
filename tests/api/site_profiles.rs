//! Charging profiles: sessions at stations of networks follow the plan of a site.

use kernel::time::minutes;
use serde_json::{Value, json};
use tests::platform::{Received, fixture, send};
use tests::{assert_has, driver, id_of, vehicle, with};

use crate::network_sessions::{Scene, cards, failed, is};

/// A vehicle of a site whose station supports charging profiles.
struct Depot {
    scene: Scene,
    site: String,
}

impl Depot {
    /// Two EVSEs of 22 kW behind a capacity limit in W. The vehicle needs 44 kWh within ten hours.
    async fn new(limit: u32) -> Self {
        Self::behind(json!([{"type": "capacity", "power_w": limit}])).await
    }

    /// The same depot, except that 6 kW are exceeded only to meet a need.
    async fn saving() -> Self {
        let capacity = json!({"type": "capacity", "power_w": 30_000});
        Self::behind(json!([capacity, {"type": "cost", "power_w": 6_000}])).await
    }

    async fn behind(limits: Value) -> Self {
        let mut location = fixture("location");
        let evse = &mut location["evses"][0];
        evse["capabilities"] = json!(["REMOTE_START_STOP_CAPABLE", "CHARGING_PROFILE_CAPABLE"]);
        let second = json!({"uid": "E2", "evse_id": "NL*EXA*E2", "physical_reference": "2"});
        location["evses"][1] = with(location["evses"][0].clone(), second);
        let scene = Scene::at(location).await;
        let body = json!({"name": "Depot", "time_zone": "UTC", "currency": "eur", "limits": limits,
            "stations": [scene.station]});
        let alice = &scene.app.alice;
        let site = alice.create("/v1/sites", body).await;
        let path = format!("/v1/vehicles/{}", scene.crew.vehicle);
        let body = json!({"site": site});
        alice.post_ok(&path, body).await;
        let at = scene.app.in_minutes(10 * 60);
        let departures = json!({"departures": [{"at": at, "energy_wh": 44_000}]});
        let path = format!("{path}/departures");
        alice.post_ok(&path, departures).await;
        scene.app.drain().await;
        let site = format!("/v1/sites/{site}");
        Self { scene, site }
    }

    async fn plan(&self) -> Value {
        let path = format!("{}/plan", self.site);
        let alice = &self.scene.app.alice;
        alice.get_ok(&path).await
    }

    async fn profile(&self) -> Value {
        self.plan().await["vehicles"][0]["charging_profile"].clone()
    }

    fn sent(&self) -> Vec<Received> {
        self.sent_to("S1")
    }

    fn sent_to(&self, session: &str) -> Vec<Received> {
        let path = format!("/2.2.1/chargingprofiles/{session}");
        self.scene.cpo.received("PUT", &path)
    }

    fn limits(&self) -> Vec<i64> {
        self.limits_of("S1")
    }

    /// The limits of the last profile in hundreds of W. The energy before the plan depends on how busy the machine is.
    fn limits_of(&self, session: &str) -> Vec<i64> {
        let sent = self.sent_to(session).pop().expect("a profile").body;
        let periods = sent["charging_profile"]["charging_profile_period"].clone();
        let periods = periods.as_array().expect("periods").iter();
        let limit = |period: &Value| rounded(&period["limit"]);
        let mut limits: Vec<i64> = periods.map(limit).collect();
        limits.dedup();
        limits
    }

    /// The first limit, the largest and the last. The energy before the plan depends on how busy the machine is, and so do the slots
    /// before the last.
    fn course(&self) -> [i64; 3] {
        let limits = self.limits();
        let most = limits.iter().max();
        [limits[0], *most.expect("limits"), limits[limits.len() - 1]]
    }

    async fn result(&self, result: &str) {
        let sent = self.sent().pop().expect("a profile").body;
        let url = sent["response_url"].as_str().expect("a URL").to_owned();
        let (app, token) = (&self.scene.app, &self.scene.cpo.token);
        let body = json!({"result": result});
        let answer = send(app, token, "POST", &url, Some(&body), &[]).await;
        assert_eq!(answer.body["status_code"], 1000, "{}", answer.text);
        app.drain().await;
    }

    /// Accepts the profiles of the first session until all are in force.
    async fn accept(&self) {
        while self.profile().await["status"] == "pending" {
            self.result("ACCEPTED").await;
        }
    }

    async fn limit(&self, power: u32) {
        let limits = json!({"limits": [{"type": "capacity", "power_w": power}]});
        let alice = &self.scene.app.alice;
        alice.post_ok(&self.site, limits).await;
        self.scene.app.drain().await;
    }
}

/// W, rounded to the nearest hundred.
fn rounded(power: &Value) -> i64 {
    (power.as_i64().expect("W") + 50) / 100 * 100
}

#[tokio::test]
async fn a_session_follows_the_plan_until_it_ends() {
    let depot = Depot::new(60_000).await;
    depot.scene.app.needs("a clock that can be moved");
    let (_, theirs) = depot.scene.active().await;
    // Two hours at 22 kW, and nothing after that.
    assert_eq!(depot.course(), [22_000, 22_000, 0]);
    assert_eq!(depot.profile().await["status"], "pending");
    depot.result("ACCEPTED").await;
    let plan = depot.plan().await;
    let profile = &plan["vehicles"][0]["charging_profile"];
    assert_eq!(profile["status"], "accepted", "{plan}");
    assert_eq!(
        (&plan["enforced"], rounded(&profile["limit_w"])),
        (&json!(true), 22_000)
    );
    // The vehicle follows the plan: the network receives no new request.
    depot.scene.app.advance(60 * 60).await;
    let kwh = json!({"kwh": 22.0, "last_updated": depot.scene.app.now()});
    depot.scene.report(&with(theirs.clone(), kwh)).await;
    depot.scene.app.advance(16 * 60).await;
    assert_eq!(depot.sent().len(), 1);
    let vehicle = &depot.plan().await["vehicles"][0];
    assert_eq!(vehicle["delivered_wh"], 22_000, "{vehicle}");
    depot.limit(4_000).await;
    assert_eq!(depot.limits()[0], 4_000);
    depot.result("ACCEPTED").await;
    let end = json!({"kwh": 23.0});
    depot.scene.complete(&with(theirs, end)).await;
    let cleared = depot
        .scene
        .cpo
        .received("DELETE", "/2.2.1/chargingprofiles/S1");
    assert_eq!(cleared.len(), 1);
    assert!(
        cleared[0].path.contains("?response_url=http"),
        "{}",
        cleared[0].path
    );
    assert_eq!(depot.profile().await, Value::Null);
}

#[tokio::test]
async fn a_refused_profile_counts_as_the_maximum_and_is_sent_again() {
    let depot = Depot::saving().await;
    depot.scene.app.needs("a clock that can be moved");
    depot.scene.active().await;
    // Until the first profile is in force, the session itself uses the whole cost limit.
    assert_eq!(depot.course(), [0, 6_000, 0]);
    depot.result("REJECTED").await;
    let plan = depot.plan().await;
    let vehicle = &plan["vehicles"][0];
    assert_eq!(vehicle["charging_profile"]["status"], "refused");
    assert_eq!(plan["not_enforced_because"], "profile_not_accepted");
    // It charges at its full power, regardless of the plan.
    assert_eq!(rounded(&vehicle["loads_w"][0]), 22_000, "{vehicle}");
    let shown = depot.scene.app.alice.get_ok(&depot.site).await;
    assert_eq!(shown["plan"]["changed_because"], json!(["sessions"]));
    depot.scene.app.advance(4 * 60).await;
    assert_eq!(depot.sent().len(), 1);
    depot.scene.app.advance(2 * 60).await;
    assert_eq!(depot.sent().len(), 2);
    depot.result("ACCEPTED").await;
    depot.accept().await;
    let plan = depot.plan().await;
    assert_has!(plan, {"/vehicles/0/charging_profile/status": "accepted", "not_enforced_because": null});
}

#[tokio::test]
async fn a_profile_without_a_result_is_sent_again() {
    let depot = Depot::saving().await;
    depot.scene.app.needs("a clock that can be moved");
    depot.scene.active().await;
    let first = depot.sent().pop().expect("a profile").body;
    depot.scene.app.advance(6 * 60).await;
    assert_eq!(depot.sent().len(), 2);
    assert_eq!(depot.profile().await["status"], "unanswered");
    // The result of the first one does not apply to the second.
    let url = first["response_url"].as_str().expect("a URL");
    let body = json!({"result": "ACCEPTED"});
    let (app, token) = (&depot.scene.app, &depot.scene.cpo.token);
    send(app, token, "POST", url, Some(&body), &[]).await;
    app.drain().await;
    assert_eq!(depot.profile().await["status"], "unanswered");
    depot.result("ACCEPTED").await;
    depot.accept().await;
    assert_eq!(depot.profile().await["status"], "accepted");
}

#[tokio::test]
async fn a_profile_that_the_network_does_not_take_is_refused() {
    let depot = Depot::saving().await;
    depot.scene.app.needs("a clock that can be moved");
    let refused = json!({"result": "NOT_SUPPORTED", "timeout": 0});
    let session = depot.scene.start().await;
    depot.scene.result("ACCEPTED").await;
    depot.scene.cpo.script().commands = Some(refused);
    depot.scene.report(&depot.scene.session(json!({}))).await;
    assert_eq!(depot.scene.status(&session).await.0, "active");
    assert_eq!(depot.profile().await["status"], "refused");
    // A result that belongs to no command is refused.
    let other = json!({"result": "ACCEPTED"});
    let path = format!("/chargingprofiles/{}", id_of(&session));
    depot
        .scene
        .cpo
        .expect("POST", &path, Some(&other), (404, 2000))
        .await;
}

#[tokio::test]
async fn a_session_at_a_station_without_profiles_counts_as_it_is() {
    let depot = Depot::new(30_000).await;
    let scene = &depot.scene;
    scene.app.needs("a clock that can be moved");
    let mut location = fixture("location");
    location["last_updated"] = json!(scene.app.now().plus(minutes(1)));
    scene.cpo.put("/locations/NL/EXA/AMS-1", &location).await;
    scene.app.drain().await;
    scene.active().await;
    assert_eq!(depot.sent().len(), 0);
    let plan = depot.plan().await;
    assert_eq!(plan["not_enforced_because"], "no_charging_profiles");
    assert_eq!(
        rounded(&plan["vehicles"][0]["loads_w"][0]),
        22_000,
        "{plan}"
    );
}

#[tokio::test]
async fn a_vehicle_that_its_profile_stops_is_planned_again() {
    let depot = Depot::new(60_000).await;
    let scene = &depot.scene;
    scene.app.needs("a clock that can be moved");
    let departures = format!("/v1/vehicles/{}/departures", scene.crew.vehicle);
    let at = scene.app.in_minutes(8 * 60);
    let needs = async |energy: u32| {
        let body = json!({"departures": [{"at": at, "energy_wh": energy}]});
        scene.app.alice.post_ok(&departures, body).await;
        scene.app.drain().await;
    };
    needs(11_000).await;
    let (_, theirs) = scene.active().await;
    depot.accept().await;
    assert_eq!(depot.course(), [22_000, 22_000, 0]);
    scene.app.advance(57 * 60).await;
    // When it has its energy the profile has 0 W, after 45 minutes at the latest, and the network calls that parking.
    let period = |minute: i64, kind: &str, volume: f64| {
        let start = scene.app.in_minutes(minute - 57);
        json!({"start_date_time": start, "dimensions": [{"type": kind, "volume": volume}]})
    };
    let periods = [period(0, "ENERGY", 11.0), period(48, "PARKING_TIME", 0.1)];
    let parked = json!({"kwh": 11.0, "charging_periods": periods, "last_updated": scene.app.now()});
    scene.report(&with(theirs.clone(), parked)).await;
    needs(33_000).await;
    depot.accept().await;
    assert_eq!(depot.course(), [22_000, 22_000, 0]);
    // It draws nothing although it could: it is full.
    scene.app.advance(10 * 60).await;
    let parked = json!({"kwh": 11.0, "charging_periods": periods, "last_updated": scene.app.now()});
    scene.report(&with(theirs, parked)).await;
    let sent = depot.sent().len();
    needs(22_000).await;
    assert_eq!(depot.sent().len(), sent);
}

#[tokio::test]
async fn a_session_that_begins_with_a_pause_gets_a_profile() {
    let depot = Depot::new(60_000).await;
    let scene = &depot.scene;
    scene.start().await;
    scene.result("ACCEPTED").await;
    let parked = json!({"start_date_time": scene.app.now(),
        "dimensions": [{"type": "PARKING_TIME", "volume": 0.1}]});
    let report = json!({"kwh": 0, "charging_periods": [parked]});
    scene.report(&scene.session(report)).await;
    assert_eq!(depot.sent().len(), 1);
}

#[tokio::test]
async fn a_late_start_at_a_full_site_waits_for_the_others() {
    let depot = Depot::new(30_000).await;
    let scene = &depot.scene;
    scene.app.needs("a clock that can be moved");
    scene.active().await;
    depot.accept().await;
    assert_eq!(depot.course(), [22_000, 22_000, 0]);
    let alice = &scene.app.alice;
    let second = with(
        vehicle(&scene.crew.fleet),
        json!({"registration_plate": "CD34 EFG"}),
    );
    let van = alice.create("/v1/vehicles", second).await;
    let driver = with(driver(), json!({"email": "second@fleet.example"}));
    let driver = alice.create("/v1/drivers", driver).await;
    let attach = json!({"fleet": scene.crew.fleet});
    let path = format!("/v1/drivers/{driver}/attach");
    alice.post_ok(&path, attach).await;
    let late = json!({"connector": "E2-1", "driver": driver, "vehicle": van});
    let session = scene.start_with(late).await;
    // The first session uses 22 of 30 kW until its next profile is accepted.
    let starts = || scene.commands("START_SESSION").len();
    assert_eq!((starts(), depot.limits()[0]), (1, 8_000));
    scene.app.advance(60).await;
    assert_eq!((starts(), scene.status(&session).await), (1, is("pending")));
    depot.accept().await;
    scene.app.advance(10).await;
    assert_eq!(starts(), 2);
    // The power is reserved until the second session begins.
    scene.app.advance(60).await;
    assert_eq!(depot.limits()[0], 8_000);
    scene.result("ACCEPTED").await;
    scene.report(&scene.session(json!({"id": "S2"}))).await;
    assert_eq!(scene.status(&session).await, is("active"));
}

#[tokio::test]
async fn a_session_that_finds_no_room_fails_after_15_minutes() {
    let depot = Depot::new(6_000).await;
    let scene = &depot.scene;
    scene.app.needs("a clock that can be moved");
    let session = scene.start().await;
    scene.app.advance(14 * 60).await;
    assert_eq!(scene.status(&session).await, is("pending"));
    scene.app.advance(90).await;
    assert_eq!(scene.status(&session).await, failed("site_limit"));
    assert_eq!(scene.commands("START_SESSION").len(), 0);
}

#[tokio::test]
async fn a_start_that_waits_for_a_lost_connector_fails() {
    for (path, change, reason) in [
        ("/E1", json!({"status": "REMOVED"}), "out_of_order"),
        ("/E1", json!({"status": "OUTOFORDER"}), "out_of_order"),
        ("", json!({"publish": false}), "other"),
    ] {
        let depot = Depot::new(6_000).await;
        let scene = &depot.scene;
        scene.app.needs("a clock that can be moved");
        let session = scene.start().await;
        scene.app.advance(60).await;
        assert_eq!(scene.status(&session).await, is("pending"));
        let change = with(change, json!({"last_updated": scene.app.now()}));
        let path = format!("/locations/NL/EXA/AMS-1{path}");
        scene.cpo.patch(&path, &change).await;
        depot.limit(60_000).await;
        scene.app.advance(20).await;
        assert_eq!(scene.status(&session).await, failed(reason));
        assert_eq!(scene.commands("START_SESSION").len(), 0);
    }
}

#[tokio::test]
async fn a_session_that_nothing_reduces_is_stopped_at_a_cut() {
    let depot = Depot::new(30_000).await;
    depot.scene.app.needs("a clock that can be moved");
    depot.scene.active().await;
    depot.result("REJECTED").await;
    assert_eq!(depot.scene.commands("STOP_SESSION").len(), 0);
    depot.limit(11_000).await;
    assert_eq!(depot.scene.commands("STOP_SESSION").len(), 1);
}

/// Two vehicles without a departure charge with cards at 22 kW each.
async fn tapped_twice(depot: &Depot) {
    let scene = &depot.scene;
    let own = format!("/v1/vehicles/{}", scene.crew.vehicle);
    let none = json!({"departures": []});
    let alice = &scene.app.alice;
    alice.post_ok(&format!("{own}/departures"), none).await;
    let site = depot.site.trim_start_matches("/v1/sites/");
    let second = json!({"registration_plate": "CD34 EFG", "site": site});
    let second = with(vehicle(&scene.crew.fleet), second);
    let second = alice.create("/v1/vehicles", second).await;
    let driver = with(driver(), json!({"email": "second@fleet.example"}));
    let driver = alice.create("/v1/drivers", driver).await;
    let attach = json!({"fleet": scene.crew.fleet});
    let path = format!("/v1/drivers/{driver}/attach");
    alice.post_ok(&path, attach).await;
    let drives = [
        (&scene.crew.driver, &scene.crew.vehicle),
        (&driver, &second),
    ];
    for (place, (driver, vehicle)) in drives.into_iter().enumerate() {
        let uid = format!("04A1B2C3D{place}");
        let change = json!({"uid": uid, "driver": driver, "vehicle": vehicle});
        cards::card(scene, change).await;
        tap(depot, place, &uid).await;
    }
}

/// Holds a card to the reader of one of the two EVSEs: the session T0 or T1 begins.
async fn tap(depot: &Depot, place: usize, uid: &str) {
    let change = json!({"id": format!("T{place}"), "evse_uid": format!("E{}", place + 1),
        "cdr_token": {"country_code": "GB", "party_id": "FCS", "uid": uid, "type": "RFID", "contract_id": "C"}});
    let scene = &depot.scene;
    scene.report(&with(cards::tapped(scene), change)).await;
}

/// A vehicle of another account charges at the second EVSE.
async fn tapped_by_another(depot: &Depot) {
    let app = &depot.scene.app;
    let bob = app.other_account(kernel::Mode::Test).await;
    let crew = app.crew(&bob).await;
    let uid = "04A1B2C3D9";
    let card = json!({"uid": uid, "driver": crew.driver, "vehicle": crew.vehicle});
    bob.post_ok("/v1/charge_cards", card).await;
    app.drain().await;
    tap(depot, 1, uid).await;
}

#[tokio::test]
async fn a_session_outside_the_site_is_stopped_at_a_cut() {
    let depot = Depot::new(60_000).await;
    let scene = &depot.scene;
    scene.app.needs("a clock that can be moved");
    scene.active().await;
    depot.accept().await;
    assert_eq!(depot.plan().await["enforced"], true);
    let vehicle = format!("/v1/vehicles/{}", scene.crew.vehicle);
    let left = json!({"site": null});
    scene.app.alice.post_ok(&vehicle, left).await;
    scene.app.drain().await;
    let cleared = scene
        .cpo
        .received("DELETE", "/2.2.1/chargingprofiles/S1")
        .len();
    assert_eq!(cleared, 1);
    let plan = depot.plan().await;
    assert_has!(plan, {"enforced": false, "not_enforced_because": "profile_not_accepted"});
    assert_eq!(scene.commands("STOP_SESSION").len(), 0);
    depot.limit(11_000).await;
    assert_eq!(scene.commands("STOP_SESSION").len(), 1);
}

#[tokio::test]
async fn a_profile_is_cleared_once_its_network_can_do_it() {
    let depot = Depot::new(60_000).await;
    let scene = &depot.scene;
    scene.app.needs("a clock that can be moved");
    scene.active().await;
    depot.accept().await;
    let failing = json!({"result": "FAILED"});
    scene.cpo.script().commands = Some(failing);
    let vehicle = format!("/v1/vehicles/{}", scene.crew.vehicle);
    let left = json!({"site": null});
    scene.app.alice.post_ok(&vehicle, left).await;
    let cleared = || {
        let path = "/2.2.1/chargingprofiles/S1";
        scene.cpo.received("DELETE", path)
    };
    // The network fails for longer than a message is repeated.
    scene.app.advance(3 * 3600).await;
    let failed = cleared().len();
    assert!((4..10).contains(&failed), "{failed}");
    scene.cpo.script().commands = None;
    scene.app.advance(41 * 60).await;
    assert_eq!(cleared().len(), failed + 1);
    let request = cleared().pop().expect("a request").path;
    let command = request.rsplit("%2F").next().expect("a URL");
    let path = format!("/chargingprofiles/{}", command.replace("%5F", "_"));
    let result = json!({"result": "ACCEPTED"});
    let accepted = (200, 1000);
    scene
        .cpo
        .expect("POST", &path, Some(&result), accepted)
        .await;
    scene.app.advance(3 * 3600).await;
    assert_eq!(cleared().len(), failed + 1);
}

#[tokio::test]
async fn a_session_at_a_station_that_leaves_its_site_is_not_limited() {
    let depot = Depot::saving().await;
    let scene = &depot.scene;
    scene.active().await;
    depot.accept().await;
    let cleared = || {
        let path = "/2.2.1/chargingprofiles/S1";
        scene.cpo.received("DELETE", path).len()
    };
    let stations = json!({"stations": [scene.station]});
    scene.app.alice.post_ok(&depot.site, stations).await;
    scene.app.drain().await;
    assert_eq!(cleared(), 0);
    let none = json!({"stations": []});
    scene.app.alice.post_ok(&depot.site, none).await;
    scene.app.drain().await;
    assert_eq!((cleared(), depot.profile().await), (1, Value::Null));
}

#[tokio::test]
async fn a_second_session_of_a_vehicle_counts_and_holds_its_evse() {
    let depot = Depot::new(30_000).await;
    let scene = &depot.scene;
    scene.app.needs("a clock that can be moved");
    let uid = "04A1B2C3D0";
    let card = json!({"uid": uid, "driver": scene.crew.driver, "vehicle": scene.crew.vehicle});
    cards::card(scene, card).await;
    let slot = async || depot.plan().await["slots"][0].clone();
    tap(&depot, 0, uid).await;
    // Until its first profile is accepted, a session counts with all that it can take.
    assert_has!(slot().await, {"reserved_w": 22_000, "limit_w": 8_000});
    tap(&depot, 1, uid).await;
    assert_has!(slot().await, {"reserved_w": 44_000, "limit_w": 0});
    let sent = ["T0", "T1"].map(|session| depot.sent_to(session).is_empty());
    assert_eq!(sent, [false, true]);
    let other = scene.app.crew(&scene.app.alice).await;
    let busy = json!({"charging_station": scene.station, "connector": "E2-1", "driver": other.driver,
        "vehicle": other.vehicle});
    let refused = scene.app.alice.post("/v1/charging_sessions", busy).await;
    refused.expect(409);
}

#[tokio::test]
async fn a_session_of_another_account_reduces_the_others_at_once() {
    let depot = Depot::new(30_000).await;
    let scene = &depot.scene;
    scene.app.needs("a clock that can be moved");
    scene.active().await;
    depot.accept().await;
    assert_eq!(depot.limits()[0], 22_000);
    tapped_by_another(&depot).await;
    assert_eq!(depot.limits()[0], 8_000);
    // Nothing says when that session ends.
    depot.accept().await;
    for _ in 0..4 {
        scene.app.advance(16 * 60).await;
        depot.accept().await;
        assert_eq!(rounded(&depot.profile().await["limit_w"]), 8_000);
    }
}

#[tokio::test]
async fn a_session_at_an_evse_that_is_removed_still_counts() {
    let depot = Depot::new(30_000).await;
    let scene = &depot.scene;
    scene.app.needs("a clock that can be moved");
    scene.active().await;
    tapped_by_another(&depot).await;
    depot.accept().await;
    let mut location = fixture("location");
    let capabilities = json!(["REMOTE_START_STOP_CAPABLE", "CHARGING_PROFILE_CAPABLE"]);
    location["evses"][0]["capabilities"] = capabilities;
    location["evses"][1]["status"] = json!("REMOVED");
    location["last_updated"] = json!(scene.app.now().plus(minutes(1)));
    scene.cpo.put("/locations/NL/EXA/AMS-1", &location).await;
    scene.app.drain().await;
    let station = format!("/v1/charging_stations/{}", scene.station);
    let station = scene.app.alice.get_ok(&station).await;
    assert_eq!(station["connectors"].as_array().map(Vec::len), Some(1));
    scene.app.advance(16 * 60).await;
    assert_eq!(depot.plan().await["slots"][0]["reserved_w"], 22_000);
    assert_eq!(depot.limits()[0], 8_000);
}

#[tokio::test]
async fn sessions_without_departures_are_stopped_above_a_limit() {
    let depot = Depot::new(30_000).await;
    tapped_twice(&depot).await;
    assert_eq!(depot.scene.commands("STOP_SESSION").len(), 1);
    assert_eq!(depot.sent().len(), 0);
}

#[tokio::test]
async fn a_limit_that_is_cut_holds_without_departures() {
    let depot = Depot::new(60_000).await;
    tapped_twice(&depot).await;
    assert_eq!(depot.scene.commands("STOP_SESSION").len(), 0);
    let plan = async || depot.scene.app.alice.get_ok(&depot.site).await["plan"].clone();
    let before = plan().await;
    depot.limit(30_000).await;
    assert_eq!(depot.scene.commands("STOP_SESSION").len(), 1);
    assert_eq!(plan().await, before);
}

#[tokio::test]
async fn a_limit_with_a_schedule_holds_without_departures() {
    let depot = Depot::new(60_000).await;
    depot.scene.app.needs("a clock that can be moved");
    let time = |minutes: i64| depot.scene.app.in_minutes(minutes)[11..16].to_owned();
    let evening = json!([{"start_time": time(2 * 60), "end_time": time(4 * 60)}]);
    let limits = json!({"limits": [{"type": "capacity", "power_w": 60_000},
        {"type": "capacity", "power_w": 30_000, "time_windows": evening}]});
    let alice = &depot.scene.app.alice;
    alice.post_ok(&depot.site, limits).await;
    tapped_twice(&depot).await;
    depot.scene.app.advance(60 * 60).await;
    assert_eq!(depot.scene.commands("STOP_SESSION").len(), 0);
    depot.scene.app.advance(60 * 60 + 60).await;
    assert_eq!(depot.scene.commands("STOP_SESSION").len(), 1);
}
