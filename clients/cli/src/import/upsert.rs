//! `--upsert`: updates the object that has the VIN or the e-mail address of a line, or creates it if there is none.
//!
//! Each line is compared with the object, so the file can be imported any number of times, from the beginning, without a journal. No
//! two lines have the same VIN or address, so lines do not depend on each other.
//!
//! The Idempotency-Key of a creation is made from the content of the line, so that an import that was interrupted does not create an
//! object twice. If the service repeats the response to an earlier request with this key, the object may have been changed since: it is
//! retrieved, and if it no longer has the VIN or the address, the object of the line is created with another key.

use futures::StreamExt as _;
use serde_json::{Map, Value, json};

use super::create::is_in;
use super::report::{Bar, LineOutcome, Summary, refusal_of};
use super::sheet::{Problem, Row};
use crate::catalog::Operation;
use crate::client::{Client, Request};
use crate::commands;
use crate::context::Context;
use crate::failure::Failure;

/// The members by which objects are found, by the groups of commands.
const KEYS: [(&str, &str); 2] = [("drivers", "email"), ("vehicles", "vin")];

/// The maximum number of keys with which the creation of the object of a line is tried.
const MOST_KEYS: u32 = 20;

/// The object of a line and the outcome of the line, or the reason why the line is refused.
type Put = Result<(Value, LineOutcome), String>;

/// An import that updates existing objects.
pub struct Upsert {
    client: Client,
    create: &'static Operation,
    update: &'static Operation,
    /// The member by which objects are found.
    key: &'static str,
    /// The fleet to which each driver is attached.
    attach: Option<String>,
}

