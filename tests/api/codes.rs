//! Every error code, reached over HTTP.

use kernel::Code;
use serde_json::{Value, json};
use table::shown::Shows;
use tests::{Crew, TestApp, TestResponse, assert_has, path_of, with};
use web::errors::status as status_of;
use web::{Method, Route};

/// A test for each code, and the list of those that have one.
macro_rules! codes {
    ($($name:ident $code:ident $reach:expr;)*) => {
        const REACHED: &[Code] = &[$(Code::$code,)*];

        $(
            #[tokio::test]
            async fn $name() {
                let app = TestApp::start().await;
                let reach: fn(&TestApp) -> futures::future::BoxFuture<'_, TestResponse> = |app| Box::pin($reach(app));
                let answer = reach(&app).await;
                let code = Code::$code;
                let (status, kind, found, _) = answer.error();
                assert_eq!((status, found), (status_of(code.class()), Some(code.as_str())));
                assert_eq!(stringify!($name), code.as_str());
                assert_eq!(kind == "rate_limit_error", code == Code::RateLimitExceeded);
                assert_eq!(answer.body["status"], json!(status_of(code.class())));
                let anchor = format!("/docs/errors#{}", code.as_str().replace('_', "-"));
                assert!(answer.body["doc_url"].as_str().is_some_and(|url| url.ends_with(&anchor)));
                app.drain().await;
            }
        )*
    };
}

#[test]
fn every_code_is_reached() {
    let missing: Vec<_> = Code::ALL
        .iter()
        .filter(|code| !REACHED.contains(code) && !of_missing_objects().any(|of| of.1 == **code))
        .map(|code| code.as_str())
        .collect();
    assert!(missing.is_empty(), "no test reaches {missing:?}");
}

/// The routes that retrieve an object by its id, each with the code for an object that does not exist.
fn of_missing_objects() -> impl Iterator<Item = (Route, Code)> {
    let routes = functions::endpoints()
        .into_iter()
        .map(|endpoint| endpoint.route);
    routes.filter_map(|route| match route.shows {
        Shows::Object(kind) if route.method == Method::Get && route.path.ends_with("/{id}") => {
            Some((route, kernel::Code::not_found(kind)?))
        }
        _ => None,
    })
}

#[tokio::test]
async fn a_missing_object_is_404_with_the_error_code_of_its_kind() {
    let app = TestApp::start().await;
    for (route, code) in of_missing_objects() {
        let id = format!("{}{UNKNOWN}", route.shows.kind().prefix());
        let answer = app.alice.get(&route.path.replace("{id}", &id)).await;
        answer.expect_error(404, code.as_str(), route.shows.kind().name());
    }
}

/// A well-formed id that belongs to no object.
const UNKNOWN: &str = "01a1f0000000700080000000000000ff";

async fn crew_and_station(app: &TestApp) -> (Crew, String) {
    (app.crew(&app.alice).await, app.station(json!({})).await)
}

async fn card(app: &TestApp, token: &str) -> String {
    let body = json!({"type": "card", "token": token});
    app.alice.create("/v1/payment_methods", body).await
}

async fn start(app: &TestApp, crew: &Crew, station: &str) -> String {
    let body = app.session(crew, station);
    app.alice.create("/v1/charging_sessions", body).await
}

async fn reservation(app: &TestApp, crew: &Crew) -> String {
    let body = app.reservation(crew, 120);
    app.alice.create("/v1/reservations", body).await
}

/// A reservation that has been cancelled.
async fn cancelled(app: &TestApp) -> String {
    let crew = app.crew(&app.alice).await;
    let id = reservation(app, &crew).await;
    let path = format!("/v1/reservations/{id}");
    app.alice
        .post_ok(&format!("{path}/cancel"), json!({}))
        .await;
    path
}

/// An invoice of a month without charging.
async fn invoice(app: &TestApp) -> String {
    let body =
        json!({"period_start": "2026-01-01T00:00:00Z", "period_end": "2026-02-01T00:00:00Z"});
    path_of(&app.alice.create("/v1/invoices", body).await)
}

