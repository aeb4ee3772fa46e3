//! Pages: newest first, forward and back, bound to their list, their filters and their tenant.

use kernel::time::{days, millis};
use kernel::{Id, Kind, Mode, Origin};
use models::charging_station::Plug;
use models::event::{Cause, EventInternal, Occurrence};
use models::fleet::FleetStatus;
use models::vehicle::ConnectorType;
use models::{ChargingSession, ChargingStation, Driver, Event, EventType, Reservation, Stored};
use serde_json::{Value, json};
use tests::recorder::Recorder;
use tests::{TestApp, driver, fleet, id_of, path_of, with};

#[tokio::test]
async fn a_walk_shows_every_object_once_while_some_are_added() {
    let app = TestApp::start().await;
    let mut drivers = Vec::new();
    for _ in 0..11 {
        drivers.push(app.alice.create("/v1/drivers", driver()).await);
    }
    drivers.reverse();
    let mut walked = Vec::new();
    let mut next = Some("/v1/drivers?limit=3".to_owned());
    while let Some(path) = next {
        let page = app.alice.get(&path).await.expect(200);
        assert!(page.ids().len() <= 3);
        walked.extend(page.ids());
        next = page.body["next_page_url"].as_str().map(str::to_owned);
        app.alice.post_ok("/v1/drivers", driver()).await;
    }
    assert_eq!(walked, drivers);
}

#[tokio::test]
async fn the_way_back_is_the_way_forth() {
    let app = TestApp::start().await;
    for _ in 0..7 {
        app.alice.post_ok("/v1/fleets", fleet()).await;
    }
    let url = |page: &tests::TestResponse, name: &str| page.body[name].as_str().map(str::to_owned);
    let first = app.alice.get("/v1/fleets?limit=3").await.expect(200);
    assert_eq!(url(&first, "previous_page_url"), None);
    let second = app
        .alice
        .get(&url(&first, "next_page_url").expect("a page"))
        .await
        .expect(200);
    let third = app
        .alice
        .get(&url(&second, "next_page_url").expect("a page"))
        .await
        .expect(200);
    assert_eq!((third.ids().len(), url(&third, "next_page_url")), (1, None));
    let back = app
        .alice
        .get(&url(&third, "previous_page_url").expect("a page"))
        .await
        .expect(200);
    assert_eq!(back.ids(), second.ids());
    let start = app
        .alice
        .get(&url(&back, "previous_page_url").expect("a page"))
        .await
        .expect(200);
    assert_eq!(
        (start.ids(), url(&start, "previous_page_url")),
        (first.ids(), None)
    );
    assert!(url(&start, "next_page_url").is_some());
}

#[tokio::test]
async fn filters_travel_with_the_pages() {
    let app = TestApp::start().await;
    let mut active = Vec::new();
    for n in 0..9 {
        let id = app.alice.create("/v1/fleets", fleet()).await;
        if n % 2 == 0 {
            active.push(id);
        } else {
            app.alice
                .post_ok(&path_of(&id), json!({"status": "suspended"}))
                .await;
        }
    }
    active.reverse();
    assert_eq!(
        app.alice.walk("/v1/fleets?status=active&limit=2").await,
        active
    );
    let page = app.alice.get("/v1/fleets?status=active&limit=2").await;
    let next = page.body["next_page_url"]
        .as_str()
        .expect("a page")
        .to_owned();
    assert!(
        next.contains("status=active") && next.contains("limit=2"),
        "{next}"
    );
    let other = app
        .alice
        .get(&next.replace("status=active", "status=suspended"))
        .await;
    other.expect_error(400, None, "page");
}

