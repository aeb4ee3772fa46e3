//! `/v1/charge_cards`.

use functions::charge_cards::refresh::RefreshTokens;
use functions::job::Job as _;
use functions::networks::manage;
use functions::reservations::expire::ExpireReservation;
use kernel::origin::{Mode, Origin};
use kernel::{Error, Id, Kind};
use models::charge_card::ChargeCard;
use serde_json::{Value, json};
use tests::samples::unused_uid;
use tests::{Client, Crew, TestApp, driver, fleet, vehicle, with};

const PATH: &str = "/v1/charge_cards";

fn card(crew: &Crew) -> Value {
    json!({"uid": unused_uid(), "driver": crew.driver, "vehicle": crew.vehicle})
}

async fn make(app: &TestApp, body: Value) -> String {
    format!(
        "{PATH}/{}",
        app.alice.post(PATH, body).await.expect(200).id()
    )
}

/// The types of the events about charge cards, the oldest first.
async fn events(app: &TestApp) -> Vec<String> {
    app.drain().await;
    let page = app.alice.get("/v1/events?limit=100").await.expect(200).body;
    let events = page["data"].as_array().expect("events").iter().rev();
    let types = events.map(|one| one["type"].as_str().expect("a type").to_owned());
    types
        .filter(|one| one.starts_with("charge_card."))
        .collect()
}

#[tokio::test]
async fn a_new_card_has_every_field() {
    let app = TestApp::start().await;
    let crew = app.crew(&app.alice).await;
    let until = app.in_minutes(600);
    let body = with(
        card(&crew),
        json!({"visual_number": "FC-0001", "valid_until": until, "metadata": {"a": "b"}, "type": "rfid"}),
    );
    let made = app.alice.post(PATH, body.clone()).await.expect(200);
    let now = &made.body["created"];
    let want = json!({"id": made.id(), "object": "charge_card", "created": now, "driver": crew.driver,
        "metadata": {"a": "b"}, "status": "active", "type": "rfid", "uid": body["uid"], "updated": now,
        "valid_until": made.body["valid_until"], "vehicle": crew.vehicle, "visual_number": "FC-0001"});
    assert_eq!(made.body, want);
    assert!(made.id().starts_with("ccd_"));
    let path = format!("{PATH}/{}", made.id());
    assert_eq!(app.alice.get(&path).await.body, want);
    let path = format!("{path}?expand[]=driver&expand[]=vehicle.fleet");
    let expanded = app.alice.get(&path).await.expect(200).body;
    assert_eq!(expanded["driver"]["id"], json!(crew.driver));
    assert_eq!(expanded["vehicle"]["fleet"]["id"], json!(crew.fleet));
    assert_eq!(events(&app).await, ["charge_card.created"]);
}

#[tokio::test]
async fn what_is_wrong_with_a_card_is_named() {
    let app = TestApp::start().await;
    let crew = app.crew(&app.alice).await;
    let elsewhere = app.alice.post("/v1/fleets", fleet()).await.id();
    let other = app
        .alice
        .post("/v1/vehicles", vehicle(&elsewhere))
        .await
        .id();
    let past = app.in_minutes(-1);
    let nobody = "01a1f0000000700080000000000000ff";
    for (change, want) in [
        (json!({"uid": ""}), (400, None, Some("uid"))),
        (json!({"uid": "04 A1"}), (400, None, Some("uid"))),
        (json!({"type": "app"}), (400, None, Some("type"))),
        (json!({"type": "paper"}), (400, None, Some("type"))),
        (
            json!({"valid_until": past}),
            (400, None, Some("valid_until")),
        ),
        (
            json!({"visual_number": "<b>"}),
            (400, None, Some("visual_number")),
        ),
        (json!({"status": "active"}), (400, None, Some("status"))),
        (
            json!({"driver": null, "vehicle": null}),
            (400, None, Some("driver")),
        ),
        (
            json!({"vehicle": other}),
            (400, Some("owner_scope_invalid"), Some("driver")),
        ),
        (
            json!({"driver": format!("drv_{nobody}")}),
            (404, Some("driver_not_found"), Some("driver")),
        ),
        (
            json!({"vehicle": crew.driver}),
            (404, Some("vehicle_not_found"), Some("vehicle")),
        ),
    ] {
        let answer = app
            .alice
            .post(PATH, with(card(&crew), change.clone()))
            .await;
        let (status, _, code, param) = answer.error();
        assert_eq!((status, code, param), want, "{change}");
    }
    let rfid = app
        .alice
        .walk(&format!("{PATH}?vehicle={}", crew.vehicle))
        .await;
    assert!(rfid.is_empty());
    assert!(events(&app).await.is_empty());
}

