//! Charging networks with the same ids: two operators whose locations, EVSEs, sessions, CDRs and tariffs have the same ids, as parties
//! of two networks or behind one hub. Every network has the tokens of all drivers. The reports, bills and credits of one party change
//! nothing at a station of the other.

use kernel::time::{days, minutes};
use serde_json::{Value, json};
use tests::platform::{Connected, cdr_of, fixture, manage, send, session_of};
use tests::{Crew, TestApp, with};

const START: &str = "/2.2.1/commands/START_SESSION";

/// The parties, each of which has the location `AMS-1` with the EVSE `E1` and the tariff `DAY`.
const PARTIES: [&str; 2] = ["EXA", "RIV"];

/// One of the two operators.
struct Operator {
    party: &'static str,
    /// The party's token at the service, and the network that it belongs to.
    token: String,
    network: String,
    /// Whether the party is behind a hub, which names it in its requests.
    is_behind_hub: bool,
    station: String,
    crew: Crew,
}

struct Scene {
    app: TestApp,
    /// The platforms of the operators; one if they are behind a hub.
    platforms: Vec<Connected>,
    operators: Vec<Operator>,
}

/// An object of the fixtures that belongs to a party.
fn of_party(name: &str, party: &str) -> Value {
    with(fixture(name), json!({"party_id": party}))
}

fn location(place: usize) -> Value {
    let coordinates =
        json!({"latitude": format!("5{}.394000", 2 + place), "longitude": "4.852000"});
    let mut location = of_party("location", PARTIES[place]);
    location["coordinates"] = coordinates;
    // Both EVSEs fit every vehicle.
    let mut second = location["evses"][0].clone();
    second["uid"] = json!("E2");
    location["evses"][1] = second;
    location
}

impl Scene {
    /// Two networks of one party each.
    async fn of_networks() -> Self {
        let app = TestApp::start().await;
        let mut platforms = Vec::new();
        for (place, party) in PARTIES.into_iter().enumerate() {
            let platform = Connected::with(&app, |script| {
                script.roles[0]["party_id"] = json!(party);
                let lists = [
                    ("locations", location(place)),
                    ("tariffs", of_party("tariff", party)),
                ];
                script
                    .lists
                    .extend(lists.map(|(name, object)| (name, vec![object])));
            });
            platforms.push(platform.await);
        }
        Self::with(app, platforms).await
    }

    /// One hub with both parties behind it.
    async fn of_hub() -> Self {
        let app = TestApp::start().await;
        let hub = Connected::with(&app, |script| {
            let role = |role: &str, party: &str| json!({"role": role, "country_code": "NL", "party_id": party, "business_details": {"name": party}});
            script.roles = json!([
                role("HUB", "HUB"),
                role("CPO", PARTIES[0]),
                role("CPO", PARTIES[1])
            ]);
            let locations = vec![location(0), location(1)];
            script.lists.insert("locations", locations);
            let tariffs = PARTIES.map(|party| of_party("tariff", party));
            script.lists.insert("tariffs", tariffs.to_vec());
        });
        let hub = hub.await;
        app.drain().await;
        let parties = PARTIES.map(|party| json!({"country_code": "NL", "party_id": party}));
        let approval =
            json!({"action": "approve_parties", "network": hub.network, "parties": parties});
        manage(&app, approval).await.expect("approved");
        Self::with(app, vec![hub]).await
    }

    async fn with(app: TestApp, platforms: Vec<Connected>) -> Self {
        app.drain().await;
        let mut operators = Vec::new();
        for (place, party) in PARTIES.into_iter().enumerate() {
            let latitude = 52 + place;
            let search =
                format!("/v1/charging_stations?latitude={latitude}.394&longitude=4.852&radius=500");
            let stations = app.alice.get(&search).await.expect(200).ids();
            let platform = platforms.get(place).unwrap_or(&platforms[0]);
            operators.push(Operator {
                party,
                token: platform.token.clone(),
                network: platform.network.clone(),
                is_behind_hub: platforms.len() == 1,
                station: stations.first().expect("a station").clone(),
                crew: app.crew(&app.alice).await,
            });
        }
        Self {
            app,
            platforms,
            operators,
        }
    }

