// The flow of README.md with the client that openapi-generator makes for Go: flow URL KEY
package main

import (
	"context"
	"fmt"
	client "fleetclient"
	"os"
	"time"
)

func check(holds bool, found ...any) {
	if !holds {
		panic(fmt.Sprint(found...))
	}
}

// only gives the object of a response that has to be one.
func only[Object any, Response any](object *Object, _ Response, err error) *Object {
	check(err == nil, err)
	return object
}

func main() {
	configuration := client.NewConfiguration()
	configuration.Servers = client.ServerConfigurations{{URL: os.Args[1]}}
	service := client.NewAPIClient(configuration)
	with := context.WithValue(context.Background(), client.ContextAccessToken, os.Args[2])

	address := *client.NewAddress("London", "GB", "1 Bow Road", "E3 4LH")
	newFleet := *client.NewFleetCreateParams(address, "ops@fleet.example", "Generated")
	fleet := only(service.FleetsAPI.CreateFleet(with).FleetCreateParams(newFleet).Execute())
	newVehicle := *client.NewVehicleCreateParams(60_000, client.CONNECTORTYPE_TYPE2, fleet.Id, "GE10 NER", "WVWZZZ1KZAW000001")
	vehicle := only(service.VehiclesAPI.CreateVehicle(with).VehicleCreateParams(newVehicle).Execute())
	newDriver := *client.NewDriverCreateParams("ada@fleet.example", "Ada Byron")
	driver := only(service.DriversAPI.CreateDriver(with).DriverCreateParams(newDriver).Execute())
	to := *client.NewDriverAttachParams(fleet.Id)
	only(service.DriversAPI.AttachDriver(with, driver.Id).DriverAttachParams(to).Execute())

	// Every default of the document is sent, as generated clients do that send defaults.
	stations := only(service.ChargingStationsAPI.ListChargingStations(with).Limit(10).Execute())
	check(len(stations.Data) > 0, stations)
	fleets := only(service.FleetsAPI.ListFleets(with).Limit(10).Execute())
	check(fleets.Data[0].Id == fleet.Id, fleets)

	start := time.Now().Add(2 * time.Hour)
	area := *client.NewArea(51.507, -0.128, 5000)
	types := []client.ConnectorType{client.CONNECTORTYPE_TYPE2}
	wanted := *client.NewReservationCreateParams(types, driver.Id, area, vehicle.Id)
	wanted.SetIdealStart(start)
	wanted.SetIdealEnd(start.Add(time.Hour))
	reservation := only(service.ReservationsAPI.CreateReservation(with).ReservationCreateParams(wanted).Execute())
	check(reservation.Status == client.RESERVATIONSTATUS_PENDING, reservation)

	_, _, err := service.FleetsAPI.RetrieveFleet(with, "flt_0").Execute()
	refused, isRefusal := err.(*client.GenericOpenAPIError)
	check(isRefusal, err)
	shown, isError := refused.Model().(client.Error)
	check(isError && *shown.Code.Get() == client.ERRORCODE_FLEET_NOT_FOUND && shown.Status == 404, string(refused.Body()))
}
