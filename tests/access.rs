//! The calls of the table that each function makes, in `infra/access.json`, from which the roles of functions are generated.
//!
//! Tests run on a connection that records which function makes a call (`kernel::function_scope`). With the variable `RECORD_ACCESS`
//! the calls are written to `target/access`, from which `cargo run -p generate access` writes the file. Without it, a call that the
//! function's role would not allow is refused as AWS refuses it. So a test fails if a permission is missing, and
//! `cargo run -p generate access -- --all --check`, after all tests were recorded, fails if a permission is not needed any more.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{LazyLock, Mutex};

use aws_sdk_dynamodb::config::SharedHttpClient;
use aws_smithy_runtime_api::client::http::{
    HttpClient as _, HttpConnector, HttpConnectorFuture, SharedHttpConnector, http_client_fn,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::http::StatusCode;
use functions::batches;
use functions::batches::run::RunBatch;
use functions::function::Trigger;
use functions::job::Job as _;
use functions::stream::sweep::{self, SweepPartition};
use kernel::function_scope::{self, EVERY_CHANGE, EVERY_REQUEST};
use kernel::{Id, Kind};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use table::access::Items;
use web::deployment::Need;
use web::{Route, expand};

/// The file, relative to the repository.
pub const FILE: &str = "infra/access.json";

/// The file of calls that a function makes only if something fails at a certain moment, so that not every run of the tests records
/// them. They are in [`FILE`] as well.
pub const RARE: &str = "infra/rare-access.json";

/// Calls of one action on items of the table or of an index whose partition keys have the same pattern.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Access {
    /// The action that IAM checks: `GetItem`, and for each part of a transaction `PutItem`, `ConditionCheckItem` and so on.
    pub action: String,
    pub place: Place,
    /// The pattern of the partition keys, for the condition `dynamodb:LeadingKeys`.
    pub keys: String,
}

/// The table or the index that a call reads or writes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    Table,
    Index(String),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Table => f.write_str("table"),
            Self::Index(name) => write!(f, "index/{name}"),
        }
    }
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.action, self.place, self.keys)
    }
}

impl FromStr for Access {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut words = text.splitn(3, ' ');
        let (Some(action), Some(place), Some(keys)) = (words.next(), words.next(), words.next())
        else {
            return Err(format!("{text:?} is not an action, a place and a pattern"));
        };
        let place = match place.strip_prefix("index/") {
            Some(index) => Place::Index(index.to_owned()),
            None if place == "table" => Place::Table,
            None => return Err(format!("{place:?} is neither the table nor an index")),
        };
        Ok(Self {
            action: action.to_owned(),
            place,
            keys: keys.to_owned(),
        })
    }
}

