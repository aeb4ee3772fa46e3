//! Parties that are reached through a hub: the hub's reports about them, their approval, and the handling of parties that cannot be
//! reached.

use std::collections::BTreeMap;

use kernel::time::{HOUR, MINUTE, days};
use serde_json::{Value, json};
use tests::platform::{
    Connected, claim, client_info, codes, fixture, hub_role, manage, manage_ok, platform, send,
    send_expecting,
};
use tests::{Crew, TestApp, TestResponse, with};

const NEAR: &str = "/v1/charging_stations?latitude=52.394&longitude=4.852&radius=500&limit=100";

/// A hub and the parties that it reports only in response to a request.
struct Scene {
    app: TestApp,
    hub: Connected,
}

/// The location of a party.
fn location(party: &str) -> Value {
    with(
        fixture("location"),
        json!({"id": format!("{party}-1"), "party_id": party}),
    )
}

impl Scene {
    /// Connects a hub with these parties and their locations, and pulls from it.
    async fn with(parties: &[Value]) -> Self {
        let app = TestApp::start().await;
        let hub = Connected::with(&app, |script| {
            script.roles = json!([hub_role()]);
            script.lists.insert("hubclientinfo", parties.to_vec());
            let owners = parties
                .iter()
                .filter_map(|party| party["party_id"].as_str());
            let locations = owners.map(location).collect();
            script.lists.insert("locations", locations);
        })
        .await;
        app.drain().await;
        Self { app, hub }
    }

    /// The same with the parties `EXA` and `OTH`, which operate charging stations.
    async fn new() -> Self {
        let info = |party| client_info(party, "CPO", "CONNECTED", tests_began());
        Self::with(&[info("EXA"), info("OTH")]).await
    }

    /// Adds an object to a list of the hub.
    fn list(&self, module: &'static str, object: Value) {
        let mut script = self.hub.script();
        script.lists.entry(module).or_default().push(object);
    }

    async fn network(&self) -> Value {
        let listed = manage(&self.app, json!({"action": "list"})).await;
        let listed = listed.expect("networks");
        let mut networks = listed["data"].as_array().expect("networks").iter();
        let own = networks.find(|network| network["id"] == self.hub.network.as_str());
        own.expect("the hub").clone()
    }

    /// Whether a party awaits approval, and its status. None if it is not listed.
    async fn party(&self, id: &str) -> Option<(bool, String)> {
        let network = self.network().await;
        let mut parties = network["parties"].as_array().expect("parties").iter();
        let party = parties.find(|party| party["party_id"] == id)?;
        let status = party["status"].as_str().expect("a status").to_owned();
        let awaits = party["awaits_approval"].as_bool().expect("a flag");
        Some((awaits, status))
    }

    async fn problems(&self) -> String {
        self.network().await["pull"]["problems"].to_string()
    }

    async fn act(&self, action: &str, change: Value) -> Result<Value, String> {
        let body = json!({"action": action, "network": self.hub.network});
        let done = manage(&self.app, with(body, change)).await;
        self.app.drain().await;
        done
    }

    async fn approve(&self, party: &str) {
        let parties = json!({"parties": [{"country_code": "NL", "party_id": party}]});
        let approved = self.act("approve_parties", parties).await;
        approved.expect("approved");
    }

    /// The hub reports a party.
    async fn report(&self, party: &str, status: &str) -> TestResponse {
        let info = client_info(party, "CPO", status, self.app.now());
        let path = format!("/hubclientinfo/NL/{party}");
        self.hub.put(&path, &info).await
    }

    /// The parties that have stations.
    async fn stations(&self) -> Vec<String> {
        let page = self.app.alice.get_ok(NEAR).await;
        let stations = page["data"].as_array().expect("stations").iter();
        let owners = stations.filter(|station| station["status"] == "active");
        let mut owners: Vec<String> = owners
            .map(|station| station["network"]["party_id"].to_string())
            .collect();
        owners.sort();
        owners
    }

