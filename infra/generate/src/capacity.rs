//! Makes the table of what each request consumes of the DynamoDB table.

use std::fmt::Write as _;

use tests::capacity::{ABOVE_BUDGET, measure};

const HEAD: &str = "# What each request takes from the table

Calls and capacity units of each route for its sample event, of an account that has little else, with a key that is known to the
instance. Writes count their indexes once and the table, in transactions, twice. `cargo run -p generate capacity` measures them and writes this
file.

Authentication adds to that: once a minute an instance reads a key and its account again, with one BatchGetItem of 2 RCU, and each
account above with a GetItem of 1 RCU; so it learns of revoked keys and suspended accounts. An instance reserves the request rate of
an account, and of each account above it, for 30 requests at a time (1 WCU), and only while requests are fast.

| Route | Function | Calls | RCU | WCU |
|---|---|---|---|---|
";

const BUDGET: &str = "
The budget: to retrieve is one call and 0.5 RCU, to list one Query, and a BatchGetItem where the list holds keys, to create simply one call and 6 WCU, to reserve one transaction of
8 WCU, to update two calls. Above it, each for a reason:

";

/// Measures every route and renders the file.
pub async fn render() -> String {
    let mut text = HEAD.to_owned();
    for measured in measure().await {
        let route = &measured.route;
        writeln!(
            text,
            "| `{} {}` | {} | {} | {} | {} |",
            route.method.as_str(),
            route.path,
            route.name,
            measured.actions(),
            measured.reads(),
            measured.writes()
        )
        .expect("a line");
    }
    text.push_str(BUDGET);
    for (name, reason) in ABOVE_BUDGET {
        writeln!(text, "- `{name}`: {reason}.").expect("a line");
    }
    text
}
