use super::tenant::ALONE;
use super::*;
use kernel::fields::metadata::MetadataPair;
use kernel::{Id, Kind, Mode, Tenant, Timestamp};
use models::network::{Module, ObjectId, Owner, PartyId};

#[test]
fn every_item_of_a_tenant_begins_with_the_tenant() {
    let tenant = Tenant::new(Id::from_number(Kind::Account, 1), Mode::Live);
    let (id, other) = (
        Id::from_number(Kind::WebhookEndpoint, 2),
        Id::from_number(Kind::Event, 3),
    );
    let pair = MetadataPair::try_from("depot:north".to_owned()).unwrap();
    let keys = [
        Key::Object {
            tenant: &tenant,
            id: &id,
        },
        Key::Event {
            tenant: &tenant,
            id: &other,
        },
        Key::Idempotency {
            tenant: &tenant,
            key: "k#1",
        },
        Key::Delivery {
            tenant: &tenant,
            endpoint: &id,
            delivery: &other,
        },
        Key::DriverOfFleet {
            tenant: &tenant,
            fleet: &id,
            driver: &other,
        },
        Key::CardOf {
            tenant: &tenant,
            holder: &id,
            card: &other,
        },
        Key::WithMetadata {
            tenant: &tenant,
            pair: &pair,
            id: &id,
        },
        Key::Line {
            tenant: &tenant,
            invoice: &id,
            line: &other,
        },
        Key::Making {
            tenant: &tenant,
            invoice: &id,
        },
        Key::Rate { tenant: &tenant },
    ];
    for key in keys {
        assert!(
            key.pair()
                .0
                .starts_with("acct_00000000000000000000000000000001#live#"),
            "{key:?}"
        );
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
fn an_item_is_of_the_tenant_its_key_begins_with() {
    let tenant = Tenant::new(Id::from_number(Kind::Account, 1), Mode::Test);
    let id = Id::from_number(Kind::Reservation, 2);
    let (pk, _) = Key::Object {
        tenant: &tenant,
        id: &id,
    }
    .pair();
    assert!(is_of(&tenant, &pk));
    let live = Tenant {
        mode: Mode::Live,
        ..tenant
    };
    assert!(!is_of(&live, &pk) && !is_of(&live, live.account.as_str()));
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
