//! Lists: newest first, a page at a time in either direction.
//!
//! The list of a kind that rarely changes is one partition of the index `list`, which holds whole rows: a page is one Query, and a
//! filter is applied by DynamoDB. So it is with events, whose list is several partitions of the table: a page is one Query for each, and
//! the rows are merged by id. Every other list is one or several partitions of an index that holds keys: a page is one Query for
//! each partition, whose entries are merged by id, and a BatchGetItem for the rows. There the filter is applied here, to the rows
//! as they are now. In each case the rows that a filter leaves out are read and paid for.
//!
//! A page reads a bounded part of its list, so that it takes a bounded time. If a filter leaves out most of that part, the page is
//! *short*: it has fewer objects than were asked for, or none, and the next page begins where its reading ended ([`Page::end`]).

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;

use futures::future::try_join_all;

use super::keys::{self, Partition};
use super::row::{self, ById, Record};
use super::{Item, Store, client, names_in, s, string};
use kernel::error::Result;
use kernel::fields::metadata::MetadataPair;
use kernel::id::{Id, Kind};
use kernel::origin::Tenant;
use models::condition::Condition;
use models::stored::Stored;

/// The requested part of a list.
#[derive(Debug, Clone)]
pub struct PageRequest {
    /// How many rows, at most.
    pub limit: usize,
    pub from: Cursor,
    /// The smallest and the largest number of ids that count.
    pub range: (u128, u128),
}

/// Where a page begins, in a list that runs from the newest to the oldest, or in whatever order the cursor stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cursor<C = Id> {
    Newest,
    /// The rows older than this one.
    After(C),
    /// The rows newer than this one, those next to it.
    Before(C),
}

/// Where the ids of a list are kept that has no index.
#[derive(Debug, Clone)]
pub enum Members<'a> {
    /// The drivers attached to a fleet.
    OfFleet(&'a Id),
    /// The charge cards of a driver or a vehicle.
    CardsOf(&'a Id),
    /// The objects that have a pair in their metadata.
    WithMetadata(&'a MetadataPair),
    /// Ids that another object holds.
    These(Vec<Id>),
}

/// What is read of the rows of an index that holds whole rows. The attributes that neither reads are index keys and what the relay
/// reads: a third of a small row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Attributes {
    /// What [`row::read`] reads. Secrets are encrypted in the context of the row's key.
    Row,
    /// What [`row::object`] reads.
    Object,
}

impl Attributes {
    /// Those that an index of whole rows is asked for.
    fn in_index(self) -> &'static str {
        match self {
            Self::Row => "pk, sk, list_sk, #object, #internal, #version, #schema, kept",
            Self::Object => "pk, sk, list_sk, #object, #schema",
        }
    }

    /// Those that the rows are asked for to which an index leads; none for all of them.
    fn in_rows(self) -> Option<&'static str> {
        match self {
            Self::Row => None,
            Self::Object => Some(
                "pk, sk, list_sk, driver_pk, fleet_pk, paid_with, vehicle_pk, #object, deflated, #schema",
            ),
        }
    }
}

/// The conditions that the objects of a list meet, all of them.
pub type Filter<'a> = Vec<Condition<'a>>;

/// A member of the object that must have one of some values: at least 1 and at most 100.
#[derive(Debug, Clone, Copy)]
pub struct Among<'a> {
    pub member: &'a str,
    pub values: &'a [&'a str],
}

impl Among<'_> {
    /// Whether a row has one of the values.
    fn has(&self, item: &Item) -> bool {
        let found = member(item, self.member);
        let text = found.and_then(|value| value.as_s().ok());
        text.is_some_and(|text| self.values.contains(&text.as_str()))
    }

    fn expression(
        self,
        names: &mut HashMap<String, String>,
        values: &mut HashMap<String, AttributeValue>,
    ) -> String {
        names.insert("#among".into(), self.member.to_owned());
        let mut places = Vec::new();
        for (place, value) in self.values.iter().enumerate() {
            let place = format!(":among{place}");
            values.insert(place.clone(), s(*value));
            places.push(place);
        }
        format!("#object.#among IN ({})", places.join(", "))
    }
}

/// The rows of a page, newest first, and whether there are newer and older rows.
#[derive(Debug, Clone)]
pub struct Page<T, C = Id> {
    pub rows: Vec<T>,
    pub newer: bool,
    pub older: bool,
    /// Where reading ended in a list that goes on, if the page is short: the page that follows in the direction of the request begins
    /// behind this place. Otherwise it begins behind the last row.
    pub end: Option<C>,
}

impl<T, C> Page<T, C> {
    /// A page of a list that is empty.
    pub fn empty() -> Self {
        Self {
            rows: Vec::new(),
            newer: false,
            older: false,
            end: None,
        }
    }

