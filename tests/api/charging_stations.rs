//! `/v1/charging_stations`.

use std::collections::BTreeMap;

use kernel::Mode;
use models::ChargingStation;
use models::charging::opening_hours;
use serde_json::{Value, json};
use tests::{TestApp, assert_has, id_of, path_of, with};

use crate::rematches::closing;

/// The names of the members of an object, in one text.
fn names(value: &Value) -> String {
    let members = value.as_object().expect("an object");
    let names: Vec<&str> = members.keys().map(String::as_str).collect();
    names.join(" ")
}

#[tokio::test]
async fn a_station_has_every_field_of_the_specification() {
    let app = TestApp::start().await;
    let page = app.alice.get("/v1/charging_stations?limit=1").await;
    let id = page.ids().remove(0);
    let station = app.alice.get_ok(&path_of(&id)).await;
    let members = "address availability capabilities connectors created energy_mix id location \
        location_id name network object operator operator_contact pricing status \
        timezone updated";
    assert_eq!(names(&station), members);
    assert_has!(station, {"object": "charging_station", "status": "active"});
    let members = "connectors_available connectors_total opening_hours range";
    assert_eq!(names(&station["availability"]), members);
    let members = "24_7_access amenities payment_methods requires_membership reservable";
    assert_eq!(names(&station["capabilities"]), members);
    let members = "evse evse_id id physical_reference power pricing reservable status type";
    assert_eq!(names(&station["connectors"][0]), members);
    let members = "currency price step_size tax tax_included tax_percent type";
    assert_eq!(names(&station["pricing"][0]), members);
    assert_eq!(names(&station["location"]), "latitude longitude");
    let total = station["connectors"].as_array().map(Vec::len);
    assert_has!(station["availability"], {"connectors_total": total});
}

#[tokio::test]
async fn every_tenant_of_the_mode_sees_the_same_stations() {
    let app = TestApp::with_demo_stations().await;
    app.needs("the demo stations");
    let all = app.alice.walk("/v1/charging_stations?limit=100").await;
    assert_eq!(all.len(), 300);
    let other = app.other_account(Mode::Test).await;
    assert_eq!(other.walk("/v1/charging_stations?limit=70").await, all);
    let live = app.other_account(Mode::Live).await;
    assert!(live.walk("/v1/charging_stations").await.is_empty());
    let unknown = app.alice.get("/v1/charging_stations/chst_1").await;
    unknown.expect_error(404, "charging_station_not_found", "charging_station");
}

/// OCPI locations of real stations, if a folder beside the project has them.
fn real_stations() -> Option<std::path::PathBuf> {
    let beside = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .read_dir()
        .ok()?;
    let files =
        beside.filter_map(|entry| Some(entry.ok()?.path().join("data/london_locations.json")));
    files.into_iter().find(|file| file.exists())
}

#[tokio::test]
async fn real_stations_are_read_and_matched() {
    let Some(file) = real_stations() else {
        eprintln!("SKIPPED: no folder beside the project has data/london_locations.json");
        return;
    };
    let app = TestApp::start_with(|options| options.stations = Some(file)).await;
    assert_eq!(
        app.alice
            .walk("/v1/charging_stations?limit=100")
            .await
            .len(),
        100
    );
    let crew = app.crew(&app.alice).await;
    let mut body = app.reservation(&crew, 120);
    body["location"] = json!({"latitude": 51.5205, "longitude": -0.03, "radius": 1000});
    let id = app.alice.create("/v1/reservations", body).await;
    app.advance(95 * 60).await;
    let confirmed = app.alice.get_ok(&path_of(&id)).await;
    assert_eq!(confirmed["status"], "confirmed");
    app.advance(60 * 60).await;
}

#[tokio::test]
async fn the_list_shows_what_retrieving_shows_newest_first() {
    let app = TestApp::start().await;
    let page = app.alice.get_ok("/v1/charging_stations?limit=5").await;
    for station in page["data"].as_array().expect("objects") {
        let id = id_of(station);
        assert!(id.starts_with("chst_"));
        let shown = app.alice.get(&path_of(&id)).await;
        let mut shown = shown.expect(200).body;
        // Free times are only shown for a single station, or if a time is requested.
        shown["availability"]["range"] = json!([]);
        assert_eq!(shown, *station);
    }
    // Their ids follow from those of their operators, and not from the time.
    let many = app.alice.get_ok("/v1/charging_stations?limit=100").await;
    let many = many["data"].as_array().expect("objects").iter();
    let created = many.map(|station| station["created"].as_str().expect("a time").to_owned());
    assert!(created.is_sorted_by(|newer, older| newer >= older));
}

