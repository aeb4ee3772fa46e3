//! Lost triggers: the sweep finds the pending work.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use functions::app::{App, Ports};
use functions::job::Job as _;
use functions::jobs;
use functions::stream::overdue::Repeats;
use functions::stream::relay::{StreamRecord, handle_batch};
use functions::stream::sweep::SweepPartition;
use futures::future::BoxFuture;

use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};
use functions::stream::sweep;
use kernel::time::{MINUTE, hours};
use kernel::{Error, Id, Kind, Origin, Timestamp};
use models::event_type::EventType;
use models::ports::{DueCursor, FailedChange, Message, Queue, QueueDepth};
use models::{Fleet, WebhookDelivery};
use serde_json::{Value, json};
use table::deliveries::{Attempt, Claim};
use table::keys::{Key, NEXT_ACTION_PARTITIONS, next_actions};
use table::sweep::SWEEP_PAGE;
use tests::player::Player;
use tests::{Receiver, TestApp, assert_has, fleet};
use tokio::time::Instant;
use tracing::Span;

use crate::rematches::closing;
use crate::reservations::{confirmed_at_one_station, events};

#[tokio::test]
async fn a_reservation_with_a_lost_schedule_is_confirmed_by_the_sweep() {
    let (app, crew) = TestApp::with_crew().await;
    let id = app
        .alice
        .create("/v1/reservations", app.reservation(&crew, 60))
        .await;
    app.running().lose_triggers().await.expect("lost");
    app.advance(31 * 60).await;
    let path = format!("/v1/reservations/{id}");
    assert_eq!(app.alice.get_ok(&path).await["status"], "pending");
    assert_eq!(
        sweep::handle(app.app()).await.expect("a sweep"),
        0,
        "what is due for a minute may yet come by itself"
    );
    app.advance(2 * 60).await;
    assert_eq!(sweep::handle(app.app()).await.expect("a sweep"), 1);
    app.drain().await;
    assert_eq!(app.alice.get_ok(&path).await["status"], "confirmed");
}

#[tokio::test]
async fn a_delivery_whose_message_was_lost_is_made_all_the_same() {
    let app = TestApp::start().await;
    let receiver = Receiver::start().await;
    receiver.answer(&[500]);
    receiver.subscribe(&app.alice, &["fleet.created"]).await;
    app.alice.post_ok("/v1/fleets", fleet()).await;
    app.drain().await;
    app.running().lose_triggers().await.expect("lost");
    app.advance(10 * 60).await;
    assert_eq!(receiver.received().len(), 1);
    assert_eq!(sweep::handle(app.app()).await.expect("a sweep"), 1);
    app.drain().await;
    assert_eq!(receiver.received().len(), 2);
    app.advance(10 * 60).await;
    assert_eq!(sweep::handle(app.app()).await.expect("a sweep"), 0);
}

#[tokio::test]
async fn an_attempt_that_was_claimed_and_never_finished_is_made_again() {
    let app = TestApp::start().await;
    let receiver = Receiver::start().await;
    receiver.answer(&[500]);
    let endpoint = receiver.subscribe(&app.alice, &["fleet.created"]).await;
    app.alice.post_ok("/v1/fleets", fleet()).await;
    app.drain().await;
    app.running().lose_triggers().await.expect("lost");
    app.advance(10).await;
    // A worker claims the second attempt, and crashes.
    let tenant = app.alice.tenant();
    let event = receiver.received()[0].event["id"]
        .as_str()
        .map(kernel::Id::from)
        .expect("an id");
    let origin = kernel::Origin::background(tenant, app.now());
    let until = app.now().plus(MINUTE);
    let claimed = app
        .app()
        .store
        .claim_attempt(&origin, &event, &endpoint.as_str().into(), 2, until)
        .await;
    let claimed = claimed.expect("a claim");
    assert!(
        matches!(claimed, Claim::Granted(Attempt { is_new: false, .. })),
        "{claimed:?}"
    );
    app.advance(10 * 60).await;
    assert_eq!(receiver.received().len(), 1);
    sweep::handle(app.app()).await.expect("a sweep");
    app.drain().await;
    assert_eq!(receiver.received().len(), 2);
}