impl Serialize for Access {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Access {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// The calls of each function, by the function's name.
pub type Recorded = BTreeMap<String, BTreeSet<Access>>;

/// Reads a file of recorded calls. A missing file counts as empty.
///
/// # Errors
/// The file cannot be read.
pub fn read(path: &Path) -> std::io::Result<Recorded> {
    match std::fs::read(path) {
        Ok(text) => serde_json::from_slice(&text).map_err(std::io::Error::other),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Recorded::new()),
        Err(error) => Err(error),
    }
}

/// Writes recorded calls to a file.
///
/// # Panics
/// If they cannot be represented as JSON, which does not happen.
pub fn render(recorded: &Recorded) -> String {
    serde_json::to_string_pretty(recorded).expect("JSON") + "\n"
}

/// The calls that a function may make: those that were recorded, and those that follow from its route. None if nothing was recorded
/// for it yet.
///
/// - The handler of every route is preceded by authentication and the rate limit, and accompanied by idempotency records if it changes
///   something.
/// - A route that accepts `expand[]` reads objects of every kind that it can show instead of an id.
/// - The job of batches processes the bodies of some routes.
/// - `sweep-partition` continues the work of `sweep`, with items of the same kinds.
/// - A function that scans the table processes items of every kind, and tests have only a few kinds: the actions that were recorded
///   are allowed for all items that its deployment names.
pub fn granted(recorded: &Recorded, name: &str) -> Option<BTreeSet<Access>> {
    let of_scope = |scope: &str| recorded.get(scope).cloned();
    let endpoint = functions::endpoint_named(name);
    let other = functions::functions().find(|function| function.name == name);
    match (endpoint, other.map(|function| function.trigger)) {
        (Some(endpoint), _) => {
            let mut granted = of_scope(name)?;
            granted.extend(of_scope(EVERY_REQUEST).unwrap_or_default());
            if !endpoint.route.only_reads() {
                granted.extend(of_scope(EVERY_CHANGE).unwrap_or_default());
            }
            granted.extend(expansions(&endpoint.route));
            Some(granted)
        }
        (None, Some(Trigger::Assistants(_) | Trigger::Pages)) => Some(BTreeSet::new()),
        // It serves every route by path, but no request reaches a handler.
        (None, Some(Trigger::Otherwise)) => of_scope(EVERY_REQUEST),
        (None, Some(_)) => {
            let mut seen = of_scope(name)?;
            if name == RunBatch::NAME {
                let routes = batches::ROUTES.iter();
                let handled = routes.filter_map(|route| granted(recorded, route.name));
                seen.extend(handled.flatten());
            }
            let sweeps = [sweep::NAME, SweepPartition::NAME];
            if sweeps.contains(&name) {
                seen.extend(sweeps.into_iter().filter_map(of_scope).flatten());
            }
            let deployment = functions::deployment_named(name)?;
            Some(if deployment.needs.contains(&Need::ScanTable) {
                widened(&seen, deployment.writes)
            } else {
                seen
            })
        }
        (None, None) => of_scope(name),
    }
}

/// The reads that expansions require.
fn expansions(route: &Route) -> impl Iterator<Item = Access> {
    let kinds = expand::reachable(route).into_iter();
    let patterns = kinds.flat_map(|kind| Items::Of(kind).patterns());
    patterns.map(|keys| Access {
        action: "BatchGetItem".into(),
        place: Place::Table,
        keys,
    })
}

/// The same actions on items of the table, for all patterns of these groups of items.
fn widened(seen: &BTreeSet<Access>, groups: &[Items]) -> BTreeSet<Access> {
    let declared: Vec<String> = groups.iter().flat_map(|group| group.patterns()).collect();
    let widen = |access: &Access| {
        let covered = declared.iter().any(|pattern| fits(pattern, &access.keys));
        if covered && !access.is_read() {
            declared.iter().map(|pattern| access.on(pattern)).collect()
        } else {
            vec![access.clone()]
        }
    };
    seen.iter().flat_map(widen).collect()
}

impl Access {
    /// Whether the call leaves the items unchanged.
    pub fn is_read(&self) -> bool {
        ["BatchGetItem", "GetItem", "Query", "Scan"].contains(&self.action.as_str())
    }

    fn on(&self, pattern: &str) -> Self {
        Self {
            keys: pattern.to_owned(),
            ..self.clone()
        }
    }

    /// Whether a policy that grants this access allows the other one.
    fn allows(&self, other: &Self) -> bool {
        self.action == other.action && self.place == other.place && fits(&self.keys, &other.keys)
    }
}

/// Whether a pattern of IAM matches a text.
pub fn fits(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((start, rest)) => text.strip_prefix(start).is_some_and(|text| {
            (0..=text.len()).any(|at| text.is_char_boundary(at) && fits(rest, &text[at..]))
        }),
    }
}

