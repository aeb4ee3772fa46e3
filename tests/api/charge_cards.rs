//! `/v1/charge_cards`.

use serde_json::{Value, json};
use shared::origin::Mode;
use tests::samples::unused_uid;
use tests::{Crew, TestApp, driver, fleet, vehicle, with};

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

#[tokio::test]
async fn no_two_cards_of_a_mode_have_the_same_uid_whoever_they_belong_to() {
    let app = TestApp::start().await;
    let crew = app.crew(&app.alice).await;
    let body = card(&crew);
    let path = make(&app, body.clone()).await;
    let uid = body["uid"].as_str().expect("a uid").to_lowercase();
    let stranger = app.other_account(Mode::Test).await;
    let strangers = app.crew(&stranger).await;
    let theirs = json!({"uid": uid, "vehicle": strangers.vehicle});
    let refused = stranger.post(PATH, theirs.clone()).await;
    assert_eq!(
        refused.error(),
        (
            409,
            "invalid_request_error",
            Some("charge_card_conflict"),
            Some("uid")
        )
    );
    // It says no more than the account's own conflict.
    let ours = app.alice.post(PATH, with(body, json!({"uid": uid}))).await;
    assert_eq!(ours.body["message"], refused.body["message"]);
    assert!(stranger.get(&path).await.status == 404);
    let shown = stranger
        .walk(&format!("{PATH}?vehicle={}", strangers.vehicle))
        .await;
    assert!(shown.is_empty());
    // In live mode it is another card.
    let live = app.other_account(Mode::Live).await;
    let their_crew = app.crew(&live).await;
    let in_live = json!({"uid": uid, "vehicle": their_crew.vehicle});
    live.post(PATH, in_live).await.expect(200);
    // Once the card is deleted, its uid can be used again.
    app.alice.delete(&path).await.expect(200);
    stranger.post(PATH, theirs).await.expect(200);
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
