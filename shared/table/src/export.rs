//! The objects of an account in an export.

use aws_sdk_dynamodb::types::AttributeValue;
use serde_json::Value;

use super::batches;
use super::keys;
use super::records;
use super::scan::{Filter, Pass};
use super::stored_item;
use super::{Item, Store, string};
use kernel::{Error, Id, Kind, Result, Tenant};
use models::Account;

impl Store {
    /// Returns the next objects of a tenant, in no order, and the pass after them: the account, its keys without their secrets, every
    /// object, the lines of invoices, the results of batches, and the attempts of webhook deliveries.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached; `Internal` if an item cannot be read.
    pub async fn next_objects(
        &self,
        tenant: &Tenant,
        pass: &Pass,
        limit: Option<u32>,
    ) -> Result<(Vec<Value>, Pass)> {
        let (items, next) = self
            .next_items(pass, Some(&items_of(tenant)), limit, false)
            .await?;
        let mut objects = Vec::new();
        for item in items {
            for result in batches::results_in(&item)? {
                objects.push(serde_json::to_value(result).map_err(Error::internal)?);
            }
            objects.extend(object_of(tenant, item)?);
        }
        Ok((objects, next))
    }
}

/// Returns a filter for the items of a tenant, and the account with its keys, which have no mode in their partition keys.
fn items_of(tenant: &Tenant) -> Filter {
    let [items, account, api_keys] = keys::of_account(tenant);
    let values = [
        (":items", items),
        (":account", account),
        (":keys", api_keys),
    ];
    Filter {
        expression: "begins_with(pk, :items) OR pk = :account OR begins_with(pk, :keys)",
        values: values
            .into_iter()
            .map(|(name, value)| (name.to_owned(), AttributeValue::S(value)))
            .collect(),
    }
}

/// Returns the object of an item as clients see it; `None` for an item without an object, or of the other mode.
fn object_of(tenant: &Tenant, item: Item) -> Result<Option<Value>> {
    if let Some(line) = item.get("line").cloned() {
        let mut line: Value = serde_dynamo::from_attribute_value(line).map_err(Error::internal)?;
        let invoice = keys::parse_object(string(&item, "pk")).map(|(_, id)| id);
        if let (Some(line), Some(invoice)) = (line.as_object_mut(), invoice) {
            line.insert("invoice".into(), invoice.as_str().into());
        }
        return Ok(Some(line));
    }
    let Some(kind) = kind_of(&item) else {
        return Ok(None);
    };
    if kind == Kind::Account {
        let account = stored_item::from_item::<Account>(item)?.seen_in(tenant.mode);
        return serde_json::to_value(account)
            .map(Some)
            .map_err(Error::internal);
    }
    let shown = records::shown(kind, item)?;
    let of_other_mode = |object: &Value| {
        kind == Kind::ApiKey && object["livemode"].as_bool() != Some(tenant.mode.is_live())
    };
    Ok(shown.filter(|object| !of_other_mode(object)))
}

/// Returns the kind of the object in an item.
fn kind_of(item: &Item) -> Option<Kind> {
    let object = item.get("object")?.as_m().ok()?;
    let stored = object.get("id").and_then(|id| id.as_s().ok());
    let id = stored.map(|id| Id::from(id.as_str()));
    id.or_else(|| keys::id_of(string(item, "pk"), string(item, "sk")))?
        .kind()
}
