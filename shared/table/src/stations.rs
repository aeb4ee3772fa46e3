//! Stations: shared by all tenants of a mode, found by the H3 cells around a place.

use futures::TryStreamExt as _;
use futures::stream::{self, StreamExt as _};

use super::calendars::Calendars;
use super::entries::Attributes;
use super::keys::{self, Key, Partition, parse_station};
use super::list::{Cursor, Page, PageRequest, all_items};
use super::search::put;
use super::stored_item;
use super::unit_of_work::{UnitOfWork, Write};
use super::{Item, Store, n, s, string};
use kernel::{Error, Id, Kind, Mode, Origin, Result, Tenant, Timestamp, Window};
use models::charging::calendar::CalendarOwner;
use models::charging::cells::{self, CellKey, CellRange};
use models::charging::matching::best_first::IndexedStation;
use models::charging::matching::outline::Outline;
use models::charging::search::{Circle, NearbyStation, Place, Search, free_ranges};
use models::charging_station::{ConnectorStatus, Point};
use models::{ChargingStation, Stored};

/// The number of stations that a filtered search reads at a time.
const AT_A_TIME: usize = 100;

/// How often one page reads stations, so that its time is bounded: a page of a filtered search may be short.
const MAX_READS: usize = 4;

/// The stations that a search may find, in the order in which they are read.
enum Source {
    /// All stations from this place on; `None` when all were read.
    All(Option<Cursor>),
    These(std::vec::IntoIter<NearbyStation>),
}

impl Source {
    /// Returns whether there may be more stations.
    fn goes_on(&self) -> bool {
        match self {
            Self::All(from) => from.is_some(),
            Self::These(rest) => rest.len() > 0,
        }
    }
}