/// The accesses that IAM checks for a call of the table.
///
/// # Panics
/// If the service does not make such calls.
pub fn of_call(operation: &str, request: &Value) -> Vec<Access> {
    let mut found = Vec::new();
    let mut note = |action: &str, place: &Place, key: &str| {
        found.extend(patterns_of(key).into_iter().map(|keys| Access {
            action: action.to_owned(),
            place: place.clone(),
            keys,
        }));
    };
    let pk = |item: &Value| item["pk"]["S"].as_str().map(str::to_owned);
    match operation {
        "GetItem" | "UpdateItem" | "DeleteItem" => {
            note(
                operation,
                &Place::Table,
                &pk(&request["Key"]).expect("a key"),
            );
        }
        "PutItem" => note(
            operation,
            &Place::Table,
            &pk(&request["Item"]).expect("a key"),
        ),
        "Query" => {
            let place = request["IndexName"].as_str();
            let place = place.map_or(Place::Table, |name| Place::Index(name.to_owned()));
            let condition = request["KeyConditionExpression"]
                .as_str()
                .expect("a condition");
            let (_, value) = condition.split_once('=').expect("a partition key");
            let value = value.split_whitespace().next().expect("a value");
            let value = &request["ExpressionAttributeValues"][value]["S"];
            note(operation, &place, value.as_str().expect("a partition key"));
        }
        "Scan" => found.push(Access {
            action: operation.to_owned(),
            place: Place::Table,
            keys: "*".to_owned(),
        }),
        "BatchGetItem" | "BatchWriteItem" => {
            for requests in request["RequestItems"]
                .as_object()
                .expect("tables")
                .values()
            {
                let keys = requests["Keys"].as_array().into_iter().flatten();
                let keys = keys.filter_map(pk);
                let writes = requests.as_array().into_iter().flatten();
                let writes = writes.filter_map(|write| {
                    pk(&write["PutRequest"]["Item"]).or_else(|| pk(&write["DeleteRequest"]["Key"]))
                });
                keys.chain(writes)
                    .for_each(|key| note(operation, &Place::Table, &key));
            }
        }
        "TransactWriteItems" | "TransactGetItems" => {
            for item in request["TransactItems"].as_array().expect("items") {
                for (kind, part) in item.as_object().expect("a part") {
                    let key = pk(&part["Key"]).or_else(|| pk(&part["Item"]));
                    note(&format!("{kind}Item"), &Place::Table, &key.expect("a key"));
                }
            }
        }
        other => panic!("tests/access.rs does not know the operation {other}"),
    }
    found
}

/// The patterns of IAM for keys like this one, of the table or of an index. Ids, dates, values that clients choose, and the mode are
/// replaced by wildcards.
pub fn patterns_of(key: &str) -> Vec<String> {
    let mut parts: Vec<&str> = key.split('#').collect();
    let mut heads = vec![""];
    match parts[0] {
        "live" | "test" => {
            heads = vec!["live#", "test#"];
            parts.remove(0);
        }
        // `acct_*#` covers the mode as well.
        account if Id::from(account).is(Kind::Account) && parts.len() > 2 => {
            heads = vec!["acct_*#"];
            parts.drain(..2);
        }
        _ => {}
    }
    let mut pattern: Vec<String> = Vec::new();
    for part in parts {
        let is_word = |part: &str| {
            !part.is_empty()
                && part
                    .bytes()
                    .all(|byte| byte.is_ascii_uppercase() || byte == b'_')
        };
        let before = pattern.last().map_or("", String::as_str);
        // A word is followed by a name, except in keys such as `OCPI#OBJECT`.
        let is_open = before == "*" || (is_word(before) && before != "OCPI");
        let letters = part.find(|c: char| !c.is_ascii_lowercase() && c != '_');
        pattern.push(match letters {
            _ if is_open => "*".to_owned(),
            _ if is_word(part) => part.to_owned(),
            None if !part.is_empty() => part.to_owned(),
            Some(end) if end > 0 => format!("{}*", &part[..end]),
            _ => "*".to_owned(),
        });
        if pattern.ends_with(&["*".to_owned(), "*".to_owned()]) {
            pattern.pop();
        }
    }
    let pattern = pattern.join("#");
    heads
        .iter()
        .map(|head| format!("{head}{pattern}"))
        .collect()
}

/// The variable with which tests record the calls of functions, instead of refusing those that are not in `infra/access.json`.
const RECORD: &str = "RECORD_ACCESS";

/// The folder of the recordings, relative to the repository: one file per process, with a function and an access on each line.
pub const RECORDINGS: &str = "target/access";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The calls that tests have recorded.
///
/// # Errors
/// A recording cannot be read.
pub fn recordings() -> std::io::Result<Recorded> {
    let mut recorded = Recorded::new();
    let folder = root().join(RECORDINGS);
    let files = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(recorded),
        files => files?,
    };
    for file in files {
        for line in std::fs::read_to_string(file?.path())?.lines() {
            let (function, access) = line.split_once(' ').unwrap_or((line, ""));
            let access = access.parse().map_err(std::io::Error::other)?;
            recorded
                .entry(function.to_owned())
                .or_default()
                .insert(access);
        }
    }
    Ok(recorded)
}

