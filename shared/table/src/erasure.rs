//! Erasing accounts: everything in the table that belongs to them or names them.
//!
//! An item belongs to an account by its partition key ([`keys::account_of`]), whatever kind of item it is. Items that belong to no account,
//! such as calendars, objects of charging networks and ids of the payment provider, are found by their content: each contains the account
//! of its session, reservation or customer. The calendar of an EVSE contains entries of other accounts too, so only the entries of the
//! erased accounts are removed. Of the uids of charge cards, their invalid tokens are kept (`erased_cards.rs`).

use std::collections::BTreeSet;

use aws_sdk_dynamodb::types::AttributeValue;
use futures::stream::{self, TryStreamExt as _};
use jiff::civil::Date;

use super::calendars::REVISION;
use super::item::STATE;
use super::keys::{self, Key, Partition};
use super::list::all_items;
use super::networks::is_unmatched;
use super::scan::{Pass, each_text};
use super::search::{AT_A_TIME, deletion};
use super::unit_of_work::Write;
use super::{Item, Store, client, n, number, s, stored_item, string};
use kernel::{Error, Id, Kind, Mode, Result, Tenant, Timestamp};
use models::Account;
use models::charging::calendar::{Calendar, CalendarOwner};
use models::charging_session::SessionStatus;
use models::invoice::InvoiceStatus;
use models::ports::schedule_names;
use models::reservation::ReservationStatus;
use models::transaction::TransactionStatus;
use serde::de::DeserializeOwned;

/// The number of items that one BatchWriteItem deletes, and of these calls that run concurrently.
const BATCH: usize = AT_A_TIME;
const BATCHES: usize = 8;

/// The accounts that are erased together: one and all accounts below it.
pub type Accounts = BTreeSet<Id>;

/// An object that must have ended before its account is erased.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenObject {
    pub id: Id,
    pub status: String,
}

/// A page of items that belong to or name the erased accounts.
#[derive(Debug, Default)]
pub struct Traces {
    /// Items that are deleted as a whole.
    items: Vec<Item>,
    /// Calendars that contain entries of other accounts.
    calendars: Vec<Item>,
    /// Uids of charge cards whose tokens networks have received.
    tokens: Vec<Item>,
}

impl Traces {
    /// Returns the number of items that are deleted or changed.
    pub fn count(&self) -> u64 {
        (self.items.len() + self.calendars.len() + self.tokens.len()) as u64
    }

    /// Returns the objects that have not ended: sessions, reservations, and in live mode invoices and payments.
    pub fn open_objects(&self) -> Vec<OpenObject> {
        self.items.iter().filter_map(open_object).collect()
    }

    /// Returns the invoices and credit notes that were issued, in both modes: their documents are kept.
    pub fn issued(&self) -> impl Iterator<Item = (Tenant, Id)> {
        self.items.iter().filter_map(|item| {
            let (tenant, id) = keys::parse_object(string(item, "pk"))?;
            let is_document = id.is(Kind::Invoice) || id.is(Kind::CreditNote);
            let object = item.get("object")?.as_m().ok()?;
            (is_document && object.contains_key("number")).then_some((tenant, id))
        })
    }

    /// Returns the names of the schedules that the items may have.
    pub fn schedules(&self) -> Vec<String> {
        let names = self.items.iter().flat_map(|item| {
            let (pk, sk) = (string(item, "pk"), string(item, "sk"));
            let object = keys::parse_object(pk).map(|(_, id)| id);
            let object = object.or_else(|| keys::id_of(pk, sk));
            let at = Timestamp::parse(string(item, "next_at")).ok();
            let object = object.zip(at);
            object.map_or_else(Vec::new, |(id, at)| schedule_names(&id, at))
        });
        names.collect()
    }
}