    /// Makes a page of the rows that were read in the direction of the request, as far as `end` if the list was not read to its end. One
    /// row more than the limit means that more rows follow.
    pub(super) fn part(mut rows: Vec<T>, limit: usize, from: &Cursor<C>, end: Option<C>) -> Self {
        let end = end.filter(|_| rows.len() <= limit);
        let more = rows.len() > limit || end.is_some();
        rows.truncate(limit);
        let (newer, older) = match from {
            Cursor::Newest => (false, more),
            Cursor::After(_) => (true, more),
            Cursor::Before(_) => {
                rows.reverse();
                (more, true)
            }
        };
        Self {
            rows,
            newer,
            older,
            end,
        }
    }
}

impl<T> Page<T> {
    /// A page of the rows of a list that was read to its end, or to one row more than the limit.
    pub(super) fn from_rows(rows: Vec<T>, page_request: &PageRequest) -> Self {
        Self::part(rows, page_request.limit, &page_request.from, None)
    }
}

impl<T: Record> Page<Stored<T>> {
    /// The same page of the objects alone.
    pub fn objects(self) -> Page<T> {
        Page {
            rows: self.rows.into_iter().map(|row| row.object).collect(),
            newer: self.newer,
            older: self.older,
            end: self.end,
        }
    }
}

impl<T, C> Page<T, C> {
    /// Ends the page before the first row that is refused, seen from where the page began: from its newest row on, or
    /// `backward` from its oldest. One row is always kept, and what is left out is on the next page.
    ///
    /// # Errors
    /// That of `keep`.
    pub fn keep_while(
        &mut self,
        backward: bool,
        mut keep: impl FnMut(&T) -> Result<bool>,
    ) -> Result<()> {
        let mut kept = 0;
        for place in 0..self.rows.len() {
            let place = if backward {
                self.rows.len() - 1 - place
            } else {
                place
            };
            if !keep(&self.rows[place])? && kept > 0 {
                break;
            }
            kept += 1;
        }
        if kept < self.rows.len() {
            self.end = None;
            if backward {
                self.rows.drain(..self.rows.len() - kept);
                self.newer = true;
            } else {
                self.rows.truncate(kept);
                self.older = true;
            }
        }
        Ok(())
    }

    /// The same page of other things.
    ///
    /// # Errors
    /// The first thing that cannot be turned into another.
    pub fn try_map<U>(self, turn: impl FnMut(T) -> Result<U>) -> Result<Page<U, C>> {
        let rows = self.rows.into_iter().map(turn).collect::<Result<_>>()?;
        Ok(Page {
            rows,
            newer: self.newer,
            older: self.older,
            end: self.end,
        })
    }

    /// The same page in another kind of places.
    #[must_use]
    pub fn at<D>(self, place: impl FnOnce(C) -> D) -> Page<T, D> {
        Page {
            rows: self.rows,
            newer: self.newer,
            older: self.older,
            end: self.end.map(place),
        }
    }
}

impl PageRequest {
    /// The first page of everything.
    pub fn first(limit: usize) -> Self {
        Self {
            limit,
            from: Cursor::Newest,
            range: (0, u128::MAX),
        }
    }

    /// The bounds of ids this slice may hold, both inclusive; none when it can hold nothing.
    pub(super) fn bounds(&self, kind: Kind) -> Option<(Id, Id)> {
        let (mut low, mut high) = self.range;
        match &self.from {
            Cursor::Newest => {}
            Cursor::After(id) => high = high.min(id.number(kind)?.checked_sub(1)?),
            Cursor::Before(id) => low = low.max(id.number(kind)?.checked_add(1)?),
        }
        (low <= high).then(|| (Id::from_number(kind, low), Id::from_number(kind, high)))
    }
}

