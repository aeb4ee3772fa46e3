//! The charging session that a session or a CDR of a network belongs to, if the ids in it do not say so, and the driver, the vehicle and the
//! payment method of a session that was started with a card.

use kernel::Mode;
use serde_json::{Value, json};
use tests::platform::{fixture, manage};
use tests::{assert_contains, assert_has, id_of, path_of, with};

use crate::books::own;
use crate::network_sessions::cards::{sessions, tapped};
use crate::network_sessions::{Scene, energy, failed, is};

/// One kWh for 0.48 EUR, in a CDR that names no session.
fn one_kwh(id: &str) -> Value {
    json!({"id": id, "session_id": null, "total_energy": 1, "total_cost": {"excl_vat": 0.4, "incl_vat": 0.484}})
}

/// Sends a CDR, and waits until a charging session is created for it.
async fn bill(scene: &Scene, cdr: &Value) {
    scene.bill(cdr).await;
    scene.app.advance(60).await;
}

mod cards_and_starts {
    use super::*;

    #[tokio::test]
    async fn two_charges_within_minutes_are_two_sessions() {
        let scene = Scene::with_card().await;
        for (number, id) in [(1, "C1"), (2, "C2")] {
            let theirs = tapped(&scene);
            scene.app.advance(240).await;
            bill(&scene, &scene.cdr(&theirs, one_kwh(id))).await;
            assert_eq!(sessions(&scene).await.len(), number);
        }
        assert_eq!(scene.invoice().await.1, [energy(48), energy(48)]);
        assert_eq!(scene.unmatched().await, 0);
    }

    #[tokio::test]
    async fn a_second_charge_is_not_of_a_session_that_has_ended() {
        let scene = Scene::with_card().await;
        // The network reports its sessions, and its CDRs name none of them.
        let first = scene.tap().await;
        scene.app.advance(240).await;
        scene.complete(&first).await;
        scene.app.advance(60).await;
        let second = with(tapped(&scene), json!({"id": "T2"}));
        scene.app.advance(240).await;
        bill(&scene, &scene.cdr(&second, one_kwh("C2"))).await;
        let found = sessions(&scene).await;
        assert_eq!(found.len(), 2);
        assert_has!(found[0], {"cost_source": "cdr", "session_started": second["start_date_time"]});
        assert_has!(found[1], {"cost_source": "network_session"});
        scene.report(&second).await;
        let first = with(first, json!({"id": "T1"}));
        let cdr = with(
            scene.cdr(&first, one_kwh("C1")),
            json!({"end_date_time": found[1]["session_ended"]}),
        );
        bill(&scene, &cdr).await;
        let found = sessions(&scene).await;
        assert_eq!((found.len(), &found[1]["cost_source"]), (2, &json!("cdr")));
        assert_eq!(scene.unmatched().await, 0);
    }

    #[tokio::test]
    async fn a_cdr_of_an_earlier_charge_does_not_end_a_session() {
        let scene = Scene::with_card().await;
        let theirs = tapped(&scene);
        scene.app.advance(240).await;
        let cdr = scene.cdr(&theirs, one_kwh("C1"));
        scene.app.advance(60).await;
        scene
            .report(&with(tapped(&scene), json!({"id": "T2"})))
            .await;
        bill(&scene, &cdr).await;
        let found = sessions(&scene).await;
        assert_eq!(found.len(), 2);
        assert_has!(found[0], {"status": "completed", "amount_due": 48});
        assert_has!(found[1], {"status": "active", "energy_consumed": 0});
    }

    #[tokio::test]
    async fn a_card_does_not_continue_a_start_of_the_api() {
        for is_cancelled in [true, false] {
            let scene = Scene::with_card().await;
            let session = scene.start().await;
            if is_cancelled {
                scene.stop(&session).await.expect(200);
            } else {
                scene.result("REJECTED").await;
            }
            let ended = scene.status(&session).await;
            scene.report(&tapped(&scene)).await;
            assert_eq!(scene.status(&session).await, ended);
            let found = sessions(&scene).await;
            assert_eq!(found.len(), 2);
            assert_has!(found[0], {"started_by": "card", "status": "active"});
            assert!(scene.commands("STOP_SESSION").is_empty());
        }
    }