    /// The number of stations that can be matched, and the HTTP status of starting a session at the party's station.
    async fn use_of(&self, crew: &Crew, party: &str) -> (usize, u16) {
        let (app, alice) = (&self.app, &self.app.alice);
        let place = json!({"location": {"latitude": 52.394, "longitude": 4.852, "radius": 500}});
        let search = with(app.reservation(crew, 120), place);
        let found = alice.post("/v1/reservations/candidates", search).await;
        let found = found.expect(200).body["candidates"].clone();
        let page = alice.get_ok(NEAR).await;
        let mut stations = page["data"].as_array().expect("stations").iter();
        let station = stations.find(|station| station["network"]["party_id"] == party);
        let station = station.expect("a station")["id"].as_str().expect("an id");
        let body = with(app.session(crew, station), json!({"connector": "E1-1"}));
        let started = alice.post("/v1/charging_sessions", body).await;
        app.drain().await;
        let candidates = found.as_array().expect("candidates").len();
        (candidates, started.status)
    }
}

/// The time a moment before every test.
fn tests_began() -> kernel::Timestamp {
    kernel::Timestamp::parse("2026-01-05T08:00:00Z").expect("a time")
}

#[tokio::test]
async fn parties_known_by_get_have_stations_once_approved() {
    let info = |party, role| client_info(party, role, "CONNECTED", tests_began());
    let scene = Scene::with(&[
        info("EXA", "CPO"),
        info("EXA", "EMSP"),
        info("OTH", "CPO"),
        info("MSP", "EMSP"),
        info("HUB", "HUB"),
    ])
    .await;
    let awaits = Some((true, "CONNECTED".to_owned()));
    assert_eq!(scene.party("EXA").await, awaits);
    assert_eq!(scene.party("OTH").await, awaits);
    assert_eq!(scene.party("MSP").await, None, "it has no stations");
    assert_eq!(scene.stations().await, Vec::<String>::new());
    let problems = scene.problems().await;
    assert!(
        problems.contains("NL*EXA awaits the approval of an operator"),
        "{problems}"
    );
    let push = async || {
        let tariff = fixture("tariff");
        let path = "/tariffs/NL/EXA/DAY";
        let answer = scene.hub.send("PUT", path, Some(&tariff)).await;
        (codes(&answer), answer.text)
    };
    let (refused, text) = push().await;
    assert_eq!(refused, (200, 2000));
    assert!(text.contains("awaits the approval"), "{text}");

    scene.approve("EXA").await;
    assert_eq!(scene.stations().await, [r#""EXA""#]);
    assert_eq!(push().await.0, (201, 1000));
    let headers = [
        ("ocpi-from-country-code", "NL"),
        ("ocpi-from-party-id", "EXA"),
    ];
    let path = "/ocpi/2.2.1/tokens";
    let answer = send(&scene.app, &scene.hub.token, "GET", path, None, &headers).await;
    assert_eq!(codes(&answer), (200, 1000));
    // The operator revokes the approval.
    let parties = json!({"parties": [{"country_code": "NL", "party_id": "EXA"}]});
    let crew = scene.app.crew(&scene.app.alice).await;
    assert_eq!(scene.use_of(&crew, "EXA").await, (1, 200));
    scene
        .act("withdraw_approval", parties)
        .await
        .expect("withdrawn");
    assert_eq!(push().await.0, (200, 2000));
    let crew = scene.app.crew(&scene.app.alice).await;
    assert_eq!(scene.use_of(&crew, "EXA").await, (0, 409));
}

#[tokio::test]
async fn a_trusted_hub_has_its_parties_approved() {
    let scene = Scene::new().await;
    let trusted = scene.act("trust_hub", json!({"trusted": true})).await;
    assert_eq!(trusted.expect("trusted")["trusts_parties"], true);
    assert_eq!(scene.stations().await, [r#""EXA""#, r#""OTH""#]);
    // A party that appears is pulled from at once.
    scene.list("locations", location("NEW"));
    assert_eq!(scene.report("NEW", "CONNECTED").await.status, 201);
    scene.app.drain().await;
    let all = [r#""EXA""#, r#""NEW""#, r#""OTH""#];
    assert_eq!(scene.stations().await, all);
    assert_eq!(scene.problems().await, "[]");
    // The same if the hub reports it only in response to a request, which is sent once a day.
    let info = client_info("DAY", "CPO", "CONNECTED", tests_began());
    scene.list("hubclientinfo", info);
    scene.list("locations", location("DAY"));
    scene.app.advance(86_400 + 2 * 3_600).await;
    let all = [r#""DAY""#, r#""EXA""#, r#""NEW""#, r#""OTH""#];
    let network = scene.network().await;
    assert_eq!(scene.stations().await, all, "{network}");
    let doubted = scene.act("trust_hub", json!({"trusted": false})).await;
    doubted.expect("not trusted");
    scene.report("ONE", "CONNECTED").await;
    let awaits = Some((true, "CONNECTED".to_owned()));
    assert_eq!(scene.party("ONE").await, awaits);
    assert_eq!(scene.stations().await, all, "the others stay approved");
}

#[tokio::test]
async fn a_party_that_is_not_connected_is_not_used() {
    let scene = Scene::new().await;
    scene.approve("EXA").await;
    let posted = async || scene.hub.received("POST", "/2.2.1/commands").len();
    for status in ["OFFLINE", "SUSPENDED", "PLANNED", "SOMETHING"] {
        scene.app.advance(1).await;
        scene.report("EXA", status).await;
        let (crew, before) = (scene.app.crew(&scene.app.alice).await, posted().await);
        assert_eq!(scene.use_of(&crew, "EXA").await, (0, 409), "{status}");
        assert_eq!(posted().await, before, "{status}");
        // The party's requests are accepted.
        let path = "/tariffs/NL/EXA/DAY";
        scene.hub.put(path, &fixture("tariff")).await;
    }
    // An older report changes nothing.
    let late = client_info("EXA", "CPO", "CONNECTED", tests_began());
    scene.hub.put("/hubclientinfo/NL/EXA", &late).await;
    let shown = scene.hub.send("GET", "/hubclientinfo/NL/EXA", None).await;
    assert_eq!(shown.body["data"]["status"], "OFFLINE");
    scene.app.advance(1).await;
    scene.report("EXA", "CONNECTED").await;
    let (crew, before) = (scene.app.crew(&scene.app.alice).await, posted().await);
    assert_eq!(scene.use_of(&crew, "EXA").await, (1, 200));
    assert_eq!(posted().await, before + 1, "START_SESSION is sent");
}

#[tokio::test]
async fn a_hub_is_asked_for_its_parties_once_a_day() {
    let scene = Scene::new().await;
    scene.approve("EXA").await;
    let requests = || scene.hub.received("GET", "/2.2.1/hubclientinfo");
    let before = requests().len();
    scene.app.advance(2 * 3_600).await;
    assert_eq!(requests().len(), before, "by full pulls only");
    let now = scene.app.now();
    let gone = client_info("EXA", "CPO", "OFFLINE", now);
    // The hub omits the locations of a party that it does not reach.
    let lists = BTreeMap::from([("hubclientinfo", vec![gone]), ("locations", Vec::new())]);
    scene.hub.script().lists = lists;
    scene.app.advance(86_400).await;
    assert_eq!(requests().len(), before + 1);
    let offline = Some((false, "OFFLINE".to_owned()));
    assert_eq!(scene.party("EXA").await, offline);
    assert_eq!(scene.stations().await, [r#""EXA""#], "it comes back");
}

#[tokio::test]
async fn a_party_does_not_report_another_party() {
    let scene = Scene::new().await;
    scene.approve("EXA").await;
    scene.approve("OTH").await;
    let offline = client_info("OTH", "CPO", "OFFLINE", scene.app.now());
    let headers = [
        ("ocpi-from-country-code", "NL"),
        ("ocpi-from-party-id", "EXA"),
    ];
    let (app, token) = (&scene.app, &scene.hub.token);
    for party in ["OTH", "NEW"] {
        let path = format!("/ocpi/2.2.1/hubclientinfo/NL/{party}");
        let info = with(offline.clone(), json!({"party_id": party}));
        let answer = send(app, token, "PUT", &path, Some(&info), &headers).await;
        assert_eq!(codes(&answer), (404, 2000), "{}", answer.text);
    }
    let crew = app.crew(&app.alice).await;
    assert_eq!(scene.use_of(&crew, "OTH").await.1, 200);
}

#[tokio::test]
async fn parties_of_others_and_our_own_are_refused() {
    let scene = Scene::new().await;
    let (app, hub) = (&scene.app, &scene.hub);
    let own = with(
        client_info("FCS", "EMSP", "CONNECTED", app.now()),
        json!({"country_code": "GB"}),
    );
    let path = "/hubclientinfo/GB/FCS";
    let answer = hub.expect("PUT", path, Some(&own), (200, 2001)).await;
    assert!(
        answer.text.contains("GB*FCS is the party of this service"),
        "{}",
        answer.text
    );
    let cpo = Connected::with(app, |script| {
        script.roles[0]["party_id"] = json!("OTH");
    })
    .await;
    let info = client_info("OTH", "CPO", "CONNECTED", app.now());
    let path = "/hubclientinfo/NL/OTH";
    let answer = hub.expect("PUT", path, Some(&info), (200, 2001)).await;
    assert!(
        answer.text.contains("NL*OTH belongs to another network"),
        "{}",
        answer.text
    );
    // It cannot be approved either, and the platform that already has it keeps it.
    let parties = json!({"parties": [{"country_code": "NL", "party_id": "OTH"}]});
    let refused = scene.act("approve_parties", parties).await;
    let refused = refused.expect_err("it belongs to another network");
    assert!(refused.contains("another network"), "{refused}");
    scene
        .act("trust_hub", json!({"trusted": true}))
        .await
        .expect("trusted");
    let awaits = Some((true, "CONNECTED".to_owned()));
    assert_eq!(scene.party("OTH").await, awaits);
    cpo.put(
        "/locations/NL/OTH/OTH-1",
        &with(location("OTH"), json!({"last_updated": app.now()})),
    )
    .await;
    let unknown = json!({"parties": [{"country_code": "NL", "party_id": "XXX"}]});
    scene
        .act("approve_parties", unknown)
        .await
        .expect_err("the hub has no such party");
}

#[tokio::test]
async fn parties_that_a_network_has_left_behind_are_approved() {
    let scene = Scene::new().await;
    let (app, hub) = (&scene.app, &scene.hub);
    let revoked = Connected::with(app, |script| script.roles[0]["party_id"] = json!("OLD"));
    let revoked = revoked.await.network;
    manage_ok(app, json!({"action": "revoke", "network": revoked})).await;
    // The process ended before the parties of that network were released.
    for party in ["EXA", "NEW"] {
        claim(app, party, &revoked).await;
    }
    scene.approve("EXA").await;
    let approved = Some((false, "CONNECTED".to_owned()));
    assert_eq!(scene.party("EXA").await, approved);
    let trust = json!({"trusted": true});
    scene.act("trust_hub", trust).await.expect("trusted");
    let info = client_info("NEW", "CPO", "CONNECTED", app.now());
    scene.list("hubclientinfo", info);
    let pull = json!({"action": "pull", "network": hub.network, "full": true});
    manage_ok(app, pull).await;
    app.drain().await;
    assert_eq!(scene.party("NEW").await, approved);
}

#[tokio::test]
async fn a_hub_that_renews_or_ends_keeps_or_frees_its_parties() {
    let scene = Scene::new().await;
    scene.approve("EXA").await;
    let (app, hub) = (&scene.app, &scene.hub);
    let approved = Some((false, "CONNECTED".to_owned()));
    let credentials = hub.credentials();
    let path = "/ocpi/2.2.1/credentials";
    send_expecting(
        app,
        &hub.token,
        "PUT",
        path,
        Some(&credentials),
        (200, 1000),
    )
    .await;
    assert_eq!(scene.party("EXA").await, approved);
    for _ in 0..2 {
        scene.act("revoke", json!({})).await.expect("revoked");
    }
    // Its party may belong to another network, and stays there whatever happens to the hub.
    let cpo = Connected::to(app).await;
    scene.act("revoke", json!({})).await.expect("revoked");
    assert_eq!(
        cpo.send("GET", "/tokens", None).await.status,
        200,
        "it is connected"
    );
    app.drain().await;
    cpo.put("/tariffs/NL/EXA/DAY", &fixture("tariff")).await;
}

#[tokio::test]
async fn a_hub_approves_no_party_by_its_credentials() {
    let app = TestApp::start().await;
    let hub = Connected::with(&app, |script| {
        let cpo = script.roles[0].clone();
        let emsp = with(cpo.clone(), json!({"role": "EMSP"}));
        script.roles = json!([emsp, cpo, hub_role()]);
    })
    .await;
    let scene = Scene { app, hub };
    let path = "/tariffs/NL/EXA/DAY";
    let tariff = fixture("tariff");
    let push = async || {
        let answer = scene.hub.send("PUT", path, Some(&tariff)).await;
        codes(&answer)
    };
    assert_eq!(push().await, (200, 2000));
    scene.approve("EXA").await;
    assert_eq!(push().await, (201, 1000));
    // The hub operates no charging stations itself.
    let own = with(tariff.clone(), json!({"party_id": "HUB"}));
    let path = "/tariffs/NL/HUB/DAY";
    scene.hub.expect("PUT", path, Some(&own), (404, 2000)).await;
}

#[tokio::test]
async fn credentials_with_roles_that_cannot_be_are_refused() {
    let app = TestApp::start().await;
    let platform = platform().await;
    let issue = json!({"action": "issue_token", "name": "Example"});
    let issued = manage_ok(&app, issue).await;
    let token_a = issued["token"].as_str().expect("a token");
    let register = async |roles: Vec<Value>| {
        let body = with(platform.credentials(), json!({"roles": roles}));
        let path = "/ocpi/2.2.1/credentials";
        send(&app, token_a, "POST", path, Some(&body), &[]).await
    };
    let role = |country: &str, party: &str| {
        json!({"role": "CPO", "country_code": country, "party_id": party,
            "business_details": {"name": "Example"}})
    };
    let number = |n: usize| role("NL", &format!("{n:03}"));
    let own = role("gb", "fcs");
    for (roles, why) in [
        ((0..576).map(number).collect(), "expected 1 to 90, not 576"),
        (vec![own], "GB*FCS is the party of this service"),
    ] {
        let answer = register(roles).await;
        assert_eq!(codes(&answer), (200, 2001));
        assert!(answer.text.contains(why), "{}", answer.text);
    }
    let listed = manage(&app, json!({"action": "list"})).await;
    let listed = listed.expect("networks");
    assert_eq!(listed["data"][0]["status"], "pending");
    assert_eq!(
        codes(&register((0..90).map(number).collect()).await),
        (200, 1000)
    );
    let revoke = json!({"action": "revoke", "network": issued["network"]["id"]});
    manage_ok(&app, revoke).await;
}

#[tokio::test]
async fn a_report_about_the_future_is_taken_as_of_now() {
    let scene = Scene::new().await;
    scene.approve("EXA").await;
    let wild = client_info("EXA", "CPO", "OFFLINE", scene.app.now().plus(days(30_000)));
    let path = "/hubclientinfo/NL/EXA";
    scene.hub.put(path, &wild).await;
    scene.app.advance(1).await;
    scene.report("EXA", "CONNECTED").await;
    let approved = Some((false, "CONNECTED".to_owned()));
    assert_eq!(scene.party("EXA").await, approved);
    // A clock that is slightly fast keeps its order.
    let ahead = scene.app.now().plus(HOUR - MINUTE);
    let offline = client_info("EXA", "CPO", "OFFLINE", ahead);
    scene.hub.put(path, &offline).await;
    let before = client_info("EXA", "CPO", "CONNECTED", ahead.plus(-MINUTE));
    scene.hub.put(path, &before).await;
    let status = scene.party("EXA").await.expect("the party").1;
    assert_eq!(status, "OFFLINE");
}

#[tokio::test]
async fn concurrent_operator_actions_on_one_network_all_succeed() {
    let scene = Scene::new().await;
    let trust = |trusted: bool| {
        let body = json!({"action": "trust_hub", "network": scene.hub.network, "trusted": trusted});
        manage(&scene.app, body)
    };
    for _ in 0..10 {
        let (first, second, third) = tokio::join!(trust(true), trust(false), trust(true));
        for done in [first, second, third] {
            done.expect("done, although the others wrote the same network");
        }
    }
}