impl Store {
    /// One page of a list of whole rows.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn list<T: Record>(
        &self,
        partition: Partition<'_>,
        page_request: &PageRequest,
        filter: Filter<'_>,
    ) -> Result<Page<Stored<T>>> {
        let found = self
            .page(
                partition,
                T::KIND,
                page_request,
                filter,
                None,
                Attributes::Row,
            )
            .await?;
        found.try_map(|item| self.row_of(item))
    }

    /// One page of the objects of a list alone, without what the service keeps to itself: reading ten fleets takes a tenth less of a
    /// function's time. Secrets are masked.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn list_objects<T: Record>(
        &self,
        partition: Partition<'_>,
        page_request: &PageRequest,
        filter: Filter<'_>,
    ) -> Result<Page<T>> {
        let found = self
            .page(
                partition,
                T::KIND,
                page_request,
                filter,
                None,
                Attributes::Object,
            )
            .await?;
        found.try_map(|item| row::object(item, self.layout))
    }

    /// One page of the rows of a list whose member has one of these values. The rows left out are read and paid for, but a
    /// page is as full and as stable as one of [`Store::list`].
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn list_among<T: Record>(
        &self,
        partition: Partition<'_>,
        page_request: &PageRequest,
        filter: Filter<'_>,
        among: Among<'_>,
    ) -> Result<Page<Stored<T>>> {
        let found = self
            .page(
                partition,
                T::KIND,
                page_request,
                filter,
                Some(among),
                Attributes::Row,
            )
            .await?;
        found.try_map(|item| self.row_of(item))
    }

    /// All rows of a list that has few.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub(super) async fn items_in(&self, partition: Partition<'_>) -> Result<Vec<Item>> {
        let (index, _, _) = partition.place();
        let items = self.entries_in(partition).await?;
        match keys::holds_rows(index) {
            true => Ok(items),
            false => {
                self.items(items.iter().map(row_key).collect(), None, false)
                    .await
            }
        }
    }

    /// The ids of all objects of a list.
    pub(super) async fn ids_in(&self, partition: Partition<'_>) -> Result<Vec<Id>> {
        let entries = self.entries_in(partition).await?;
        let id = |entry: &Item| keys::id_of(string(entry, "pk"), string(entry, "sk"));
        Ok(entries.iter().filter_map(id).collect())
    }

    async fn entries_in(&self, partition: Partition<'_>) -> Result<Vec<Item>> {
        let (index, attribute, value) = partition.place();
        let pages = self.client.query().table_name(&self.table);
        let items = pages
            .index_name(index)
            .key_condition_expression("#pk = :pk")
            .expression_attribute_names("#pk", attribute)
            .expression_attribute_values(":pk", s(value))
            .into_paginator()
            .items()
            .send();
        items.try_collect().await.map_err(client::failure)
    }

    /// The id of the newest object of a list that meets these conditions, if any does.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn newest_id(
        &self,
        partition: Partition<'_>,
        kind: Kind,
        filter: Filter<'_>,
    ) -> Result<Option<Id>> {
        let first = PageRequest::first(1);
        let newest = self.newest(partition, kind, first, filter, None).await?;
        Ok(newest.map(|item| Id::from(string(&item, "list_sk"))))
    }

    /// The newest object within the request that meets these conditions and has one of these values, if any does.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn newest_among<T: Record>(
        &self,
        partition: Partition<'_>,
        page_request: PageRequest,
        filter: Filter<'_>,
        among: Among<'_>,
    ) -> Result<Option<T>> {
        let newest = self
            .newest(partition, T::KIND, page_request, filter, Some(among))
            .await?;
        newest
            .map(|item| row::object(item, self.layout))
            .transpose()
    }

    /// The first item of a list, however far away it is.
    async fn newest(
        &self,
        partition: Partition<'_>,
        kind: Kind,
        mut page_request: PageRequest,
        filter: Filter<'_>,
        among: Option<Among<'_>>,
    ) -> Result<Option<Item>> {
        loop {
            let attributes = Attributes::Object;
            let found = self
                .page(
                    partition,
                    kind,
                    &page_request,
                    filter.clone(),
                    among,
                    attributes,
                )
                .await?;
            match (found.rows.into_iter().next(), found.end) {
                (None, Some(end)) => page_request.from = Cursor::After(end),
                (newest, _) => return Ok(newest),
            }
        }
    }

    /// One page of items: their place in the list, and the attributes asked for, at least.
    pub(super) async fn page(
        &self,
        partition: Partition<'_>,
        kind: Kind,
        page_request: &PageRequest,
        filter: Filter<'_>,
        among: Option<Among<'_>>,
        attributes: Attributes,
    ) -> Result<Page<Item>> {
        let (index, attribute, value) = partition.place();
        if partition.is_spread() || !keys::holds_rows(index) {
            return self
                .page_of_entries(partition, kind, page_request, &filter, among, attributes)
                .await;
        }
        let backward = matches!(page_request.from, Cursor::Before(_));
        let mut rows = Vec::new();
        let mut end = None;
        if let Some((low, high)) = page_request.bounds(kind) {
            let mut names = names_in(attributes.in_index());
            names.insert("#pk".into(), attribute.into());
            let mut values = HashMap::from([
                (":pk".to_owned(), s(value)),
                (":low".to_owned(), s(low.as_str())),
                (":high".to_owned(), s(high.as_str())),
            ]);
            let condition = expression_of(filter, among, &mut names, &mut values);
            let most = page_request.limit + 1;
            let mut at_a_time = match condition {
                None => most,
                Some(_) => most.saturating_mul(LEFT_OUT),
            };
            let mut start = None;
            let (mut read, mut calls) = (0, 0);
            loop {
                calls += 1;
                let query = self
                    .client
                    .query()
                    .table_name(&self.table)
                    .index_name(index);
                let page = query
                    .key_condition_expression("#pk = :pk AND list_sk BETWEEN :low AND :high")
                    .projection_expression(attributes.in_index())
                    .set_filter_expression(condition.clone())
                    .set_expression_attribute_names(Some(names.clone()))
                    .set_expression_attribute_values(Some(values.clone()))
                    .scan_index_forward(backward)
                    .set_exclusive_start_key(start)
                    .set_limit(i32::try_from(at_a_time).ok())
                    .send()
                    .await
                    .map_err(client::failure)?;
                if condition.is_some() {
                    at_a_time = at_a_time.saturating_mul(GROWTH);
                }
                let items = page.items.unwrap_or_default();
                start = page.last_evaluated_key;
                if start.is_some() {
                    read += items.iter().map(size_of).sum::<usize>();
                }
                rows.extend(items);
                if rows.len() > page_request.limit || start.is_none() {
                    break;
                }
                if read > MAX_READ || (condition.is_some() && calls == MAX_SCANS) {
                    end = start.as_ref().map(|key| Id::from(string(key, "list_sk")));
                    break;
                }
            }
        }
        Ok(Page::part(
            rows,
            page_request.limit,
            &page_request.from,
            end,
        ))
    }

    /// One page of the rows of several partitions, or whose keys are in an index.
    async fn page_of_entries(
        &self,
        partition: Partition<'_>,
        kind: Kind,
        page_request: &PageRequest,
        filter: &Filter<'_>,
        among: Option<Among<'_>>,
        attributes: Attributes,
    ) -> Result<Page<Item>> {
        let (limit, from) = (page_request.limit, &page_request.from);
        let is_filtered = !filter.is_empty() || among.is_some();
        let mut entries = self.entries(partition, kind, page_request, attributes);
        entries.narrow(filter.clone(), among);
        let (mut rows, mut end) = (Vec::new(), None);
        let (mut seen, mut seen_bytes) = (0, 0);
        let mut at_a_time = limit + 1;
        let mut rounds = 0;
        while let Some(read) = entries.next(at_a_time).await? {
            rounds += 1;
            for mut item in read {
                if is_filtered {
                    row::inflate(&mut item)?;
                    row::restore(&mut item);
                }
                (seen, seen_bytes) = (seen + 1, seen_bytes + size_of(&item));
                let is_kept = filter.iter().all(|condition| is_met(&item, condition))
                    && among.is_none_or(|among| among.has(&item));
                if is_kept {
                    rows.push(item);
                }
            }
            if rows.len() > limit {
                break;
            }
            if seen >= MAX_KEYS || seen_bytes > MAX_READ || rounds == MAX_SCANS {
                end = entries.end();
                break;
            }
            // DynamoDB leaves out what does not match: `Entries` reads more of it each time.
            if entries.condition.is_none() {
                let fitting = AT_A_TIME * seen / seen_bytes.max(1);
                let most = MAX_KEYS.saturating_sub(seen).max(limit + 1);
                at_a_time = match seen {
                    0 => most,
                    _ => fitting.clamp(limit + 1, most),
                };
            }
        }
        Ok(Page::part(rows, limit, from, end))
    }

    /// Reads the entries of an index that holds keys, or of several partitions of the table, in the order and within the bounds of a page.
    pub(super) fn entries<'a>(
        &'a self,
        partition: Partition<'_>,
        kind: Kind,
        page_request: &PageRequest,
        attributes: Attributes,
    ) -> Entries<'a> {
        let (index, attribute, _) = partition.place();
        let bounds = page_request.bounds(kind);
        Entries {
            store: self,
            index: (index, attribute, keys::order_in(index)),
            values: partition.values(),
            kind,
            bounds: bounds.and_then(|(low, high)| Some((low.number(kind)?, high.number(kind)?))),
            ascending: matches!(page_request.from, Cursor::Before(_)),
            attributes,
            condition: None,
            left_out: LEFT_OUT,
        }
    }

    /// One page of objects whose ids are kept elsewhere than in an index, without those that `keep` refuses.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn list_members<T: ById>(
        &self,
        tenant: &Tenant,
        members: Members<'_>,
        page_request: &PageRequest,
        keep: impl Fn(&T) -> bool,
    ) -> Result<Page<Stored<T>>> {
        let backward = matches!(page_request.from, Cursor::Before(_));
        let mut rest = page_request.clone();
        // One more than the page shows: then another page follows, and nothing else is read.
        rest.limit += 1;
        let mut rows: Vec<Stored<T>> = Vec::new();
        let (mut seen, mut end) = (0, None);
        loop {
            let ids = match &members {
                Members::OfFleet(fleet) => self.drivers_of(tenant, fleet, &rest).await?,
                Members::CardsOf(holder) => self.cards_of(tenant, holder, &rest).await?,
                Members::WithMetadata(pair) => {
                    self.with_metadata(tenant, T::KIND, pair, &rest).await?
                }
                Members::These(ids) => page_of_ids(ids.clone(), T::KIND, &rest),
            };
            let last = if backward {
                ids.rows.first()
            } else {
                ids.rows.last()
            };
            let Some(last) = last.cloned() else {
                break;
            };
            let mut found = self.get_all::<T>(tenant, &ids.rows).await?;
            found.retain(|row| keep(&row.object));
            if backward {
                found.reverse();
            }
            rows.extend(found);
            let more = if backward { ids.newer } else { ids.older };
            if !more || rows.len() > page_request.limit {
                break;
            }
            seen += ids.rows.len();
            if seen >= MAX_KEYS {
                end = Some(last);
                break;
            }
            rest.limit = MAX_KEYS - seen;
            rest.from = if backward {
                Cursor::Before(last)
            } else {
                Cursor::After(last)
            };
        }
        let PageRequest { limit, from, .. } = page_request;
        Ok(Page::part(rows, *limit, from, end))
    }

    /// One page of the drivers attached to a fleet: their ids.
    async fn drivers_of(
        &self,
        tenant: &Tenant,
        fleet: &Id,
        page_request: &PageRequest,
    ) -> Result<Page<Id>> {
        let found = self
            .under(tenant, fleet, Kind::Driver, page_request)
            .await?;
        found.try_map(|item| Ok(Id::from(string(&item, "sk"))))
    }

    /// One page of the rows that lie under an object's own, each by its id.
    async fn under(
        &self,
        tenant: &Tenant,
        object: &Id,
        kind: Kind,
        page_request: &PageRequest,
    ) -> Result<Page<Item>> {
        let (pk, _) = super::keys::Key::Object { tenant, id: object }.pair();
        self.in_collection(pk, kind, page_request).await
    }

    /// One page of the rows with this partition key whose sort keys are ids of a kind.
    pub(super) async fn in_collection(
        &self,
        pk: String,
        kind: Kind,
        page_request: &PageRequest,
    ) -> Result<Page<Item>> {
        let items = self.collection(pk, kind, page_request, |_| true).await?;
        Ok(Page::from_rows(items, page_request))
    }

    /// The rows of a partition of the table whose sort keys are ids, in the order of a page: one more than it holds, if there are as
    /// many.
    pub(super) async fn collection(
        &self,
        pk: String,
        kind: Kind,
        page_request: &PageRequest,
        is_shown: fn(&Item) -> bool,
    ) -> Result<Vec<Item>> {
        let Some((low, high)) = page_request.bounds(kind) else {
            return Ok(Vec::new());
        };
        let most = page_request.limit + 1;
        let query = self.client.query().table_name(&self.table);
        let mut items = query
            .key_condition_expression("pk = :pk AND sk BETWEEN :low AND :high")
            .expression_attribute_values(":pk", s(pk))
            .expression_attribute_values(":low", s(low.as_str()))
            .expression_attribute_values(":high", s(high.as_str()))
            .scan_index_forward(matches!(page_request.from, Cursor::Before(_)))
            .set_limit(i32::try_from(most).ok())
            .into_paginator()
            .items()
            .send();
        let mut shown = Vec::new();
        while shown.len() < most
            && let Some(item) = items.try_next().await.map_err(client::failure)?
        {
            shown.extend(Some(item).filter(is_shown));
        }
        Ok(shown)
    }
}

