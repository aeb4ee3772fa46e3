use std::collections::HashSet;

use jiff::civil::Date;

use super::tenant::ALONE;
use super::*;
use kernel::fields::metadata::MetadataPair;
use kernel::{Id, Kind, Mode, Tenant, Timestamp};
use models::charging::calendar::CalendarOwner;
use models::network::{Module, ObjectId, Owner, PartyId};
use strum::EnumCount as _;

/// The parts of the keys in these tests.
struct Parts {
    tenant: Tenant,
    id: Id,
    station: Id,
    pair: MetadataPair,
    owner: Owner,
    object: ObjectId,
    calendar: CalendarOwner,
}

impl Parts {
    fn new() -> Self {
        let owner = Owner::new(
            Id::from_number(Kind::Network, 1),
            PartyId::new("NL", "TNM").unwrap(),
        );
        let id = Id::from_number(Kind::Vehicle, 2);
        Self {
            tenant: Tenant::new(Id::from_number(Kind::Account, 1), Mode::Live),
            station: Id::from_number(Kind::ChargingStation, 3),
            pair: MetadataPair::try_from("depot:north".to_owned()).unwrap(),
            object: ObjectId::new(owner.clone(), Module::Tariffs, "a1").unwrap(),
            calendar: CalendarOwner::Vehicle(id.clone()),
            owner,
            id,
        }
    }

    /// A key of every variant.
    #[rustfmt::skip]
    fn keys(&self) -> Vec<Key<'_>> {
        let Self { tenant, id, station, pair, object, calendar, .. } = self;
        let (mode, kind, day, at) = (tenant.mode, Kind::Invoice, Date::MAX, Timestamp::from_unix_millis(0));
        vec![
            Key::Object { tenant, id },
            Key::Event { tenant, id },
            Key::Account { id },
            Key::ChildCount { account: id },
            Key::ApiKey { account: id, hash: "0f" },
            Key::Idempotency { tenant, key: "k#1" },
            Key::Fed { tenant, event: id, at, only: None },
            Key::Delivery { tenant, endpoint: id, delivery: id },
            Key::Held { tenant, endpoint: id, delivery: id },
            Key::Queued { tenant, endpoint: id, object: "o", sequence: None },
            Key::Pace { tenant, endpoint: id },
            Key::EndpointCount { tenant },
            Key::DriverOfFleet { tenant, fleet: id, driver: id },
            Key::FleetDay { tenant, fleet: id, day },
            Key::VehicleMonth { tenant, fleet: id, month: day, vehicle: id },
            Key::Found { tenant, text: "t", id },
            Key::WithMetadata { tenant, pair, id },
            Key::CardOf { tenant, holder: id, card: id },
            Key::Chunk { tenant, batch: id, chunk: 1 },
            Key::Line { tenant, invoice: id, line: id },
            Key::Making { tenant, invoice: id },
            Key::DocumentNumber { tenant, kind, year: 2026 },
            Key::Rate { tenant },
            Key::DeletedPaymentMethod { tenant, id },
            Key::ProviderId { mode, id: "cus" },
            Key::Station { mode, id: station },
            Key::PlansOfSite { tenant, site: id },
            Key::SiteOfStation { tenant, station },
            Key::Calendar { mode, owner: calendar, day },
            Key::Network { mode, id },
            Key::Pull { mode, network: id },
            Key::PulledPage { mode, network: id, page: 1 },
            Key::OwnToken { mode, hash: "0f" },
            Key::Party { mode, party: object.party() },
            Key::OcpiObject { mode, id: object },
            Key::TariffUse { mode, tariff: object, location: None },
            Key::NetworkCommand { mode, id },
            Key::ChargeToken { mode, uid: "04" },
            Key::CardClaim { mode, uid: "04", account: id },
            Key::LastUse { tenant, card: id },
            Key::CardsOf { tenant, holder: id },
        ]
    }

    /// A partition of every variant, and of every member by which objects are found.
    #[rustfmt::skip]
    fn partitions(&self) -> Vec<Partition<'_>> {
        let Self { tenant, id, station, owner, .. } = self;
        let (mode, kind, month) = (tenant.mode, Kind::Vehicle, Date::MAX);
        let found_by = |member| Partition::Lookup { tenant, kind, member, value: "v" };
        vec![
            Partition::Kind { tenant, kind },
            Partition::Fleet { tenant, fleet: id, kind },
            Partition::Fees { tenant },
            Partition::PaidFees { tenant, month },
            Partition::LateSessions { tenant, month },
            Partition::Planned { mode, station },
            Partition::OpenAdjustments { tenant },
            Partition::PaidAdjustments { tenant, month },
            Partition::AdjustmentsOf { tenant, what: id },
            Partition::Number { tenant, kind, number: "7" },
            found_by(Lookup::Email),
            found_by(Lookup::Plate),
            found_by(Lookup::Vin),
            Partition::Status { tenant, kind, status: "open" },
            Partition::Finalized { tenant, first: month, last: month },
            Partition::Refunds { tenant, month },
            Partition::PaymentsFor { tenant, what: id },
            Partition::Driver { tenant, driver: id },
            Partition::Vehicle { tenant, vehicle: id },
            Partition::Open { tenant },
            Partition::Site { tenant, site: id },
            Partition::Deliveries { tenant, endpoint: id },
            Partition::Children { parent: id },
            Partition::Stations { mode },
            Partition::Region { mode, region: "81" },
            Partition::Networks { mode },
            Partition::LocationsOf { mode, owner },
            Partition::TariffsOf { mode, owner },
            Partition::Unmatched { mode },
            Partition::Tokens { mode },
            Partition::CardClaims { mode },
        ]
    }
}

