"""Reserve, wait for the confirmation, verify its webhook, charge, and pay the invoice.

Needs a service that was started with `cargo run`, whose key and address are in FLEET_API_KEY and FLEET_API_URL.
"""

import os
from datetime import UTC, datetime, timedelta

import httpx

from fleet_charging import FleetClient
from fleet_charging.models import AddressParams, ChargingStation
from fleet_charging.testing import advance_local_clock

client, url, now = FleetClient(), os.environ["FLEET_API_URL"], datetime.now(UTC)


def hours(n: int) -> datetime:
    return now + timedelta(hours=n)


address: AddressParams = {"line1": "1 Bow Road", "city": "London", "postal_code": "E3 4LH", "country": "GB"}
fleet = client.fleets.create(name="Night shift", email="ops@fleet.example", address=address)
driver = client.drivers.create(name="Ada Byron", email="ada@fleet.example", preferences={"currency": "gbp"})
client.drivers.attach(driver.id, fleet=fleet.id)
vehicle = client.vehicles.create(
    fleet=fleet.id, registration_plate="AB12 CDE", vin="WVWZZZ1KZAW000001", battery_capacity=60_000, charging_standard="Type2"
)
endpoint = client.webhook_endpoints.create(url=f"{url}/_local/inbox", enabled_events=["reservation.confirmed"])
reservation = client.reservations.create(
    driver=driver.id, vehicle=vehicle.id, ideal_start=hours(1), ideal_end=hours(2), connector_type=["Type2"],
    location={"latitude": 51.507, "longitude": -0.128, "radius": 5000},
)
advance_local_clock(url, 1800)  # half an hour: the service confirms the reservation and sends the webhook
delivery = httpx.get(f"{url}/_local/inbox").json()["data"][0]
received = datetime.fromisoformat(delivery["received"]).timestamp()
event = client.webhooks.verify(delivery["body"], delivery["headers"], endpoint.secret, now=received)
assert event.type == "reservation.confirmed" and event.data.object.id == reservation.id, event
confirmed = client.reservations.retrieve(reservation.id, expand=["charging_station"])
station = confirmed.charging_station
assert isinstance(station, ChargingStation) and confirmed.connector is not None
print(f"{confirmed.status} at {station.name}, connector {confirmed.connector}")

advance_local_clock(url, 1500)  # the vehicle arrives
session = client.charging_sessions.create(
    charging_station=station.id, connector=confirmed.connector, driver=driver.id, vehicle=vehicle.id
)
advance_local_clock(url, 1200)  # twenty minutes of charging
client.charging_sessions.stop(session.id)
draft = client.invoices.create(fleet=fleet.id, currency="gbp", period_start=hours(-24), period_end=hours(24))
client.invoices.finalize(draft.id)
card = client.payment_methods.create(type="card", token="tok_success")
invoice = client.invoices.pay(draft.id, payment_method=card.id)
print(f"invoice {invoice.status}: {invoice.amount_paid} {invoice.currency}")