#[tokio::test]
async fn connectors_are_counted_by_evse() {
    let app = TestApp::with_demo_stations().await;
    app.needs("the demo stations");
    let page = app.alice.get_ok("/v1/charging_stations?limit=100").await;
    let stations = page["data"].as_array().expect("objects");
    assert_eq!(stations.len(), 100);
    for station in stations {
        let mut evses = BTreeMap::new();
        for connector in connectors(station) {
            let free = evses.entry(connector["evse"].as_str()).or_insert(true);
            *free &= connector["status"] == "available";
        }
        let available = evses.values().filter(|free| **free).count();
        let counts = &station["availability"];
        assert_eq!(counts["connectors_available"], available, "{station}");
        assert_eq!(counts["connectors_total"], evses.len(), "{station}");
    }
}

#[tokio::test]
async fn a_reservation_makes_every_connector_of_its_evse_unavailable() {
    let app = TestApp::start().await;
    let only_a = Value::from(tests::cables().as_array().expect("cables")[..2].to_vec());
    let station = app.station(json!({"connectors": only_a})).await;
    let crew = app.crew(&app.alice).await;
    let place = json!({"location": {"latitude": 10.0, "longitude": 10.0, "radius": 1000}});
    let body = with(app.reservation(&crew, 20), place);
    let reservation = app.alice.post_ok("/v1/reservations", body).await;
    app.drain().await;
    let reservation_path = format!("/v1/reservations/{}", id_of(&reservation));
    assert_eq!(
        app.alice.get_ok(&reservation_path).await["status"],
        "confirmed"
    );
    let found = async |from: i64, until: i64| {
        let (from, until) = (app.in_minutes(from), app.in_minutes(until));
        let area = "latitude=10&longitude=10&radius=1000";
        let path = format!("/v1/charging_stations?{area}&from={from}&until={until}");
        app.alice.get(&path).await.expect(200).ids()
    };
    assert!(found(70, 90).await.is_empty());
    assert_eq!(found(90, 120).await, std::slice::from_ref(&station));
    let path = format!("/v1/charging_stations/{station}");
    let ranges = app.alice.get_ok(&path).await["availability"]["range"].clone();
    let ranges = ranges.as_array().expect("ranges");
    assert_eq!(ranges.len(), 2, "{ranges:?}");
    assert_has!(json!(ranges), {"/0/until": reservation["ideal_start"], "/1/from": reservation["ideal_end"]});
}

#[tokio::test]
async fn a_client_cannot_change_a_station() {
    let app = TestApp::start().await;
    let listed = app.alice.get("/v1/charging_stations?limit=1").await;
    let id = listed.expect(200).ids().remove(0);
    let path = format!("/v1/charging_stations/{id}");
    for (method, path) in [
        ("POST", "/v1/charging_stations"),
        ("POST", path.as_str()),
        ("DELETE", path.as_str()),
    ] {
        let body = (method == "POST").then(|| "{}".to_owned());
        let answer = app.alice.send(method, path, body, &[]).await;
        answer.expect_error(405, None, None);
        assert!(answer.header("allow").contains("GET"), "{method} {path}");
        assert!(!answer.header("allow").contains(method), "{method} {path}");
    }
    let unknown = app.alice.get("/v1/charging_stations?colour=red").await;
    unknown.expect_error(400, None, "colour");
}

/// All stations, as the list shows them.
async fn all(app: &TestApp) -> Vec<Value> {
    let mut stations = Vec::new();
    let mut next = Some("/v1/charging_stations?limit=100".to_owned());
    while let Some(path) = next {
        let page = app.alice.get_ok(&path).await;
        stations.extend(page["data"].as_array().cloned().unwrap_or_default());
        next = page["next_page_url"].as_str().map(str::to_owned);
    }
    stations
}

/// The ids of the stations for which the condition holds, in the order of the list.
fn ids_where(stations: &[Value], holds: impl Fn(&Value) -> bool) -> Vec<String> {
    let ids = stations.iter().filter(|station| holds(station));
    ids.map(|station| id_of(station).to_owned()).collect()
}

fn connectors(station: &Value) -> &Vec<Value> {
    station["connectors"].as_array().expect("connectors")
}

