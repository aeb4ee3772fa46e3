"""What mypy accepts and refuses: it fails if one of the marked lines type-checks, or another one does not."""

from typing import assert_type

from fleet_charging import ApiError, FleetClient
from fleet_charging.models import AreaParams, Driver, Event, Invoice, Reservation


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
    assert_type(reservation.driver, str | Driver)
    if isinstance(reservation.driver, Driver):
        assert_type(reservation.driver.name, str)
    reservation.drivers  # type: ignore[attr-defined]
    for one in client.drivers.list(limit=3):
        assert_type(one, Driver)

    if event.type == "invoice.paid":
        assert_type(event.data.object, Invoice)
    if event.type == "invoice.unknown":  # type: ignore[comparison-overlap]
        pass
    if error.code == "no_such_code":  # type: ignore[comparison-overlap]
        pass


def test_mypy_refuses_misspelt_members_and_unknown_words() -> None:
    """`mypy` is what checks it; this only keeps the file among the tests."""
    assert callable(_checked)