    #[tokio::test]
    async fn a_start_of_the_api_is_not_of_another_card() {
        let scene = Scene::with_card().await;
        let theirs = tapped(&scene);
        scene.app.advance(240).await;
        bill(&scene, &scene.cdr(&theirs, one_kwh("C1"))).await;
        // The network names neither the command nor its session.
        scene.start().await;
        let theirs = scene.session(
            json!({"authorization_reference": null, "start_date_time": theirs["start_date_time"]}),
        );
        bill(&scene, &scene.cdr(&theirs, one_kwh("C2"))).await;
        let found = sessions(&scene).await;
        assert_eq!(found.len(), 2);
        assert_has!(found[0], {"started_by": "api", "cost_source": "cdr"});
        assert_has!(found[1], {"started_by": "card", "amount_due": 48});
    }

    #[tokio::test]
    async fn a_report_is_of_the_pending_start_not_a_failed_one() {
        let scene = Scene::new().await;
        let first = scene.start().await;
        let started = scene.app.now();
        scene.result("EVSE_OCCUPIED").await;
        scene.app.advance(240).await;
        let second = scene.start().await;
        // The clock of the network is slow.
        let change = json!({"authorization_reference": null, "start_date_time": started});
        scene.report(&scene.session(change)).await;
        assert_eq!(scene.status(&first).await, failed("network_rejected"));
        assert_eq!(scene.status(&second).await, is("active"));
    }

    #[tokio::test]
    async fn a_second_session_of_a_start_is_of_its_driver_and_vehicle() {
        let scene = Scene::new().await;
        let other = tests::vehicle(&scene.crew.fleet);
        let other = scene.app.alice.create("/v1/vehicles", other).await;
        let session = scene.start_with(json!({"vehicle": other})).await;
        let first = scene.session(json!({}));
        scene.report(&first).await;
        scene.app.advance(240).await;
        scene.complete(&first).await;
        assert_eq!(scene.status(&session).await, is("completed"));
        let second = scene.session(json!({"id": "S2"}));
        scene.report(&second).await;
        let found = sessions(&scene).await;
        assert_eq!(found.len(), 2);
        assert_has!(found[0], {"status": "active", "vehicle": other, "driver": scene.crew.driver});
        scene.app.advance(3600).await;
        scene.complete(&second).await;
        scene.bill(&scene.cdr(&second, json!({"id": "C2"}))).await;
        assert_eq!(scene.invoice().await.1, [energy(968)]);
        assert_eq!(scene.unmatched().await, 0);
    }
}

mod bills {
    use super::*;

    #[tokio::test]
    async fn a_cdr_with_another_session_id_is_billed_once() {
        let scene = Scene::with_card().await;
        let theirs = scene.tap().await;
        scene.app.advance(3600).await;
        scene.complete(&theirs).await;
        let cdr = |id: &str, session: &str| {
            let ids = json!({"id": id, "session_id": session});
            scene.cdr(&theirs, ids)
        };
        bill(&scene, &cdr("C1", "X1")).await;
        let found = sessions(&scene).await;
        assert_eq!((found.len(), &found[0]["cost_source"]), (1, &json!("cdr")));
        assert_eq!(scene.unmatched().await, 0);
        // A second bill for that time is that of a session which is not known.
        bill(&scene, &cdr("C2", "X2")).await;
        assert_eq!(sessions(&scene).await.len(), 1);
        assert_eq!(scene.unmatched().await, 1);
        assert_eq!(scene.invoice().await.1, [energy(968)]);
    }

    #[tokio::test]
    async fn energy_at_a_removed_evse_is_billed() {
        let scene = Scene::with_card().await;
        let theirs = tapped(&scene);
        scene.app.advance(3600).await;
        let removed = json!({"status": "REMOVED", "last_updated": scene.app.now()});
        scene
            .cpo
            .patch("/locations/NL/EXA/AMS-1/E1", &removed)
            .await;
        scene.app.drain().await;
        bill(&scene, &scene.cdr(&theirs, json!({}))).await;
        let check = json!({"network": 968, "ours": 968, "difference": 0});
        let found = sessions(&scene).await.remove(0);
        assert_has!(found, {"connector": "E1-1", "cost_source": "cdr", "price_check": check, "review": null});
        assert_eq!(scene.invoice().await.1, [energy(968)]);
        assert_eq!(scene.unmatched().await, 0);
    }