#[tokio::test]
async fn each_filter_finds_what_it_says_and_nothing_else() {
    let app = TestApp::with_demo_stations().await;
    app.needs("the demo stations");
    let mut stations = all(&app).await;
    // No connector of a closed station is available.
    for station in &mut stations {
        let read: ChargingStation = serde_json::from_value(station.clone()).expect("a station");
        if !opening_hours::is_open_at(&read, app.now()) {
            let connectors = station["connectors"].as_array_mut().expect("connectors");
            for connector in connectors {
                connector["status"] = json!("closed");
            }
        }
    }
    type Holds = fn(&Value) -> bool;
    let cases: [(&str, Holds); 8] = [
        ("available=true", |station| {
            connectors(station)
                .iter()
                .any(|connector| connector["status"] == "available")
        }),
        ("available=false", |station| {
            connectors(station)
                .iter()
                .all(|connector| connector["status"] != "available")
        }),
        ("connector_type[]=CCS&connector_type[]=CHAdeMO", |station| {
            connectors(station)
                .iter()
                .any(|connector| connector["type"] == "CCS" || connector["type"] == "CHAdeMO")
        }),
        ("min_power=150.0", |station| {
            connectors(station)
                .iter()
                .any(|connector| connector["power"].as_f64() >= Some(150.0))
        }),
        (
            "operator[]=Voltway&operator[]=Ampere%20%26%20Sons",
            |station| station["operator"] == "Voltway" || station["operator"] == "Ampere & Sons",
        ),
        ("reservable=false", |station| {
            station["capabilities"]["reservable"] == false
        }),
        ("max_price_per_kwh=40", |station| {
            station["pricing"][0]["price"].as_i64() <= Some(40)
        }),
        (
            "reservable=true&connector_type[]=CCS&min_power=100&available=true",
            |station| {
                let fits = |connector: &Value| {
                    connector["type"] == "CCS"
                        && connector["power"].as_f64() >= Some(100.0)
                        && connector["status"] == "available"
                };
                station["capabilities"]["reservable"] == true
                    && connectors(station).iter().any(fits)
            },
        ),
    ];
    for (query, holds) in cases {
        let want = ids_where(&stations, holds);
        assert!(!want.is_empty() && want.len() < stations.len(), "{query}");
        let path = format!("/v1/charging_stations?{query}&limit=7");
        assert_eq!(app.alice.walk(&path).await, want, "{query}");
    }
}

#[tokio::test]
async fn around_a_place_the_nearest_come_first_page_by_page_and_back() {
    let app = TestApp::with_demo_stations().await;
    app.needs("the demo stations");
    let stations = all(&app).await;
    let point = |station: &Value| models::charging_station::Point {
        latitude: station["location"]["latitude"]
            .as_f64()
            .expect("a latitude"),
        longitude: station["location"]["longitude"]
            .as_f64()
            .expect("a longitude"),
    };
    let center = models::charging_station::Point {
        latitude: 51.507,
        longitude: -0.128,
    };
    let meters = |station: &Value| models::charging::geo::distance_meters(center, point(station));
    for radius in [3_000, 5_000, 100_000] {
        let mut want = stations.clone();
        want.retain(|station| meters(station) <= f64::from(radius));
        want.sort_by(|a, b| meters(a).total_cmp(&meters(b)));
        let want = ids_where(&want, |_| true);
        assert!(want.len() > 5);
        let query =
            format!("/v1/charging_stations?latitude=51.507&longitude=-0.128&radius={radius}");
        assert_eq!(app.alice.walk(&format!("{query}&limit=4")).await, want);
        let mut page = app.alice.get(&format!("{query}&limit=4")).await.expect(200);
        for station in page.body["data"].as_array().expect("objects") {
            let shown = station["distance_meters"].as_f64().expect("a distance");
            assert!((shown - meters(station)).abs() <= 0.5, "{station}");
        }
        while let Some(next) = page.body["next_page_url"].as_str() {
            page = app.alice.get(next).await.expect(200);
        }
        let mut walked = page.ids();
        while let Some(previous) = page.body["previous_page_url"].as_str() {
            page = app.alice.get(previous).await.expect(200);
            walked.splice(0..0, page.ids());
        }
        assert_eq!(walked, want);
    }
    let page = app.alice.get_ok("/v1/charging_stations?limit=1").await;
    assert!(page["data"][0].get("distance_meters").is_none());
}