/// The entries of a list in an index that holds keys, or in several partitions of the table, which is read on from where it was left. Memory
/// holds the rows of one reading.
pub(super) struct Entries<'a> {
    store: &'a Store,
    /// The name of the index or [`keys::TABLE`], its hash key, and its range key.
    index: (&'static str, &'static str, &'static str),
    /// The partitions over which the list is spread.
    values: Vec<String>,
    kind: Kind,
    /// The smallest and the largest number of an id that is still to be read; none when there are no more.
    bounds: Option<(u128, u128)>,
    ascending: bool,
    /// What is read of the rows.
    attributes: Attributes,
    /// What DynamoDB leaves out of the entries, where these are whole rows.
    condition: Option<Expression>,
    /// How many entries are read next of each partition for each one that is wanted, where DynamoDB leaves some out.
    left_out: usize,
}

/// A filter expression with its names and values.
struct Expression {
    text: String,
    names: HashMap<String, String>,
    values: HashMap<String, AttributeValue>,
}

impl Entries<'_> {
    /// Where reading has ended, unless all entries were read.
    fn end(&self) -> Option<Id> {
        let (low, high) = self.bounds?;
        let number = match self.ascending {
            true => low.checked_sub(1)?,
            false => high.checked_add(1)?,
        };
        Some(Id::from_number(self.kind, number))
    }

    /// Has DynamoDB leave out the entries that do not meet these conditions, where they are whole rows.
    fn narrow(&mut self, filter: Filter<'_>, among: Option<Among<'_>>) {
        if !keys::holds_rows(self.index.0) {
            return;
        }
        self.left_out = (LEFT_OUT / self.values.len().max(1)).max(1);
        let (mut names, mut values) = (names_in("#object"), HashMap::new());
        let text = expression_of(filter, among, &mut names, &mut values);
        self.condition = text.map(|text| Expression {
            text,
            names,
            values,
        });
    }

    /// The rows of the next entries, at most so many, in the order of the list. Deleted rows are left out, so that there may be
    /// none although more follow. None after the last.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub(super) async fn next(&mut self, limit: usize) -> Result<Option<Vec<Item>>> {
        let Some((low, high)) = self.bounds else {
            return Ok(None);
        };
        let ids = (
            Id::from_number(self.kind, low),
            Id::from_number(self.kind, high),
        );
        let reads = self
            .values
            .iter()
            .map(|value| self.read(value, &ids, limit));
        let read = try_join_all(reads).await?;
        self.left_out = self.left_out.saturating_mul(GROWTH);
        // No partition was read beyond the place at which the reading of another one has ended.
        let ends = read.iter().filter_map(|(_, end)| end.clone());
        let mut end = match self.ascending {
            true => ends.min(),
            false => ends.max(),
        };
        let (index, _, order) = self.index;
        let is_read = |entry: &Item| match (&end, self.ascending) {
            (None, _) => true,
            (Some(end), true) => string(entry, order) <= end.as_str(),
            (Some(end), false) => string(entry, order) >= end.as_str(),
        };
        let entries = read.into_iter().flat_map(|(entries, _)| entries);
        let mut entries: Vec<Item> = entries.filter(is_read).collect();
        entries.sort_by(|a, b| string(a, order).cmp(string(b, order)));
        if !self.ascending {
            entries.reverse();
        }
        if entries.len() > limit {
            entries.truncate(limit);
            let last = entries.last().map(|entry| string(entry, order));
            end = last.map(Id::from);
        }
        let last = end.and_then(|id| id.number(self.kind));
        self.bounds = last.and_then(|last| match self.ascending {
            true => Some((last.checked_add(1)?, high)),
            false => Some((low, last.checked_sub(1)?)),
        });
        self.bounds = self.bounds.filter(|(low, high)| low <= high);
        if keys::holds_rows(index) {
            return Ok(Some(entries));
        }
        let keys: Vec<Item> = entries.iter().map(row_key).collect();
        let rows = self
            .store
            .items(keys, self.attributes.in_rows(), false)
            .await?;
        let place = |item: &Item| (string(item, "pk").to_owned(), string(item, "sk").to_owned());
        let mut rows: HashMap<_, Item> = rows.into_iter().map(|row| (place(&row), row)).collect();
        let rows = entries
            .iter()
            .filter_map(|entry| rows.remove(&place(entry)));
        Ok(Some(rows.collect()))
    }

    /// The next entries of one partition, and where reading has ended unless they are the last ones: at most so many, and fewer where
    /// entries are left out.
    async fn read(
        &self,
        value: &str,
        ids: &(Id, Id),
        limit: usize,
    ) -> Result<(Vec<Item>, Option<Id>)> {
        let (index, attribute, order) = self.index;
        let mut names = HashMap::from([
            ("#pk".to_owned(), attribute.to_owned()),
            ("#order".to_owned(), order.to_owned()),
        ]);
        let mut values = HashMap::from([
            (":pk".to_owned(), s(value)),
            (":low".to_owned(), s(ids.0.as_str())),
            (":high".to_owned(), s(ids.1.as_str())),
        ]);
        if let Some(condition) = &self.condition {
            names.extend(condition.names.clone());
            values.extend(condition.values.clone());
        }
        let limit = match self.condition {
            Some(_) => limit.saturating_mul(self.left_out),
            None => limit,
        };
        let query = self.store.client.query().table_name(&self.store.table);
        let page = query
            .set_index_name((index != keys::TABLE).then(|| index.to_owned()))
            .key_condition_expression("#pk = :pk AND #order BETWEEN :low AND :high")
            .set_filter_expression(self.condition.as_ref().map(|one| one.text.clone()))
            .set_expression_attribute_names(Some(names))
            .set_expression_attribute_values(Some(values))
            .scan_index_forward(self.ascending)
            .set_limit(i32::try_from(limit).ok())
            .send()
            .await
            .map_err(client::failure)?;
        let end = page.last_evaluated_key;
        let end = end.map(|key| Id::from(string(&key, order)));
        Ok((page.items.unwrap_or_default(), end))
    }
}

