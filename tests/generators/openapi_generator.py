"""The flow of README.md with the client that openapi-generator makes for Python: openapi_generator.py URL KEY"""

import datetime
import sys

import openapi_client as fleet

url, key = sys.argv[1:]
api = fleet.ApiClient(fleet.Configuration(host=url, access_token=key))

address = fleet.Address(line1="1 Bow Road", city="London", postal_code="E3 4LH", country="GB")
made = fleet.FleetsApi(api).create_fleet(
    fleet.FleetCreateParams(name="Generated", email="ops@fleet.example", address=address, timezone="Europe/London")
)
assert made.id.startswith("flt_"), made
vehicle = fleet.VehiclesApi(api).create_vehicle(
    fleet.VehicleCreateParams(
        fleet=made.id,
        registration_plate="GE10 NER",
        vin="WVWZZZ1KZAW000001",
        charging_standard="Type2",
        battery_capacity=60_000,
        information=fleet.VehicleInformationInput(make="Example", model="Van", year="2026"),
    )
)
driver = fleet.DriversApi(api).create_driver(fleet.DriverCreateParams(name="Ada Byron", email="ada@fleet.example"))
fleet.DriversApi(api).attach_driver(driver.id, fleet.DriverAttachParams(fleet=made.id))

# Every default of the document is sent, as generated clients do that send defaults.
assert fleet.ChargingStationsApi(api).list_charging_stations(limit=10).data
assert fleet.FleetsApi(api).list_fleets(limit=10).data[0].id == made.id

start = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=2)
reservation = fleet.ReservationsApi(api).create_reservation(
    fleet.ReservationCreateParams(
        driver=driver.id,
        vehicle=vehicle.id,
        connector_type=["Type2"],
        ideal_start=start,
        ideal_end=start + datetime.timedelta(hours=1),
        location=fleet.Area(latitude=51.507, longitude=-0.128, radius=5000),
    )
)
assert reservation.status == "pending", reservation

try:
    fleet.FleetsApi(api).retrieve_fleet("flt_0")
except fleet.exceptions.NotFoundException as refused:
    assert refused.data.code == fleet.ErrorCode.FLEET_NOT_FOUND, refused.data
    assert refused.data.status == 404 and refused.data.doc_url, refused.data
else:
    raise AssertionError("a fleet that does not exist was found")