/// Two accounts in test mode, each with a crew and a card with the same uid: alice's holds it, the stranger's claims it.
struct Contest {
    app: TestApp,
    crew: Crew,
    stranger: Client,
    uid: String,
    /// The paths of the cards.
    held: String,
    claimed: String,
    /// The body of the stranger's card.
    body: Value,
}

impl Contest {
    async fn start() -> Self {
        let app = TestApp::start().await;
        let crew = app.crew(&app.alice).await;
        let body = card(&crew);
        let held = make(&app, body.clone()).await;
        let uid = body["uid"].as_str().expect("a uid").to_lowercase();
        let stranger = app.other_account(Mode::Test).await;
        let strangers = app.crew(&stranger).await;
        let body = json!({"uid": uid, "driver": strangers.driver, "vehicle": strangers.vehicle});
        let claimed = stranger.post(PATH, body.clone()).await.expect(200);
        app.drain().await;
        Self {
            claimed: format!("{PATH}/{}", claimed.id()),
            app,
            crew,
            stranger,
            uid,
            held,
            body,
        }
    }

    async fn manage(&self, action: Value) -> Result<Value, Error> {
        let action = serde_json::from_value(action).expect("an action");
        let managed = manage::handle(self.app.app(), action, None).await?;
        self.app.drain().await;
        Ok(serde_json::to_value(managed).expect("JSON"))
    }

    async fn assign(&self, client: &Client) -> Value {
        let account = client.tenant().account;
        let assign = json!({"action": "assign_card_uid", "mode": "test", "uid": self.uid.to_uppercase(), "account": account});
        self.manage(assign).await.expect("a decision")
    }

    /// The uids that await a decision.
    async fn contested(&self) -> Vec<Value> {
        let list = json!({"action": "list_contested_cards", "mode": "test"});
        let list = self.manage(list).await.expect("a list");
        let data = list["data"].as_array().expect("uids");
        data.iter()
            .filter(|one| one["uid"] == self.uid)
            .cloned()
            .collect()
    }

    /// The statuses of alice's and the stranger's cards.
    async fn statuses(&self) -> [Value; 2] {
        let held = self.app.alice.get(&self.held).await.body;
        let claimed = self.stranger.get(&self.claimed).await.body;
        [held["status"].clone(), claimed["status"].clone()]
    }

    /// The id of the card that networks know by the uid, and whether its token is valid.
    async fn known(&self) -> (Option<String>, Option<bool>) {
        let store = &self.app.app().store;
        let token = store.card_token(Mode::Test, &self.uid).await;
        let token = token.expect("a token").expect("a token");
        let card = token.card.map(|card| format!("{PATH}/{}", card.id));
        (card, token.token.map(|token| token.valid))
    }
}