#[tokio::test]
async fn a_crashed_delivery_attempt_is_followed_by_a_second_attempt() {
    let app = TestApp::start().await;
    let receiver = Receiver::start().await;
    let endpoint = receiver.subscribe(&app.alice, &["fleet.created"]).await;
    let endpoint = Id::from(endpoint);
    let path = format!("/v1/webhook_endpoints/{endpoint}");
    let ping = app.alice.post(&format!("{path}/test"), json!({})).await;
    let (event, ping) = (Id::from(ping.id()), format!("/v1/events/{}", ping.id()));
    let origin = kernel::Origin::background(app.alice.tenant(), app.now());
    let (store, until) = (&app.app().store, app.now().plus(MINUTE));
    let claimed = store.claim_attempt(&origin, &event, &endpoint, 1, until);
    let claimed = claimed.await.expect("a claim");
    assert!(
        matches!(claimed, Claim::Granted(Attempt { is_new: true, .. })),
        "{claimed:?}"
    );
    let log = format!("{path}/deliveries");
    for _ in 0..2 {
        // The message arrives, and waits for the end of the claim.
        app.drain().await;
        app.advance(25).await;
        assert_eq!(receiver.received().len(), 0);
        assert_eq!(app.alice.get_ok(&log).await["data"], json!([]));
        assert_eq!(app.alice.get_ok(&ping).await["pending_webhooks"], 1);
    }
    app.advance(12).await;
    assert_eq!(receiver.types(), ["ping"]);
    let lines = app.alice.get_ok(&log).await["data"].clone();
    assert_eq!(
        (lines.as_array().expect("lines").len(), &lines[0]["attempt"]),
        (1, &json!(2))
    );
    assert_eq!(app.alice.get_ok(&ping).await["pending_webhooks"], 0);
}

/// Deletes a fleet, and loses every trigger. The event is in the table for three minutes, and was not delivered.
async fn delete_unheard(app: &TestApp, id: &str) {
    let (store, origin) = (
        &app.app().store,
        Origin::background(app.alice.tenant(), app.now()),
    );
    let fleet = store.load::<Fleet>(&origin.tenant, &Id::from(id)).await;
    let mut fleet = fleet.expect("the fleet");
    fleet.record(EventType::FleetDeleted);
    let mut tx = store.begin(&origin);
    tx.delete(&fleet).expect("a write");
    tx.commit_without_response().await.expect("a deletion");
    app.running().lose_triggers().await.expect("lost");
    app.advance(3 * 60).await;
}

/// Sweeps each partition from its beginning, as `sweep-partition` does with what follows the first page.
async fn sweep_partitions(app: &TestApp) {
    for partition in 0..NEXT_ACTION_PARTITIONS {
        let part = SweepPartition {
            repeats: Repeats::of_run(partition, None, app.now()),
            after: DueCursor {
                pk: "#".to_owned(),
                sk: "#".to_owned(),
                next_at: Timestamp::EPOCH.to_string(),
            },
        };
        let message = part.message().expect("a message");
        jobs::work(app.app(), &message).await.expect("a partition");
    }
}

#[tokio::test]
async fn every_kind_of_endpoint_has_events_whose_changes_were_lost() {
    for is_first_page in [true, false] {
        let app = TestApp::start().await;
        let (receiver, failing) = (Receiver::start().await, Receiver::start().await);
        failing.answer(&[500]);
        let ordered = |receiver: &Receiver, event: &str| json!({"url": receiver.url, "enabled_events": [event], "ordered": true});
        let hooks = "/v1/webhook_endpoints";
        let polling = json!({"type": "polling", "enabled_events": ["fleet.deleted"]});
        let polling = app.alice.create(hooks, polling).await;
        for hook in [
            ordered(&receiver, "fleet.deleted"),
            ordered(&failing, "fleet.created"),
        ] {
            app.alice.post_ok(hooks, hook).await;
        }
        let path = format!("{hooks}/{polling}/events");
        let begin = app.alice.get_ok(&path).await["cursor"].clone();
        let id = app.alice.create("/v1/fleets", fleet()).await;
        app.drain().await;
        // The queue of an endpoint that is newer than the fleet begins with the deletion, which the endpoint does not want.
        app.alice
            .post_ok(hooks, ordered(&failing, "fleet.created"))
            .await;
        delete_unheard(&app, &id).await;
        if is_first_page {
            sweep::handle(app.app()).await.expect("a sweep");
        } else {
            sweep_partitions(&app).await;
        }
        app.drain().await;
        app.advance(60).await;
        assert_eq!(receiver.types(), ["fleet.deleted"]);
        assert_eq!(failing.types(), ["fleet.created"; 2]);
        let begin = begin.as_str().expect("a cursor");
        let page = app.alice.get_ok(&format!("{path}?cursor={begin}")).await;
        assert_eq!(page["data"][0]["type"], "fleet.deleted");
    }
}

