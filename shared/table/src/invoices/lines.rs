//! The lines of invoices. An invoice shows its first lines itself; if it has more, each is an item of its own.

use std::collections::{BTreeMap, BTreeSet};

use aws_sdk_dynamodb::types::AttributeValue;

use super::BATCH;
use crate::keys::Key;
use crate::list::{Cursor, Page, PageRequest, all_items, page_of_ids};
use crate::search::deletion;
use crate::unit_of_work::{UnitOfWork, Write};
use crate::{Item, Store, client, key_item, new_item, s};
use kernel::{Error, Id, Kind, Origin, Result, Tenant};
use models::invoice::LineItem;
use models::{Invoice, Stored};

impl Store {
    /// Returns one page of an invoice's lines, the newest first.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn lines(
        &self,
        tenant: &Tenant,
        invoice: &Invoice,
        page_request: &PageRequest,
    ) -> Result<Page<LineItem>> {
        if !invoice.line_items_has_more {
            let mut lines: BTreeMap<&Id, &LineItem> = invoice
                .line_items
                .iter()
                .map(|line| (&line.id, line))
                .collect();
            let ids = lines.keys().map(|id| (*id).clone()).collect();
            let found = page_of_ids(ids, Kind::LineItem, page_request);
            let items = found
                .items
                .iter()
                .filter_map(|id| lines.remove(id).cloned());
            return Ok(Page {
                items: items.collect(),
                newer: found.newer,
                older: found.older,
                end: found.end,
            });
        }
        let Some((low, high)) = page_request.bounds(Kind::LineItem) else {
            return Ok(Page::from_items(Vec::new(), page_request));
        };
        let (pk, _) = Key::Object {
            tenant,
            id: &invoice.id,
        }
        .pair();
        let query = self.client.query().table_name(&self.table);
        let page = query
            .key_condition_expression("pk = :pk AND sk BETWEEN :low AND :high")
            .expression_attribute_values(":pk", s(pk))
            .expression_attribute_values(":low", s(low.as_str()))
            .expression_attribute_values(":high", s(high.as_str()))
            .scan_index_forward(matches!(page_request.from, Cursor::Before(_)))
            .set_limit(i32::try_from(page_request.limit + 1).ok())
            .send()
            .await
            .map_err(client::failure)?;
        let lines = page.items.unwrap_or_default().into_iter().map(read_line);
        Ok(Page::from_items(
            lines.collect::<Result<_>>()?,
            page_request,
        ))
    }

    /// Returns those of these lines that the invoice has.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn lines_of(
        &self,
        tenant: &Tenant,
        invoice: &Invoice,
        ids: impl Iterator<Item = &Id>,
    ) -> Result<BTreeMap<Id, LineItem>> {
        let (mut found, mut others) = (BTreeMap::new(), BTreeSet::new());
        for id in ids.filter(|id| id.is(Kind::LineItem)) {
            match invoice.line_items.iter().find(|line| line.id == *id) {
                Some(line) => drop(found.insert(id.clone(), line.clone())),
                None => drop(others.insert(id)),
            }
        }
        if invoice.line_items_has_more && !others.is_empty() {
            let invoice = &invoice.id;
            let key = |line| {
                key_item(Key::Line {
                    tenant,
                    invoice,
                    line,
                })
            };
            let keys = others.into_iter().map(key).collect();
            for item in self.items(keys, None, true).await? {
                let line = read_line(item)?;
                found.insert(line.id.clone(), line);
            }
        }
        Ok(found)
    }

    /// Removes the lines of an invoice that does not exist and is not in progress.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn drop_lines(&self, tenant: &Tenant, invoice: &Id) -> Result<()> {
        let exists = self.making(tenant, invoice).await?.is_some()
            || self.find::<Invoice>(tenant, invoice).await?.is_some();
        if exists {
            return Ok(());
        }
        let (pk, _) = Key::Object {
            tenant,
            id: invoice,
        }
        .pair();
        let prefix = Kind::LineItem.prefix();
        let query = self.client.query().table_name(&self.table);
        let query = query
            .key_condition_expression("pk = :pk AND begins_with(sk, :line)")
            .projection_expression("pk, sk")
            .expression_attribute_values(":pk", s(pk))
            .expression_attribute_values(":line", s(prefix));
        let deletions = all_items(query).await?.into_iter().map(deletion);
        self.write_chunks(deletions.collect::<Result<_>>()?).await
    }
}

impl UnitOfWork<'_> {
    /// Adds a line to a draft, and to its sums. If an invoice has too many lines to show, all of them are items of their own; the lines
    /// that it shows are written as items first.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn add_draft_line(
        &mut self,
        invoice: &mut Stored<Invoice>,
        line: LineItem,
    ) -> Result<()> {
        let id = invoice.object.id.clone();
        let most = invoice.object.shown_with(&line)?;
        let shown = &mut invoice.object.line_items;
        let has_more = &mut invoice.object.line_items_has_more;
        if !*has_more && shown.len() >= most {
            // These items are not read until the invoice states that it has more lines.
            let alone = Origin::background(self.origin.tenant.clone(), self.origin.now);
            for batch in shown.chunks(BATCH) {
                let mut tx = self.store.begin(&alone);
                batch.iter().try_for_each(|line| tx.add_line(&id, line))?;
                tx.commit_without_response().await?;
            }
            *has_more = true;
        }
        if *has_more {
            self.add_line(&id, &line)?;
        }
        shown.insert(0, line);
        shown.truncate(most);
        Ok(())
    }

    pub(super) fn add_line(&mut self, invoice: &Id, line: &LineItem) -> Result<()> {
        let mut item = new_item(Key::Line {
            tenant: &self.origin.tenant,
            invoice,
            line: &line.id,
        });
        let line = serde_dynamo::to_attribute_value(line).map_err(Error::internal)?;
        item.insert("line".into(), line);
        self.push(Write::Put(self.store.put(item)), Error::Contended);
        Ok(())
    }
}

fn read_line(mut item: Item) -> Result<LineItem> {
    let line = item
        .remove("line")
        .ok_or_else(|| Error::internal("a line without content"))?;
    serde_dynamo::from_attribute_value::<AttributeValue, LineItem>(line).map_err(Error::internal)
}