/// The key of the row that an entry of an index leads to.
pub(super) fn row_key(entry: &Item) -> Item {
    let member = |name: &str| Some((name.to_owned(), entry.get(name)?.clone()));
    ["pk", "sk"].into_iter().filter_map(member).collect()
}

/// How many bytes of rows a list of keys reads at a time, about.
const AT_A_TIME: usize = 4_000_000;

/// How many rows a page of a list of keys reads, about, so that it takes a bounded time: four calls of BatchGetItem.
const MAX_KEYS: usize = 400;

/// How many entries are read for each one that is wanted, where DynamoDB leaves some out, and how many times as many with each further
/// call: a frequent value costs little, and a rare one is found with few calls.
const LEFT_OUT: usize = 16;
const GROWTH: usize = 8;

/// How many calls a page with a filter makes at most. Each reads at most 1 MB of an index.
const MAX_SCANS: usize = 4;

/// How many bytes of rows are read for one page: more than an answer can show, and few enough for the memory of a function.
const MAX_READ: usize = 8_000_000;

/// How many bytes the names and values of a row take, about.
fn size_of(item: &Item) -> usize {
    fn of_value(value: &AttributeValue) -> usize {
        match value {
            AttributeValue::S(text) | AttributeValue::N(text) => text.len(),
            AttributeValue::L(values) => values.iter().map(of_value).sum(),
            AttributeValue::M(members) => members
                .iter()
                .map(|(name, value)| name.len() + of_value(value))
                .sum(),
            _ => 1,
        }
    }
    let attributes = item.iter();
    attributes
        .map(|(name, value)| name.len() + of_value(value))
        .sum()
}