#[tokio::test]
async fn what_follows_the_first_page_of_a_partition_is_read() {
    let (app, crew) = TestApp::with_crew().await;
    let receiver = Receiver::start().await;
    receiver.answer(&[500]);
    receiver
        .subscribe(&app.alice, &["reservation.created"])
        .await;
    let reservation = app.reservation(&crew, 60);
    let reservation = app.alice.create("/v1/reservations", reservation).await;
    app.drain().await;
    app.running().lose_triggers().await.expect("lost");
    app.advance(33 * 60).await;
    sweep_partitions(&app).await;
    app.drain().await;
    assert_eq!(receiver.received().len(), 2);
    let path = format!("/v1/reservations/{reservation}");
    assert_eq!(app.alice.get_ok(&path).await["status"], "confirmed");
}

#[tokio::test]
async fn a_deletion_is_delivered_once_although_every_trigger_was_lost() {
    let app = TestApp::start().await;
    let receiver = Receiver::subscribed(&app.alice, &["fleet.deleted"]).await;
    let id = app.alice.create("/v1/fleets", fleet()).await;
    app.drain().await;
    delete_unheard(&app, &id).await;
    assert_eq!(receiver.received().len(), 0);
    assert_eq!(sweep::handle(app.app()).await.expect("a sweep"), 1);
    // Only the message of the first attempt represents the delivery. It is lost with all others.
    app.running().lose_triggers().await.expect("lost");
    app.advance(3 * 60).await;
    assert_eq!(receiver.received().len(), 0);
    let found = sweep::before(app.app(), app.now()).await;
    assert_eq!(found.expect("a sweep"), 1);
    app.drain().await;
    assert_eq!(receiver.types(), ["fleet.deleted"]);
    assert_eq!(receiver.received()[0].event["data"]["object"]["id"], id);
    app.advance(3 * 60).await;
    assert_eq!(sweep::handle(app.app()).await.expect("a sweep"), 0);
    app.drain().await;
    assert_eq!(receiver.received().len(), 1);
}

#[tokio::test]
async fn a_confirmed_reservation_expires_though_its_schedule_was_lost() {
    let (app, crew) = TestApp::with_crew().await;
    let id = app
        .alice
        .create("/v1/reservations", app.reservation(&crew, 60))
        .await;
    app.advance(31 * 60).await;
    app.running().lose_triggers().await.expect("lost");
    app.advance(60 * 60).await;
    let path = format!("/v1/reservations/{id}");
    assert_eq!(app.alice.get_ok(&path).await["status"], "confirmed");
    assert_eq!(sweep::handle(app.app()).await.expect("a sweep"), 1);
    app.drain().await;
    assert_eq!(app.alice.get_ok(&path).await["status"], "expired");
}

#[tokio::test]
async fn sweeping_what_was_not_lost_repeats_nothing() {
    let app = TestApp::start().await;
    let receiver = Receiver::start().await;
    receiver.answer(&[500, 500]);
    receiver.subscribe(&app.alice, &["*"]).await;
    app.alice.post_ok("/v1/fleets", fleet()).await;
    app.drain().await;
    let everything = kernel::Timestamp::from_unix_millis(i64::MAX);
    for _ in 0..3 {
        // The event, and the fleets whose periods continue.
        let found = sweep::before(app.app(), everything).await;
        assert!((2..=3).contains(&found.expect("a sweep")));
    }
    app.advance(7).await;
    assert_eq!(receiver.received().len(), 2);
    app.advance(24 * 3600).await;
    assert_eq!(receiver.types(), ["fleet.created"; 3]);
}

/// Breaks the connectors of a station on which a reservation is confirmed, and loses the message about it.
async fn broken_unheard(app: &TestApp) -> (String, String) {
    lost_unheard(app, |_| json!({"status": "maintenance"})).await
}

/// Changes a station on which a reservation is confirmed, and loses the message about it.
async fn lost_unheard(app: &TestApp, change: fn(&Value) -> Value) -> (String, String) {
    let (path, station, reservation) = confirmed_at_one_station(app, 60).await;
    app.change_station(&station, change(&reservation)).await;
    app.running().lose_messages().await.expect("lost");
    app.advance(60).await;
    assert_eq!(sweep::handle(app.app()).await.expect("a sweep"), 0);
    app.advance(2 * 60).await;
    assert_eq!(app.alice.get_ok(&path).await, reservation);
    (path, station)
}

