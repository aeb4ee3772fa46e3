//! Rules for every route, checked for all routes of the table. Rules for a single resource have their own files.

use std::collections::HashSet;

use tests::TestApp;
use web::Method;

fn names() -> Vec<&'static str> {
    functions::endpoints()
        .iter()
        .map(|endpoint| endpoint.route.name)
        .collect()
}

#[test]
fn names_and_places_are_unique() {
    let names = names();
    assert_eq!(names.iter().collect::<HashSet<_>>().len(), names.len());
    let endpoints = functions::endpoints();
    let places: HashSet<_> = endpoints
        .iter()
        .map(|endpoint| (endpoint.route.method, endpoint.route.path))
        .collect();
    assert_eq!(places.len(), names.len());
}

#[tokio::test]
async fn no_route_answers_without_a_key() {
    let app = TestApp::start().await;
    for endpoint in functions::endpoints() {
        let path = endpoint.route.path.replace("{id}", "x");
        let answer = app
            .anon
            .send(endpoint.route.method.as_str(), &path, None, &[])
            .await;
        assert_eq!(
            answer.error(),
            (401, "authentication_error", None, None),
            "{}",
            endpoint.route.name
        );
    }
}

#[test]
fn every_route_asks_for_the_scope_of_its_resource() {
    for endpoint in functions::endpoints() {
        let route = endpoint.route;
        let resource = route.resource();
        let verb = match (route.method, route.name) {
            (Method::Get, _) | (_, "find-reservation-candidates") => "read",
            (Method::Post | Method::Delete, _) => "write",
        };
        assert_eq!(
            route.scope.to_string(),
            format!("{resource}:{verb}"),
            "{}",
            route.name
        );
    }
}

/// The ids in lists that are sorted by id begin with the time of creation, so every such list has the filter.
#[test]
fn every_list_of_objects_is_filtered_by_their_creation() {
    let lists = functions::endpoints()
        .into_iter()
        .map(|endpoint| endpoint.route);
    let without = lists
        .filter(|route| matches!(route.shows, table::shown::Shows::Page(_)))
        .filter(|route| !(route.query)().contains(&"created[gte]"));
    let names: Vec<_> = without.map(|route| route.name).collect();
    assert_eq!(names, ["list-charging-stations", "list-event-deliveries"]);
}
