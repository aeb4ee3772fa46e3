//! Generates the tables of the DynamoDB capacity that each request and one whole reservation consume.

use std::fmt::Write as _;

use tests::bill::{self, Bill, Cost};
use tests::capacity::{ABOVE_BUDGET, measure};
use tests::units::Changed;

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
The budget: to retrieve is one call and 0.5 RCU; to list one Query of 0.5 RCU, and where the list holds keys a BatchGetItem and together
1.5 RCU; to create one call and 6 WCU; to update two calls, 1 RCU and 5 WCU; to delete the same and 8 WCU; any other change the same and
6 WCU. Above it, each for a reason:

";

const WHOLE: &str = "
# What one whole reservation takes

A reservation without an idempotency key is created, confirmed and charged; its session is paid by card and is one of ten on an
invoice; six events are delivered to one endpoint. Reads include those of the key and its account before each request, since more
than a minute passes in between. Dollars are per million reservations in us-east-1 at list prices: 0.625 for a million write units and
0.125 for read units, HTTP API 1.00, Lambda on arm64 0.20 and 13.33 per million GB-s, SQS 0.40 for a call: a message is sent, received and
deleted, Scheduler 1.00 for a schedule that fires (one that is deleted before its moment costs nothing), logs 0.50 per GB. An invocation counts
as 10 ms of 256 MB, one that delivers as 200 ms; an invocation of the relay takes ten changes of the table that its filters let through, and sends
their messages to one function with one call; one of a worker takes as many messages as its batch may have, which are received and deleted together. Logs are what the functions wrote, to the nearest ten bytes, and
for each request a line of 190 bytes in the access log of API Gateway.

| Function | Runs | Calls | RCU | WCU | Messages | Schedules | Bytes of logs | Dollars |
|---|---|---|---|---|---|---|---|---|
";

const ROWS: &str = "
What is written up to the invoice, by kind of item as `tests/golden` names them, their indexes included:

| Items | Changes | WCU |
|---|---|---|
";

const MADE_OF: &str = "
Each event is stored once (1 WCU), and its delivery is claimed and concluded in one item (2): 18 WCU for six. The calendars of
EVSE and vehicle are written three times in transactions (12), the station twice (4), the sums of the fleet once (6), the transaction once (3). That leaves
about 32 for the reservation and the session, which are changed seven times and claimed by the invoice: in transactions they count twice, and they are in the
lists of their account, fleet, driver and vehicle, in that of what is open, and in the index of next actions. All of these items are below a kilobyte.

What would lower it further, by calculation, and was not done, because each gives up a guarantee:

- Deliveries that no function claims before it sends: 6 WCU less and up to 6 RCU more, 3 to 3.75 dollars. Messages that come at the same time would
  send an event more than once.
- The status of a simulated station's EVSE that is written after the session: 2 WCU, 1.25 dollars. The end of one session could undo the start of the
  next. A network's station is not written at all.
- No lists by driver and by vehicle: 6 WCU, 3.75 dollars. Such a list, and the deletion of a driver, would read the account's history.
- What decides a request or a confirmation read as it was up to a second ago: about 10 RCU, 1.25 dollars.

What is stored is not part of the sum: it costs 0.25 dollars for each GB and month. The reservation, its session and its transaction, of at most a kilobyte
each, stay with ten entries in indexes of some 250 bytes: 5.5 GB for a million, 1.40 dollars a month. The events and their deliveries, at most 12 GB for a
million, are deleted after 30 days: 3 dollars.
";

/// Measures every route and renders the file.
pub async fn render() -> String {
    let mut text = HEAD.to_owned();
    for measured in measure().await {
        let route = &measured.route;
        writeln!(
            text,
            "| `{route}` | {} | {} | {} | {} |",
            route.name,
            measured.actions(),
            measured.reads(),
            measured.writes()
        )
        .expect("a line");
    }
    text.push_str(BUDGET);
    for (name, calls, reads, writes, why) in ABOVE_BUDGET {
        let most = format!("at most {calls} calls, {reads} RCU and {writes} WCU");
        writeln!(text, "- `{name}`, {most}: {why}.").expect("a line");
    }
    let whole = bill::whole_reservation().await;
    text.push_str(WHOLE);
    bill_of(&whole, &mut text);
    text.push_str(ROWS);
    for (kind, Changed { times, writes }) in whole.changes {
        let (times, writes) = (rounded(times), rounded(writes));
        writeln!(text, "| {kind} | {times} | {writes} |").expect("a line");
    }
    text.push_str(MADE_OF);
    text
}

/// Writes a line for each function that takes part in a whole reservation, and the sum of their costs.
fn bill_of(whole: &Bill, text: &mut String) {
    let mut total = Cost::default();
    for line in &whole.functions {
        let cost = line.cost();
        total = total.and(cost);
        writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} | {:.0} | {:.2} |",
            line.function,
            rounded(line.runs),
            rounded(line.calls),
            rounded(line.reads),
            rounded(line.writes),
            rounded(line.queued.iter().sum()),
            rounded(line.scheduled),
            line.logged,
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
    let egress = whole.egress_cost();
    writeln!(
        text,
        "\nTogether **{:.2} dollars per million**: table {table:.2}, gateway {gateway:.2}, Lambda {lambda:.2}, SQS {queues:.2}, \
         Scheduler {scheduler:.2}, logs {logs:.2}, and {egress:.2} for what leaves for the internet: {:.1} kB of responses and deliveries with their \
         headers, at 0.09 dollars for each GB. The goal is 64.",
        total.total() + egress,
        whole.egress / 1000.0,
    )
    .expect("a line");
}

/// A number with as many decimals as it needs, at most two.
fn rounded(number: f64) -> f64 {
    (number * 100.0).round().abs() / 100.0
}