#[tokio::test]
async fn the_sweep_rematches_reservations_of_broken_connectors() {
    let app = TestApp::start().await;
    let (path, station) = broken_unheard(&app).await;
    let other = app.station(json!({})).await;
    assert_eq!(sweep::handle(app.app()).await.expect("a sweep"), 1);
    app.drain().await;
    assert_has!(app.alice.get_ok(&path).await, {"status": "confirmed", "charging_station": other});
    let types = events(&app, &path).await;
    assert_eq!(types.last().expect("events"), "reassigned");
    // It waits for its vehicle again, as before.
    assert_ne!(station, other);
    app.advance(3 * 60).await;
    assert_eq!(sweep::handle(app.app()).await.expect("a sweep"), 0);
    app.advance(45 * 60).await;
    assert_eq!(app.alice.get_ok(&path).await["status"], "expired");
}

#[tokio::test]
async fn rematching_repeats_every_five_minutes_despite_lost_messages() {
    let app = TestApp::start().await;
    let (path, _) = broken_unheard(&app).await;
    assert_eq!(sweep::handle(app.app()).await.expect("a sweep"), 1);
    // The attempt is made three minutes late and finds nothing; the message of the next one is lost as well.
    app.drain().await;
    app.running().lose_messages().await.expect("lost");
    let other = app.station(json!({})).await;
    app.advance(3 * 60).await;
    assert_eq!(sweep::handle(app.app()).await.expect("a sweep"), 0);
    app.advance(2 * 60).await;
    assert_eq!(sweep::handle(app.app()).await.expect("a sweep"), 1);
    app.drain().await;
    let moved = app.alice.get_ok(&path).await;
    assert_eq!(moved["charging_station"], json!(other));
}

#[tokio::test]
async fn a_station_usable_again_in_time_keeps_its_reservation() {
    let changes: [fn(&Value) -> Value; 2] = [
        |_| json!({"status": "maintenance"}),
        |reservation| closing(&reservation["reserved_start"], &reservation["reserved_end"]),
    ];
    for change in changes {
        let app = TestApp::start().await;
        let (path, station) = lost_unheard(&app, change).await;
        assert_eq!(sweep::handle(app.app()).await.expect("a sweep"), 1);
        app.change_station(&station, json!({})).await;
        app.drain().await;
        app.advance(6 * 60).await;
        assert_has!(app.alice.get_ok(&path).await, {"status": "confirmed", "charging_station": station});
        assert_eq!(events(&app, &path).await, ["created", "confirmed"]);
        app.advance(45 * 60).await;
        assert_eq!(app.alice.get_ok(&path).await["status"], "expired");
    }
}

#[tokio::test]
async fn a_reservation_not_rematched_fails_when_its_window_starts() {
    let app = TestApp::start().await;
    let (path, _) = broken_unheard(&app).await;
    for _ in 0..40 {
        app.running().lose_messages().await.expect("lost");
        app.advance(60).await;
        sweep::handle(app.app()).await.expect("a sweep");
        app.drain().await;
    }
    let failed = app.alice.get_ok(&path).await;
    assert_has!(failed, {"status": "failed", "failed_reason": "station_unavailable"});
    let summary = &failed["match_summary"];
    assert_has!(summary, {"stations_in_radius": 1, "/refused/not_reservable": 1});
    let types = events(&app, &path).await;
    assert_eq!(types.last().expect("events"), "failed");
}

/// The number of overdue items in one partition, which is more than a message processes.
const BACKLOG: u128 = 2_700;

/// The rate, in items per second of one partition, that recovers an hour of 579 reservations per second within 15 minutes.
const ENOUGH: f64 = 3_600.0 * 579.0 / 64.0 / 900.0;

/// Writes overdue deliveries to one partition of the index, as the relay of an event would have left them.
async fn backlog(app: &TestApp) {
    let tenant = app.alice.tenant();
    let due = app.now().plus(hours(-1)).to_string();
    let requests: Vec<WriteRequest> = (0..BACKLOG)
        .map(|number| {
            let (event, endpoint) = (
                Id::from_number(Kind::Event, number),
                Id::from_number(Kind::WebhookEndpoint, 1),
            );
            let key = Key::Delivery {
                tenant: &tenant,
                endpoint: &endpoint,
                delivery: &WebhookDelivery::first_id(&event, &endpoint),
            };
            let (pk, sk) = key.pair();
            let text = |text: &str| AttributeValue::S(text.to_owned());
            let item = PutRequest::builder()
                .item("pk", text(&pk))
                .item("sk", text(&sk))
                .item("schema", AttributeValue::N("1".into()))
                .item("delivery", text("waiting"))
                .item("event", text(event.as_str()))
                .item("attempts", AttributeValue::N("1".into()))
                .item("next_pk", text(&next_actions(5)))
                .item("next_at", text(&due));
            let put = item.build().expect("an item");
            WriteRequest::builder().put_request(put).build()
        })
        .collect();
    let client = tests::golden::table(app);
    for batch in requests.chunks(25) {
        let call = client.batch_write_item();
        let call = call.request_items(&app.running().table, batch.to_vec());
        call.send().await.expect("objects");
    }
}