#[tokio::test]
async fn a_uid_that_another_account_holds_is_pending() {
    let contest = Contest::start().await;
    let (app, stranger) = (&contest.app, &contest.stranger);
    assert_eq!(contest.statuses().await, ["active", "pending"]);
    assert_eq!(
        contest.known().await,
        (Some(contest.held.clone()), Some(true))
    );
    // Neither learns of the other.
    assert_eq!(stranger.get(&contest.held).await.status, 404);
    assert_eq!(app.alice.get(&contest.claimed).await.status, 404);
    let events = app
        .alice
        .get("/v1/events?type=charge_card.contested")
        .await
        .body;
    let [event] = &events["data"].as_array().expect("events")[..] else {
        panic!("one event: {events}");
    };
    assert_eq!(
        event["data"]["object"]["id"],
        contest.held[PATH.len() + 1..]
    );
    let theirs = stranger.tenant().account.to_string();
    for stranger in [theirs.as_str(), &contest.claimed[PATH.len() + 1..]] {
        assert!(!event.to_string().contains(stranger), "{event}");
    }
    let none = stranger.get("/v1/events?type=charge_card.contested").await;
    assert!(none.ids().is_empty());
    // A pending card does not become active by an update, nor by its time.
    for change in [json!({"status": "active"}), json!({"status": "blocked"})] {
        let refused = stranger.post(&contest.claimed, change).await;
        let want = (Some("charge_card_conflict"), Some("status"));
        assert_eq!((refused.error().2, refused.error().3), want);
    }
    let until = json!({"valid_until": app.in_minutes(30), "visual_number": "7"});
    stranger.post(&contest.claimed, until).await.expect(200);
    app.advance(3600).await;
    let later = json!({"valid_until": app.in_minutes(30)});
    stranger.post(&contest.claimed, later).await.expect(200);
    app.drain().await;
    assert_eq!(contest.statuses().await, ["active", "pending"]);
    // Within an account a uid is on one card.
    for client in [&app.alice, stranger] {
        let crew = app.crew(client).await;
        let again = json!({"uid": contest.uid, "vehicle": crew.vehicle});
        let refused = client.post(PATH, again).await;
        refused.expect_error(409, Some("charge_card_conflict"), Some("uid"));
    }
    // In live mode it is another uid.
    let live = app.other_account(Mode::Live).await;
    let crew = app.crew(&live).await;
    let in_live = json!({"uid": contest.uid, "vehicle": crew.vehicle});
    let made = live.post(PATH, in_live).await.expect(200);
    assert_eq!(made.body["status"], "active");
    app.drain().await;
}

#[tokio::test]
async fn an_operator_decides_who_holds_a_uid() {
    let contest = Contest::start().await;
    let (app, stranger) = (&contest.app, &contest.stranger);
    let [entry] = &contest.contested().await[..] else {
        panic!("one contested uid");
    };
    let account = |client: &Client| json!(client.tenant().account);
    assert_eq!(entry["holder"]["account"], account(&app.alice));
    assert_eq!(entry["claims"][0]["account"], account(stranger));
    let nobody = app.other_account(Mode::Test).await;
    let refused = json!({"action": "assign_card_uid", "mode": "test", "uid": contest.uid, "account": account(&nobody)});
    assert!(contest.manage(refused).await.is_err());
    assert_eq!(contest.statuses().await, ["active", "pending"]);

    contest.assign(stranger).await;
    assert_eq!(contest.statuses().await, ["pending", "active"]);
    assert_eq!(
        contest.known().await,
        (Some(contest.claimed.clone()), Some(true))
    );
    assert!(contest.contested().await.is_empty());
    // The decision can be changed, and made twice.
    for _ in 0..2 {
        contest.assign(&app.alice).await;
        assert_eq!(contest.statuses().await, ["active", "pending"]);
        assert_eq!(
            contest.known().await,
            (Some(contest.held.clone()), Some(true))
        );
    }
    // A card against which it was decided is no news for the holder.
    let events = app.alice.get("/v1/events?type=charge_card.contested").await;
    assert_eq!(events.ids().len(), 1);
    stranger.delete(&contest.claimed).await.expect(200);
    app.drain().await;
    assert_eq!(
        contest.known().await,
        (Some(contest.held.clone()), Some(true))
    );
}

