//! Invoices in progress, whose sessions are claimed before the invoice exists.

use crate::keys::Key;
use crate::unit_of_work::Write;
use crate::{Item, Store, client, new_item, s, string};
use kernel::time::{millis, seconds};
use kernel::{Error, Id, Origin, Result, SignedDuration, Tenant, Timestamp};

/// The time for which an invoice may be in progress before it counts as abandoned: longer than any request lasts.
const MAKING: SignedDuration = seconds(40);

/// An invoice in progress.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Making {
    pub(super) invoice: Id,
    /// The idempotency key of the request that creates it, or else the id of the request.
    pub(super) owner: String,
    pub(super) request: String,
    pub(super) begun: Timestamp,
    pub(super) deadline: Timestamp,
}

impl Store {
    /// Returns whether an invoice is in progress: it may bill sessions as they were a moment ago.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn is_in_the_making(&self, tenant: &Tenant, invoice: &Id) -> Result<bool> {
        Ok(self.making(tenant, invoice).await?.is_some())
    }

    pub(super) async fn making(&self, tenant: &Tenant, invoice: &Id) -> Result<Option<Making>> {
        let item = self.item(Key::Making { tenant, invoice }, true).await?;
        let time =
            |item: &Item, name| Timestamp::parse(string(item, name)).map_err(Error::internal);
        item.map(|item| {
            Ok(Making {
                invoice: invoice.clone(),
                owner: string(&item, "owner").to_owned(),
                request: string(&item, "maker").to_owned(),
                begun: time(&item, "begun")?,
                deadline: time(&item, "deadline")?,
            })
        })
        .transpose()
    }

    pub(super) async fn begin_invoice(&self, origin: &Origin, invoice: &Id) -> Result<Making> {
        let making = Making {
            invoice: invoice.clone(),
            owner: owner(origin),
            request: request(origin),
            begun: origin.now,
            deadline: origin.now.plus(MAKING),
        };
        self.write_making(&origin.tenant, &making, None).await?;
        Ok(making)
    }

    /// Continues an invoice that an earlier attempt of the same request began.
    pub(super) async fn take_up(&self, origin: &Origin, before: Making) -> Result<Making> {
        let making = Making {
            request: request(origin),
            deadline: origin.now.plus(MAKING).max(before.deadline.plus(millis(1))),
            ..before.clone()
        };
        self.write_making(&origin.tenant, &making, Some(&before))
            .await?;
        Ok(making)
    }

    async fn write_making(
        &self,
        tenant: &Tenant,
        making: &Making,
        before: Option<&Making>,
    ) -> Result<()> {
        let mut item = new_item(Key::Making {
            tenant,
            invoice: &making.invoice,
        });
        item.insert("owner".into(), s(&making.owner));
        item.insert("maker".into(), s(&making.request));
        item.insert("begun".into(), s(making.begun.to_string()));
        item.insert("deadline".into(), s(making.deadline.to_string()));
        let put = self.client.put_item().table_name(&self.table);
        let put = match before {
            None => put,
            Some(before) => put
                .condition_expression("#deadline = :before OR #deadline = :deadline")
                .expression_attribute_names("#deadline", "deadline")
                .expression_attribute_values(":before", s(before.deadline.to_string()))
                .expression_attribute_values(":deadline", s(making.deadline.to_string())),
        };
        let put = put.set_item(Some(item)).send().await;
        client::if_met(put)?.map(drop).ok_or(Error::Contended)
    }

    /// Ensures that an interrupted invoice is never created.
    pub(super) async fn give_up(&self, tenant: &Tenant, making: &Making) -> Result<()> {
        let origin = Origin::background(tenant.clone(), making.deadline);
        let mut tx = self.begin(&origin);
        tx.push(self.end_of(tenant, making), Error::Contended);
        tx.commit_without_response().await
    }

    /// Returns the deletion of the record of an invoice in progress. It fails if another request has resumed the invoice.
    pub(super) fn end_of(&self, tenant: &Tenant, making: &Making) -> Write {
        let invoice = &making.invoice;
        Write::Delete(
            self.delete(Key::Making { tenant, invoice })
                .condition_expression("#deadline = :deadline AND maker = :maker")
                .expression_attribute_names("#deadline", "deadline")
                .expression_attribute_values(":deadline", s(making.deadline.to_string()))
                .expression_attribute_values(":maker", s(&making.request)),
        )
    }
}

pub(super) fn request(origin: &Origin) -> String {
    origin
        .request
        .as_ref()
        .map(Id::to_string)
        .unwrap_or_default()
}

pub(super) fn owner(origin: &Origin) -> String {
    match &origin.idempotency {
        Some(idempotency) => format!("{} {}", idempotency.fingerprint, idempotency.key),
        None => request(origin),
    }
}