impl Store {
    /// Returns an account and all accounts below it.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn accounts_below(&self, id: &Id) -> Result<Vec<Id>> {
        let mut accounts = vec![id.clone()];
        let mut next = 0;
        while let Some(parent) = accounts.get(next).cloned() {
            let items = self
                .items_in(Partition::Children { parent: &parent })
                .await?;
            let children = items
                .iter()
                .filter_map(|item| keys::account_of(string(item, "pk")));
            accounts.extend(children);
            next += 1;
        }
        Ok(accounts)
    }

    /// Returns the next items that belong to these accounts or name them, and the pass after them. The accounts' own items are not among
    /// them: [`Store::erase_account`] deletes those.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached; a permanent `Internal` if an item cannot be searched.
    pub async fn next_traces(
        &self,
        accounts: &Accounts,
        pass: &Pass,
        limit: Option<u32>,
    ) -> Result<(Traces, Pass)> {
        let (items, next) = self.next_items(pass, None, limit, true).await?;
        let (mut traces, mut unmatched) = (Traces::default(), Vec::new());
        for item in items {
            let pk = string(&item, "pk");
            let goes = match keys::account_of(pk) {
                Some(_) if keys::is_account(pk) || keys::is_endpoint_count(pk) => false,
                Some(owner) if accounts.contains(&owner) => true,
                // The response that another account received when it created this one.
                Some(_) => keys::is_idempotency_record(pk) && names_any(&item, accounts)?,
                None => keys::is_about_accounts(pk) && names_any(&item, accounts)?,
            };
            if !goes {
                unmatched.extend(Some(item).filter(is_unmatched));
            } else if keys::is_shared_calendar(pk) {
                traces.calendars.push(item);
            } else if keys::is_charge_token(pk, string(&item, "sk")) && item.contains_key(STATE) {
                traces.tokens.push(item);
            } else {
                traces.items.push(item);
            }
        }
        let unmatched = self.naming_cards_of(accounts, unmatched).await?;
        traces.items.extend(unmatched);
        Ok((traces, next))
    }

    /// Deletes items, removes the entries of the accounts from calendars, and leaves the invalid tokens of charge cards.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached or leaves items undeleted.
    pub async fn erase(&self, traces: Traces, accounts: &Accounts, now: Timestamp) -> Result<()> {
        // A batch may contain each key only once.
        let mut keys: BTreeSet<(String, String)> = traces.items.iter().map(key_of).collect();
        for item in &traces.items {
            if let Some((tenant, id)) = keys::parse_object(string(item, "pk"))
                && id.is(Kind::Vehicle)
            {
                let calendars = self.calendars_of_vehicle(tenant.mode, id).await?;
                keys.extend(calendars.iter().map(key_of));
            }
        }
        let keys: Vec<(String, String)> = keys.into_iter().collect();
        stream::iter(keys.chunks(BATCH).map(Ok))
            .try_for_each_concurrent(BATCHES, |batch| self.delete_items(batch))
            .await?;
        stream::iter(traces.calendars.into_iter().map(Ok))
            .try_for_each_concurrent(BATCHES, |item| self.leave_calendar(item, accounts))
            .await?;
        stream::iter(traces.tokens.into_iter().map(Ok))
            .try_for_each_concurrent(BATCHES, |item| self.keep_invalid_token(item, now))
            .await
    }

    /// Returns the keys of a vehicle's calendars. A vehicle without a window has calendars that name no account.
    async fn calendars_of_vehicle(&self, mode: Mode, id: Id) -> Result<Vec<Item>> {
        let owner = CalendarOwner::Vehicle(id);
        let day = Date::constant(2026, 1, 1);
        let (pk, _) = Key::Calendar {
            mode,
            owner: &owner,
            day,
        }
        .pair();
        let query = self.client.query().table_name(&self.table);
        let query = query
            .key_condition_expression("pk = :pk")
            .expression_attribute_values(":pk", s(pk))
            .projection_expression("pk, sk");
        all_items(query).await
    }

    async fn delete_items(&self, keys: &[(String, String)]) -> Result<()> {
        let requests = keys.iter().map(|(pk, sk)| {
            let parts = [("pk", pk), ("sk", sk)];
            let parts = parts.map(|(name, part)| (name.to_owned(), s(part.as_str())));
            deletion(Item::from(parts))
        });
        self.write_all(requests.collect::<Result<_>>()?).await
    }

    /// Removes the entries of the accounts from a calendar. A calendar that has changed since it was read is left for the next pass.
    async fn leave_calendar(&self, mut item: Item, accounts: &Accounts) -> Result<()> {
        let revision = number(&item, REVISION);
        let calendar = item
            .remove("calendar")
            .unwrap_or(AttributeValue::Null(true));
        let mut calendar: Calendar =
            serde_dynamo::from_attribute_value(calendar).map_err(Error::internal)?;
        calendar.entries.retain(|entry| {
            let account = entry.account.as_ref();
            account.is_none_or(|account| !accounts.contains(account))
        });
        let calendar = serde_dynamo::to_attribute_value(calendar).map_err(Error::internal)?;
        item.insert("calendar".into(), calendar);
        item.insert(REVISION.into(), n(revision + 1));
        let put = self.client.put_item().table_name(&self.table);
        let sent = put
            .set_item(Some(item))
            .condition_expression("revision = :read")
            .expression_attribute_values(":read", n(revision))
            .send()
            .await;
        client::if_met(sent).map(drop)
    }

    /// Deletes the item of an account, and subtracts the account and its webhook endpoints from the counts of the accounts above it. Nothing
    /// happens if it was deleted already.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn erase_account(&self, id: &Id) -> Result<()> {
        let Some(item) = self.item(Key::Account { id }, true).await? else {
            return Ok(());
        };
        let mut above = Vec::new();
        let mut next = stored_item::from_item::<Account>(item)?.internal.parent;
        while let Some(parent) = next {
            let item = self.item(Key::Account { id: &parent }, true).await?;
            let account = item.map(stored_item::from_item::<Account>).transpose()?;
            next = account.and_then(|account| account.internal.parent);
            above.push(parent);
        }
        let account = self.delete(Key::Account { id });
        let account = account.condition_expression("attribute_exists(pk)");
        let count = self.delete(Key::ChildCount { account: id });
        let counts = above.iter().map(|account| {
            let update = self.update(Key::ChildCount { account });
            let update = update.update_expression("ADD #count :less");
            let update = update.expression_attribute_names("#count", "count");
            Write::Update(update.expression_attribute_values(":less", n(-1)))
        });
        let writes = [Write::Delete(account), Write::Delete(count)];
        let mut writes: Vec<Write> = writes.into_iter().chain(counts).collect();
        for mode in [Mode::Live, Mode::Test] {
            writes.extend(self.without_endpoints(id, &above, mode).await?);
        }
        let items = writes.into_iter();
        let items = items.map(|write| write.to_transact_item());
        let call = self.client.transact_write_items();
        let call = call.set_transact_items(Some(items.collect::<Result<_>>()?));
        match call.send().await {
            Ok(_) => Ok(()),
            // Another invocation has done it already.
            Err(error)
                if error
                    .as_service_error()
                    .is_some_and(|error| error.is_transaction_canceled_exception()) =>
            {
                match self.item(Key::Account { id }, true).await? {
                    None => Ok(()),
                    Some(_) => Err(Error::Contended),
                }
            }
            Err(error) => Err(client::failure(error)),
        }
    }
}