#[tokio::test]
async fn a_token_of_another_account_or_another_list_is_refused() {
    let app = TestApp::start().await;
    for _ in 0..2 {
        app.alice.post_ok("/v1/fleets", fleet()).await;
        app.alice.post_ok("/v1/drivers", driver()).await;
    }
    let page = app.alice.get("/v1/fleets?limit=1").await;
    let next = page.body["next_page_url"]
        .as_str()
        .expect("a page")
        .to_owned();
    let token = next.split("page=").nth(1).expect("a token");
    // The token is refused whichever character is changed.
    for at in "page_".len()..token.len() {
        let other = if &token[at..=at] == "A" { "B" } else { "A" };
        let edited = format!("{}{other}{}", &token[..at], &token[at + 1..]);
        let answer = app
            .alice
            .get(&format!("/v1/fleets?limit=1&page={edited}"))
            .await;
        answer.expect_error(400, None, "page");
    }
    app.alice.get_ok(&next).await;
    let bob = app.other_account(Mode::Test).await;
    for answer in [
        bob.get(&next).await,
        app.alice
            .get(&format!("/v1/drivers?limit=1&page={token}"))
            .await,
        app.alice
            .get(&format!(
                "/v1/fleets?limit=1&page={}",
                &token[..token.len() - 1]
            ))
            .await,
        app.alice.get("/v1/fleets?page=page_").await,
        app.alice.get("/v1/fleets?page=").await,
    ] {
        answer.expect_error(400, None, "page");
    }
}

#[tokio::test]
async fn lists_without_an_index_walk_like_the_others() {
    let (app, crew) = TestApp::with_crew().await;
    let mut attached = vec![crew.driver.clone()];
    let mut vehicles = Vec::new();
    for _ in 0..5 {
        let id = app.alice.create("/v1/drivers", driver()).await;
        app.alice
            .post_ok(
                &format!("/v1/drivers/{id}/attach"),
                json!({"fleet": crew.fleet}),
            )
            .await;
        attached.push(id);
        let body = with(
            tests::vehicle(&crew.fleet),
            json!({"drivers": [crew.driver]}),
        );
        vehicles.push(app.alice.create("/v1/vehicles", body).await);
    }
    attached.reverse();
    vehicles.reverse();
    assert_eq!(
        app.alice
            .walk(&format!("/v1/drivers?fleet={}&limit=2", crew.fleet))
            .await,
        attached
    );
    assert_eq!(
        app.alice
            .walk(&format!("/v1/vehicles?driver={}&limit=2", crew.driver))
            .await,
        vehicles
    );
    let gone = format!("/v1/drivers/{}", attached[2]);
    app.alice
        .post_ok(&gone, json!({"status": "archived"}))
        .await;
    attached.remove(2);
    assert_eq!(
        app.alice
            .walk(&format!(
                "/v1/drivers?fleet={}&status=active&limit=2",
                crew.fleet
            ))
            .await,
        attached
    );
}

#[tokio::test]
async fn a_page_has_1_to_100_objects() {
    let app = TestApp::with_demo_stations().await;
    app.needs("the demo stations");
    for limit in ["0", "101", "-1", "ten", "1.5", ""] {
        let answer = app.alice.get(&format!("/v1/fleets?limit={limit}")).await;
        answer.expect_error(400, None, "limit");
    }
    let page = app
        .alice
        .get("/v1/charging_stations?limit=100")
        .await
        .expect(200);
    assert_eq!(page.ids().len(), 100);
    assert_eq!(app.alice.get("/v1/charging_stations").await.ids().len(), 10);
}

#[tokio::test]
async fn the_way_back_shows_once_what_was_added_meanwhile() {
    let app = TestApp::start().await;
    let mut drivers = Vec::new();
    for _ in 0..5 {
        drivers.push(app.alice.create("/v1/drivers", driver()).await);
    }
    let mut page = app.alice.get("/v1/drivers?limit=2").await.expect(200);
    while let Some(next) = page.body["next_page_url"].as_str() {
        page = app.alice.get(next).await.expect(200);
    }
    for _ in 0..4 {
        drivers.push(app.alice.create("/v1/drivers", driver()).await);
    }
    drivers.reverse();
    let mut walked = page.ids();
    while let Some(previous) = page.body["previous_page_url"].as_str() {
        page = app.alice.get(previous).await.expect(200);
        assert!(page.ids().len() <= 2);
        walked.splice(0..0, page.ids());
    }
    assert_eq!(walked, drivers);
}