#[tokio::test]
async fn a_backlog_in_one_partition_is_swept_without_loss() {
    let app = TestApp::start().await;
    backlog(&app).await;
    let player = Player::on(&app).await;
    let began = std::time::Instant::now();
    let first = sweep::handle(&player.app).await.expect("a sweep");
    assert_eq!(first, SWEEP_PAGE, "the first page");
    let (mut sent, mut handed_on) = (Vec::new(), Vec::new());
    loop {
        let (sweeps, others): (Vec<_>, Vec<_>) = player
            .take_messages()
            .into_iter()
            .partition(|message| message.job == SweepPartition::NAME);
        sent.extend(
            others
                .into_iter()
                .map(|message| format!("{} {}", message.job, message.body)),
        );
        if sweeps.is_empty() {
            break;
        }
        for message in sweeps {
            jobs::work(&player.app, &message)
                .await
                .expect("a partition");
            handed_on.push(message);
        }
    }
    let rate = BACKLOG as f64 / began.elapsed().as_secs_f64();
    assert!(rate > ENOUGH, "{rate} items/s");
    let distinct: BTreeSet<String> = sent.iter().cloned().collect();
    assert_eq!(
        (distinct.len(), sent.len()),
        (BACKLOG as usize, BACKLOG as usize)
    );
    assert_eq!(handed_on.len(), 2, "{handed_on:?}");
    // A message that is delivered twice sends nothing for the second time.
    jobs::work(&player.app, &handed_on[0])
        .await
        .expect("a partition");
    for message in player.take_messages() {
        let is_known = distinct.contains(&format!("{} {}", message.job, message.body));
        assert!(
            is_known || message.job == SweepPartition::NAME,
            "{message:?}"
        );
    }
}

/// A queue that refuses the first call, and keeps the messages of all others.
#[derive(Default)]
struct Calls(Mutex<(bool, Vec<Vec<Message>>)>);

impl Queue for Calls {
    fn send<'a>(&'a self, message: &'a Message, _: u16) -> BoxFuture<'a, Result<(), Error>> {
        panic!("{} was not sent with the others", message.body);
    }

    fn send_all<'a>(&'a self, messages: &'a [(Message, u16)]) -> BoxFuture<'a, Result<(), Error>> {
        let mut calls = self.0.lock().expect("the calls");
        let is_first = !std::mem::replace(&mut calls.0, true);
        if !is_first {
            let messages = messages.iter().map(|(message, _)| message.clone());
            calls.1.push(messages.collect());
        }
        Box::pin(async move {
            if is_first {
                Err(Error::unavailable("the first call"))
            } else {
                Ok(())
            }
        })
    }

    fn depth<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<QueueDepth, Error>> {
        Box::pin(async { Ok(QueueDepth::default()) })
    }

    fn fail<'a>(&'a self, change: &'a FailedChange) -> BoxFuture<'a, Result<(), Error>> {
        panic!("a change can never be relayed: {change:?}")
    }
}

#[tokio::test]
async fn the_relay_sends_all_messages_of_a_batch_or_repeats_it() {
    let app = TestApp::start().await;
    Receiver::subscribed(&app.alice, &["fleet.created"]).await;
    app.drain().await;
    let mut player = Player::on(&app).await;
    player.settle().await;
    for _ in 0..3 {
        player
            .send("create-fleet", "/v1/fleets", &app.alice, fleet())
            .await;
    }
    let changes = player.changes().await.into_iter();
    let relayed = changes.filter(|change| change.is_relayed());
    let batch: Vec<_> = relayed.map(|change| (change, Span::none())).collect();
    let first = |(change, _): &(StreamRecord, Span)| change.key().0.contains("#flt_");
    let first = batch.iter().position(first);
    let queue = Arc::new(Calls::default());
    let parts = app.app();
    let service = App::new(
        Ports {
            queue: queue.clone(),
            ..parts.ports.clone()
        },
        parts.settings.clone(),
    );
    let until = Instant::now() + Duration::from_secs(60);
    assert!(first.is_some());
    assert_eq!(handle_batch(&service, &batch, until).await, first);
    assert_eq!(handle_batch(&service, &batch, until).await, None);
    let calls = &queue.0.lock().expect("the calls").1;
    assert_eq!(calls.iter().map(Vec::len).collect::<Vec<_>>(), [3]);
}