impl Store {
    /// Returns the writes that delete the number of an account's webhook endpoints, and subtract it from the totals of the accounts above.
    async fn without_endpoints(&self, id: &Id, above: &[Id], mode: Mode) -> Result<Vec<Write>> {
        let tenant = Tenant::new(id.clone(), mode);
        let key = Key::EndpointCount { tenant: &tenant };
        let Some(item) = self.item(key, true).await? else {
            return Ok(Vec::new());
        };
        let own = number(&item, "count");
        let deletion = self.delete(Key::EndpointCount { tenant: &tenant });
        let mut writes = vec![Write::Delete(deletion)];
        for account in above.iter().filter(|_| own != 0) {
            let tenant = Tenant::new(account.clone(), mode);
            let update = self.update(Key::EndpointCount { tenant: &tenant });
            let update = update.update_expression("ADD #total :less");
            let update = update.expression_attribute_names("#total", "total");
            writes.push(Write::Update(
                update.expression_attribute_values(":less", n(-own)),
            ));
        }
        Ok(writes)
    }
}

fn key_of(item: &Item) -> (String, String) {
    let part = |name| string(item, name).to_owned();
    (part("pk"), part("sk"))
}

/// Returns the object of an item, if it has not ended: a session or reservation, and in live mode an invoice or a payment.
pub(super) fn open_object(item: &Item) -> Option<OpenObject> {
    let (tenant, id) = keys::parse_object(string(item, "pk"))?;
    let object = item.get("object")?.as_m().ok()?;
    let state = object.get("state").and_then(|state| state.as_m().ok());
    let status = state.unwrap_or(object).get("status")?;
    let is_live = tenant.mode.is_live();
    let is_open = match id.kind()? {
        Kind::ChargingSession => is(SessionStatus::is_open, status),
        Kind::Reservation => is(ReservationStatus::is_open, status),
        Kind::Invoice => is_live && is(InvoiceStatus::is_open, status),
        Kind::Transaction => is_live && is(TransactionStatus::is_open, status),
        _ => false,
    };
    let status = status.as_s().ok()?.clone();
    is_open.then_some(OpenObject { id, status })
}

/// Returns whether a status is an open one. A status that only a newer release supports counts as open.
fn is<S: DeserializeOwned>(open: fn(S) -> bool, status: &AttributeValue) -> bool {
    serde_dynamo::from_attribute_value(status.clone()).map_or(true, open)
}