#[tokio::test]
async fn along_a_route_only_what_lies_beside_it_is_found() {
    let app = TestApp::start().await;
    let at = |latitude: f64, longitude: f64| json!({"location": {"latitude": latitude, "longitude": longitude}});
    let on_the_way = app.station(at(20.0, 21.0)).await;
    let beside = app.station(at(20.02, 20.5)).await;
    let past_the_end = app.station(at(20.0, 22.01)).await;
    for far in [at(20.2, 21.0), at(20.0, 22.2), at(19.0, 19.0)] {
        app.station(far).await;
    }
    let route = "/v1/charging_stations?origin=20.0,20.0&destination=20.0,22.0";
    let found = app.alice.walk(&format!("{route}&limit=1")).await;
    assert_eq!(found, [on_the_way.clone(), past_the_end, beside]);
    // The shortest way bends a little towards the pole.
    let narrow = app.alice.walk(&format!("{route}&buffer=400")).await;
    assert_eq!(narrow, [on_the_way.as_str()]);
    let both = format!("{route}&latitude=20.0&longitude=21.0&radius=10000");
    assert_eq!(app.alice.walk(&both).await, [on_the_way]);
}

#[tokio::test]
async fn a_driver_narrows_to_favourites_and_a_vehicle_to_its_plug() {
    let (app, crew) = TestApp::with_crew().await;
    let stations = all(&app).await;
    let type2 = ids_where(&stations, |station| {
        connectors(station)
            .iter()
            .any(|connector| connector["type"] == "Type2")
    });
    let vehicle = format!("/v1/charging_stations?vehicle={}&limit=50", crew.vehicle);
    assert_eq!(app.alice.walk(&vehicle).await, type2);
    let driver = format!("/v1/charging_stations?driver={}&limit=1", crew.driver);
    assert!(app.alice.walk(&driver).await.is_empty());
    let liked: Vec<_> = stations
        .iter()
        .take(4)
        .map(|station| station["id"].clone())
        .collect();
    let change = json!({"preferences": {"preferred_charging_stations": liked}});
    let path = format!("/v1/drivers/{}", crew.driver);
    app.alice.post_ok(&path, change).await;
    assert_eq!(
        app.alice.walk(&driver).await,
        ids_where(&stations[..4], |_| true)
    );
    let both = format!("{driver}&vehicle={}", crew.vehicle);
    let want = ids_where(&stations[..4], |station| {
        connectors(station)
            .iter()
            .any(|connector| connector["type"] == "Type2")
    });
    assert_eq!(app.alice.walk(&both).await, want);
    let around = format!("{driver}&latitude=0&longitude=0&radius=1000");
    assert!(app.alice.walk(&around).await.is_empty());
    for (query, code) in [
        ("driver=drv_1", "driver_not_found"),
        ("vehicle=veh_1", "vehicle_not_found"),
    ] {
        let answer = app
            .alice
            .get(&format!("/v1/charging_stations?{query}"))
            .await;
        assert_eq!((answer.status, answer.error().2), (404, Some(code)));
    }
    let bob = app.other_account(Mode::Test).await;
    assert_eq!(bob.get(&driver).await.error().2, Some("driver_not_found"));
    app.drain().await;
}

#[tokio::test]
async fn availability_excludes_the_window_of_a_reservation() {
    let (app, crew) = TestApp::with_crew().await;
    let connector = json!([{"id": "1", "power": 22.0, "status": "available", "type": "Type2"}]);
    let station = app.station(json!({"connectors": connector})).await;
    let area = json!({"location": {"latitude": 10.0, "longitude": 10.0, "radius": 100}});
    let reserve = with(app.reservation(&crew, 60), area);
    let (start, end) = (reserve["ideal_start"].clone(), reserve["ideal_end"].clone());
    let id = app.alice.create("/v1/reservations", reserve).await;
    let place = "latitude=10&longitude=10&radius=100";
    let free = async |from: &Value, until: &Value| {
        let (from, until) = (
            from.as_str().expect("a time"),
            until.as_str().expect("a time"),
        );
        let query = format!("/v1/charging_stations?{place}&from={from}&until={until}");
        app.alice.get(&query).await.expect(200)
    };
    assert_eq!(free(&start, &end).await.ids(), [station.as_str()]);
    app.advance(31 * 60).await;
    assert_eq!(free(&start, &end).await.ids().len(), 0);
    let later = json!(app.in_minutes(200));
    let found = free(&end, &later).await.body;
    assert_eq!(
        found["data"][0]["availability"]["range"],
        json!([{"from": end, "until": later}])
    );
    assert_eq!(free(&json!(app.in_minutes(0)), &start).await.ids().len(), 1);
    let path = format!("/v1/charging_stations/{station}");
    let shown = app.alice.get_ok(&path).await;
    let range = &shown["availability"]["range"];
    assert_has!(range, {"/0/until": start, "/1/from": end});
    assert_eq!(range.as_array().map(Vec::len), Some(2));
    app.alice
        .post_ok(&format!("/v1/reservations/{id}/cancel"), json!({}))
        .await;
    assert_eq!(free(&start, &end).await.ids(), [station]);
    app.drain().await;
}