#[tokio::test]
async fn times_and_types_travel_with_the_pages_of_events() {
    let app = TestApp::start().await;
    app.alice.post_ok("/v1/fleets", fleet()).await;
    app.drain().await;
    app.advance(3600).await;
    let since = app.in_minutes(-30);
    for _ in 0..5 {
        app.alice.post_ok("/v1/fleets", fleet()).await;
        app.alice.post_ok("/v1/drivers", driver()).await;
    }
    app.drain().await;
    let query = format!("/v1/events?type=fleet.created&created[gte]={since}");
    let whole = app.alice.get(&format!("{query}&limit=100")).await.ids();
    assert_eq!(whole.len(), 5);
    assert_eq!(app.alice.walk(&format!("{query}&limit=2")).await, whole);
}

/// An action of a client during a walk.
#[derive(Debug, Clone, Copy)]
enum Step {
    Add,
    Forward,
    Back,
}

/// Walks a list in both directions while items are added, and compares every page with the known contents of the list.
async fn random_walk(app: &TestApp, count: usize, limit: usize, steps: Vec<Step>) {
    let fleet = app.alice.create("/v1/fleets", fleet()).await;
    let mut newest_first = std::collections::VecDeque::new();
    let add = async || {
        let vehicle = tests::vehicle(&fleet);
        app.alice.create("/v1/vehicles", vehicle).await
    };
    for _ in 0..count {
        newest_first.push_front(add().await);
    }
    let path = format!("/v1/vehicles?fleet={fleet}&limit={limit}");
    let mut page = app.alice.get(&path).await.expect(200);
    let (mut shown, mut since) = (0..count.min(limit), 0);
    for step in steps {
        let ids: Vec<_> = newest_first.range(shown.clone()).cloned().collect();
        assert_eq!(page.ids(), ids);
        // `since` items were added after the response with the page, so they cannot be in it.
        let older = shown.end < newest_first.len();
        assert_eq!(
            page.body["next_page_url"].is_string(),
            older && !ids.is_empty()
        );
        let newer = shown.start > since;
        let (name, to) = match step {
            Step::Add => {
                newest_first.push_front(add().await);
                shown = shown.start + 1..shown.end + 1;
                since += 1;
                continue;
            }
            Step::Forward => (
                "next_page_url",
                shown.end..(shown.end + limit).min(newest_first.len()),
            ),
            Step::Back => (
                "previous_page_url",
                shown.start.saturating_sub(limit)..shown.start,
            ),
        };
        match page.body[name].as_str() {
            Some(url) => {
                page = app.alice.get(url).await.expect(200);
                (shown, since) = (to, 0);
            }
            None if name == "next_page_url" => assert!(!older || ids.is_empty()),
            None => assert!(!newer),
        }
    }
}

#[test]
fn every_walk_shows_the_list_as_it_is() {
    use proptest::prelude::*;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let app = runtime.block_on(TestApp::start());
    let step = prop_oneof![
        2 => Just(Step::Add),
        4 => Just(Step::Forward),
        3 => Just(Step::Back),
    ];
    let walks = (
        0..12usize,
        1..5usize,
        proptest::collection::vec(step, 1..16),
    );
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases: 24,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let walked = runner.run(&walks, |(count, limit, steps)| {
        runtime.block_on(random_walk(&app, count, limit, steps));
        Ok(())
    });
    walked.expect("every page is as it should be");
    runtime.block_on(app.drain());
}

/// The maximum number of calls of the table for one page, including the authentication of the request: four rounds of the eight
/// partitions that events are distributed over.
const MOST_CALLS: usize = 32;
/// The maximum capacity units of a page whose filter matches most objects.
const FREQUENT_UNITS: f64 = 20.0;

/// Walks a filtered list to its end. Returns the ids, and prints the maximum number of calls and units of the table for a page.
#[expect(clippy::print_stdout, reason = "the figures are for the reader")]
async fn walk_counted(app: &TestApp, recorder: &Recorder, path: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut next = Some(path.to_owned());
    let (mut pages, mut most, mut units) = (0, 0, 0.0f64);
    while let Some(path) = next {
        recorder.take();
        let page = app.alice.get(&path).await.expect(200);
        let calls = recorder.take();
        let reads = calls.iter().map(|call| call.units).sum::<f64>();
        (pages, most, units) = (pages + 1, most.max(calls.len()), units.max(reads));
        found.extend(page.ids());
        next = page.body["next_page_url"].as_str().map(str::to_owned);
    }
    let size = found.len();
    println!("{path}: {size} in {pages} pages, at most {most} calls and {units} units a page");
    assert!(most <= MOST_CALLS, "{path}: {most} calls");
    found
}