/// The number of variants of which there are examples.
fn variants<T>(examples: &[T]) -> usize {
    let found: HashSet<_> = examples.iter().map(std::mem::discriminant).collect();
    found.len()
}

/// The constant words of a key: all its parts in capital letters.
fn words(key: &str) -> impl Iterator<Item = &str> {
    key.split('#')
        .filter(|part| !part.is_empty() && part.chars().all(|char| char.is_ascii_uppercase()))
}

/// Returns whether a part of a key in the documentation begins with a word.
fn has(text: &str, word: &str) -> bool {
    ['#', '`']
        .iter()
        .any(|before| text.contains(&format!("{before}{word}")))
}

#[test]
fn the_documentation_has_every_key() {
    let table = include_str!("mod.rs").lines();
    let table: Vec<&str> = table.filter(|line| line.starts_with("//! |")).collect();
    let parts = Parts::new();
    let (keys, partitions) = (parts.keys(), parts.partitions());
    assert_eq!(variants(&keys), Key::COUNT);
    assert_eq!(variants(&partitions), Partition::COUNT);
    for key in keys {
        let (pk, sk) = key.pair();
        for word in words(&pk).chain(words(&sk)) {
            assert!(table.iter().any(|line| has(line, word)), "{key:?}: {word}");
        }
    }
    for partition in partitions {
        let (index, value) = partition.place();
        let index = format!("`{index}`: ");
        for word in words(&value) {
            let is_listed = |line: &&str| line.contains(&index) && has(line, word);
            assert!(table.iter().any(is_listed), "{partition:?}: {word}");
        }
    }
}

#[test]
fn every_item_of_a_tenant_begins_with_the_tenant() {
    let parts = Parts::new();
    for key in parts.keys() {
        let is_of_tenant = format!("{key:?}").contains("tenant: ");
        // It begins with the station, so that all sites of the station are read together.
        if is_of_tenant && !matches!(key, Key::SiteOfStation { .. }) {
            assert_eq!(
                tenant_of(&key.pair().0),
                Some(parts.tenant.clone()),
                "{key:?}"
            );
        }
    }
}

#[test]
fn the_events_of_an_account_are_spread_evenly() {
    let tenant = Tenant::new(Id::from_number(Kind::Account, 1), Mode::Live);
    let list = Partition::Kind {
        tenant: &tenant,
        kind: Kind::Event,
    };
    let values = list.values();
    let mut entries = vec![0; values.len()];
    let now = Timestamp::from_unix_millis(1_772_000_000_123);
    for number in 0..8_000 {
        let id = Id::derived(Kind::Event, now, &number.to_string());
        let (tenant, id) = (&tenant, &id);
        let (value, sk) = Key::Event { tenant, id }.pair();
        assert_eq!(parse_event(&value, &sk), Some((tenant.clone(), id.clone())));
        let place = values.iter().position(|other| *other == value);
        entries[place.expect("one of the values")] += 1;
    }
    assert!(
        entries.iter().all(|count| (900..1_100).contains(count)),
        "{entries:?}"
    );
    let kind = Kind::Reservation;
    let reservations = Partition::Kind {
        tenant: &tenant,
        kind,
    };
    let id = Id::from_number(kind, 1);
    assert_eq!(reservations.values(), [reservations.value_of(&id)]);
}

#[test]
fn simultaneous_next_actions_are_spread_across_partitions() {
    let mut found = std::collections::BTreeSet::new();
    for number in 0..1_000 {
        let id = Id::from_number(Kind::Reservation, number);
        found.insert(next_action_partition(id.as_str(), ALONE));
    }
    assert_eq!(found.len(), usize::from(NEXT_ACTION_PARTITIONS));
}

#[test]
fn the_key_of_an_object_names_its_tenant() {
    let tenant = Tenant::new(Id::from_number(Kind::Account, 1), Mode::Test);
    let id = Id::from_number(Kind::Reservation, 2);
    let (pk, _) = Key::Object {
        tenant: &tenant,
        id: &id,
    }
    .pair();
    assert_eq!(parse_object(&pk), Some((tenant.clone(), id)));
    let (pk, _) = Key::Idempotency {
        tenant: &tenant,
        key: "k",
    }
    .pair();
    assert_eq!(parse_object(&pk), None);
}

#[test]
fn the_key_of_a_received_object_names_its_kind() {
    let mode = Mode::Live;
    let owner = Owner::new(
        Id::from_number(Kind::Network, 1),
        PartyId::new("NL", "TNM").unwrap(),
    );
    let id = ObjectId::new(owner, Module::Tariffs, "A#1").unwrap();
    let (pk, _) = Key::OcpiObject { mode, id: &id }.pair();
    let (read_mode, read) = parse_ocpi_object(&pk).unwrap();
    assert_eq!((read_mode, read.id().as_str()), (mode, "a#1"));
    assert_eq!(read, id);
    assert_eq!(Key::OcpiObject { mode, id: &read }.pair().0, pk);
    assert!(parse_charge_token(&pk).is_none() && parse_network(&pk).is_none());
    let uid = "04#AA";
    let (pk, _) = Key::ChargeToken { mode, uid }.pair();
    assert_eq!(parse_charge_token(&pk), Some((mode, "04#aa".into())));
    assert!(parse_ocpi_object(&pk).is_none() && parse_object(&pk).is_none());
    let command = Id::from_number(Kind::NetworkCommand, 1);
    let id = &command;
    let (pk, _) = Key::NetworkCommand { mode, id }.pair();
    assert_eq!(parse_network_command(&pk), Some((mode, command)));
    let network = Id::from_number(Kind::Network, 1);
    let (pk, _) = Key::Network { mode, id: &network }.pair();
    assert_eq!(parse_network(&pk), Some((mode, network)));
    assert!(parse_station(&pk).is_none() && parse_object(&pk).is_none());
}
