"""What mypy accepts and refuses: it fails if one of the marked lines type-checks, or another one does not."""

from typing import assert_type

from fleet_charging import ApiError, AsyncFleetClient, FleetClient
from fleet_charging.models import AreaParams, Driver, Event, Invoice, Policy, Reservation, ReservationExpand


def _checked(client: FleetClient, event: Event, error: ApiError) -> None:
    """Never called: it is there to be checked."""
    area: AreaParams = {"latitude": 51.5, "longitude": -0.1, "radius": 5000}
    start, end = "2027-01-15T09:00:00Z", "2027-01-15T10:00:00Z"
    client.reservations.create(
        driver="drv_1", vehicle="veh_1", ideal_start=start, ideal_end=end, connector_type=["CCS"], location=area
    )
    client.reservations.create(
        driver="drv_1",
        vehicle="veh_1",
        ideal_start=start,
        ideal_end=end,
        connector_type=["Type3"],  # type: ignore[list-item]
        location=area,
    )
    client.reservations.create(  # type: ignore[call-arg]
        driver="drv_1", vehicle="veh_1", ideal_start=start, ideal_end=end, connector_type=["CCS"], location=area, lastest_end=None
    )
    client.reservations.create(  # type: ignore[call-arg]
        vehicle="veh_1", ideal_start=start, ideal_end=end, connector_type=["CCS"], location=area
    )
    client.reservations.list(status="unknown")  # type: ignore[arg-type]

    reservation = client.reservations.retrieve("res_1", expand=["driver"])
    assert_type(reservation, Reservation)
    assert_type(reservation.driver.object, Driver)
    assert_type(reservation.vehicle.object.fleet.object.name, str)
    client.drivers.retrieve(reservation.driver)
    assert_type([policy.object for policy in reservation.driver.object.policy_ids], list[Policy])
    reservation.driver.name  # type: ignore[attr-defined]
    reservation.charging_station.object  # type: ignore[union-attr]
    paths: list[ReservationExpand] = ["driver", "vehicle.fleet", "driver.vehicles.site.stations"]
    client.reservations.list(expand=paths)
    client.reservations.retrieve("res_1", expand=["divers"])  # type: ignore[list-item]
    client.reservations.retrieve("res_1", expand=["vehicle.flet"])  # type: ignore[list-item]
    client.reservations.retrieve("res_1", expand=["driver.vehicles.drivers"])  # type: ignore[list-item]
    client.reservations.list(expand=["fleet"])  # type: ignore[list-item]
    client.reservations.list(expand="driver")  # type: ignore[arg-type]
    reservation.drivers  # type: ignore[attr-defined]
    for one in client.drivers.list(limit=3):
        assert_type(one, Driver)

    if event.type == "invoice.paid":
        assert_type(event.data.object, Invoice)
    if event.type == "invoice.unknown":  # type: ignore[comparison-overlap]
        pass
    if error.code == "no_such_code":  # type: ignore[comparison-overlap]
        pass


async def _checked_async(client: AsyncFleetClient) -> None:
    """Never called: it is there to be checked."""
    session = await client.charging_sessions.retrieve("cs_1", expand=["driver", "vehicle.fleet"])
    assert_type(session.driver.object, Driver)
    await client.charging_sessions.retrieve("cs_1", expand=["driver", "vehicle.flet"])  # type: ignore[list-item]
    async for driver in client.drivers.list(expand=["preferences.preferred_charging_stations"]):
        assert_type(driver.preferences.preferred_charging_stations[0].object.name, str)
    client.drivers.list(expand=["preferred_charging_stations"])  # type: ignore[list-item]


def test_mypy_refuses_misspelt_members_and_unknown_words() -> None:
    """`mypy` is what checks it; this only keeps the file among the tests."""
    assert callable(_checked) and callable(_checked_async)