#[tokio::test]
async fn a_closed_or_broken_station_is_never_free() {
    let app = TestApp::start().await;
    let closed = json!({"24_7_access": false, "amenities": [], "payment_methods": [], "requires_membership": false, "reservable": true});
    let faulted = json!([{"id": "1", "power": 22.0, "status": "faulted", "type": "Type2"}]);
    for change in [
        json!({"capabilities": closed}),
        json!({"connectors": faulted}),
        json!({"status": "maintenance"}),
    ] {
        let id = app.station(change).await;
        let shown = app.alice.get_ok(&path_of(&id)).await;
        assert_eq!(shown["availability"]["range"], json!([]));
    }
    let (from, until) = (app.in_minutes(60), app.in_minutes(120));
    let query = format!(
        "/v1/charging_stations?latitude=10&longitude=10&radius=100&from={from}&until={until}"
    );
    assert!(app.alice.walk(&query).await.is_empty());
}

#[tokio::test]
async fn a_station_is_not_available_while_it_is_closed() {
    let app = TestApp::start().await;
    let (now, later) = (json!(app.now()), json!(app.in_minutes(60)));
    let open = app.station(json!({})).await;
    let closed = app.station(closing(&now, &later)).await;
    let found = async |available: bool| {
        let place = "latitude=10&longitude=10&radius=100";
        let query = format!("/v1/charging_stations?{place}&available={available}");
        app.alice.walk(&query).await
    };
    assert_eq!(found(true).await, std::slice::from_ref(&open));
    assert_eq!(found(false).await, std::slice::from_ref(&closed));
    app.advance(3600).await;
    let mut both = found(true).await;
    both.sort();
    let mut want = [open, closed];
    want.sort();
    assert_eq!(both, want);
}

#[tokio::test]
async fn what_is_wrong_with_a_search_is_named() {
    let app = TestApp::start().await;
    let from = app.in_minutes(60);
    for (query, param) in [
        ("latitude=1&longitude=1", "radius"),
        ("longitude=1&radius=1", "latitude"),
        ("radius=1", "latitude"),
        ("latitude=91&longitude=1&radius=1", "latitude"),
        ("latitude=1&longitude=nan&radius=1", "longitude"),
        ("latitude=1&longitude=1&radius=0", "radius"),
        ("latitude=1&longitude=1&radius=100001", "radius"),
        ("origin=1,1", "destination"),
        ("origin=1;1&destination=1,1", "origin"),
        ("origin=1,1&destination=1,181", "destination"),
        ("origin=0,0&destination=0,60", "destination"),
        ("origin=0,0&destination=0,1&buffer=0", "buffer"),
        ("buffer=10", "buffer"),
        ("available=yes", "available"),
        ("reservable=1", "reservable"),
        ("min_power=-1", "min_power"),
        ("min_power=inf", "min_power"),
        ("max_price_per_kwh=4.5", "max_price_per_kwh"),
        (
            "connector_type[]=Type2&connector_type[]=Tesla",
            "connector_type[]",
        ),
        (&format!("from={from}"), "until"),
        (&format!("from={from}&until={from}"), "until"),
        (&format!("from=soon&until={from}"), "from"),
        ("available=true&available=true", "available"),
    ] {
        let answer = app
            .alice
            .get(&format!("/v1/charging_stations?{query}"))
            .await;
        answer.expect_error(400, None, param);
    }
    // A page of one order cannot be continued in another.
    let page = app.alice.get_ok("/v1/charging_stations?limit=1").await;
    let token = page["next_page_url"]
        .as_str()
        .and_then(|url| url.split("page=").nth(1));
    let elsewhere = format!(
        "/v1/charging_stations?latitude=51.5&longitude=0&radius=9000&page={}",
        token.expect("a token")
    );
    let answer = app.alice.get(&elsewhere).await;
    answer.expect_error(400, None, "page");
}