    /// Starts a session at an operator's station, by its own driver or the other operator's. Returns the session and the command.
    async fn start(&self, operator: usize, crew: usize) -> (Value, Value) {
        let Operator { station, .. } = &self.operators[operator];
        let Crew {
            driver, vehicle, ..
        } = &self.operators[crew].crew;
        let body = json!({"charging_station": station, "connector": "E1-1", "driver": driver, "vehicle": vehicle});
        let session = self.app.alice.post("/v1/charging_sessions", body).await;
        let session = session.expect(200).body;
        self.app.drain().await;
        let platform = self.platforms.get(operator).unwrap_or(&self.platforms[0]);
        let command = platform.received("POST", START).pop();
        (session, command.expect("a command").body)
    }

    /// The operator's session for a START_SESSION: `S1`.
    fn session(&self, operator: usize, command: &Value) -> Value {
        let party = json!({"party_id": self.operators[operator].party});
        with(session_of(command, self.app.now()), party)
    }

    /// Sends something for an operator.
    async fn send(&self, operator: usize, method: &str, path: &str, body: &Value) -> Value {
        let operator = &self.operators[operator];
        let path = format!("/ocpi/2.2.1{path}");
        let from = [
            ("ocpi-from-country-code", "NL"),
            ("ocpi-from-party-id", operator.party),
        ];
        let headers: &[_] = if operator.is_behind_hub { &from } else { &[] };
        let answer = send(
            &self.app,
            &operator.token,
            method,
            &path,
            Some(body),
            headers,
        );
        let answer = answer.await.body;
        self.app.drain().await;
        answer
    }

    async fn report(&self, operator: usize, session: &Value) {
        let (party, id) = (self.operators[operator].party, session["id"].as_str());
        let path = format!("/sessions/NL/{party}/{}", id.expect("an id"));
        let answer = self.send(operator, "PUT", &path, session).await;
        assert_eq!(answer["status_code"], 1000, "{answer}");
    }

    /// Sends the CDR `C1` of a session that ends now.
    async fn bill(&self, operator: usize, session: &Value, change: Value) {
        let party = json!({"party_id": self.operators[operator].party});
        let cdr = with(with(cdr_of(session, self.app.now()), party), change);
        let answer = self.send(operator, "POST", "/cdrs", &cdr).await;
        assert_eq!(answer["status_code"], 1000, "{answer}");
    }

    async fn shown(&self, session: &Value) -> Value {
        let id = session["id"].as_str().expect("an id");
        let path = format!("/v1/charging_sessions/{id}");
        self.app.alice.get_ok(&path).await
    }

    async fn status(&self, session: &Value) -> (String, i64) {
        let shown = self.shown(session).await;
        let status = shown["status"].as_str().expect("a status").to_owned();
        (status, shown["amount_due"].as_i64().expect("an amount"))
    }

    /// The amounts on an invoice of everything that was not invoiced.
    async fn invoiced(&self) -> Vec<i64> {
        self.app.advance(1).await;
        let now = self.app.now();
        let body =
            json!({"period_start": now.plus(days(-30)), "period_end": now, "currency": "eur"});
        let invoice = self.app.alice.post("/v1/invoices", body).await;
        let invoice = invoice.expect(200);
        let path = format!("/v1/invoices/{}/finalize", invoice.id());
        self.app.alice.post_ok(&path, json!({})).await;
        let lines = invoice.body["line_items"]
            .as_array()
            .expect("lines")
            .clone();
        let mut amounts: Vec<i64> = lines
            .iter()
            .map(|line| line["amount"].as_i64().expect("an amount"))
            .collect();
        amounts.sort_unstable();
        amounts
    }

