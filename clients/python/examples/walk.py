"""Reserve, wait for the confirmation, verify its webhook, charge, and pay the invoice.

Needs a service that was started with `cargo run`, whose key, address and token are in FLEET_API_KEY, FLEET_API_URL and
FLEET_LOCAL_TOKEN.
"""

from datetime import datetime, timedelta

import httpx
from fleet_charging import FleetClient, errors, models
from fleet_charging.testing import InboxDelivery, LocalRunner


def verified(deliveries: list[InboxDelivery], reservation: str, secret: str) -> models.Event:
    """The event of the delivery that is about this reservation and signed with this secret: the inbox has those of others too."""
    for sent in deliveries:
        try:
            event: models.Event = client.webhooks.verify(sent["body"], sent["headers"], secret)
        except errors.SignatureVerificationError:
            continue
        if event.type == "reservation.confirmed" and event.data.object.id == reservation:
            return event
    raise SystemExit(f"no delivery about {reservation} was signed with the secret of the endpoint")



client, hour = FleetClient(), timedelta(hours=1)
runner = LocalRunner(client.base_url)
now = runner.now()  # the service's time: its clock can be moved, and stays moved
address: models.AddressParams = {"line1": "1 Bow Road", "city": "London", "postal_code": "E3 4LH", "country": "GB"}
fleet = client.fleets.create(name="Night shift", email="ops@fleet.example", address=address).id
driver = client.drivers.create(name="Ada Byron", email="ada@fleet.example", preferences={"currency": "gbp"}).id
client.drivers.attach(driver, fleet=fleet)
vehicle = client.vehicles.create(fleet=fleet, registration_plate="AB12 CDE", vin="WVWZZZ1KZAW000001",
                                 battery_capacity=60_000, charging_standard="Type2").id
endpoint = client.webhook_endpoints.create(url=runner.inbox_url, enabled_events=["reservation.confirmed"])
try:
    area: models.AreaParams = {"latitude": 51.507, "longitude": -0.128, "radius": 5000}
    reservation = client.reservations.create(driver=driver, vehicle=vehicle, ideal_start=now + hour, ideal_end=now + 2 * hour,
                                             connector_type=["Type2"], location=area)
    runner.advance(3600)  # half an hour before the window the service confirms the reservation
    verified(runner.inbox(), reservation.id, endpoint.secret)
finally:
    client.webhook_endpoints.delete(endpoint.id)
confirmed = client.reservations.retrieve(reservation.id, expand=["charging_station"])
assert (station := confirmed.charging_station) and confirmed.connector

session = client.charging_sessions.create(charging_station=station, connector=confirmed.connector, driver=driver, vehicle=vehicle)
runner.advance(1200)  # twenty minutes of charging
client.charging_sessions.stop(session.id)
draft = client.invoices.create(fleet=fleet, currency="gbp", period_start=now - 24 * hour, period_end=now + 24 * hour)
client.invoices.finalize(draft.id)
invoice = client.invoices.pay(draft.id, payment_method=client.payment_methods.create(type="card", token="tok_success").id)
print(f"charged at {station.object.name}, invoice {invoice.status}: {invoice.amount_paid} {invoice.currency}")
document = httpx.get(client.invoices.retrieve_document(draft.id)).content  # PDF; also format="ubl" or "cii"
assert document.startswith(b"%PDF"), document[:100]