/// Returns whether an item contains the id of one of the accounts.
///
/// # Errors
/// A permanent `Internal` with the key of the item if one of its attributes cannot be inflated.
fn names_any(item: &Item, accounts: &Accounts) -> Result<bool> {
    let named = ids_in(item, Kind::Account).map_err(|error| {
        let (pk, sk) = key_of(item);
        Error::permanent(format!("the item {pk}, {sk} cannot be searched: {error}"))
    })?;
    Ok(named.iter().any(|id| accounts.contains(id)))
}

/// Returns the ids of a kind that an item contains, also within texts.
///
/// # Errors
/// A permanent `Internal` if an attribute cannot be inflated.
fn ids_in(item: &Item, kind: Kind) -> Result<BTreeSet<Id>> {
    /// The number of characters of an id after its prefix.
    const DIGITS: usize = 32;
    let mut found = BTreeSet::new();
    for value in item.values() {
        each_text(value, &mut |text| {
            for (at, prefix) in text.match_indices(kind.prefix()) {
                let end = at + prefix.len() + DIGITS;
                let id = text.get(at..end).map(Id::from);
                found.extend(id.filter(|id| id.is(kind)));
            }
        })?;
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_sdk_dynamodb::primitives::Blob;

    fn account(number: u128) -> Id {
        Id::from_number(Kind::Account, number)
    }

    fn item(pk: &str, text: &str) -> Item {
        let text = AttributeValue::L(vec![AttributeValue::S(text.to_owned())]);
        Item::from([
            ("pk".to_owned(), AttributeValue::S(pk.to_owned())),
            ("deep".to_owned(), text),
        ])
    }

    #[test]
    fn an_account_is_found_within_the_texts_of_an_item() {
        let accounts = Accounts::from([account(1)]);
        let raw = format!("{{\"matched\":\"{}\"}}", account(1));
        let other = format!("{{\"matched\":\"{}\"}}", account(2));
        for (text, is_named) in [(raw.as_str(), true), (&other, false), ("acct_", false)] {
            let item = item("test#OCPI#OBJECT#x", text);
            assert_eq!(names_any(&item, &accounts).unwrap(), is_named, "{text}");
        }
    }

    #[test]
    fn an_item_that_cannot_be_inflated_stops_the_search() {
        let mut broken = item("test#OCPI#OBJECT#x", "");
        let bytes = AttributeValue::B(Blob::new(*b"\xff\xff"));
        broken.insert("object".to_owned(), bytes);
        let error = names_any(&broken, &Accounts::from([account(1)])).unwrap_err();
        assert!(error.is_permanent());
        assert!(error.to_string().contains("test#OCPI#OBJECT#x"), "{error}");
    }

    #[test]
    fn an_object_is_open_by_its_status_wherever_it_is_stored() {
        let state = |status: &str| serde_json::json!({"state": {"status": status}});
        let status = |status: &str| serde_json::json!({"status": status});
        for (kind, mode, object, is_open) in [
            (Kind::Reservation, "test", state("confirmed"), true),
            (Kind::Reservation, "test", state("cancelled"), false),
            (Kind::Reservation, "test", status("pending"), true),
            (Kind::Reservation, "test", state("of a newer release"), true),
            (Kind::ChargingSession, "live", state("active"), true),
            (Kind::ChargingSession, "live", state("completed"), false),
            (Kind::Invoice, "live", status("open"), true),
            (Kind::Invoice, "live", status("draft"), false),
            (Kind::Invoice, "test", status("open"), false),
            (Kind::Transaction, "live", status("pending"), true),
            (Kind::Transaction, "live", status("failed"), false),
            (Kind::Fleet, "live", status("active"), false),
        ] {
            let pk = format!("{}#{mode}#{}", account(1), Id::from_number(kind, 1));
            let item = serde_json::json!({"pk": pk, "sk": "#", "object": object});
            let item: serde_dynamo::Item = serde_dynamo::to_item(item).unwrap();
            let found = open_object(&item.into()).is_some();
            assert_eq!(found, is_open, "{kind:?} {object}");
        }
    }

    #[test]
    fn items_belong_to_accounts_by_their_partition_keys() {
        let id = account(1);
        for pk in [
            format!("{id}#test#flt_1"),
            format!("{id}#live#IDEM#x"),
            format!("ACCOUNT#{id}"),
            format!("KEY#{id}#0123"),
        ] {
            assert_eq!(keys::account_of(&pk), Some(id.clone()), "{pk}");
        }
        for pk in [
            "test#CAL#chst_1#1",
            "live#PROVIDER#cus_1",
            "",
            "KEY#",
            "NEXT#1",
        ] {
            assert_eq!(keys::account_of(pk), None, "{pk}");
        }
    }
}