/// An invoice that is paid, because its amount is zero.
async fn paid_invoice(app: &TestApp) -> String {
    let path = invoice(app).await;
    let done = app
        .alice
        .post_ok(&format!("{path}/finalize"), json!({}))
        .await;
    assert_eq!(done["status"], "paid");
    path
}

codes! {
    account_not_found AccountNotFound async |app: &TestApp| app.alice.get(&format!("/v1/accounts/acct_{UNKNOWN}")).await;
    owner_scope_invalid OwnerScopeInvalid async |app: &TestApp| {
        let (crew, station) = crew_and_station(app).await;
        let stranger = app.alice.create("/v1/drivers", tests::driver()).await;
        let body = with(app.session(&crew, &station), json!({"driver": stranger}));
        app.alice.post("/v1/charging_sessions", body).await
    };
    charge_card_conflict ChargeCardConflict async |app: &TestApp| {
        let crew = app.crew(&app.alice).await;
        let body = json!({"uid": "04AABBCC", "vehicle": crew.vehicle});
        app.alice.post_ok("/v1/charge_cards", body.clone()).await;
        app.alice.post("/v1/charge_cards", body).await
    };
    charging_session_conflict ChargingSessionConflict async |app: &TestApp| {
        let (crew, station) = crew_and_station(app).await;
        start(app, &crew, &station).await;
        app.alice.post("/v1/charging_sessions", app.session(&crew, &station)).await
    };
    charging_session_dependency_not_found ChargingSessionDependencyNotFound async |app: &TestApp| {
        let crew = app.crew(&app.alice).await;
        let body = app.session(&crew, &format!("chst_{UNKNOWN}"));
        app.alice.post("/v1/charging_sessions", body).await
    };
    charging_session_not_found ChargingSessionNotFound async |app: &TestApp| {
        app.alice.get(&format!("/v1/charging_sessions/cs_{UNKNOWN}")).await
    };
    charging_session_state_conflict ChargingSessionStateConflict async |app: &TestApp| {
        let (crew, station) = crew_and_station(app).await;
        let stop = format!("/v1/charging_sessions/{}/stop", start(app, &crew, &station).await);
        app.alice.post_ok(&stop, json!({})).await;
        app.alice.post(&stop, json!({})).await
    };
    charging_station_not_found ChargingStationNotFound async |app: &TestApp| {
        app.alice.get(&format!("/v1/charging_stations/chst_{UNKNOWN}")).await
    };
    credit_note_not_found CreditNoteNotFound async |app: &TestApp| app.alice.get(&format!("/v1/credit_notes/crn_{UNKNOWN}")).await;
    driver_fleet_conflict DriverFleetConflict async |app: &TestApp| {
        let crew = app.crew(&app.alice).await;
        let path = format!("/v1/drivers/{}/attach", crew.driver);
        app.alice.post(&path, json!({"fleet": crew.fleet})).await
    };
    driver_not_found DriverNotFound async |app: &TestApp| app.alice.get(&format!("/v1/drivers/drv_{UNKNOWN}")).await;
    driver_or_fleet_not_found DriverOrFleetNotFound async |app: &TestApp| {
        let crew = app.crew(&app.alice).await;
        let other = app.alice.create("/v1/fleets", tests::fleet()).await;
        let path = format!("/v1/charging_sessions?driver={}&fleet={other}", crew.driver);
        app.alice.get(&path).await
    };
    fleet_not_found FleetNotFound async |app: &TestApp| app.alice.get(&format!("/v1/fleets/flt_{UNKNOWN}")).await;
    estimation_not_found EstimationNotFound async |app: &TestApp| {
        app.alice.get(&format!("/v1/estimations/est_{UNKNOWN}")).await
    };
    estimation_validation_error EstimationValidationError async |app: &TestApp| {
        let (crew, station) = crew_and_station(app).await;
        let body = json!({"charging_station": station, "vehicle": crew.vehicle, "battery_level": 80,
            "battery_target_level": 20});
        app.alice.post("/v1/estimations", body).await
    };
    invoice_finalize_invalid_state InvoiceFinalizeInvalidState async |app: &TestApp| {
        let path = paid_invoice(app).await;
        app.alice.post(&format!("{path}/finalize"), json!({})).await
    };
    invoice_not_found InvoiceNotFound async |app: &TestApp| app.alice.get(&format!("/v1/invoices/inv_{UNKNOWN}")).await;
    invoice_payment_invalid_state InvoicePaymentInvalidState async |app: &TestApp| {
        let method = card(app, "tok_success").await;
        let path = invoice(app).await;
        app.alice.post(&format!("{path}/pay"), json!({"payment_method": method})).await
    };
    invoice_update_invalid_state InvoiceUpdateInvalidState async |app: &TestApp| {
        let path = paid_invoice(app).await;
        app.alice.post(&path, json!({"description": "late"})).await
    };
    invoice_validation_error InvoiceValidationError async |app: &TestApp| {
        let body = json!({"period_start": "2026-02-01T00:00:00Z", "period_end": "2026-01-01T00:00:00Z"});
        app.alice.post("/v1/invoices", body).await
    };
    invoice_void_invalid_state InvoiceVoidInvalidState async |app: &TestApp| {
        let path = invoice(app).await;
        app.alice.post(&format!("{path}/void"), json!({})).await
    };
    payment_authorization_failed PaymentAuthorizationFailed async |app: &TestApp| {
        let crew = app.crew(&app.alice).await;
        let body = json!({"amount": 500, "payment_method": card(app, "tok_insufficient_funds").await});
        let answer = app.alice.post(&format!("/v1/fleets/{}/top_up", crew.fleet), body).await;
        assert_eq!(answer.body["decline_code"], "insufficient_funds");
        answer
    };
    payment_method_invalid_input PaymentMethodInvalidInput async |app: &TestApp| {
        let body = json!({"type": "card", "token": "4242 4242 4242 4242"});
        app.alice.post("/v1/payment_methods", body).await
    };
    payment_method_not_found PaymentMethodNotFound async |app: &TestApp| {
        app.alice.get(&format!("/v1/payment_methods/pm_{UNKNOWN}")).await
    };
    payment_method_owner_not_found PaymentMethodOwnerNotFound async |app: &TestApp| {
        let body = json!({"type": "card", "token": "tok_success", "driver": format!("drv_{UNKNOWN}")});
        app.alice.post("/v1/payment_methods", body).await
    };
    payment_method_scope_invalid PaymentMethodScopeInvalid async |app: &TestApp| {
        let crew = app.crew(&app.alice).await;
        let body = json!({"type": "card", "token": "tok_success", "driver": crew.driver, "fleet": crew.fleet});
        app.alice.post("/v1/payment_methods", body).await
    };
    payment_method_scope_not_found PaymentMethodScopeNotFound async |app: &TestApp| {
        app.alice.get(&format!("/v1/payment_methods?fleet=flt_{UNKNOWN}")).await
    };
    policy_blocked PolicyBlocked async |app: &TestApp| {
        let (crew, station) = crew_and_station(app).await;
        let body = json!({"name": "No Voltway", "rules": {"denied_operators": ["Voltway"]}});
        let policy = app.alice.create("/v1/policies", body).await;
        let held = json!({"policy_ids": [policy]});
        app.alice.post_ok(&path_of(&crew.fleet), held).await;
        let answer = app.alice.post("/v1/charging_sessions", app.session(&crew, &station)).await;
        assert_has!(answer.body, {"policy": policy, "rule": "denied_operators"});
        answer
    };
    policy_not_found PolicyNotFound async |app: &TestApp| app.alice.get(&format!("/v1/policies/pol_{UNKNOWN}")).await;
    rate_limit_exceeded RateLimitExceeded async |app: &TestApp| {
        let slow = TestApp::start_with(|options| options.rate = 1).await;
        let mut answer = slow.alice.get("/v1/fleets").await;
        for _ in 0..3 {
            answer = slow.alice.get("/v1/fleets").await;
        }
        assert!(answer.header("retry-after").parse::<u64>().is_ok_and(|seconds| seconds > 0));
        // Other requests are not delayed.
        app.alice.get_ok("/v1/fleets").await;
        answer
    };
    report_not_found ReportNotFound async |app: &TestApp| app.alice.get(&format!("/v1/reports/rpt_{UNKNOWN}")).await;
    report_validation_error ReportValidationError async |app: &TestApp| {
        let body = json!({"parameters": {"type": "charging_summary", "period_start": "2026-02-01T00:00:00Z",
            "period_end": "2026-01-01T00:00:00Z"}});
        app.alice.post("/v1/reports", body).await
    };
    reservation_cancel_invalid_state ReservationCancelInvalidState async |app: &TestApp| {
        let path = cancelled(app).await;
        app.alice.post(&format!("{path}/cancel"), json!({})).await
    };
    reservation_invalid_input ReservationInvalidInput async |app: &TestApp| {
        let crew = app.crew(&app.alice).await;
        app.alice.post("/v1/reservations", app.reservation(&crew, -60)).await
    };
    reservation_invalid_state ReservationInvalidState async |app: &TestApp| {
        app.station(json!({"location": {"latitude": 51.507, "longitude": -0.128}})).await;
        let crew = app.crew(&app.alice).await;
        let path = format!("/v1/reservations/{}", reservation(app, &crew).await);
        app.advance(115 * 60).await;
        let confirmed = app.alice.get_ok(&path).await;
        let station = confirmed["charging_station"].as_str().expect("a station").to_owned();
        // The vehicle charges at the reserved connector, so the reservation cannot be cancelled any more.
        let connectors = app.alice.get_ok(&path_of(&station)).await["connectors"].clone();
        let mut started = Value::Null;
        for connector in connectors.as_array().expect("connectors") {
            let body = with(app.session(&crew, &station), json!({"connector": connector["id"]}));
            let answer = app.alice.post("/v1/charging_sessions", body).await;
            if answer.status == 200 {
                started = answer.body;
                break;
            }
        }
        assert_eq!(started["status"], "active");
        app.alice.post(&format!("{path}/cancel"), json!({})).await
    };
    reservation_not_found ReservationNotFound async |app: &TestApp| {
        app.alice.get(&format!("/v1/reservations/res_{UNKNOWN}")).await
    };
    reservation_update_invalid_state ReservationUpdateInvalidState async |app: &TestApp| {
        let path = cancelled(app).await;
        app.alice.post(&path, json!({})).await
    };
    site_not_found SiteNotFound async |app: &TestApp| app.alice.get(&format!("/v1/sites/site_{UNKNOWN}")).await;
    transaction_not_found TransactionNotFound async |app: &TestApp| {
        app.alice.get(&format!("/v1/transactions/txn_{UNKNOWN}")).await
    };
    unsupported_expand_value UnsupportedExpandValue async |app: &TestApp| {
        app.alice.get("/v1/reservations?expand[]=data.status").await
    };
    vehicle_not_found VehicleNotFound async |app: &TestApp| app.alice.get(&format!("/v1/vehicles/veh_{UNKNOWN}")).await;
    vehicle_owner_not_found VehicleOwnerNotFound async |app: &TestApp| {
        app.alice.post("/v1/vehicles", tests::vehicle(&format!("flt_{UNKNOWN}"))).await
    };
    vehicle_telemetry_not_found VehicleTelemetryNotFound async |app: &TestApp| {
        let crew = app.crew(&app.alice).await;
        app.alice.get(&format!("/v1/vehicles/{}/telemetry", crew.vehicle)).await
    };
    version_conflict VersionConflict async |app: &TestApp| {
        let crew = app.crew(&app.alice).await;
        let path = format!("/v1/fleets/{}", crew.fleet);
        let body = Some(json!({"name": "Day shift"}).to_string());
        app.alice.send("POST", &path, body, &[("if-match", "\"99\"")]).await
    };
    webhook_endpoint_not_found WebhookEndpointNotFound async |app: &TestApp| {
        app.alice.get(&format!("/v1/webhook_endpoints/wh_{UNKNOWN}")).await
    };
    webhook_replay_not_found WebhookReplayNotFound async |app: &TestApp| {
        let hook = json!({"url": "https://fleet.example/hook", "enabled_events": ["ping"]});
        let endpoint = app.alice.create("/v1/webhook_endpoints", hook).await;
        app.alice.get(&format!("/v1/webhook_endpoints/{endpoint}/replay")).await
    };
}
