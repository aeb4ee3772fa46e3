//! Charging sessions by the time they were made, a page at a time, for what adds many of them up.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;

use super::keys::Partition;
use super::row;
use super::{Item, Store, client, s};
use crate::error::Result;
use crate::id::{Id, Kind};
use crate::models::charging_session::ChargingSession;
use crate::models::stored::Stored;
use crate::origin::Tenant;
use crate::time::DAY;
use crate::window::Window;

/// How long a session may last so that it is still found by when it ended, in milliseconds.
const LONGEST: i64 = 7 * DAY;

/// The sessions that may have begun or ended within a window, the newest first. Memory holds one page of them.
pub struct Sessions<'a> {
    store: &'a Store,
    index: (&'static str, &'static str),
    values: HashMap<String, AttributeValue>,
    start: Option<Item>,
    over: bool,
}

impl Store {
    /// The sessions of a fleet, or of the whole account, that may have begun or ended within a window.
    pub fn sessions_around<'a>(
        &'a self,
        tenant: &Tenant,
        fleet: Option<&Id>,
        window: Window,
    ) -> Sessions<'a> {
        let kind = Kind::ChargingSession;
        let partition = match fleet {
            Some(fleet) => Partition::Fleet {
                tenant,
                fleet,
                kind,
            },
            None => Partition::Kind { tenant, kind },
        };
        let (index, attribute, value) = partition.place();
        let low = Id::first_number(window.from.plus_millis(-LONGEST));
        let high = Id::first_number(window.until).saturating_sub(1);
        let values = [
            (":pk", s(value)),
            (":low", s(Id::from_number(kind, low).as_str())),
            (":high", s(Id::from_number(kind, high).as_str())),
        ];
        Sessions {
            store: self,
            index: (index, attribute),
            values: values.map(|(name, value)| (name.to_owned(), value)).into(),
            start: None,
            over: low > high,
        }
    }
}

impl Sessions<'_> {
    /// The next page; none after the last.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn next(&mut self) -> Result<Option<Vec<Stored<ChargingSession>>>> {
        if self.over {
            return Ok(None);
        }
        let (index, attribute) = self.index;
        let query = self.store.client.query().table_name(&self.store.table);
        let page = query
            .index_name(index)
            .key_condition_expression("#pk = :pk AND list_sk BETWEEN :low AND :high")
            .expression_attribute_names("#pk", attribute)
            .set_expression_attribute_values(Some(self.values.clone()))
            .scan_index_forward(false)
            .set_exclusive_start_key(self.start.take())
            .send()
            .await
            .map_err(client::failure)?;
        self.start = page.last_evaluated_key;
        self.over = self.start.is_none();
        let rows = page.items.unwrap_or_default().into_iter();
        rows.map(row::from_item).collect::<Result<_>>().map(Some)
    }
}