#[tokio::test]
async fn a_uid_given_up_goes_to_nobody_who_waits_for_it() {
    let contest = Contest::start().await;
    let (app, stranger) = (&contest.app, &contest.stranger);
    app.alice.delete(&contest.held).await.expect(200);
    app.drain().await;
    assert_eq!(contest.known().await, (None, Some(false)));
    let shown = stranger.get(&contest.claimed).await.body;
    assert_eq!(shown["status"], "pending");
    // A third account waits as well, and the account that had the uid has it again.
    let third = app.other_account(Mode::Test).await;
    let crew = app.crew(&third).await;
    let body = json!({"uid": contest.uid, "vehicle": crew.vehicle});
    let waiting = third.post(PATH, body).await.expect(200);
    assert_eq!(waiting.body["status"], "pending");
    let body = json!({"uid": contest.uid, "vehicle": contest.crew.vehicle});
    let again = app.alice.post(PATH, body).await.expect(200);
    assert_eq!(again.body["status"], "active");
    app.alice
        .delete(&format!("{PATH}/{}", again.id()))
        .await
        .expect(200);
    contest.assign(stranger).await;
    let shown = stranger.get(&contest.claimed).await.body;
    assert_eq!(shown["status"], "active");
    // Nobody claims it any more once all others are deleted: then it can be given to anybody.
    stranger.delete(&contest.claimed).await.expect(200);
    third
        .delete(&format!("{PATH}/{}", waiting.id()))
        .await
        .expect(200);
    app.drain().await;
    let body = json!({"uid": contest.uid, "vehicle": contest.crew.vehicle});
    let made = app.alice.post(PATH, body).await.expect(200);
    assert_eq!(made.body["status"], "active");
    // The stranger's card is a new claim.
    let claim = stranger.post(PATH, contest.body.clone()).await.expect(200);
    assert_eq!(claim.body["status"], "pending");
    app.drain().await;
}

#[tokio::test]
async fn of_many_accounts_that_take_a_uid_at_once_one_holds_it() {
    let app = TestApp::start().await;
    let uid = unused_uid();
    let mut accounts = Vec::new();
    for _ in 0..6 {
        let client = app.other_account(Mode::Test).await;
        let crew = app.crew(&client).await;
        accounts.push((client, json!({"uid": uid, "vehicle": crew.vehicle})));
    }
    let tries = accounts
        .iter()
        .map(|(client, body)| client.post(PATH, body.clone()));
    let made = futures::future::join_all(tries).await;
    let statuses = made
        .into_iter()
        .map(|one| one.expect(200).body["status"].clone());
    let mut statuses: Vec<Value> = statuses.collect();
    statuses.sort_by_key(Value::to_string);
    let mut want = vec![json!("active")];
    want.extend(vec![json!("pending"); 5]);
    assert_eq!(statuses, want);
    app.drain().await;
}

#[tokio::test]
async fn a_driver_has_at_most_20_rfid_cards() {
    let app = TestApp::start().await;
    let crew = app.crew(&app.alice).await;
    app.drain().await;
    let of_driver = || json!({"uid": unused_uid(), "driver": crew.driver});
    for _ in 0..15 {
        make(&app, of_driver()).await;
    }
    let tries = (0..10).map(|_| app.alice.post(PATH, of_driver()));
    let answers = futures::future::join_all(tries).await;
    let made = answers.iter().filter(|one| one.status == 200).count();
    assert_eq!(made, 5);
    for refused in answers.iter().filter(|one| one.status != 200) {
        refused.expect_error(409, Some("charge_card_conflict"), Some("driver"));
    }
    let of_vehicle = json!({"uid": unused_uid(), "vehicle": crew.vehicle});
    let path = make(&app, of_vehicle).await;
    let refused = app.alice.post(&path, json!({"driver": crew.driver})).await;
    assert_eq!(refused.error().3, Some("driver"));
    // The app card does not count.
    let cards = app
        .alice
        .walk(&format!("{PATH}?driver={}", crew.driver))
        .await;
    assert_eq!(cards.len(), 21);
    app.drain().await;
}

