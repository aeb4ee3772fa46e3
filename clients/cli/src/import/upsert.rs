//! `--upsert`: updates the object that has the VIN or the e-mail address of a line, or creates it if there is none.
//!
//! Each line is compared with the object, so the file can be imported any number of times, from the beginning, without a journal. No
//! two lines have the same VIN or address, so lines do not depend on each other.

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
        let refused = |message: String| Ok(LineOutcome::Refused(Problem::of_line(line, message)));
        let value = body[self.key].as_str().unwrap_or_default();
        let search = Request::get(self.create.path.as_str()).with(self.key, value);
        let page = self.client.send(&search.with("limit", "2")).await?.body;
        let found = page["data"].as_array().cloned().unwrap_or_default();
        let (object, outcome) = match found.as_slice() {
            [] => {
                let request = Request::post(self.create.path.as_str(), body).once(key);
                let created = self.client.send(&request).await?;
                let is_repeated = created.headers.contains_key("idempotent-replayed");
                if is_repeated && !self.exists(&created.body).await? {
                    return refused("the object of this line was deleted within the last 24 hours; change a member, or import it later".into());
                }
                (created.body, LineOutcome::Created)
            }
            [object] => {
                let mut changes = changes(object, &body);
                // The service finds a VIN in upper and in lower case.
                changes.retain(|name, _| name != self.key || self.can_change(name));
                let mut fixed = changes.keys().filter(|name| !self.can_change(name));
                if let Some(name) = fixed.next() {
                    return refused(format!("{name}: it cannot be changed"));
                }
                let outcome = if changes.is_empty() {
                    LineOutcome::Unchanged
                } else {
                    let path = self.path(object);
                    self.client
                        .send(&Request::post(path, changes.into()))
                        .await?;
                    LineOutcome::Updated
                };
                (object.clone(), outcome)
            }
            _ => return refused(format!("{}: several objects have this value", self.key)),
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

    async fn exists(&self, object: &Value) -> Result<bool, Failure> {
        match self.client.send(&Request::get(self.path(object))).await {
            Ok(_) => Ok(true),
            Err(Failure::Refused(refusal)) if refusal.status == 404 => Ok(false),
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