#[tokio::test]
async fn a_filtered_page_reads_a_bounded_part_of_its_list() {
    let table = TestApp::start().await;
    let (url, recorder) = Recorder::start(&table.running().store_url).await;
    let app = TestApp::start_with(|options| options.store = Some(url)).await;
    let (store, tenant) = (&app.app().store, app.alice.tenant());
    let origin = Origin::background(tenant.clone(), app.now());
    let ids = |oldest_first: Vec<Id>| {
        let newest_first = oldest_first.into_iter().rev();
        newest_first.map(|id| id.to_string()).collect::<Vec<_>>()
    };

    // 6,000 events, of which three have the type: the oldest, one in the middle and the newest.
    let fleet = app.alice.post("/v1/fleets", fleet()).await.expect(200);
    let mut rare = Vec::new();
    for batch in 0..60 {
        let mut tx = store.begin(&origin);
        for n in batch * 100..batch * 100 + 100 {
            let is_rare = [0, 3_000, 5_999].contains(&n);
            let kind = if is_rare {
                EventType::FleetDeleted
            } else {
                EventType::FleetCreated
            };
            let cause = Cause {
                at: origin.now.plus(millis(n - 6_000)),
                ..Cause::of(&origin)
            };
            let subject = Id::from(fleet.id());
            let version = u64::try_from(n).expect("a version") + 2;
            let write = Occurrence {
                subject: &subject,
                version,
                sequence: version,
            };
            let event = Event::of(kind, &tenant, write, fleet.body.clone(), None, &cause);
            rare.extend(Some(event.id.clone()).filter(|_| is_rare));
            let internal = EventInternal::planned(Vec::new());
            tx.create(&mut Stored::with_internal(event, internal))
                .expect("an item");
        }
        tx.commit_without_response().await.expect("events");
    }
    let found = walk_counted(&app, &recorder, "/v1/events?type=fleet.deleted").await;
    assert_eq!(found, ids(rare));
    let page = app.alice.get("/v1/events?type=fleet.created&limit=2").await;
    assert_eq!(page.expect(200).ids().len(), 2);

    // 1,300 drivers of a fleet, of which the oldest and the newest are archived.
    let driver = app.alice.post_ok("/v1/drivers", driver()).await;
    let first = store
        .load::<Driver>(&tenant, &Id::from(id_of(&driver)))
        .await;
    let first = first.expect("a driver").object;
    let mut archived = Vec::new();
    for batch in 0..26 {
        let mut tx = store.begin(&origin);
        for n in batch * 50..batch * 50 + 50 {
            let mut driver = first.clone();
            driver.id = Id::new(Kind::Driver, origin.now.plus(millis(n - 2_000)));
            if [0, 1_299].contains(&n) {
                driver.status = FleetStatus::Archived;
                archived.push(driver.id.clone());
            }
            tx.join(&Id::from(fleet.id()), &driver.id);
            tx.create(&mut Stored::new(driver)).expect("an item");
        }
        tx.commit_without_response().await.expect("drivers");
    }
    let archived = ids(archived);
    for filter in [
        "status=archived".to_owned(),
        format!("status=archived&fleet={}", fleet.id()),
    ] {
        let path = format!("/v1/drivers?{filter}");
        assert_eq!(walk_counted(&app, &recorder, &path).await, archived);
    }
    // If most objects match the filter, few more objects are read than are shown.
    recorder.take();
    let frequent = "/v1/drivers?status=active&limit=10";
    app.alice.get_ok(frequent).await;
    let units: f64 = recorder.take().iter().map(|call| call.units).sum();
    assert!(units <= FREQUENT_UNITS, "{units} units");
    // A short page in the middle does not end the walk back.
    let path = format!("/v1/drivers?status=archived&fleet={}&limit=1", fleet.id());
    let mut page = app.alice.get(&path).await.expect(200);
    let mut back = page.ids();
    while let Some(next) = page.body["next_page_url"].as_str() {
        page = app.alice.get(next).await.expect(200);
        back = page.ids();
    }
    while let Some(previous) = page.body["previous_page_url"].as_str() {
        page = app.alice.get(previous).await.expect(200);
        back.splice(0..0, page.ids());
    }
    assert_eq!(back, archived);

    // 900 reservations and sessions that are over, and the newest ones. What is open is found without a walk through the history.
    let crew = app.crew(&app.alice).await;
    let session = Id::from(app.completed_session(&crew, json!({})).await);
    let reserve = async || {
        let body = app.reservation(&crew, 600);
        app.alice.create("/v1/reservations", body).await
    };
    let cancelled = reserve().await;
    let cancel = format!("/v1/reservations/{cancelled}/cancel");
    app.alice.post_ok(&cancel, json!({})).await;
    let session = store.load::<ChargingSession>(&tenant, &session).await;
    let session = session.expect("a session").object;
    let cancelled = store
        .load::<Reservation>(&tenant, &Id::from(cancelled.as_str()))
        .await
        .expect("a reservation");
    for batch in 0..36 {
        let mut tx = store.begin(&origin);
        for n in batch * 25..batch * 25 + 25 {
            let before = origin.now.plus(-days(3)).plus(millis(n));
            let mut session = session.clone();
            session.id = Id::derived(Kind::ChargingSession, before, &format!("{n}"));
            tx.create(&mut Stored::new(session)).expect("an item");
            let mut reservation = cancelled.clone();
            reservation.object.id = Id::derived(Kind::Reservation, before, &format!("{n}"));
            tx.create(&mut reservation).expect("an item");
        }
        tx.commit_without_response().await.expect("the history");
    }
    let open = reserve().await;
    let of_fleet = format!("fleet={}", crew.fleet);
    for (path, found) in [
        ("/v1/charging_sessions?status=active".to_owned(), None),
        (
            format!("/v1/charging_sessions?status=active&{of_fleet}"),
            None,
        ),
        ("/v1/reservations?status=pending".to_owned(), Some(&open)),
        (
            format!("/v1/reservations?status=pending&{of_fleet}"),
            Some(&open),
        ),
        (
            format!("/v1/reservations?status=pending&fleet={}", fleet.id()),
            None,
        ),
        ("/v1/reservations?status=confirmed".to_owned(), None),
    ] {
        let page = app.alice.get(&path).await.expect(200);
        assert_eq!(page.ids(), Vec::from_iter(found.cloned()), "{path}");
        assert_eq!(page.body["next_page_url"], Value::Null, "{path}");
    }

    // 1,000 stations along a route, of which the farthest has a plug of another type.
    let station = app.station(json!({})).await;
    let station = Id::from(station.as_str());
    let station = store.load::<ChargingStation>(&tenant, &station).await;
    let station = station.expect("a station").object;
    let stations = (0..1_000).map(|n| {
        let mut station = station.clone();
        station.id = Id::new(Kind::ChargingStation, origin.now.plus(millis(n)));
        station.location.longitude += f64::from(n as i32) * 0.004;
        station.location.latitude += f64::from(n as i32) * 0.00002;
        if n == 999 {
            station.operator = "Rare".into();
            for connector in &mut station.connectors {
                connector.plug = Plug::Matched(ConnectorType::Ccs);
            }
        }
        station
    });
    let stations: Vec<_> = stations.collect();
    let expected = ids(vec![stations[999].id.clone()]);
    let imported = store.import_stations(&origin, stations).await;
    imported.expect("the stations are stored");
    let path =
        "/v1/charging_stations?origin=10,10&destination=10,14&buffer=8000&connector_type[]=CCS";
    assert_eq!(walk_counted(&app, &recorder, path).await, expected);
    let path = "/v1/charging_stations?operator[]=Rare";
    assert_eq!(walk_counted(&app, &recorder, path).await, expected);
}