    #[tokio::test]
    async fn a_card_session_is_charged_to_the_default_method() {
        let scene = Scene::with_card().await;
        let method = scene.app.payment_method("tok_success", json!({})).await;
        let preferred = json!({"preferences": {"default_payment_method": method}});
        let client = &scene.app.alice;
        client.post_ok(&own(client), preferred).await;
        let theirs = scene.tap().await;
        assert_eq!(sessions(&scene).await[0]["payment_method"], json!(method));
        scene.app.advance(3600).await;
        scene.bill(&scene.cdr(&theirs, json!({}))).await;
        scene.app.drain().await;
        assert_has!(sessions(&scene).await[0], {"amount_paid": 968, "amount_due": 0});
    }

    #[tokio::test]
    async fn the_tax_rate_of_a_network_price_is_the_tariffs() {
        let scene = Scene::new().await;
        let (session, theirs) = scene.active().await;
        scene.app.advance(3600).await;
        // 0.26 of 1.23 are 21.14 percent.
        let cost = json!({"total_cost": {"excl_vat": 1.23, "incl_vat": 1.49}});
        scene.bill(&scene.cdr(&theirs, cost)).await;
        let shown = scene.app.alice.get_ok(&path_of(id_of(&session))).await;
        assert_has!(shown, {"/cost_breakdown/0/type": "FLAT", "/cost_breakdown/0/tax_percent": "21"});
    }
}

mod unreported_starts {
    use super::*;

    #[tokio::test]
    async fn a_fleet_is_kept_while_a_start_may_be_reported() {
        let scene = Scene::new().await;
        let session = scene.start().await;
        scene.stop(&session).await.expect(200);
        let client = &scene.app.alice;
        for vehicle in client.get("/v1/vehicles").await.ids() {
            client.delete_ok(&path_of(&vehicle)).await;
        }
        client.delete_ok(&path_of(&scene.crew.driver)).await;
        let fleet = path_of(&scene.crew.fleet);
        let refused = client.delete(&fleet).await.expect(409).body;
        assert_contains(&refused["message"], "may still bill");
        let listed = vec![fixture("location")];
        scene.cpo.list("locations", listed);
        scene.app.advance(3 * 86_400).await;
        client.delete_ok(&fleet).await;
    }
}

mod reused_ids {
    use super::*;

    /// A session of another account, at another connector than the first one, that has begun. The network gives it the same id.
    async fn second_session(scene: &Scene) -> (tests::Client, String, Value) {
        let stranger = scene.app.other_account(Mode::Test).await;
        let crew = scene.app.crew(&stranger).await;
        let start = json!({"charging_station": scene.station, "connector": "E2-1", "driver": crew.driver,
            "vehicle": crew.vehicle});
        let second = stranger.create("/v1/charging_sessions", start).await;
        scene.app.drain().await;
        scene.result("ACCEPTED").await;
        let theirs = scene.session(json!({}));
        scene.report(&theirs).await;
        (stranger, path_of(&second), theirs)
    }

    #[tokio::test]
    async fn a_session_with_a_known_id_is_that_of_its_command() {
        for is_over in [true, false] {
            let mut location = fixture("location");
            location["evses"][1] = with(location["evses"][0].clone(), json!({"uid": "E2"}));
            let scene = Scene::at(location).await;
            let (first, theirs) = scene.active().await;
            scene.app.advance(3600).await;
            let cdr = scene.cdr(&theirs, json!({}));
            if is_over {
                scene.complete(&theirs).await;
            }
            let shown = async || scene.app.alice.get_ok(&path_of(id_of(&first))).await;
            let before = shown().await;
            let (stranger, second, reused) = second_session(&scene).await;
            assert_has!(stranger.get_ok(&second).await, {"status": "active"});
            scene.app.advance(3600).await;
            scene.complete(&reused).await;
            let mut other = scene.cdr(&reused, json!({"id": "C2"}));
            other["cdr_location"]["evse_uid"] = json!("E2");
            scene.bill(&other).await;
            assert_has!(stranger.get_ok(&second).await, {"status": "completed", "cost_source": "cdr", "amount_due": 968});
            assert_eq!(shown().await, before);
            // The id is not that of the first session any more, so that no command is sent for it.
            if !is_over {
                scene.stop(&first).await.expect(200);
                assert!(scene.commands("STOP_SESSION").is_empty());
                let account = scene.app.alice.tenant().account;
                let preferences = json!({"action": "set_charging_preferences", "account": account,
                    "session": id_of(&first), "preferences": {"profile_type": "GREEN"}});
                let refused = manage(&scene.app, preferences).await;
                let refused = refused.expect_err("it would be for the other session");
                assert!(
                    refused.contains("used the id of the session again"),
                    "{refused}"
                );
                assert!(scene.cpo.received("PUT", "/2.2.1/sessions").is_empty());
            }
            scene.bill(&cdr).await;
            assert_has!(shown().await, {"status": "completed", "cost_source": "cdr", "amount_due": 968});
            assert_has!(stranger.get_ok(&second).await, {"amount_due": 968, "amount_adjusted": 0});
            assert_eq!(scene.unmatched().await, 0);
        }
    }