#[tokio::test]
async fn of_many_cards_with_one_uid_that_are_created_at_once_one_is() {
    let app = TestApp::start().await;
    let crew = app.crew(&app.alice).await;
    let body = card(&crew);
    let tries = (0..12).map(|_| app.alice.post(PATH, body.clone()));
    let answers = futures::future::join_all(tries).await;
    let made = answers.iter().filter(|one| one.status == 200).count();
    let refused = answers.iter().filter(|one| one.status == 409).count();
    assert_eq!((made, refused), (1, 11));
    let cards = app
        .alice
        .walk(&format!("{PATH}?vehicle={}", crew.vehicle))
        .await;
    assert_eq!(cards.len(), 1);
    app.drain().await;
}

#[tokio::test]
async fn every_driver_has_an_app_card_that_only_the_service_makes_and_deletes() {
    let app = TestApp::start().await;
    let id = app.alice.post("/v1/drivers", driver()).await.id();
    app.drain().await;
    let list = format!("{PATH}?driver={id}");
    let page = app.alice.get(&list).await.expect(200).body;
    let [app_card] = &page["data"].as_array().expect("cards")[..] else {
        panic!("one card: {page}");
    };
    assert_eq!(
        (&app_card["type"], &app_card["driver"], &app_card["vehicle"]),
        (&json!("app"), &json!(id), &Value::Null)
    );
    let path = format!("{PATH}/{}", app_card["id"].as_str().expect("an id"));
    for refused in [
        app.alice.delete(&path).await,
        app.alice.post(&path, json!({"driver": null})).await,
        app.alice.post(&path, json!({"visual_number": "1"})).await,
        app.alice
            .post(&path, json!({"valid_until": app.in_minutes(5)}))
            .await,
    ] {
        assert_eq!(refused.error().2, Some("charge_card_conflict"));
    }
    assert_eq!(&app.alice.get(&path).await.body, app_card);
    let blocked = json!({"status": "blocked", "metadata": {"why": "left"}});
    app.alice.post(&path, blocked).await.expect(200);
    // It is made once.
    app.alice
        .post(&format!("/v1/drivers/{id}"), json!({"status": "suspended"}))
        .await
        .expect(200);
    app.drain().await;
    assert_eq!(app.alice.walk(&list).await.len(), 1);
    assert_eq!(events(&app).await, ["charge_card.updated"]);
    app.alice
        .delete(&format!("/v1/drivers/{id}"))
        .await
        .expect(200);
    app.drain().await;
    assert_eq!(app.alice.get(&path).await.status, 404);
}