#[tokio::test]
async fn nothing_is_missed_at_the_poles_and_where_east_meets_west() {
    use models::charging::geo::distance_meters;
    use models::charging_station::Point;
    let app = TestApp::start().await;
    let dice = tests::faulty::Dice::new(7);
    let places = [
        (89.9, 0.0),
        (-89.9, 90.0),
        (0.0, 180.0),
        (-17.0, 179.9),
        (66.0, -179.9),
    ];
    // Around the place, on both sides of the date line, and over the pole.
    let nearby = |place: (f64, f64)| {
        let off = |dice: &tests::faulty::Dice| (dice.below(4001) as f64 - 2000.0) / 2000.0;
        let latitude: f64 = place.0 + off(&dice) * 0.09;
        let around = if place.0.abs() > 80.0 { 180.0 } else { 0.3 };
        let longitude = (place.1 + off(&dice) * around + 540.0).rem_euclid(360.0) - 180.0;
        Point {
            latitude,
            longitude,
        }
    };
    let mut stations = Vec::new();
    for n in 0..150 {
        let point = nearby(places[n % places.len()]);
        let id = app.station(json!({"location": point})).await;
        stations.push((id, point));
    }
    for n in 0..40 {
        let center = nearby(places[n % places.len()]);
        let radius = [1_000, 5_000, 9_000, 40_000][n / 10];
        let mut want: Vec<_> = stations
            .iter()
            .map(|(id, point)| (distance_meters(center, *point), id.clone()))
            .filter(|(meters, _)| *meters <= f64::from(radius))
            .collect();
        want.sort_by(|a, b| a.0.total_cmp(&b.0));
        let want: Vec<_> = want.into_iter().map(|(_, id)| id).collect();
        let Point {
            latitude,
            longitude,
        } = center;
        let query = format!("latitude={latitude}&longitude={longitude}&radius={radius}&limit=9");
        let found = app
            .alice
            .walk(&format!("/v1/charging_stations?{query}"))
            .await;
        assert_eq!(found, want, "{query}");
    }
    app.drain().await;
}

#[tokio::test]
async fn a_search_compares_the_effective_price_with_its_cap() {
    let (app, crew) = TestApp::with_crew().await;
    let price = |kind: &str, price: i64, restrictions: Value| {
        json!({"currency": "gbp", "price": price, "step_size": 1, "tax": "vat", "tax_included": true,
            "tax_percent": "20", "type": kind, "restrictions": restrictions})
    };
    // It is ten in the morning. Until 10:30 an hour costs nothing, then 22 pounds.
    let early = json!({"end_time": "10:30"});
    let pricing = json!([
        price("ENERGY", 20, Value::Null),
        price("TIME", 0, early),
        price("TIME", 2200, Value::Null),
    ]);
    for _ in 0..2 {
        app.station(json!({"pricing": pricing})).await;
    }
    let around = "/v1/charging_stations?latitude=10&longitude=10&radius=10";
    let found = async |rest: &str| app.alice.get(&format!("{around}&{rest}")).await.ids().len();
    // 22 kWh in an hour of which half costs 11 pounds.
    assert_eq!(found("max_price_per_kwh=69").await, 0);
    assert_eq!(found("max_price_per_kwh=71").await, 2);
    // A battery that is full after half an hour is charged at the lower price.
    let telemetry = format!("/v1/vehicles/{}/telemetry", crew.vehicle);
    let level = json!({"battery": {"level": 90}});
    app.alice.post_ok(&telemetry, level).await;
    let by_vehicle = format!("vehicle={}&max_price_per_kwh=20", crew.vehicle);
    assert_eq!(found(&by_vehicle).await, 2);
    let window = format!("from={}&until={}", app.in_minutes(60), app.in_minutes(120));
    assert_eq!(found(&format!("{by_vehicle}&{window}")).await, 0);
    // The second page shows the prices of the moment of the first.
    let first = app
        .alice
        .get(&format!("{around}&{by_vehicle}&limit=1"))
        .await;
    assert_eq!(first.ids().len(), 1);
    app.advance(3600).await;
    let next = first.body["next_page_url"].as_str().expect("a page");
    let next = next.split_once("/v1/").expect("a path").1;
    let second = app.alice.get(&format!("/v1/{next}")).await.expect(200);
    assert_eq!(second.ids().len(), 1);
    assert_eq!(found(&by_vehicle).await, 0);
}