    async fn unmatched(&self) -> usize {
        let listed = manage(&self.app, json!({"action": "list_unmatched"})).await;
        let listed = listed.expect("a list");
        listed["data"].as_array().expect("a list").len()
    }

    async fn sessions(&self) -> usize {
        let list = self.app.alice.get("/v1/charging_sessions").await;
        list.expect(200).ids().len()
    }
}

/// An amount with 21 percent tax, as a change of a CDR.
fn costs(gross: f64) -> Value {
    json!({"total_cost": {"excl_vat": gross / 1.21, "incl_vat": gross}})
}

#[tokio::test]
async fn a_foreign_report_or_cdr_does_not_touch_a_running_session() {
    for scene in [Scene::of_networks().await, Scene::of_hub().await] {
        let (session, command) = scene.start(0, 0).await;
        let theirs = scene.session(0, &command);
        let foreign = scene.session(1, &command);
        // Before the session has begun, a foreign report does not begin it.
        scene.report(1, &foreign).await;
        scene.bill(1, &foreign, costs(5_000.0)).await;
        assert_eq!(scene.status(&session).await, ("pending".into(), 0));
        scene.report(0, &theirs).await;
        assert_eq!(scene.status(&session).await, ("active".into(), 0));
        scene.app.advance(3_600).await;
        let now = scene.app.now();
        let end = json!({"status": "COMPLETED", "kwh": 50, "end_date_time": now, "last_updated": now,
            "total_cost": {"excl_vat": 4_000.0, "incl_vat": 5_000.0}});
        scene.report(1, &with(foreign.clone(), end)).await;
        let named =
            json!({"id": "C2", "session_id": null, "start_date_time": theirs["start_date_time"]});
        scene.bill(1, &foreign, with(costs(5_000.0), named)).await;
        assert_eq!(scene.status(&session).await, ("active".into(), 0));
        scene.bill(0, &theirs, json!({})).await;
        assert_eq!(scene.status(&session).await, ("completed".into(), 968));
        assert_eq!(scene.invoiced().await, [968]);
    }
}

#[tokio::test]
async fn a_foreign_cdr_after_the_invoice_adds_nothing() {
    for scene in [Scene::of_networks().await, Scene::of_hub().await] {
        let (session, command) = scene.start(0, 0).await;
        let theirs = scene.session(0, &command);
        scene.report(0, &theirs).await;
        scene.app.advance(3600).await;
        let cost = json!({"total_cost": {"excl_vat": 3.93, "incl_vat": 4.76}});
        scene.bill(0, &theirs, cost).await;
        assert_eq!(scene.invoiced().await, [476]);
        let foreign = scene.session(1, &command);
        let foreign = with(
            foreign,
            json!({"start_date_time": theirs["start_date_time"]}),
        );
        scene
            .bill(1, &foreign, with(costs(5_000.0), json!({"id": "C9"})))
            .await;
        assert_eq!(scene.invoiced().await, [] as [i64; 0]);
        assert_eq!(scene.status(&session).await, ("completed".into(), 476));
        assert_eq!((scene.sessions().await, scene.unmatched().await), (1, 1));
    }
}

#[tokio::test]
async fn a_foreign_credit_does_not_make_a_session_free() {
    for scene in [Scene::of_networks().await, Scene::of_hub().await] {
        let (session, command) = scene.start(0, 0).await;
        let theirs = scene.session(0, &command);
        scene.report(0, &theirs).await;
        scene.app.advance(3600).await;
        let foreign = with(
            scene.session(1, &command),
            json!({"start_date_time": theirs["start_date_time"]}),
        );
        let credit = json!({"id": "C1-C", "credit": true, "credit_reference_id": "C1",
            "total_cost": {"excl_vat": -8.0, "incl_vat": -9.68}});
        scene.bill(1, &foreign, credit.clone()).await;
        scene.bill(0, &theirs, json!({})).await;
        scene
            .bill(1, &foreign, with(credit, json!({"id": "C1-D"})))
            .await;
        assert_eq!(scene.status(&session).await, ("completed".into(), 968));
        assert_eq!(scene.invoiced().await, [968]);
        assert_eq!(scene.unmatched().await, 2);
    }
}

