//! Payment methods: deleted ones, and the account that uses a customer of the payment provider.
//!
//! Only one account may use a customer of the provider, and each of its tokens. The first account that registers a payment method writes an
//! item for the customer and one for the token, in the transaction that creates the method. Only the same account may write these items
//! again, so if two accounts register the same customer at the same moment, one is refused. The items stay when the method is deleted: the
//! customer cannot be used by another account.

use super::keys::{Key, Partition};
use super::stored_item::{self, Record};
use super::unit_of_work::{UnitOfWork, Write};
use super::{Store, new_item, s};
use kernel::{Code, Id, Result, Tenant, Timestamp};
use models::payment_method::{DeletedPaymentMethod, PaymentMethodInternal};
use models::{PaymentMethod, Stored};

impl Record for DeletedPaymentMethod {
    fn key<'a>(&'a self, tenant: &'a Tenant, _: &'a PaymentMethodInternal) -> Key<'a> {
        let id = &self.method.id;
        Key::DeletedPaymentMethod { tenant, id }
    }

    fn lists<'a>(&'a self, _: &'a Tenant, _: &'a PaymentMethodInternal) -> Vec<Partition<'a>> {
        Vec::new()
    }

    fn expires(&self) -> Option<Timestamp> {
        Some(self.kept_until())
    }
}

impl Store {
    /// Reads a payment method to charge an amount that fell due before it was deleted; `None` if it was deleted long ago.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn payment_method_or_deleted(
        &self,
        tenant: &Tenant,
        id: &Id,
    ) -> Result<Option<Stored<PaymentMethod>>> {
        if let Some(method) = self.find::<PaymentMethod>(tenant, id).await? {
            return Ok(Some(method));
        }
        let key = Key::DeletedPaymentMethod { tenant, id };
        let Some(item) = self.item(key, true).await? else {
            return Ok(None);
        };
        let deleted = stored_item::from_item::<DeletedPaymentMethod>(item)?;
        Ok(Some(Stored::with_internal(
            deleted.object.method,
            deleted.internal,
        )))
    }
}

impl UnitOfWork<'_> {
    /// Deletes a payment method that was read. The commit fails if it was written since. Workers still find it with
    /// [`Store::payment_method_or_deleted`].
    ///
    /// # Errors
    /// `Internal` if the object cannot be written as an item.
    pub fn delete_payment_method(&mut self, method: &Stored<PaymentMethod>) -> Result<()> {
        self.delete(method)?;
        let deleted = DeletedPaymentMethod {
            method: method.object.clone(),
            deleted: self.origin.now,
        };
        let mut deleted = Stored::with_internal(deleted, method.internal.clone());
        self.create(&mut deleted)
    }

    /// Reserves a customer or token of the payment provider for the account. The commit fails with
    /// `payment_method_invalid_input` if another account of the mode uses it.
    pub fn reserve_provider_id(&mut self, id: &str) {
        let Tenant { account, mode } = &self.origin.tenant;
        let mut item = new_item(Key::ProviderId { mode: *mode, id });
        item.insert("account".into(), s(account.as_str()));
        let put = self
            .store
            .put(item)
            .condition_expression("attribute_not_exists(pk) OR #account = :account")
            .expression_attribute_names("#account", "account")
            .expression_attribute_values(":account", s(account.as_str()));
        let refusal = Code::PaymentMethodInvalidInput
            .because("The payment provider's customer of this token belongs to another account.")
            .at("token");
        self.push(Write::Put(put), refusal);
    }
}
