//! The tokens of the service: those of charge cards at the operator, real-time authorization, and sessions that are started with a card.

use network::Fault;
use ocpi_kit::VersionNumber;
use ocpi_kit::transport::OcpiError;
use ocpi_kit::v2_3_0::tokens::{
    AllowedType, AuthorizationInfo, LocationReferences, TokenType, WhitelistType,
};
use serde_json::{Value, json};

use crate::scene::{SESSIONS, Scene, energy, text, with};
use crate::{VERSIONS, connected};

const UID: &str = "04A1B2C3D4E5F6";

fn place(evses: &[&str]) -> LocationReferences {
    LocationReferences {
        location_id: "LOC1".into(),
        evse_uids: evses.iter().map(|evse| (*evse).into()).collect(),
        extensions: Default::default(),
    }
}

/// Creates a charge card of the driver and the vehicle. Returns its path.
async fn make(scene: &Scene) -> String {
    let body = json!({"uid": UID, "driver": scene.driver, "vehicle": scene.vehicle});
    let card = scene.runner.post("/v1/charge_cards", body).await.ok();
    format!("/v1/charge_cards/{}", text(&card["id"]))
}

/// Creates a charge card, and waits until the operator has its token. Returns the path of the card, and the token.
pub async fn card(scene: &Scene) -> (String, Value) {
    let path = make(scene).await;
    (path, token(scene, true).await)
}

/// Waits until the operator has the card's token, valid or not.
async fn token(scene: &Scene, valid: bool) -> Value {
    let what = format!("a token with valid: {valid}");
    let stored = async || {
        let token = scene.cpo.objects().tokens.get(UID);
        token.filter(|token| token.valid == valid)
    };
    let token = scene.until(&what, stored).await;
    serde_json::to_value(token).expect("JSON")
}

async fn authorize(scene: &Scene, place: Option<&LocationReferences>) -> AuthorizationInfo {
    let emsp = scene.cpo.emsp();
    let session = scene.cpo.session(&emsp);
    let tokens = session.tokens();
    let answer = tokens.authorize(UID, Some(TokenType::Rfid), place).await;
    answer.expect("an answer")
}

#[tokio::test]
async fn an_unknown_token_is_not_authorized() {
    let (_runner, cpo) = connected(VersionNumber::V2_2_1).await;
    let emsp = cpo.emsp();
    let session = cpo.session(&emsp);
    let answer = session
        .tokens()
        .authorize("nobody", Some(TokenType::Rfid), Some(&place(&[])))
        .await;
    // "When the eMSP does not know the Token, the eMSP SHALL respond with an HTTP status code: 404" (2.2.1, 12.2.2.2).
    let unknown = matches!(answer, Err(OcpiError::NotFound(_)));
    assert!(unknown, "{answer:?}");
}

#[tokio::test]
async fn a_charge_card_token_is_authorized_until_it_is_blocked() {
    for version in VERSIONS {
        let scene = Scene::new(version).await;
        let (card, token) = card(&scene).await;
        assert_eq!(
            (&token["type"], &token["whitelist"]),
            (&json!("RFID"), &json!("ALLOWED"))
        );
        let allowed = authorize(&scene, Some(&place(&["3256"]))).await;
        assert_eq!(allowed.allowed, AllowedType::Allowed);
        assert_eq!(allowed.token.uid.as_str(), UID);
        assert!(allowed.authorization_reference.is_some());
        let evses = allowed.location.expect("a location").evse_uids;
        assert_eq!(evses.len(), 1);
        let anywhere = authorize(&scene, None).await;
        assert_eq!(anywhere.allowed, AllowedType::Allowed);
        let block = json!({"status": "blocked"});
        scene.runner.post(&card, block).await.ok();
        self::token(&scene, false).await;
        let blocked = authorize(&scene, Some(&place(&["3256"]))).await;
        assert_eq!(blocked.allowed, AllowedType::Blocked);
        assert!(blocked.location.is_none() && !blocked.token.valid);
        let activate = json!({"status": "active"});
        scene.runner.post(&card, activate).await.ok();
        self::token(&scene, true).await;
        let again = authorize(&scene, None).await;
        assert_eq!(again.allowed, AllowedType::Allowed);
        // The token of a card that was deleted is not valid.
        let deleted = scene.runner.delete(&card).await.ok();
        assert_eq!(deleted["deleted"], true);
        self::token(&scene, false).await;
    }
}