/// A page of ids that are known already, newest first.
pub fn page_of_ids(mut ids: Vec<Id>, kind: Kind, page_request: &PageRequest) -> Page<Id> {
    ids.sort();
    let bounds = page_request.bounds(kind);
    ids.retain(|id| {
        bounds
            .as_ref()
            .is_some_and(|(low, high)| low <= id && id <= high)
    });
    if !matches!(page_request.from, Cursor::Before(_)) {
        ids.reverse();
    }
    Page::from_rows(ids, page_request)
}

/// A member of a row's object by its path, such as `preferences.currency`.
fn member<'a>(item: &'a Item, path: &str) -> Option<&'a AttributeValue> {
    let mut found = item.get("object")?;
    for part in path.split('.') {
        found = found.as_m().ok()?.get(part)?;
    }
    Some(found)
}

/// Whether a row meets a condition, as DynamoDB evaluates its expression.
pub(super) fn is_met(item: &Item, condition: &Condition<'_>) -> bool {
    let text = |path| member(item, path).and_then(|value| value.as_s().ok());
    match condition {
        Condition::Equals { member, value } => text(member) == Some(value),
        Condition::Contains {
            member: path,
            value,
        } => {
            let list = member(item, path).and_then(|value| value.as_l().ok());
            list.is_some_and(|list| list.iter().any(|one| one.as_s() == Ok(value)))
        }
        // Rows hold moments as texts of the same length, which sort as the moments do.
        Condition::Before { member, at } => {
            text(member).is_some_and(|found| *found < at.to_string())
        }
        Condition::From { member, at } => {
            text(member).is_some_and(|found| *found >= at.to_string())
        }
    }
}

