//! Makes the tables of what each request and one whole reservation consume of the DynamoDB table.

use std::fmt::Write as _;

use tests::bill::{self, Cost};
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

const WHOLE: &str = "
# What one whole reservation takes

A reservation without an idempotency key is created, confirmed and charged; its session is paid by card and is one of ten on an
invoice; six events are delivered to one endpoint. Reads include those of the key and its account before each request, since more
than a minute passes in between. Dollars are per million reservations in us-east-1 at list prices: 0.625 for a million write units and
0.125 for read units, HTTP API 1.00, Lambda on arm64 0.20 and 13.33 per million GB-s, SQS 0.40 for each of the three calls of a
message, Scheduler 1.00, logs 0.50 per GB. An invocation counts as 10 ms of 256 MB, one that delivers as 200 ms, with 600 bytes of
logs; an invocation of the relay takes ten changes of the table.

| Function | Runs | Calls | RCU | WCU | Messages | Schedules | Dollars |
|---|---|---|---|---|---|---|---|
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
    text.push_str(WHOLE);
    let mut total = Cost::default();
    for line in bill::whole_reservation().await {
        let cost = line.cost();
        total = total.and(cost);
        writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} | {:.2} |",
            line.function,
            rounded(line.runs),
            rounded(line.calls),
            rounded(line.reads),
            rounded(line.writes),
            rounded(line.queued),
            rounded(line.scheduled),
            cost.total()
        )
        .expect("a line");
    }
    let Cost {
        table,
        gateway,
        lambda,
        queues,
        scheduler,
        logs,
    } = total;
    let sum = total.total();
    writeln!(
        text,
        "\nTogether **{sum:.2} dollars per million**: table {table:.2}, gateway {gateway:.2}, Lambda {lambda:.2}, SQS {queues:.2}, \
         Scheduler {scheduler:.2}, logs {logs:.2}. The goal is 64."
    )
    .expect("a line");
    text
}

/// A number with as many decimals as it needs, at most two.
fn rounded(number: f64) -> f64 {
    (number * 100.0).round().abs() / 100.0
}
