//! `/v1/charge_cards`.

use functions::charge_cards::refresh::RefreshTokens;
use functions::job::Job as _;
use functions::networks::manage;
use functions::reservations::expire::ExpireReservation;
use kernel::{Error, Id, Kind, Mode, Origin};
use models::ChargeCard;
use serde_json::{Value, json};
use tests::samples::unused_uid;
use tests::{
    Client, Crew, TestApp, assert_has, cases, driver, fleet, id_of, path_of, vehicle, with,
};

const PATH: &str = "/v1/charge_cards";

fn card(crew: &Crew) -> Value {
    json!({"uid": unused_uid(), "driver": crew.driver, "vehicle": crew.vehicle})
}

async fn make(app: &TestApp, body: Value) -> String {
    format!("{PATH}/{}", app.alice.create(PATH, body).await)
}

/// The types of the events about charge cards, oldest first.
async fn events(app: &TestApp) -> Vec<String> {
    app.drain().await;
    let page = app.alice.get_ok("/v1/events?limit=100").await;
    let events = page["data"].as_array().expect("events").iter().rev();
    let types = events.map(|event| event["type"].as_str().expect("a type").to_owned());
    types
        .filter(|name| name.starts_with("charge_card."))
        .collect()
}

#[tokio::test]
async fn a_new_card_has_every_field() {
    let (app, crew) = TestApp::with_crew().await;
    let until = app.in_minutes(600);
    let body = with(
        card(&crew),
        json!({"visual_number": "FC-0001", "valid_until": until, "metadata": {"a": "b"}, "type": "rfid"}),
    );
    let card = app.alice.post_ok(PATH, body.clone()).await;
    let now = &card["created"];
    let want = json!({"id": id_of(&card), "object": "charge_card", "created": now, "driver": crew.driver,
        "metadata": {"a": "b"}, "status": "active", "type": "rfid", "uid": body["uid"], "updated": now,
        "valid_until": card["valid_until"], "vehicle": crew.vehicle, "visual_number": "FC-0001"});
    assert_eq!(card, want);
    assert!(id_of(&card).starts_with("ccd_"));
    let path = format!("{PATH}/{}", id_of(&card));
    assert_eq!(app.alice.get_ok(&path).await, want);
    let path = format!("{path}?expand[]=driver&expand[]=vehicle.fleet");
    assert_has!(app.alice.get_ok(&path).await, {"/driver/id": crew.driver, "/vehicle/fleet/id": crew.fleet});
    assert_eq!(events(&app).await, ["charge_card.created"]);
}

