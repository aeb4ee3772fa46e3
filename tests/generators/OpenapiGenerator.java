// The flow of README.md with the client that openapi-generator makes for Java: OpenapiGenerator URL KEY
import com.fasterxml.jackson.databind.ObjectMapper;
import fleet.ApiClient;
import fleet.ApiException;
import fleet.api.ChargingStationsApi;
import fleet.api.DriversApi;
import fleet.api.FleetsApi;
import fleet.api.ReservationsApi;
import fleet.api.VehiclesApi;
import fleet.model.Address;
import fleet.model.Area;
import fleet.model.ConnectorType;
import fleet.model.DriverAttachParams;
import fleet.model.DriverCreateParams;
import fleet.model.FleetCreateParams;
import fleet.model.ReservationCreateParams;
import fleet.model.ReservationStatus;
import fleet.model.VehicleCreateParams;
import java.math.BigDecimal;
import java.time.OffsetDateTime;
import java.util.Set;

public class OpenapiGenerator {
  static void check(boolean holds, Object found) {
    if (!holds) throw new AssertionError(found);
  }

  public static void main(String[] arguments) throws Exception {
    var client = new ApiClient();
    client.updateBaseUri(arguments[0]);
    client.setRequestInterceptor(request -> request.header("Authorization", "Bearer " + arguments[1]));
    var fleets = new FleetsApi(client);
    var drivers = new DriversApi(client);

    var address = new Address().city("London").country("GB").line1("1 Bow Road").postalCode("E3 4LH");
    var newFleet = new FleetCreateParams().address(address).email("ops@fleet.example").name("Generated");
    var fleet = fleets.createFleet(FleetsApi.APICreateFleetRequest.newBuilder().fleetCreateParams(newFleet).build());
    var newVehicle = new VehicleCreateParams().batteryCapacity(60_000).chargingStandard(ConnectorType.TYPE2).fleet(fleet.getId())
        .registrationPlate("GE11 NER").vin("WVWZZZ1KZAW000002");
    var vehicles = new VehiclesApi(client);
    var vehicle = vehicles.createVehicle(VehiclesApi.APICreateVehicleRequest.newBuilder().vehicleCreateParams(newVehicle).build());
    var newDriver = new DriverCreateParams().email("ada@fleet.example").name("Ada Byron");
    var driver = drivers.createDriver(DriversApi.APICreateDriverRequest.newBuilder().driverCreateParams(newDriver).build());
    var to = new DriverAttachParams().fleet(fleet.getId());
    drivers.attachDriver(DriversApi.APIAttachDriverRequest.newBuilder().id(driver.getId()).driverAttachParams(to).build());

    // Every default of the document is sent, as generated clients do that send defaults.
    var stations = new ChargingStationsApi(client)
        .listChargingStations(ChargingStationsApi.APIListChargingStationsRequest.newBuilder().limit(10).build());
    check(!stations.getData().isEmpty(), stations);
    var listed = fleets.listFleets(FleetsApi.APIListFleetsRequest.newBuilder().limit(10).build());
    check(listed.getData().get(0).getId().equals(fleet.getId()), listed);

    var start = OffsetDateTime.now().plusHours(2);
    var area = new Area().latitude(new BigDecimal("51.507")).longitude(new BigDecimal("-0.128")).radius(5000);
    var wanted = new ReservationCreateParams().connectorType(Set.of(ConnectorType.TYPE2)).driver(driver.getId()).location(area)
        .vehicle(vehicle.getId()).idealStart(start).idealEnd(start.plusHours(1));
    var reservation = new ReservationsApi(client)
        .createReservation(ReservationsApi.APICreateReservationRequest.newBuilder().reservationCreateParams(wanted).build());
    check(reservation.getStatus() == ReservationStatus.PENDING, reservation);

    try {
      fleets.retrieveFleet(FleetsApi.APIRetrieveFleetRequest.newBuilder().id("flt_0").build());
      throw new AssertionError("a fleet of that id");
    } catch (ApiException refused) {
      var shown = new ObjectMapper().readTree(refused.getResponseBody());
      check(refused.getCode() == 404 && shown.get("code").asText().equals("fleet_not_found"), shown);
    }
  }
}
