"""Against a running service, whose address and key are in FLEET_API_URL and FLEET_API_KEY; without them they are skipped."""

import os
import uuid
from typing import get_args

import pytest

from fleet_charging import ApiError, FleetClient, errors, models
from fleet_charging.models import AddressParams

pytestmark = pytest.mark.skipif("FLEET_API_URL" not in os.environ, reason="needs a running service")
ADDRESS: AddressParams = {"line1": "1 Bow Road", "city": "London", "postal_code": "E3 4LH", "country": "GB"}


def test_iterating_over_a_list_gives_every_object_once_and_expand_the_objects() -> None:
    with FleetClient() as client:
        fleet = client.fleets.create(name="pages", email="ops@fleet.example", address=ADDRESS)
        made = {
            client.vehicles.create(
                fleet=fleet.id,
                registration_plate=f"P {number}",
                vin=f"WVWZZZ1KZAW10000{number}",
                battery_capacity=60_000,
                charging_standard="CCS",
            ).id
            for number in range(7)
        }
        seen = list(client.vehicles.list(fleet=fleet.id, limit=3, expand=["fleet"]))
        assert all(vehicle.fleet == fleet.id and vehicle.fleet.object.name == "pages" for vehicle in seen)
        assert {vehicle.id for vehicle in seen} == made and len(seen) == len(made)
        first = client.vehicles.list(fleet=fleet.id, limit=3)
        second = first.next_page()
        assert second is not None
        back = second.previous_page()
        assert back is not None and back.data == first.data


def test_the_service_expands_every_path_of_the_types() -> None:
    with FleetClient() as client:
        for resource, expand in (
            (client.charge_cards, models.ChargeCardExpand),
            (client.charging_sessions, models.ChargingSessionExpand),
            (client.credit_notes, models.CreditNoteExpand),
            (client.drivers, models.DriverExpand),
            (client.events, models.EventExpand),
            (client.fleets, models.FleetExpand),
            (client.invoices, models.InvoiceExpand),
            (client.payment_methods, models.PaymentMethodExpand),
            (client.reports, models.ReportExpand),
            (client.reservations, models.ReservationExpand),
            (client.sites, models.SiteExpand),
            (client.transactions, models.TransactionExpand),
            (client.vehicles, models.VehicleExpand),
        ):
            paths = get_args(expand)
            for start in range(0, len(paths), 10):  # as many as a request may name
                resource.list(limit=1, expand=paths[start : start + 10])


def test_a_repeated_idempotency_key_makes_one_object() -> None:
    with FleetClient() as client:
        key = str(uuid.uuid4())
        one, two = (
            client.fleets.create(name="x", email="ops@fleet.example", address=ADDRESS, options={"idempotency_key": key})
            for _ in range(2)
        )
        assert one.id == two.id
        with pytest.raises(errors.IdempotencyError):
            client.fleets.create(name="y", email="ops@fleet.example", address=ADDRESS, options={"idempotency_key": key})


def test_a_refusal_has_its_code_and_the_id_of_the_request() -> None:
    with FleetClient() as client, pytest.raises(errors.NotFoundError) as caught:
        client.fleets.retrieve("flt_unknown")
    assert caught.value.code == "fleet_not_found"
    assert (caught.value.request_id or "").startswith("req_")
    with FleetClient("sk_test_wrong") as client, pytest.raises(ApiError) as refused:
        client.fleets.list()
    assert isinstance(refused.value, errors.AuthenticationError)