#[tokio::test]
async fn operators_with_the_same_ids_bill_only_their_own_sessions() {
    for scene in [Scene::of_networks().await, Scene::of_hub().await] {
        let mut sessions = Vec::new();
        for place in 0..2 {
            let (session, command) = scene.start(place, place).await;
            // No operator repeats the reference.
            let mut theirs = scene.session(place, &command);
            theirs["authorization_reference"] = Value::Null;
            sessions.push((session, theirs));
        }
        for place in [1, 0] {
            scene.report(place, &sessions[place].1).await;
        }
        scene.app.advance(3600).await;
        for place in [1, 0] {
            let (session, theirs) = &sessions[place];
            assert_eq!(scene.status(session).await.0, "active");
            let cost = costs(10.0 + place as f64);
            scene.bill(place, theirs, cost.clone()).await;
            assert_eq!(scene.status(session).await.0, "completed");
            // The other operator's session is unchanged.
            let other = &sessions[1 - place].0;
            let want = if place == 1 {
                ("active", 0)
            } else {
                ("completed", 1_100)
            };
            assert_eq!(scene.status(other).await, (want.0.into(), want.1));
        }
        assert_eq!(
            scene.status(&sessions[0].0).await,
            ("completed".into(), 1_000)
        );
        assert_eq!(scene.invoiced().await, [1_000, 1_100]);
        // One operator credits its session; the other session is unchanged.
        scene.app.advance(60).await;
        let credit = json!({"id": "C1-C", "credit": true, "credit_reference_id": "C1",
            "total_cost": {"excl_vat": -1.0, "incl_vat": -1.0}});
        scene.bill(0, &sessions[0].1, credit).await;
        assert_eq!((scene.sessions().await, scene.unmatched().await), (2, 0));
    }
}

#[tokio::test]
async fn one_driver_at_both_operators_has_two_sessions() {
    let scene = Scene::of_networks().await;
    let card = json!({"uid": tests::samples::unused_uid(), "driver": scene.operators[0].crew.driver,
        "vehicle": scene.operators[0].crew.vehicle});
    let card = scene
        .app
        .alice
        .post("/v1/charge_cards", card)
        .await
        .expect(200);
    scene.app.drain().await;
    let token = json!({"token": {"country_code": "GB", "party_id": "FCS", "uid": card.body["uid"], "type": "RFID",
        "contract_id": "X"}, "evse_uid": "E1", "connector_id": "1", "authorization_reference": null});
    let mut ended = Vec::new();
    for place in 0..2 {
        let theirs = scene.session(place, &token);
        scene.report(place, &theirs).await;
        scene.app.advance(3_600).await;
        scene.bill(place, &theirs, costs(3.0 + place as f64)).await;
        ended.push(theirs);
    }
    assert_eq!(scene.sessions().await, 2);
    assert_eq!(scene.invoiced().await, [300, 400]);
    // The other operator's CDR of the same time does not count as a correction.
    let late = json!({"id": "C7", "session_id": null, "start_date_time": scene.app.now().plus(minutes(-60))});
    scene.bill(1, &ended[1], with(costs(99.0), late)).await;
    assert_eq!(scene.sessions().await, 2);
}