impl Upsert {
    /// The member by which the objects of a group are found.
    pub fn key_of(group: &str) -> Option<&'static str> {
        KEYS.iter()
            .find(|(name, _)| *name == group)
            .map(|(_, key)| *key)
    }

    /// Creates an import into a group.
    ///
    /// # Errors
    /// The objects of the group cannot be updated.
    pub fn new(
        client: Client,
        group: &str,
        key: &'static str,
        attach: Option<String>,
    ) -> Result<Self, Failure> {
        let operation = |name| commands::operation(group, name);
        let (create, update) = operation("create")
            .zip(operation("update"))
            .ok_or_else(|| Failure::local("this cannot be updated"))?;
        Ok(Self {
            client,
            create,
            update,
            key,
            attach,
        })
    }

    /// Imports all lines.
    ///
    /// # Errors
    /// If the key is refused or the service cannot be reached.
    pub(super) async fn all(
        &self,
        context: &Context,
        rows: impl Iterator<Item = Row>,
        total: u64,
        concurrency: usize,
    ) -> Result<Summary, Failure> {
        let bar = Bar::new(context, total);
        let lines = rows.map(|row| self.outcome_of(row));
        let mut outcomes = futures::stream::iter(lines).buffer_unordered(concurrency);
        let mut done = Vec::new();
        while let Some(outcome) = outcomes.next().await {
            done.push(outcome?);
            bar.advance(1);
        }
        bar.finish();
        let mut summary = Summary::default();
        summary.count(done);
        Ok(summary)
    }

    async fn outcome_of(&self, row: Row) -> Result<LineOutcome, Failure> {
        let line = row.line;
        match self.put(row).await {
            Ok(outcome) => Ok(outcome),
            Err(failure) => refusal_of(line, failure).map(LineOutcome::Refused),
        }
    }

    async fn put(&self, row: Row) -> Result<LineOutcome, Failure> {
        let Row { line, key, body } = row;
        let value = body[self.key].as_str().unwrap_or_default();
        let search = Request::get(self.create.path.as_str()).with(self.key, value);
        let page = self.client.send(&search.with("limit", "2")).await?.body;
        let found = page["data"].as_array().cloned().unwrap_or_default();
        let put = match found.as_slice() {
            [] => self.create(&key, &body).await?,
            [object] => self.update(object, &body).await?,
            _ => Err(format!("{}: several objects have this value", self.key)),
        };
        let (object, outcome) = match put {
            Ok(put) => put,
            Err(message) => return Ok(LineOutcome::Refused(Problem::of_line(line, message))),
        };
        match self.attached(&object).await {
            Ok(true) if matches!(outcome, LineOutcome::Unchanged) => Ok(LineOutcome::Updated),
            Ok(_) => Ok(outcome),
            Err(failure) => {
                let id = object["id"].as_str().unwrap_or_default();
                let reason = refusal_of(line, failure)?.message;
                Ok(LineOutcome::unattached(line, id, &reason))
            }
        }
    }

    /// Creates the object of a line, for which the search has found none. An object that an earlier request has created, and that has the
    /// VIN or the address, is updated instead: the search is eventually consistent.
    async fn create(&self, key: &str, body: &Value) -> Result<Put, Failure> {
        for attempt in 1..=MOST_KEYS {
            let key = match attempt {
                1 => key.to_owned(),
                attempt => format!("{key}-{attempt}"),
            };
            let request = Request::post(self.create.path.as_str(), body.clone()).once(key);
            let created = self.client.send(&request).await?;
            if !created.headers.contains_key("idempotent-replayed") {
                return Ok(Ok((created.body, LineOutcome::Created)));
            }
            let Some(object) = self.retrieve(&created.body).await? else {
                return Ok(Err("the object of this line was deleted within the last 24 hours; change a member, or import it later".into()));
            };
            if !self.is_of_line(&object, body) {
                continue;
            }
            let put = self.update(&object, body).await?;
            return Ok(put.map(|(object, outcome)| match outcome {
                // The response to the first attempt was lost.
                LineOutcome::Unchanged if created.is_of_repetition => {
                    (object, LineOutcome::Created)
                }
                outcome => (object, outcome),
            }));
        }
        Ok(Err(format!(
            "this line has created {MOST_KEYS} objects within the last 24 hours, which have another {} now; import it later",
            self.key
        )))
    }

    /// Changes the members of an object that differ from those of its line.
    async fn update(&self, object: &Value, body: &Value) -> Result<Put, Failure> {
        let mut changes = changes(object, body);
        // The service finds a VIN in upper and in lower case.
        changes.retain(|name, _| name != self.key || self.can_change(name));
        let mut fixed = changes.keys().filter(|name| !self.can_change(name));
        if let Some(name) = fixed.next() {
            return Ok(Err(format!("{name}: it cannot be changed")));
        }
        let outcome = if changes.is_empty() {
            LineOutcome::Unchanged
        } else {
            let request = Request::post(self.path(object), changes.into());
            self.client.send(&request).await?;
            LineOutcome::Updated
        };
        Ok(Ok((object.clone(), outcome)))
    }

    /// Whether an object has the VIN or the address of a line, by the comparison of the service's search.
    fn is_of_line(&self, object: &Value, body: &Value) -> bool {
        let value = |of: &Value| of[self.key].as_str().map(|text| text.trim().to_lowercase());
        value(object) == value(body)
    }

    /// Attaches a driver to the fleet if it is not attached yet. Returns whether this was necessary.
    async fn attached(&self, object: &Value) -> Result<bool, Failure> {
        let fleet = self.attach.as_ref();
        let Some(fleet) = fleet.filter(|fleet| !is_in(object, fleet)) else {
            return Ok(false);
        };
        let path = format!("{}/attach", self.path(object));
        let request = Request::post(path, json!({"fleet": fleet}));
        self.client.send(&request).await.map(|_| true)
    }

    /// Retrieves an object. None if it was deleted.
    async fn retrieve(&self, object: &Value) -> Result<Option<Value>, Failure> {
        match self.client.send(&Request::get(self.path(object))).await {
            Ok(response) => Ok(Some(response.body)),
            Err(Failure::Refused(refusal)) if refusal.status == 404 => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    fn path(&self, object: &Value) -> String {
        let id = object["id"].as_str().unwrap_or_default();
        format!("{}/{id}", self.create.path)
    }

    fn can_change(&self, name: &str) -> bool {
        let mut fields = self.update.body.iter().flat_map(|body| &body.fields);
        fields.any(|field| field.path[0] == name)
    }
}

/// The members of a line whose values differ from those of the object.
fn changes(object: &Value, body: &Value) -> Map<String, Value> {
    let members = body.as_object().into_iter().flatten();
    let changed = members.filter(|(name, value)| !has(&object[name.as_str()], value));
    changed
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// Whether a value contains another one: an object may have more members.
fn has(value: &Value, other: &Value) -> bool {
    match other {
        Value::Object(members) => members
            .iter()
            .all(|(name, member)| has(&value[name.as_str()], member)),
        other => value == other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_members_that_differ_are_changes() {
        let object = json!({"id": "veh_1", "vin": "A", "information": {"make": "X", "model": "Y"}, "metadata": {}, "tags": [1, 2]});
        let same = json!({"vin": "A", "information": {"make": "X"}, "tags": [1, 2]});
        assert!(changes(&object, &same).is_empty());
        let other = json!({"vin": "A", "information": {"make": "Z"}, "metadata": {"depot": "east"}, "tags": [1]});
        let names: Vec<String> = changes(&object, &other).keys().cloned().collect();
        assert_eq!(names, ["information", "metadata", "tags"]);
    }
}