fn filter_expression(
    filter: Filter<'_>,
    names: &mut HashMap<String, String>,
    values: &mut HashMap<String, AttributeValue>,
) -> Option<String> {
    let mut terms = Vec::new();
    for (n, condition) in filter.into_iter().enumerate() {
        let mut path_of = |member: &str| {
            let mut path = "#object".to_owned();
            for (depth, part) in member.split('.').enumerate() {
                let name = format!("#f{n}_{depth}");
                path.push('.');
                path.push_str(&name);
                names.insert(name, part.to_owned());
            }
            path
        };
        let (term, value) = match condition {
            Condition::Equals { member, value } => (format!("{} = :f{n}", path_of(member)), value),
            Condition::Contains { member, value } => {
                (format!("contains({}, :f{n})", path_of(member)), value)
            }
            Condition::From { member, at } => {
                (format!("{} >= :f{n}", path_of(member)), at.to_string())
            }
            Condition::Before { member, at } => {
                (format!("{} < :f{n}", path_of(member)), at.to_string())
            }
        };
        values.insert(format!(":f{n}"), s(value));
        terms.push(term);
    }
    (!terms.is_empty()).then(|| terms.join(" AND "))
}

/// The expression for the rows that meet these conditions and have one of these values.
fn expression_of(
    filter: Filter<'_>,
    among: Option<Among<'_>>,
    names: &mut HashMap<String, String>,
    values: &mut HashMap<String, AttributeValue>,
) -> Option<String> {
    let conditions = filter_expression(filter, names, values);
    let among = among.map(|among| among.expression(names, values));
    let terms: Vec<String> = conditions.into_iter().chain(among).collect();
    (!terms.is_empty()).then(|| terms.join(" AND "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::time::Timestamp;

    fn ids(numbers: &[u128]) -> Vec<Id> {
        numbers
            .iter()
            .map(|number| Id::from_number(Kind::Vehicle, *number))
            .collect()
    }

    #[test]
    fn a_condition_means_the_same_here_as_in_an_expression() {
        let object = serde_json::json!({"status": "open", "due_date": "2026-03-01T00:00:00.000Z", "fleet": null,
            "policy_ids": ["a", "b"], "preferences": {"currency": "gbp"}});
        let object = serde_dynamo::to_attribute_value(object).unwrap();
        let item = Item::from([("object".to_owned(), object)]);
        let is = |member: &str, value: &str| is_met(&item, &Condition::equals(member, value));
        assert!(is("status", "open") && !is("status", "paid") && !is("fleet", "open"));
        assert!(is("preferences.currency", "gbp") && !is("preferences.name", "gbp"));
        let contains = |member, value: &str| {
            let value = value.to_owned();
            is_met(&item, &Condition::Contains { member, value })
        };
        assert!(contains("policy_ids", "b") && !contains("policy_ids", "c"));
        assert!(!contains("absent", "b") && !contains("status", "open"));
        let before = |member, at: &str| {
            let at = Timestamp::parse(at).unwrap();
            is_met(&item, &Condition::Before { member, at })
        };
        assert!(before("due_date", "2026-03-01T00:00:00.001Z"));
        assert!(!before("due_date", "2026-03-01T00:00:00Z"));
        assert!(!before("fleet", "2026-03-02T00:00:00Z"));
        let from = |at: &str| {
            let (member, at) = ("due_date", Timestamp::parse(at).unwrap());
            is_met(&item, &Condition::From { member, at })
        };
        assert!(from("2026-03-01T00:00:00Z") && !from("2026-03-01T00:00:00.001Z"));
        let among = |values| Among {
            member: "status",
            values,
        };
        assert!(among(&["paid", "open"]).has(&item) && !among(&["paid"]).has(&item));
    }

    #[test]
    fn an_expression_has_a_term_for_each_condition() {
        let (mut names, mut values) = (HashMap::new(), HashMap::new());
        let filter = vec![
            Condition::equals("preferences.currency", "gbp"),
            Condition::Contains {
                member: "policy_ids",
                value: "pol_1".into(),
            },
            Condition::Before {
                member: "due_date",
                at: Timestamp::EPOCH,
            },
        ];
        let expression = filter_expression(filter, &mut names, &mut values);
        let want =
            "#object.#f0_0.#f0_1 = :f0 AND contains(#object.#f1_0, :f1) AND #object.#f2_0 < :f2";
        assert_eq!(expression.as_deref(), Some(want));
        assert_eq!((names["#f0_1"].as_str(), names.len()), ("currency", 4));
        assert_eq!(values[":f2"], s("1970-01-01T00:00:00.000Z"));
        assert_eq!(filter_expression(Vec::new(), &mut names, &mut values), None);
    }

    #[test]
    fn pages_of_known_ids_walk_forward_and_back() {
        let all = ids(&[3, 1, 5, 2, 4]);
        let request = |from| PageRequest {
            limit: 2,
            from,
            range: (0, u128::MAX),
        };
        let first = page_of_ids(all.clone(), Kind::Vehicle, &request(Cursor::Newest));
        assert_eq!(
            (first.rows.clone(), first.newer, first.older),
            (ids(&[5, 4]), false, true)
        );
        let second = page_of_ids(
            all.clone(),
            Kind::Vehicle,
            &request(Cursor::After(first.rows[1].clone())),
        );
        assert_eq!(
            (second.rows.clone(), second.newer, second.older),
            (ids(&[3, 2]), true, true)
        );
        let last = page_of_ids(
            all.clone(),
            Kind::Vehicle,
            &request(Cursor::After(second.rows[1].clone())),
        );
        assert_eq!((last.rows.clone(), last.older), (ids(&[1]), false));
        let back = page_of_ids(
            all,
            Kind::Vehicle,
            &request(Cursor::Before(second.rows[0].clone())),
        );
        assert_eq!(
            (back.rows, back.newer, back.older),
            (ids(&[5, 4]), false, true)
        );
    }

    #[test]
    fn a_page_that_ends_early_leaves_the_rest_to_the_next_page() {
        let page = |rows: &[u32]| Page::<u32> {
            rows: rows.to_vec(),
            ..Page::empty()
        };
        let cut = |rows: &[u32], backward, most: usize| {
            let (mut found, mut seen) = (page(rows), 0);
            let keep = |_: &u32| {
                seen += 1;
                Ok(seen <= most)
            };
            found.keep_while(backward, keep).unwrap();
            (found.rows, found.newer, found.older)
        };
        assert_eq!(cut(&[5, 4, 3], false, 2), (vec![5, 4], false, true));
        assert_eq!(cut(&[5, 4, 3], true, 2), (vec![4, 3], true, false));
        assert_eq!(cut(&[5, 4, 3], false, 3), (vec![5, 4, 3], false, false));
        // A row that is too large by itself is shown by itself.
        assert_eq!(cut(&[5, 4, 3], false, 0), (vec![5], false, true));
        assert_eq!(cut(&[5, 4, 3], true, 0), (vec![3], true, false));
    }

    #[test]
    fn a_range_bounds_every_page() {
        let page_request = PageRequest {
            limit: 9,
            from: Cursor::After(ids(&[4])[0].clone()),
            range: (2, 9),
        };
        assert_eq!(
            page_of_ids(ids(&[1, 2, 3, 4]), Kind::Vehicle, &page_request).rows,
            ids(&[3, 2])
        );
    }
}