impl Store {
    /// Returns one page of the stations that a search finds.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn search(
        &self,
        tenant: &Tenant,
        search: &Search,
        from: &Cursor<NearbyStation>,
        limit: usize,
    ) -> Result<Page<(NearbyStation, ChargingStation), NearbyStation>> {
        let at_a_time = if search.is_narrowed() {
            AT_A_TIME
        } else {
            limit + 1
        };
        let mut source = self.source(tenant, search, from).await?;
        let mut found = Vec::new();
        let mut end = None;
        for round in 1.. {
            let read = self.read_on(tenant, &mut source, at_a_time).await?;
            let Some((last, _)) = read.last() else {
                break;
            };
            if round == MAX_READS {
                end = Some(last.clone()).filter(|_| source.goes_on());
            }
            let fitting = read
                .into_iter()
                .filter(|(_, station)| search.accepts(station));
            found.extend(self.free(tenant, search, fitting.collect()).await?);
            if found.len() > limit || round == MAX_READS {
                break;
            }
        }
        let mut page = Page::part(found, limit, from, end);
        if search.place.is_some() {
            for (hit, station) in &mut page.items {
                station.distance_meters = Some((hit.distance + 500) / 1000);
            }
        }
        Ok(page)
    }

    async fn source(
        &self,
        tenant: &Tenant,
        search: &Search,
        from: &Cursor<NearbyStation>,
    ) -> Result<Source> {
        let mut hits = match (&search.place, &search.among) {
            (None, None) => {
                return Ok(Source::All(Some(match from {
                    Cursor::Newest => Cursor::Newest,
                    Cursor::After(hit) => Cursor::After(in_list(hit)),
                    Cursor::Before(hit) => Cursor::Before(in_list(hit)),
                })));
            }
            (Some(place), None) => self.hits(tenant, place).await?,
            (place, Some(ids)) => {
                let stations = self.get_all::<ChargingStation>(tenant, ids).await?;
                let hit = |station: ChargingStation| match place {
                    None => Some(NearbyStation {
                        distance: 0,
                        created: station.created,
                        id: station.id,
                    }),
                    Some(place) => Some(NearbyStation {
                        distance: place.distance(station.location)?,
                        created: Timestamp::EPOCH,
                        id: station.id,
                    }),
                };
                let published = stations
                    .into_iter()
                    .filter(|station| station.internal.published);
                published
                    .filter_map(|station| hit(station.object))
                    .collect()
            }
        };
        match from {
            Cursor::Newest => {}
            Cursor::After(last) => hits.retain(|hit| search.order(hit, last).is_gt()),
            Cursor::Before(first) => hits.retain(|hit| search.order(hit, first).is_lt()),
        }
        hits.sort_by(|a, b| search.order(a, b));
        hits.dedup();
        if matches!(from, Cursor::Before(_)) {
            hits.reverse();
        }
        Ok(Source::These(hits.into_iter()))
    }

    /// Returns the next stations, at most `limit`; an empty result means that there are no more.
    async fn read_on(
        &self,
        tenant: &Tenant,
        source: &mut Source,
        at_a_time: usize,
    ) -> Result<Vec<(NearbyStation, ChargingStation)>> {
        match source {
            Source::All(from) => self.read_on_in_list(tenant, from, at_a_time).await,
            Source::These(hits) => self.read_on_in_hits(tenant, hits, at_a_time).await,
        }
    }

    /// Returns the next stations of the list of all stations. `from` is advanced; it is `None` at the end.
    async fn read_on_in_list(
        &self,
        tenant: &Tenant,
        from: &mut Option<Cursor<Id>>,
        at_a_time: usize,
    ) -> Result<Vec<(NearbyStation, ChargingStation)>> {
        let Some(start) = from.take() else {
            return Ok(Vec::new());
        };
        let backward = matches!(start, Cursor::Before(_));
        let page_request = PageRequest {
            from: start,
            ..PageRequest::first(at_a_time)
        };
        let partition = Partition::Stations { mode: tenant.mode };
        let (kind, attributes) = (Kind::ChargingStation, Attributes::Object);
        let page = self
            .page(partition, kind, &page_request, Vec::new(), None, attributes)
            .await?;
        let page = page.try_map(|item| {
            let place = Id::from(string(&item, "list_sk"));
            Ok((
                place,
                stored_item::object::<ChargingStation>(item, self.layout)?,
            ))
        })?;
        let (more, mut stations) = if backward {
            (page.newer, page.items)
        } else {
            (page.older, page.items)
        };
        if backward {
            stations.reverse();
        }
        let last = stations.last().map(|(place, _)| place.clone());
        *from = last.filter(|_| more).map(if backward {
            Cursor::Before
        } else {
            Cursor::After
        });
        let stations = stations.into_iter().map(|(place, station)| {
            let created = place.time(Kind::ChargingStation);
            let hit = NearbyStation {
                distance: 0,
                created: created.unwrap_or(Timestamp::EPOCH),
                id: station.id.clone(),
            };
            (hit, station)
        });
        Ok(stations.collect())
    }

    /// Returns the next stations of the hits. Some of the hits may have been deleted.
    async fn read_on_in_hits(
        &self,
        tenant: &Tenant,
        hits: &mut std::vec::IntoIter<NearbyStation>,
        at_a_time: usize,
    ) -> Result<Vec<(NearbyStation, ChargingStation)>> {
        loop {
            let hits: Vec<NearbyStation> = hits.take(at_a_time).collect();
            if hits.is_empty() {
                return Ok(Vec::new());
            }
            let ids: Vec<Id> = hits.iter().map(|hit| hit.id.clone()).collect();
            let stations = self.get_all::<ChargingStation>(tenant, &ids).await?;
            let mut hits = hits.into_iter();
            let stations = stations.into_iter();
            let published = stations.filter(|station| station.internal.published);
            let placed = published.filter_map(|station| {
                let hit = hits.find(|hit| hit.id == station.object.id)?;
                Some((hit, station.object))
            });
            let placed: Vec<_> = placed.collect();
            if !placed.is_empty() {
                return Ok(placed);
            }
        }
    }

    /// Returns the stations that have a connector free for the whole requested window; all stations if no window was requested.
    async fn free(
        &self,
        tenant: &Tenant,
        search: &Search,
        stations: Vec<(NearbyStation, ChargingStation)>,
    ) -> Result<Vec<(NearbyStation, ChargingStation)>> {
        let Some(window) = search.window else {
            return Ok(stations);
        };
        let read = stations.iter().map(|(_, station)| station);
        let calendars = self.calendars_of(tenant, read, &window).await?;
        let is_free = |station: &ChargingStation| {
            search.in_order(station).any(|connector| {
                let evse = CalendarOwner::evse_of(&station.id, connector);
                calendars.busy(&evse, &window).is_empty()
            })
        };
        let free = stations
            .into_iter()
            .filter(|(_, station)| is_free(station))
            .map(|(hit, station)| (hit, with_ranges(station, &window, &calendars)));
        Ok(free.collect())
    }

    /// Returns the station with the times at which it is free, within a window.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn with_free_times(
        &self,
        tenant: &Tenant,
        station: ChargingStation,
        window: Window,
    ) -> Result<ChargingStation> {
        let calendars = self
            .calendars_of(tenant, std::iter::once(&station), &window)
            .await?;
        Ok(with_ranges(station, &window, &calendars))
    }

    async fn calendars_of<'a>(
        &self,
        tenant: &Tenant,
        stations: impl Iterator<Item = &'a ChargingStation>,
        window: &Window,
    ) -> Result<Calendars> {
        let evses = stations.flat_map(|station| {
            let in_order = station
                .connectors
                .iter()
                .filter(|connector| connector.is_in_order());
            in_order.map(|connector| CalendarOwner::evse_of(&station.id, connector))
        });
        let pages = evses.flat_map(|evse| window.utc_days().map(move |day| (evse.clone(), day)));
        let pages: Vec<_> = pages.collect();
        self.calendars(tenant.mode, pages).await
    }

    /// Returns the stations of a place by their entries in the index, in no particular order.
    async fn hits(&self, tenant: &Tenant, place: &Place) -> Result<Vec<NearbyStation>> {
        let entries = self.in_cells(tenant.mode, place, "pk, place").await?;
        let hit = |entry: &Item| {
            Some(NearbyStation {
                distance: place.distance(point(entry)?)?,
                created: Timestamp::EPOCH,
                id: id(entry)?,
            })
        };
        Ok(entries.iter().filter_map(hit).collect())
    }

    /// Returns the published stations in a circle by their entries in the index, in no particular order.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn indexed_stations(
        &self,
        tenant: &Tenant,
        circle: Circle,
    ) -> Result<Vec<IndexedStation>> {
        let place = Place::Circle(circle);
        let entries = self
            .in_cells(tenant.mode, &place, "pk, place, outline")
            .await?;
        let station = |entry: &Item| {
            let location = point(entry)?;
            place.distance(location)?;
            Some(IndexedStation {
                id: id(entry)?,
                location,
                outline: string(entry, "outline").parse().ok(),
            })
        };
        Ok(entries.iter().filter_map(station).collect())
    }

    /// Returns these attributes of the entries in the cells that cover a place.
    async fn in_cells(&self, mode: Mode, place: &Place, attributes: &str) -> Result<Vec<Item>> {
        let ranges = cells::cover(place);
        let at_once = ranges.len().max(1);
        let found: Vec<Vec<Item>> = stream::iter(ranges)
            .map(|range| self.in_range(mode, range, attributes))
            .buffered(at_once)
            .try_collect()
            .await?;
        Ok(found.into_iter().flatten().collect())
    }

    async fn in_range(&self, mode: Mode, range: CellRange, attributes: &str) -> Result<Vec<Item>> {
        let CellRange {
            region,
            first,
            last,
        } = &range;
        let (index, value) = Partition::Region { mode, region }.place();
        let query = self.client.query().table_name(&self.table);
        let query = query
            .index_name(index)
            .key_condition_expression("#region = :region AND #cell BETWEEN :first AND :last")
            .projection_expression(attributes)
            .expression_attribute_names("#region", keys::hash_key_of(index))
            .expression_attribute_names("#cell", keys::CELL)
            .expression_attribute_values(":region", s(value))
            .expression_attribute_values(":first", s(first))
            .expression_attribute_values(":last", s(last));
        all_items(query).await
    }

    /// Returns the published stations among these ids, in the order of the ids.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn published_stations(
        &self,
        tenant: &Tenant,
        ids: &[Id],
    ) -> Result<Vec<Stored<ChargingStation>>> {
        let stations = self.get_all::<ChargingStation>(tenant, ids).await?;
        let published = stations
            .into_iter()
            .filter(|station| station.internal.published);
        Ok(published.collect())
    }

    /// Returns the station, if it exists and is published.
    ///
    /// # Errors
    /// `charging_station_not_found`; `Unavailable` if DynamoDB cannot be reached.
    pub async fn published_station(&self, tenant: &Tenant, id: &Id) -> Result<ChargingStation> {
        let station = self.get::<ChargingStation>(tenant, id).await?;
        if station.internal.published {
            Ok(station.object)
        } else {
            Err(Error::not_found(Kind::ChargingStation))
        }
    }

    /// Returns the item of a station with its entry in the index of stations by place.
    pub(super) fn station_item(origin: &Origin, stored: &Stored<ChargingStation>) -> Result<Item> {
        let mut item = stored_item::to_item(stored, origin)?;
        if !stored.internal.published {
            return Ok(item);
        }
        let station = &stored.object;
        let Point {
            latitude,
            longitude,
        } = station.location;
        let CellKey { region, cell } =
            cells::key(station.location).ok_or_else(|| Error::internal("a station at no place"))?;
        let mode = origin.tenant.mode;
        let (index, value) = Partition::Region {
            mode,
            region: &region,
        }
        .place();
        item.insert(keys::hash_key_of(index), s(value));
        item.insert(keys::CELL.into(), s(cell));
        item.insert("place".into(), s(format!("{latitude},{longitude}")));
        item.insert("outline".into(), s(Outline::of(station).to_string()));
        Ok(item)
    }

    /// Replaces a station that was read.
    ///
    /// # Errors
    /// `Contended` if the station was changed since; `Unavailable` if DynamoDB cannot be reached.
    pub async fn replace_station(
        &self,
        origin: &Origin,
        station: &Stored<ChargingStation>,
    ) -> Result<()> {
        let mut tx = self.begin(origin);
        tx.put_station(station)?;
        tx.commit_without_response().await
    }

    /// Writes stations and replaces existing ones with their ids.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn import_stations(
        &self,
        origin: &Origin,
        stations: Vec<ChargingStation>,
    ) -> Result<()> {
        let stations = stations.into_iter().map(Stored::new).collect();
        self.put_stations(origin, stations).await
    }

    /// Writes stations with their internal states, and replaces existing ones with their ids.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn put_stations(
        &self,
        origin: &Origin,
        stations: Vec<Stored<ChargingStation>>,
    ) -> Result<()> {
        let puts = stations.iter();
        let puts = puts.map(|station| put(Self::station_item(origin, station)?));
        self.write_chunks(puts.collect::<Result<_>>()?).await
    }
}