/// The calls that functions may make, by their names. None for a function without a role.
type Granted = HashMap<&'static str, Option<BTreeSet<Access>>>;

/// The permissions of the functions that have been looked up so far.
static GRANTED: LazyLock<Mutex<Granted>> = LazyLock::new(Mutex::default);

/// The calls that this process has recorded, and the file to which it writes them.
static SEEN: LazyLock<Option<Mutex<Recording>>> = LazyLock::new(|| {
    std::env::var_os(RECORD)?;
    let folder = root().join(RECORDINGS);
    std::fs::create_dir_all(&folder).expect("the folder of recordings");
    let path = folder.join(format!("{}.txt", std::process::id()));
    let file = std::fs::File::create(path).expect("a recording");
    let calls = BTreeSet::new();
    Some(Mutex::new(Recording { file, calls }))
});

struct Recording {
    file: std::fs::File,
    calls: BTreeSet<(&'static str, Access)>,
}

/// The first of these accesses that a policy with these permissions does not allow.
pub fn first_refused<'a>(
    granted: &BTreeSet<Access>,
    requested: &'a [Access],
) -> Option<&'a Access> {
    let mut requested = requested.iter();
    requested.find(|access| !granted.iter().any(|permission| permission.allows(access)))
}

/// Whether calls are recorded, in which case none is refused.
pub fn is_recording() -> bool {
    SEEN.is_some()
}

/// Records the call of a function, or returns the reason why its role does not allow it.
fn check(function: &'static str, operation: &str, request: &Value) -> Result<(), String> {
    let calls = of_call(operation, request);
    if let Some(seen) = &*SEEN {
        let mut seen = seen.lock().expect("the recording");
        for access in calls {
            let line = format!("{function} {access}\n");
            if seen.calls.insert((function, access)) {
                seen.file.write_all(line.as_bytes()).expect("the recording");
            }
        }
        return Ok(());
    }
    let mut granted_before = GRANTED.lock().expect("the permissions");
    let granted = granted_before.entry(function).or_insert_with(|| {
        static RECORDED: LazyLock<Recorded> =
            LazyLock::new(|| read(&root().join(FILE)).expect("infra/access.json"));
        granted(&RECORDED, function)
    });
    // Nothing was recorded for the function so far.
    let Some(granted) = granted else {
        return Ok(());
    };
    match first_refused(granted, &calls) {
        None => Ok(()),
        Some(access) => Err(format!(
            "{function} may not {access}: {FILE} does not have it. Run this test with {RECORD}=1, then `cargo run -p generate access template`"
        )),
    }
}

/// The connections of the service to its table. Every function may make only the calls that its role allows on AWS. With the variable
/// `RECORD_ACCESS`, the calls are recorded instead.
pub fn guarded(inner: SharedHttpClient) -> SharedHttpClient {
    http_client_fn(move |settings, components| {
        SharedHttpConnector::new(Guarded(inner.http_connector(settings, components)))
    })
}

#[derive(Debug)]
struct Guarded(SharedHttpConnector);

impl HttpConnector for Guarded {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        // A call outside any function is made by a test or by the runner.
        let Some(function) = function_scope::current() else {
            return self.0.call(request);
        };
        let target = request.headers().get("x-amz-target").unwrap_or_default();
        let operation = target.rsplit('.').next().unwrap_or_default();
        let body = request.body().bytes().unwrap_or_default();
        let body: Value = serde_json::from_slice(body).expect("JSON");
        match check(function, operation, &body) {
            Ok(()) => self.0.call(request),
            Err(message) => {
                drop(std::io::stderr().write_all(format!("{message}\n").as_bytes()));
                let refused = serde_json::json!({"__type": "com.amazon.coral.service#AccessDeniedException", "Message": message});
                let status = StatusCode::try_from(400).expect("a status");
                let response = HttpResponse::new(status, refused.to_string().into());
                HttpConnectorFuture::ready(Ok(response))
            }
        }
    }
}