#[tokio::test]
async fn what_is_wrong_with_a_card_is_named() {
    let (app, crew) = TestApp::with_crew().await;
    let elsewhere = app.alice.create("/v1/fleets", fleet()).await;
    let other = app.alice.create("/v1/vehicles", vehicle(&elsewhere)).await;
    let past = app.in_minutes(-1);
    let nobody = "01a1f0000000700080000000000000ff";
    for (change, want) in cases! {
        {"uid": ""} => (400, None, Some("uid")),
        {"uid": "04 A1"} => (400, None, Some("uid")),
        {"uid": "."} => (400, None, Some("uid")),
        {"uid": ".."} => (400, None, Some("uid")),
        {"type": "app"} => (400, None, Some("type")),
        {"type": "paper"} => (400, None, Some("type")),
        {"valid_until": past} => (400, None, Some("valid_until")),
        {"visual_number": "<b>"} => (400, None, Some("visual_number")),
        {"status": "active"} => (400, None, Some("status")),
        {"driver": null, "vehicle": null} => (400, None, Some("driver")),
        {"vehicle": other} => (400, Some("owner_scope_invalid"), Some("driver")),
        {"driver": format!("drv_{nobody}")} => (404, Some("driver_not_found"), Some("driver")),
        {"vehicle": crew.driver} => (404, Some("vehicle_not_found"), Some("vehicle")),
    } {
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

/// Two accounts in test mode, each with a crew and a card with the same uid: alice's card has it, the stranger's card claims it.
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
        let (app, crew) = TestApp::with_crew().await;
        let body = card(&crew);
        let held = make(&app, body.clone()).await;
        let uid = body["uid"].as_str().expect("a uid").to_lowercase();
        // What follows from the creation of alice's card is over when the stranger's card is created.
        app.drain().await;
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

    /// The uids that have no decision yet.
    async fn contested(&self) -> Vec<Value> {
        let list = json!({"action": "list_contested_cards", "mode": "test"});
        let list = self.manage(list).await.expect("a list");
        let data = list["data"].as_array().expect("uids");
        data.iter()
            .filter(|card| card["uid"] == self.uid)
            .cloned()
            .collect()
    }

    /// The statuses of alice's and the stranger's cards.
    async fn statuses(&self) -> [Value; 2] {
        let held = self.app.alice.get_ok(&self.held).await;
        let claimed = self.stranger.get_ok(&self.claimed).await;
        [held["status"].clone(), claimed["status"].clone()]
    }

    /// Checks that networks receive the uid as that of the valid card at this path.
    async fn expect_known(&self, path: &str) {
        let known = (Some(path.to_owned()), Some(true));
        assert_eq!(self.known().await, known);
    }

    /// The id of the card that networks receive for the uid, and whether its token is valid.
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
    contest.expect_known(&contest.held).await;
    // Neither account can see the other's card.
    assert_eq!(stranger.get(&contest.held).await.status, 404);
    assert_eq!(app.alice.get(&contest.claimed).await.status, 404);
    let events = app
        .alice
        .get_ok("/v1/events?type=charge_card.contested")
        .await;
    let [event] = &events["data"].as_array().expect("events")[..] else {
        panic!("one event: {events}");
    };
    assert_has!(event["data"]["object"], {"id": contest.held[PATH.len() + 1..]});
    let theirs = stranger.tenant().account.to_string();
    for stranger in [theirs.as_str(), &contest.claimed[PATH.len() + 1..]] {
        assert!(!event.to_string().contains(stranger), "{event}");
    }
    let none = stranger.get("/v1/events?type=charge_card.contested").await;
    assert!(none.ids().is_empty());
    // A pending card becomes active neither by an update nor by the passage of time.
    for change in [json!({"status": "active"}), json!({"status": "blocked"})] {
        let refused = stranger.post(&contest.claimed, change).await;
        let want = (Some("charge_card_conflict"), Some("status"));
        assert_eq!((refused.error().2, refused.error().3), want);
    }
    let until = json!({"valid_until": app.in_minutes(30), "visual_number": "7"});
    stranger.post_ok(&contest.claimed, until).await;
    app.advance(3600).await;
    let later = json!({"valid_until": app.in_minutes(30)});
    stranger.post_ok(&contest.claimed, later).await;
    app.drain().await;
    assert_eq!(contest.statuses().await, ["active", "pending"]);
    // Within an account, only one card may have a uid.
    for client in [&app.alice, stranger] {
        let crew = app.crew(client).await;
        let again = json!({"uid": contest.uid, "vehicle": crew.vehicle});
        let refused = client.post(PATH, again).await;
        refused.expect_error(409, "charge_card_conflict", "uid");
    }
    // In live mode it is another uid.
    let live = app.other_account(Mode::Live).await;
    let crew = app.crew(&live).await;
    let in_live = json!({"uid": contest.uid, "vehicle": crew.vehicle});
    assert_eq!(live.post_ok(PATH, in_live).await["status"], "active");
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
    assert_has!(entry, {"/holder/account": account(&app.alice), "/claims/0/account": account(stranger)});
    let nobody = app.other_account(Mode::Test).await;
    let refused = json!({"action": "assign_card_uid", "mode": "test", "uid": contest.uid, "account": account(&nobody)});
    assert!(contest.manage(refused).await.is_err());
    assert_eq!(contest.statuses().await, ["active", "pending"]);

    contest.assign(stranger).await;
    assert_eq!(contest.statuses().await, ["pending", "active"]);
    contest.expect_known(&contest.claimed).await;
    assert!(contest.contested().await.is_empty());
    // The decision can be changed, and made twice.
    for _ in 0..2 {
        contest.assign(&app.alice).await;
        assert_eq!(contest.statuses().await, ["active", "pending"]);
        contest.expect_known(&contest.held).await;
    }
    // The holder is not notified of a card that lost the decision.
    let events = app.alice.get("/v1/events?type=charge_card.contested").await;
    assert_eq!(events.ids().len(), 1);
    stranger.delete_ok(&contest.claimed).await;
    app.drain().await;
    contest.expect_known(&contest.held).await;
}

#[tokio::test]
async fn a_uid_given_up_goes_to_nobody_who_waits_for_it() {
    let contest = Contest::start().await;
    let (app, stranger) = (&contest.app, &contest.stranger);
    app.alice.delete_ok(&contest.held).await;
    app.drain().await;
    assert_eq!(contest.known().await, (None, Some(false)));
    assert_eq!(stranger.get_ok(&contest.claimed).await["status"], "pending");
    // A third account waits as well, and the account that had the uid before has it again.
    let third = app.other_account(Mode::Test).await;
    let crew = app.crew(&third).await;
    let body = json!({"uid": contest.uid, "vehicle": crew.vehicle});
    let waiting = third.post_ok(PATH, body).await;
    assert_eq!(waiting["status"], "pending");
    let body = json!({"uid": contest.uid, "vehicle": contest.crew.vehicle});
    let again = app.alice.post_ok(PATH, body).await;
    assert_eq!(again["status"], "active");
    app.alice
        .delete_ok(&format!("{PATH}/{}", id_of(&again)))
        .await;
    contest.assign(stranger).await;
    assert_eq!(stranger.get_ok(&contest.claimed).await["status"], "active");
    // When all other cards are deleted, there is no claim any more, and the uid can be assigned to any account.
    stranger.delete_ok(&contest.claimed).await;
    third
        .delete_ok(&format!("{PATH}/{}", id_of(&waiting)))
        .await;
    app.drain().await;
    let body = json!({"uid": contest.uid, "vehicle": contest.crew.vehicle});
    assert_eq!(app.alice.post_ok(PATH, body).await["status"], "active");
    // The stranger's card is a new claim.
    let claim = stranger.post_ok(PATH, contest.body.clone()).await;
    assert_eq!(claim["status"], "pending");
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
    let responses = futures::future::join_all(tries).await;
    let statuses = responses
        .into_iter()
        .map(|response| response.expect(200).body["status"].clone());
    let mut statuses: Vec<Value> = statuses.collect();
    statuses.sort_by_key(Value::to_string);
    let mut want = vec![json!("active")];
    want.extend(vec![json!("pending"); 5]);
    assert_eq!(statuses, want);
    app.drain().await;
}

#[tokio::test]
async fn a_driver_has_at_most_20_rfid_cards() {
    let (app, crew) = TestApp::with_crew().await;
    app.drain().await;
    let of_driver = || json!({"uid": unused_uid(), "driver": crew.driver});
    for _ in 0..15 {
        make(&app, of_driver()).await;
    }
    let tries = (0..10).map(|_| app.alice.post(PATH, of_driver()));
    let answers = futures::future::join_all(tries).await;
    let created = answers.iter().filter(|answer| answer.status == 200).count();
    assert_eq!(created, 5);
    for refused in answers.iter().filter(|answer| answer.status != 200) {
        refused.expect_error(409, "charge_card_conflict", "driver");
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
    let (app, crew) = TestApp::with_crew().await;
    let body = card(&crew);
    let tries = (0..12).map(|_| app.alice.post(PATH, body.clone()));
    let answers = futures::future::join_all(tries).await;
    let created = answers.iter().filter(|answer| answer.status == 200).count();
    let refused = answers.iter().filter(|answer| answer.status == 409).count();
    assert_eq!((created, refused), (1, 11));
    let cards = app
        .alice
        .walk(&format!("{PATH}?vehicle={}", crew.vehicle))
        .await;
    assert_eq!(cards.len(), 1);
    app.drain().await;
}

#[tokio::test]
async fn an_app_card_is_created_and_deleted_only_by_the_service() {
    let app = TestApp::start().await;
    let id = app.alice.create("/v1/drivers", driver()).await;
    app.drain().await;
    let list = format!("{PATH}?driver={id}");
    let page = app.alice.get_ok(&list).await;
    let [app_card] = &page["data"].as_array().expect("cards")[..] else {
        panic!("one card: {page}");
    };
    assert_has!(app_card, {"type": "app", "driver": id, "vehicle": null});
    app.alice.assert_found_by_created(&list).await;
    let path = format!("{PATH}/{}", id_of(app_card));
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
    assert_eq!(&app.alice.get_ok(&path).await, app_card);
    let blocked = json!({"status": "blocked", "metadata": {"why": "left"}});
    app.alice.post_ok(&path, blocked).await;
    // The app card is created only once.
    app.alice
        .post_ok(&path_of(&id), json!({"status": "suspended"}))
        .await;
    app.drain().await;
    assert_eq!(app.alice.walk(&list).await.len(), 1);
    assert_eq!(events(&app).await, ["charge_card.updated"]);
    app.alice.delete_ok(&path_of(&id)).await;
    app.drain().await;
    assert_eq!(app.alice.get(&path).await.status, 404);
    let both = ["charge_card.updated", "charge_card.deleted"];
    assert_eq!(events(&app).await, both);
}

#[tokio::test]
async fn cards_are_listed_by_driver_vehicle_and_status() {
    let (app, crew) = TestApp::with_crew().await;
    app.drain().await;
    let of_driver = make(&app, with(card(&crew), json!({"vehicle": null}))).await;
    let of_vehicle = make(&app, with(card(&crew), json!({"driver": null}))).await;
    let of_both = make(&app, card(&crew)).await;
    app.alice.post_ok(&of_both, json!({"status": "lost"})).await;
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
    // A card that is assigned to another driver is one of that driver's cards.
    let other = app
        .alice
        .create("/v1/vehicles", self::vehicle(&crew.fleet))
        .await;
    app.alice
        .post_ok(&of_vehicle, json!({"vehicle": other}))
        .await;
    assert_eq!(list(&format!("vehicle={vehicle}")).await, [id(&of_both)]);
    assert_eq!(list(&format!("vehicle={other}")).await, [id(&of_vehicle)]);
    app.alice.delete_ok(&of_both).await;
    assert!(list(&format!("vehicle={vehicle}")).await.is_empty());
    app.drain().await;
}

#[tokio::test]
async fn an_update_changes_what_it_names() {
    let (app, crew) = TestApp::with_crew().await;
    let path = make(&app, card(&crew)).await;
    let body =
        json!({"driver": null, "visual_number": "2", "status": "blocked", "metadata": {"a": "b"}});
    let changed = app.alice.post_ok(&path, body).await;
    assert_has!(changed, {"driver": null, "vehicle": crew.vehicle, "status": "blocked"});
    let before = app.alice.get_ok(&path).await;
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
        assert_eq!(app.alice.get_ok(&path).await, before);
    }
    assert_eq!(
        events(&app).await,
        ["charge_card.created", "charge_card.updated"]
    );
}

#[tokio::test]
async fn a_card_expires_by_itself() {
    let (app, crew) = TestApp::with_crew().await;
    let until = app.in_minutes(90);
    let path = make(&app, with(card(&crew), json!({"valid_until": until}))).await;
    app.advance(89 * 60).await;
    assert_eq!(app.alice.get_ok(&path).await["status"], "active");
    app.advance(60).await;
    assert_eq!(app.alice.get_ok(&path).await["status"], "expired");
    let answer = app.alice.post(&path, json!({"status": "active"})).await;
    assert_eq!(answer.error().3, Some("valid_until"));
    let extended = json!({"valid_until": app.in_minutes(90)});
    assert_eq!(app.alice.post_ok(&path, extended).await["status"], "active");
    let want = [
        "charge_card.created",
        "charge_card.updated",
        "charge_card.updated",
    ];
    assert_eq!(events(&app).await, want);
}

#[tokio::test]
async fn a_card_remains_after_its_driver_and_vehicle_are_deleted() {
    let (app, crew) = TestApp::with_crew().await;
    let path = make(&app, card(&crew)).await;
    app.alice.delete_ok(&path_of(&crew.driver)).await;
    app.drain().await;
    // Whoever has it now is not to charge as another driver of the vehicle.
    let blocked = app.alice.get_ok(&path).await;
    assert_has!(blocked, {"driver": null, "vehicle": crew.vehicle, "status": "blocked"});
    app.alice.delete_ok(&path_of(&crew.vehicle)).await;
    app.drain().await;
    assert_has!(app.alice.get_ok(&path).await, {"vehicle": null, "status": "blocked"});
    let other = app.alice.create("/v1/vehicles", vehicle(&crew.fleet)).await;
    let given = json!({"vehicle": other, "status": "active"});
    let given = app.alice.post_ok(&path, given).await;
    assert_has!(given, {"vehicle": other, "status": "active"});
    let cards = app.alice.walk(&format!("{PATH}?vehicle={other}")).await;
    assert_eq!(cards.len(), 1);
    app.drain().await;
}

#[tokio::test]
async fn a_deleted_card_is_gone() {
    let (app, crew) = TestApp::with_crew().await;
    let path = make(&app, card(&crew)).await;
    let id = path.rsplit('/').next().expect("an id");
    let deleted = app.alice.delete_ok(&path).await;
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
    let (app, crew) = TestApp::with_crew().await;
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
    // Only the consequences of the account's status are tested.
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
