//! Accounts and the keys that open them.

use super::keys::{Key, Partition};
use super::list::PageRequest;
use super::stored_item;
use super::unit_of_work::{UnitOfWork, Write};
use super::{Store, client, key_item, n, s, string};
use kernel::{Error, Id, Kind, Mode, Result, Tenant, Timestamp};
use models::api_key::ActingKey;
use models::{Account, ApiKey, Stored};

impl Store {
    /// Reads the record of a key and the account it names in one call. The read is consistent, or eventually consistent: then it costs half
    /// the units and the data may be a second old. The key is left out unless the account has it in that mode.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn api_key(
        &self,
        tenant: &Tenant,
        hash: &str,
        consistent: bool,
    ) -> Result<(Option<Stored<ApiKey>>, Option<Stored<Account>>)> {
        let account = key_item(Key::Account {
            id: &tenant.account,
        });
        let key = key_item(Key::ApiKey {
            account: &tenant.account,
            hash,
        });
        let is_account = |pk: &str| {
            account
                .get("pk")
                .and_then(|at| at.as_s().ok())
                .is_some_and(|at| at == pk)
        };
        let keys = vec![key, account.clone()];
        let (mut found_key, mut found_account) = (None, None);
        for item in self.items(keys, None, consistent).await? {
            if is_account(string(&item, "pk")) {
                found_account = Some(stored_item::from_item::<Account>(item)?);
            } else {
                found_key = Some(stored_item::from_item::<ApiKey>(item)?);
            }
        }
        let key = found_key.filter(|key| key.object.livemode == tenant.mode.is_live());
        Ok((key, found_account))
    }

    /// Reads a key that does not exist, in the way in which every request reads its own key. So the cost of the first call of a process is
    /// paid before the first request. Whether the call succeeds does not matter.
    pub async fn rehearse(&self) {
        let tenant = Tenant::new(Id::from_number(Kind::Account, 0), Mode::Test);
        if let Err(error) = self.api_key(&tenant, "none", false).await {
            tracing::debug!(%error, "the first call failed");
        }
    }

    /// Returns the record of a key by its id.
    ///
    /// # Errors
    /// 404 if there is no such key.
    pub async fn api_key_by_id(&self, tenant: &Tenant, id: &Id) -> Result<Stored<ApiKey>> {
        let number = id
            .number(Kind::ApiKey)
            .ok_or_else(|| Error::not_found(Kind::ApiKey))?;
        let page_request = PageRequest {
            range: (number, number),
            ..PageRequest::first(1)
        };
        let found = self
            .list(
                Partition::Kind {
                    tenant,
                    kind: Kind::ApiKey,
                },
                &page_request,
                Vec::new(),
            )
            .await?;
        found
            .items
            .into_iter()
            .next()
            .ok_or_else(|| Error::not_found(Kind::ApiKey))
    }

    /// Records that a key was used. The key is read from a cache, so whether it still exists is checked here.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn note_use(&self, tenant: &Tenant, hash: &str, now: Timestamp) -> Result<()> {
        let key = Key::ApiKey {
            account: &tenant.account,
            hash,
        };
        let update = self
            .client
            .update_item()
            .table_name(&self.table)
            .set_key(Some(key_item(key)));
        let sent = update
            .update_expression("SET #object.last_used = :now")
            .condition_expression("attribute_exists(pk)")
            .expression_attribute_names("#object", "object")
            .expression_attribute_values(":now", s(now.to_string()))
            .send()
            .await;
        client::if_met(sent).map(drop)
    }

    /// Returns the accounts that an account has created.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn children(&self, parent: &Id) -> Result<Vec<Id>> {
        let items = self.items_in(Partition::Children { parent }).await?;
        let ids = items.iter().map(|item| Id::from(string(item, "list_sk")));
        Ok(ids.collect())
    }

    /// Returns the item of the account `id` if the caller may act in it: an account may act in itself and in its children.
    ///
    /// # Errors
    /// 404 `account_not_found`, also if the account belongs to another account.
    pub async fn account(&self, caller: &Tenant, id: &Id) -> Result<Stored<Account>> {
        let account = self.load::<Account>(caller, id).await?;
        let allowed =
            *id == caller.account || account.internal.parent.as_ref() == Some(&caller.account);
        if allowed {
            Ok(account)
        } else {
            Err(Error::not_found(Kind::Account))
        }
    }
}

impl UnitOfWork<'_> {
    /// Adds the condition that the acting key still exists and has not expired. An instance may accept a key from its cache for a minute
    /// after it was revoked; this check refuses what that key creates or deletes. The commit fails with 401 if the key was revoked or has
    /// expired.
    pub fn check_key(&mut self, key: &ActingKey, now: Timestamp) {
        let check = self.store.check(Key::ApiKey {
                account: &key.account,
                hash: &key.hash,
            })
            .condition_expression(
                "attribute_exists(pk) AND (attribute_not_exists(#object.expires_at) OR #object.expires_at > :now)",
            )
            .expression_attribute_names("#object", "object")
            .expression_attribute_values(":now", s(now.to_string()));
        self.push(
            Write::Check(check),
            Error::unauthenticated("This API key does not exist, has expired or was revoked."),
        );
    }

    /// Increases the number of accounts below each of these accounts by one. The commit fails with 409 if one of them has reached the
    /// maximum.
    pub fn count_child(&mut self, above: &[Id], most: u32) {
        for account in above {
            let update = self
                .store
                .update(Key::ChildCount { account })
                .update_expression("ADD #count :one")
                .condition_expression("attribute_not_exists(#count) OR #count < :most")
                .expression_attribute_names("#count", "count")
                .expression_attribute_values(":one", n(1))
                .expression_attribute_values(":most", n(most));
            let message = format!(
                "The account {account} has {most} accounts below it, the most it may have."
            );
            self.push(Write::Update(update), Error::conflict(message, None));
        }
    }
}