#[tokio::test]
async fn a_party_behind_a_hub_writes_only_its_own_objects() {
    let scene = Scene::of_hub().await;
    let (session, command) = scene.start(0, 0).await;
    let theirs = scene.session(0, &command);
    let answer = scene.send(1, "PUT", "/sessions/NL/EXA/S1", &theirs).await;
    assert_eq!(answer["status_code"], 2000, "{answer}");
    let cdr = cdr_of(&theirs, scene.app.now());
    let answer = scene.send(1, "POST", "/cdrs", &cdr).await;
    assert_eq!(answer["status_code"], 2000, "{answer}");
    let patch = json!({"status": "OUTOFORDER", "last_updated": scene.app.now()});
    let answer = scene
        .send(1, "PATCH", "/locations/NL/EXA/AMS-1/E1", &patch)
        .await;
    assert_eq!(answer["status_code"], 2000, "{answer}");
    let url = command["response_url"].as_str().expect("an address");
    let path = &url[url.find("/ocpi/2.2.1").expect("a path") + "/ocpi/2.2.1".len()..];
    let answer = scene
        .send(1, "POST", path, &json!({"result": "REJECTED"}))
        .await;
    assert_eq!(answer["status_code"], 2000, "{answer}");
    assert_eq!(scene.status(&session).await, ("pending".into(), 0));
    let answer = scene
        .send(0, "POST", path, &json!({"result": "ACCEPTED"}))
        .await;
    assert_eq!(answer["status_code"], 1000, "{answer}");
}

#[tokio::test]
async fn a_party_on_a_new_network_bills_only_new_sessions() {
    for is_pulled in [true, false] {
        comes_back(is_pulled).await;
    }
}

/// The new network sends its locations, or they are pulled from it.
async fn comes_back(is_pulled: bool) {
    let scene = Scene::of_networks().await;
    let (session, command) = scene.start(0, 0).await;
    let theirs = scene.session(0, &command);
    scene.report(0, &theirs).await;
    scene.app.advance(600).await;
    let revoke = json!({"action": "revoke", "network": scene.operators[0].network});
    manage(&scene.app, revoke).await.expect("it is revoked");
    let again = Connected::with(&scene.app, |script| {
        if is_pulled {
            let lists = [
                ("locations", location(0)),
                ("tariffs", of_party("tariff", "EXA")),
            ];
            let lists = lists.map(|(name, object)| (name, vec![object]));
            script.lists.extend(lists);
        }
    });
    let again = again.await;
    scene.app.drain().await;
    if !is_pulled {
        let path = "/locations/NL/EXA/AMS-1";
        again.put(path, &location(0)).await;
    }
    // The station is the same one, and its new network operates it.
    let search = "/v1/charging_stations?latitude=52.394&longitude=4.852&radius=500";
    let stations = scene.app.alice.get(search).await.expect(200).ids();
    assert_eq!(stations, [scene.operators[0].station.clone()]);
    // A late CDR of the new network does not count as one of the old network, with a reference or without.
    for (id, reference) in [
        ("C1", &command["authorization_reference"]),
        ("C2", &Value::Null),
    ] {
        let change = json!({"id": id, "authorization_reference": reference});
        let cdr = with(cdr_of(&theirs, scene.app.now()), change);
        let answer = again.send("POST", "/cdrs", Some(&cdr)).await;
        assert_eq!(answer.body["status_code"], 1000, "{}", answer.text);
        scene.app.drain().await;
    }
    assert_eq!(scene.status(&session).await, ("active".into(), 0));
    assert_eq!((scene.sessions().await, scene.unmatched().await), (1, 2));
    // A new session belongs to the new network.
    let crew = &scene.operators[1].crew;
    let body = json!({"charging_station": stations[0], "connector": "E2-1", "driver": crew.driver, "vehicle": crew.vehicle});
    let next = scene.app.alice.post("/v1/charging_sessions", body).await;
    let next = next.expect(200).body;
    scene.app.drain().await;
    let command = again.received("POST", START).pop();
    let theirs = session_of(&command.expect("a command").body, scene.app.now());
    again.put("/sessions/NL/EXA/S1", &theirs).await;
    scene.app.drain().await;
    assert_eq!(scene.status(&next).await.0, "active");
    assert_eq!(scene.status(&session).await, ("active".into(), 0));
}