impl UnitOfWork<'_> {
    /// Sets the status of the connectors of an EVSE. The write succeeds if the connectors are as they were read, whatever changes in the
    /// station's other EVSEs meanwhile.
    ///
    /// # Errors
    /// `Internal` if the write cannot be built.
    pub fn set_evse_status(
        &mut self,
        station: &ChargingStation,
        evse: &str,
        status: ConnectorStatus,
    ) -> Result<()> {
        let mut of_evse = station.evse(evse);
        if of_evse.all(|connector| connector.status == status) {
            Ok(())
        } else {
            self.update_evse(station, evse, status, false)
        }
    }

    /// Writes the status of an EVSE, and whether its network has `reported` it. The commit fails if the connectors of the EVSE are not as
    /// they were read.
    ///
    /// # Errors
    /// `Internal` if the write cannot be built.
    pub(super) fn update_evse(
        &mut self,
        station: &ChargingStation,
        evse: &str,
        status: ConnectorStatus,
        reported: bool,
    ) -> Result<()> {
        let connectors = station.connectors.iter().enumerate();
        let of_evse: Vec<_> = connectors
            .filter(|(_, connector)| connector.evse.eq_ignore_ascii_case(evse))
            .collect();
        let was_free = of_evse
            .iter()
            .all(|(_, connector)| connector.status == ConnectorStatus::Available);
        let more = i8::from(status == ConnectorStatus::Available) - i8::from(was_free);
        let name = |status| serde_dynamo::to_attribute_value(status).map_err(Error::internal);
        let (mode, id) = (self.origin.tenant.mode, &station.id);
        let key = Key::Station { mode, id };
        let (mut sets, mut conditions) = (Vec::new(), Vec::new());
        let mut update = self.store.update(key);
        for (place, before) in of_evse {
            let connector = format!("#object.connectors[{place}]");
            sets.push(format!("{connector}.#status = :status"));
            conditions.push(format!(
                "{connector}.id = :id{place} AND {connector}.#status = :before{place}"
            ));
            update = update
                .expression_attribute_values(format!(":id{place}"), s(before.id.as_str()))
                .expression_attribute_values(format!(":before{place}"), name(before.status)?);
        }
        if reported {
            sets.push("#internal.imported_status.#evse = :status".to_owned());
            update = update
                .expression_attribute_names("#internal", "internal")
                .expression_attribute_names("#evse", evse);
        }
        let update = update
            .update_expression(format!(
                "SET {}, #object.updated = :now, #version = #version + :one, \
                 #object.availability.connectors_available = #object.availability.connectors_available + :more",
                sets.join(", ")
            ))
            .condition_expression(conditions.join(" AND "))
            .expression_attribute_names("#object", "object")
            .expression_attribute_names("#status", "status")
            .expression_attribute_names("#version", "version")
            .expression_attribute_values(":status", name(status)?)
            .expression_attribute_values(":more", n(more))
            .expression_attribute_values(":now", s(self.origin.now.to_string()))
            .expression_attribute_values(":one", n(1));
        self.push(Write::Update(update), Error::Contended);
        Ok(())
    }
}

/// Returns the position of a station in the list of all stations.
fn in_list(hit: &NearbyStation) -> Id {
    hit.id.with_time(Kind::ChargingStation, hit.created)
}

fn with_ranges(
    mut station: ChargingStation,
    window: &Window,
    calendars: &Calendars,
) -> ChargingStation {
    let range = free_ranges(&station, window, |connector| {
        calendars.busy(&CalendarOwner::evse_of(&station.id, connector), window)
    });
    station.availability.range = range;
    station
}

/// Returns the station of an entry of the index.
fn id(entry: &Item) -> Option<Id> {
    parse_station(string(entry, "pk")).map(|(_, id)| id)
}

/// Returns the position in an entry of the index: latitude and longitude.
fn point(entry: &Item) -> Option<Point> {
    let (latitude, longitude) = string(entry, "place").split_once(',')?;
    Some(Point {
        latitude: latitude.parse().ok()?,
        longitude: longitude.parse().ok()?,
    })
}
