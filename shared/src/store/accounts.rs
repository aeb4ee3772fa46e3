//! Accounts and the keys that open them.

use super::keys::{Key, Partition};
use super::list::Slice;
use super::row::Row;
use super::{Store, client, key_item, s};
use crate::error::{Error, Result};
use crate::id::{Id, Kind};
use crate::models::account::Account;
use crate::models::api_key::{ApiKey, Secret};
use crate::origin::Tenant;
use crate::time::Timestamp;

impl Store {
    /// The record of a key, if the account has it.
    ///
    /// # Errors
    /// The table's.
    pub async fn api_key(&self, tenant: &Tenant, secret: &Secret) -> Result<Option<Row<ApiKey>>> {
        let hash = secret.hash();
        let item = self
            .item(
                Key::ApiKey {
                    account: &tenant.account,
                    hash: &hash,
                },
                true,
            )
            .await?;
        let row = item.map(Row::<ApiKey>::from_item).transpose()?;
        Ok(row.filter(|row| row.object.livemode == tenant.mode.is_live()))
    }

    /// The record of a key by its id.
    ///
    /// # Errors
    /// 404.
    pub async fn api_key_by_id(&self, tenant: &Tenant, id: &Id) -> Result<Row<ApiKey>> {
        let number = id
            .number(Kind::ApiKey)
            .ok_or_else(|| Error::not_found(Kind::ApiKey))?;
        let slice = Slice {
            range: (number, number),
            ..Slice::first(1)
        };
        let found = self
            .list(
                Partition::Kind {
                    tenant,
                    kind: Kind::ApiKey,
                },
                &slice,
                Vec::new(),
            )
            .await?;
        found
            .rows
            .into_iter()
            .next()
            .ok_or_else(|| Error::not_found(Kind::ApiKey))
    }

    /// Notes that a key was used. The key is read from a cache, so whether it still exists is checked here.
    ///
    /// # Errors
    /// The table's.
    pub async fn note_use(&self, tenant: &Tenant, secret: &Secret, now: Timestamp) -> Result<()> {
        let hash = secret.hash();
        let key = Key::ApiKey {
            account: &tenant.account,
            hash: &hash,
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
        match sent {
            Ok(_) => Ok(()),
            Err(error)
                if error
                    .as_service_error()
                    .is_some_and(|e| e.is_conditional_check_failed_exception()) =>
            {
                Ok(())
            }
            Err(error) => Err(client::failure(error)),
        }
    }

    /// The account's own row and whether the other may act in it: an account may act in itself and in its children.
    ///
    /// # Errors
    /// 404 `account_not_found`, also when it is somebody else's.
    pub async fn account(&self, caller: &Tenant, id: &Id) -> Result<Row<Account>> {
        let row = self.load::<Account>(caller, id).await?;
        let allowed = *id == caller.account || row.private.parent.as_ref() == Some(&caller.account);
        if allowed {
            Ok(row)
        } else {
            Err(Error::not_found(Kind::Account))
        }
    }
}