#[tokio::test]
async fn a_location_dependent_policy_requires_a_known_location() {
    let scene = Scene::new(VersionNumber::V2_3_0).await;
    card(&scene).await;
    let policy = json!({"name": "P", "rules": {"denied_operators": ["Nobody"]}});
    let policy = scene.runner.post("/v1/policies", policy).await.ok();
    let driver = format!("/v1/drivers/{}", text(&scene.driver));
    let change = json!({"policy_ids": [policy["id"]]});
    scene.runner.post(&driver, change).await.ok();
    // The operator has to request authorization from now on.
    let is_asked_about = async || {
        let token = scene.cpo.objects().tokens.get(UID)?;
        (token.whitelist == WhitelistType::Never).then_some(())
    };
    scene.until("a token to ask about", is_asked_about).await;
    let known = authorize(&scene, Some(&place(&["3256"]))).await;
    assert_eq!(known.allowed, AllowedType::Allowed);
    let mut elsewhere = place(&[]);
    elsewhere.location_id = "LOC2".into();
    // OCPI status codes: 2002, not enough information; 2003, unknown location.
    for (place, code) in [(None, 2002), (Some(&elsewhere), 2003)] {
        let emsp = scene.cpo.emsp();
        let tokens = scene.cpo.session(&emsp).tokens();
        let answer = tokens.authorize(UID, Some(TokenType::Rfid), place).await;
        let Err(OcpiError::Remote { status_code, .. }) = answer else {
            panic!("{code}: {answer:?}");
        };
        assert_eq!(status_code.get(), code);
    }
}

#[tokio::test]
async fn a_token_that_the_operator_could_not_take_is_sent_again() {
    for fault in [Fault::Status(500), Fault::Malformed] {
        let scene = Scene::new(VersionNumber::V2_2_1).await;
        scene.cpo.fail("/tokens/", fault);
        make(&scene).await;
        let failed = async || (scene.cpo.failed() > 0).then_some(());
        scene.until("a token", failed).await;
        assert!(scene.cpo.objects().tokens.get(UID).is_none());
        scene.cpo.heal();
        token(&scene, true).await;
    }
}

#[tokio::test]
async fn a_session_started_with_a_card_is_recorded_and_billed() {
    for version in VERSIONS {
        let scene = Scene::new(version).await;
        let (_, token) = card(&scene).await;
        let authorized = authorize(&scene, Some(&place(&["3256"]))).await;
        let reference = authorized.authorization_reference;
        let theirs = scene.theirs_of("201", &token).await;
        let theirs = with(
            &theirs,
            json!({"auth_method": "AUTH_REQUEST", "authorization_reference": reference}),
        );
        scene.report(&theirs, json!({})).await;
        let path = format!("{SESSIONS}?driver={}", text(&scene.driver));
        let listed = async || {
            let listed = scene.runner.get(&path).await.ok()["data"][0].clone();
            listed.is_object().then_some(listed)
        };
        let session = scene.until("a charging session", listed).await;
        assert_eq!(
            (
                &session["started_by"],
                &session["status"],
                &session["connector"]
            ),
            (&json!("card"), &json!("active"), &json!("3256-1"))
        );
        assert_eq!(
            (&session["driver"], &session["vehicle"]),
            (&scene.driver, &scene.vehicle)
        );
        assert_eq!(scene.cpo.commands(), []);
        let session = format!("{SESSIONS}/{}", text(&session["id"]));
        // The app can end the session that the card has started.
        scene.stop(&session).await;
        let stop = scene.command("STOP_SESSION", 1).await;
        assert_eq!(stop.body["session_id"], "201");
        scene.ended(&session, &theirs, "CDR1").await;
        assert_eq!(scene.invoice().await.1, [energy(330)]);
        assert_eq!(scene.unmatched().await, []);
    }
}

#[tokio::test]
async fn energy_charged_offline_with_a_blocked_card_is_billed() {
    let scene = Scene::new(VersionNumber::V2_2_1).await;
    let (card, token) = card(&scene).await;
    scene
        .runner
        .post(&card, json!({"status": "blocked"}))
        .await
        .ok();
    self::token(&scene, false).await;
    // The reader was offline, and had the token on its whitelist.
    let theirs = scene.theirs_of("201", &token).await;
    scene.runner.advance(1800).await;
    scene.bill(&scene.cdr("CDR1", &theirs).await).await;
    // The report of its session does not come.
    scene.runner.advance(60).await;
    assert_eq!(scene.invoice().await.1, [energy(330)]);
    assert_eq!(scene.unmatched().await, []);
}