    #[tokio::test]
    async fn a_cdr_is_not_of_a_session_with_another_token() {
        let scene = Scene::new().await;
        let (first, theirs) = scene.active().await;
        scene.app.advance(3600).await;
        scene.complete(&theirs).await;
        scene.bill(&scene.cdr(&theirs, json!({}))).await;
        let shown = async || scene.app.alice.get_ok(&path_of(id_of(&first))).await;
        let before = shown().await;
        let more = json!({"id": "C2", "authorization_reference": null, "total_cost": {"excl_vat": 9, "incl_vat": 10.89}});
        let mut cdr = scene.cdr(&theirs, more);
        cdr["cdr_token"]["uid"] = json!("NOT-OURS");
        bill(&scene, &cdr).await;
        assert_eq!(shown().await, before);
        assert_eq!(scene.unmatched().await, 1);
        // The card of another account has a session of its own.
        let stranger = scene.app.other_account(Mode::Test).await;
        let crew = scene.app.crew(&stranger).await;
        let card = json!({"uid": "0405060708", "driver": crew.driver, "vehicle": crew.vehicle});
        stranger.post_ok("/v1/charge_cards", card).await;
        scene.app.advance(3600).await;
        let start = scene.app.now();
        scene.app.advance(3600).await;
        let mut cdr = with(
            cdr,
            json!({"id": "C3", "start_date_time": start, "end_date_time": scene.app.now()}),
        );
        cdr["cdr_token"] = with(
            cdr["cdr_token"].take(),
            json!({"uid": "0405060708", "type": "RFID", "contract_id": "NA"}),
        );
        bill(&scene, &cdr).await;
        let own = &stranger.get_ok("/v1/charging_sessions").await["data"][0];
        assert_has!(own, {"status": "completed", "started_by": "card", "amount_due": 1089});
        assert_eq!(shown().await, before);
        assert_eq!(scene.unmatched().await, 1);
    }

    #[tokio::test]
    async fn a_token_of_another_type_or_case_is_the_same() {
        let scene = Scene::new().await;
        let (first, theirs) = scene.active().await;
        let mut theirs = with(theirs, json!({"authorization_reference": null}));
        let uid = theirs["cdr_token"]["uid"].as_str().expect("a uid");
        let uid = uid.to_ascii_uppercase();
        theirs["cdr_token"] = with(
            theirs["cdr_token"].take(),
            json!({"uid": uid, "type": "RFID"}),
        );
        scene.app.advance(3600).await;
        scene.complete(&theirs).await;
        bill(&scene, &scene.cdr(&theirs, json!({}))).await;
        let shown = scene.app.alice.get_ok(&path_of(id_of(&first))).await;
        assert_has!(shown, {"status": "completed", "cost_source": "cdr", "amount_due": 968});
        assert_eq!(
            (sessions(&scene).await.len(), scene.unmatched().await),
            (1, 0)
        );
    }

    #[tokio::test]
    async fn a_card_that_is_made_again_keeps_its_running_session() {
        let scene = Scene::with_card().await;
        let theirs = tapped(&scene);
        scene.report(&theirs).await;
        let cards = scene.app.alice.get_ok("/v1/charge_cards").await;
        let mut cards = cards["data"].as_array().expect("cards").iter();
        let card = cards.find(|card| card["type"] == "rfid").expect("the card");
        let card = card.clone();
        scene.app.alice.delete_ok(&path_of(id_of(&card))).await;
        let again =
            json!({"uid": card["uid"], "driver": card["driver"], "vehicle": card["vehicle"]});
        scene.app.advance(600).await;
        scene.app.alice.post_ok("/v1/charge_cards", again).await;
        scene.app.advance(3600).await;
        scene.complete(&theirs).await;
        bill(&scene, &scene.cdr(&theirs, json!({}))).await;
        let session = &scene.app.alice.get_ok("/v1/charging_sessions").await["data"][0];
        assert_has!(session, {"status": "completed", "cost_source": "cdr"});
        assert_eq!(
            (sessions(&scene).await.len(), scene.unmatched().await),
            (1, 0)
        );
    }
}