#[tokio::test]
async fn cards_are_listed_by_driver_vehicle_and_status() {
    let app = TestApp::start().await;
    let crew = app.crew(&app.alice).await;
    app.drain().await;
    let of_driver = make(&app, with(card(&crew), json!({"vehicle": null}))).await;
    let of_vehicle = make(&app, with(card(&crew), json!({"driver": null}))).await;
    let of_both = make(&app, card(&crew)).await;
    app.alice
        .post(&of_both, json!({"status": "lost"}))
        .await
        .expect(200);
    let id = |path: &str| path.rsplit('/').next().expect("an id").to_owned();
    let list = async |filter: &str| app.alice.walk(&format!("{PATH}?{filter}&limit=1")).await;
    let (driver, vehicle) = (&crew.driver, &crew.vehicle);
    let cards = list(&format!("driver={driver}")).await;
    assert_eq!(cards[..2], [id(&of_both), id(&of_driver)]);
    // The third is the app card of the driver.
    assert_eq!(cards.len(), 3);
    assert_eq!(
        list(&format!("vehicle={vehicle}")).await,
        [id(&of_both), id(&of_vehicle)]
    );
    assert_eq!(
        list(&format!("driver={driver}&vehicle={vehicle}")).await,
        [id(&of_both)]
    );
    assert_eq!(
        list(&format!("vehicle={vehicle}&status=active")).await,
        [id(&of_vehicle)]
    );
    assert_eq!(list("status=lost").await, [id(&of_both)]);
    let answer = app.alice.get(&format!("{PATH}?status=gone")).await;
    assert_eq!(answer.error().3, Some("status"));
    let answer = app.alice.get(&format!("{PATH}?driver={vehicle}")).await;
    assert_eq!(answer.error().2, Some("driver_not_found"));
    // A card that is given to somebody else is one of theirs.
    let other = app
        .alice
        .post("/v1/vehicles", self::vehicle(&crew.fleet))
        .await
        .id();
    app.alice
        .post(&of_vehicle, json!({"vehicle": other}))
        .await
        .expect(200);
    assert_eq!(list(&format!("vehicle={vehicle}")).await, [id(&of_both)]);
    assert_eq!(list(&format!("vehicle={other}")).await, [id(&of_vehicle)]);
    app.alice.delete(&of_both).await.expect(200);
    assert!(list(&format!("vehicle={vehicle}")).await.is_empty());
    app.drain().await;
}

#[tokio::test]
async fn an_update_changes_what_it_names() {
    let app = TestApp::start().await;
    let crew = app.crew(&app.alice).await;
    let path = make(&app, card(&crew)).await;
    let body =
        json!({"driver": null, "visual_number": "2", "status": "blocked", "metadata": {"a": "b"}});
    let changed = app.alice.post(&path, body).await.expect(200).body;
    assert_eq!(
        (&changed["driver"], &changed["vehicle"], &changed["status"]),
        (&Value::Null, &json!(crew.vehicle), &json!("blocked"))
    );
    let before = app.alice.get(&path).await.body;
    for (wrong, param) in [
        (json!({"uid": "1"}), "uid"),
        (json!({"type": "app"}), "type"),
        (json!({"vehicle": null}), "driver"),
        (json!({"status": "expired"}), "status"),
        (json!({"status": null}), "status"),
        (json!({"valid_until": app.in_minutes(-1)}), "valid_until"),
        (json!({"driver": "drv_1"}), "driver"),
    ] {
        let answer = app.alice.post(&path, wrong.clone()).await;
        assert_eq!(answer.error().3, Some(param), "{wrong}");
        assert_eq!(app.alice.get(&path).await.body, before);
    }
    assert_eq!(
        events(&app).await,
        ["charge_card.created", "charge_card.updated"]
    );
}

#[tokio::test]
async fn a_card_expires_by_itself() {
    let app = TestApp::start().await;
    let crew = app.crew(&app.alice).await;
    let until = app.in_minutes(90);
    let path = make(&app, with(card(&crew), json!({"valid_until": until}))).await;
    app.advance(89 * 60).await;
    assert_eq!(app.alice.get(&path).await.body["status"], "active");
    app.advance(60).await;
    assert_eq!(app.alice.get(&path).await.body["status"], "expired");
    let answer = app.alice.post(&path, json!({"status": "active"})).await;
    assert_eq!(answer.error().3, Some("valid_until"));
    let extended = json!({"valid_until": app.in_minutes(90)});
    let card = app.alice.post(&path, extended).await.expect(200).body;
    assert_eq!(card["status"], "active");
    let want = [
        "charge_card.created",
        "charge_card.updated",
        "charge_card.updated",
    ];
    assert_eq!(events(&app).await, want);
}

#[tokio::test]
async fn a_card_outlives_its_driver_and_its_vehicle_and_can_be_given_to_others() {
    let app = TestApp::start().await;
    let crew = app.crew(&app.alice).await;
    let path = make(&app, card(&crew)).await;
    app.alice
        .delete(&format!("/v1/drivers/{}", crew.driver))
        .await
        .expect(200);
    app.drain().await;
    let shown = app.alice.get(&path).await.expect(200).body;
    assert_eq!(
        (&shown["driver"], &shown["vehicle"]),
        (&Value::Null, &json!(crew.vehicle))
    );
    app.alice
        .delete(&format!("/v1/vehicles/{}", crew.vehicle))
        .await
        .expect(200);
    app.drain().await;
    let shown = app.alice.get(&path).await.expect(200).body;
    assert_eq!(
        (&shown["vehicle"], &shown["status"]),
        (&Value::Null, &json!("active"))
    );
    let other = app
        .alice
        .post("/v1/vehicles", vehicle(&crew.fleet))
        .await
        .id();
    let given = app
        .alice
        .post(&path, json!({"vehicle": other}))
        .await
        .expect(200)
        .body;
    assert_eq!(given["vehicle"], json!(other));
    let cards = app.alice.walk(&format!("{PATH}?vehicle={other}")).await;
    assert_eq!(cards.len(), 1);
    app.drain().await;
}

#[tokio::test]
async fn a_deleted_card_is_gone() {
    let app = TestApp::start().await;
    let crew = app.crew(&app.alice).await;
    let path = make(&app, card(&crew)).await;
    let id = path.rsplit('/').next().expect("an id");
    let deleted = app.alice.delete(&path).await.expect(200).body;
    assert_eq!(
        deleted,
        json!({"id": id, "object": "charge_card", "deleted": true})
    );
    assert_eq!(
        app.alice.get(&path).await.error().2,
        Some("charge_card_not_found")
    );
    assert_eq!(app.alice.delete(&path).await.status, 404);
    assert_eq!(
        events(&app).await,
        ["charge_card.created", "charge_card.deleted"]
    );
}

#[tokio::test]
async fn every_card_of_a_suspended_account_is_blocked() {
    const CARDS: usize = 450;
    let app = TestApp::start().await;
    let crew = app.crew(&app.alice).await;
    let tenant = app.alice.tenant();
    let store = &app.app().store;
    let mut uids = Vec::new();
    for _ in 0..CARDS {
        let new = serde_json::from_value(card(&crew)).expect("a card");
        let mut card = ChargeCard::new(new, app.now()).expect("a card");
        let uid = card.object.uid.as_str().to_owned();
        let uid_use = store.card_uid(tenant.mode, &uid).await.expect("its uid");
        let origin = Origin::background(tenant.clone(), app.now());
        let mut tx = store.begin(&origin);
        tx.create_card(&mut card, &uid_use).expect("a card");
        tx.commit_without_response().await.expect("a card");
        uids.push(uid);
    }
    // Only what follows from the status of the account is of interest.
    app.running().lose_triggers().await.expect("lost");
    app.set_account_status(&tenant.account, "suspended").await;
    app.drain().await;
    for uid in uids {
        let found = store.card_uid(tenant.mode, &uid).await.expect("its uid");
        let token = found.token.expect("a card").token.expect("a token");
        assert!(!token.valid, "{uid}");
    }
}

#[tokio::test]
async fn a_chain_of_messages_ends_unless_its_job_is_a_loop() {
    let app = TestApp::start().await;
    let tenant = app.alice.tenant();
    let loops = RefreshTokens::of(&tenant, &tenant.account).message();
    let reservation = Id::from_number(Kind::Reservation, 1);
    let other = ExpireReservation {
        tenant,
        reservation,
    };
    for (message, is_fine) in [(loops, true), (other.message(), false)] {
        let mut message = message.expect("a message");
        message.hops = 16;
        app.app().queue.send(&message, 0).await.expect("sent");
        assert_eq!(app.running().drain().await.is_ok(), is_fine);
    }
}
