//! The tools. Each is a task, and its description is what an assistant reads about it.

use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::CallToolResult;
use rmcp::{tool, tool_router};
use serde_json::json;

use crate::api::{Failure, Request};
use crate::arguments::{
    Chargers, Confirmed, Events, Invoices, Named, NeedRequest, Payment, ReportRequest,
    ReservationRequest, Reservations, Search, Sessions, Start,
};
use crate::calls::{
    Action, DRIVERS, EVENT, INVOICE, RESERVATION, SESSION, STATION, Server, VEHICLES, failed, path,
    refused, shown, with_all,
};

#[tool_router(vis = "pub(crate)")]
impl Server {
    #[tool(
        description = "The service's time. Compute times of requests from it: a local service may have a clock that was moved.",
        annotations(title = "Time", read_only_hint = true, idempotent_hint = true)
    )]
    async fn now(&self) -> CallToolResult {
        // The time is public, but often the first thing that is asked for, and a key that does not exist is refused by every tool.
        match self.api.send(Request::get("/v1/account")).await {
            Ok(_) | Err(Failure::Refused { status: 403, .. }) => {}
            Err(failure) => return failed(&failure),
        }
        match self.api.now().await {
            Ok(now) => shown(json!({"now": now})),
            Err(failure) => failed(&failure),
        }
    }

    #[tool(
        description = "Find vehicles by a part of the registration plate or VIN, or by id: those that begin with the text, or else those that contain it. Shows their drivers and plug, which a reservation needs.",
        annotations(
            title = "Find a vehicle",
            read_only_hint = true,
            idempotent_hint = true
        )
    )]
    async fn find_vehicle(&self, Parameters(search): Parameters<Search>) -> CallToolResult {
        self.find(&VEHICLES, &search.query).await
    }

    #[tool(
        description = "Find drivers by a part of the name or e-mail address, or by id: those that begin with the text, or else those that contain it.",
        annotations(title = "Find a driver", read_only_hint = true, idempotent_hint = true)
    )]
    async fn find_driver(&self, Parameters(search): Parameters<Search>) -> CallToolResult {
        self.find(&DRIVERS, &search.query).await
    }

    #[tool(
        description = "Find charging stations near a place, nearest first, with their connectors and prices.",
        annotations(title = "Find chargers", read_only_hint = true, idempotent_hint = true)
    )]
    async fn find_chargers(&self, Parameters(arguments): Parameters<Chargers>) -> CallToolResult {
        let area = &arguments.area;
        let mut request = Request::get("/v1/charging_stations")
            .with("latitude", area.latitude.to_string())
            .with("longitude", area.longitude.to_string())
            .with("radius", area.radius.to_string());
        let filters = [
            ("connector_type[]", arguments.connector_type),
            (
                "min_power",
                arguments.min_power.map(|power| power.to_string()),
            ),
            (
                "max_price_per_kwh",
                arguments.max_price_per_kwh.map(|price| price.to_string()),
            ),
            ("from", arguments.from),
            ("until", arguments.until),
        ];
        request = with_all(request, filters);
        self.list(request, arguments.page, STATION).await
    }

    #[tool(
        description = "What a reservation would get now, best first, with the price and the reason of each place in the order. Books nothing.",
        annotations(
            title = "Preview a reservation",
            read_only_hint = true,
            idempotent_hint = true
        )
    )]
    async fn preview_reservation(
        &self,
        Parameters(arguments): Parameters<ReservationRequest>,
    ) -> CallToolResult {
        self.post("/v1/reservations/candidates", json!(arguments), None)
            .await
    }

    #[tool(
        description = "Reserve a connector for a vehicle. The service assigns station and connector about half an hour before the start; until then the reservation is pending.",
        annotations(
            title = "Reserve",
            read_only_hint = false,
            destructive_hint = false,
            idempotent_hint = false
        )
    )]
    async fn reserve(
        &self,
        Parameters(arguments): Parameters<ReservationRequest>,
    ) -> CallToolResult {
        self.post("/v1/reservations", json!(arguments), Some(RESERVATION))
            .await
    }

    #[tool(
        description = "Reserve what a vehicle needs by a time, such as 80 % by 06:00, at the lowest cost: the service chooses connector and time. \
            `charging_plan` of the response says when, how much and what it costs, and by how much the need is missed if it cannot be met.",
        annotations(
            title = "Reserve by need",
            read_only_hint = false,
            destructive_hint = false,
            idempotent_hint = false
        )
    )]
    async fn reserve_by_need(
        &self,
        Parameters(arguments): Parameters<NeedRequest>,
    ) -> CallToolResult {
        self.post("/v1/reservations", json!(arguments), Some(RESERVATION))
            .await
    }

    #[tool(
        description = "List reservations, newest first.",
        annotations(
            title = "List reservations",
            read_only_hint = true,
            idempotent_hint = true
        )
    )]
    async fn list_reservations(
        &self,
        Parameters(arguments): Parameters<Reservations>,
    ) -> CallToolResult {
        let filters = [
            ("status", arguments.status),
            ("vehicle", arguments.vehicle),
            ("driver", arguments.driver),
        ];
        self.list(
            with_all(Request::get("/v1/reservations"), filters),
            arguments.page,
            RESERVATION,
        )
        .await
    }

    #[tool(
        description = "Explain a reservation: its status, why it failed or moved, how many stations were in the area and what refused the others.",
        annotations(
            title = "Explain a reservation",
            read_only_hint = true,
            idempotent_hint = true
        )
    )]
    async fn explain_reservation(&self, Parameters(named): Parameters<Named>) -> CallToolResult {
        self.retrieve(&named.id, Some("res_"), Some(RESERVATION))
            .await
    }

    #[tool(
        description = "Cancel a reservation. Free until `free_cancellation_until`.",
        annotations(
            title = "Cancel a reservation",
            read_only_hint = false,
            destructive_hint = true,
            idempotent_hint = true
        )
    )]
    async fn cancel_reservation(
        &self,
        Parameters(arguments): Parameters<Confirmed>,
    ) -> CallToolResult {
        let action = Action {
            id: &arguments.id,
            prefix: "res_",
            verb: "cancel",
            members: RESERVATION,
            has_dry_run: true,
        };
        self.act(&action, json!({}), arguments.confirm).await
    }

    #[tool(
        description = "List charging sessions, newest first, with energy (Wh) and cost (minor units).",
        annotations(
            title = "List charging sessions",
            read_only_hint = true,
            idempotent_hint = true
        )
    )]
    async fn list_sessions(&self, Parameters(arguments): Parameters<Sessions>) -> CallToolResult {
        let filters = [
            ("status", arguments.status),
            ("fleet", arguments.fleet),
            ("vehicle", arguments.vehicle),
            ("created[gte]", arguments.since),
        ];
        self.list(
            with_all(Request::get("/v1/charging_sessions"), filters),
            arguments.page,
            SESSION,
        )
        .await
    }

    #[tool(
        description = "Start charging at a connector. Costs money in live mode.",
        annotations(
            title = "Start charging",
            read_only_hint = false,
            destructive_hint = false,
            idempotent_hint = false
        )
    )]
    async fn start_charging(&self, Parameters(start): Parameters<Start>) -> CallToolResult {
        self.post("/v1/charging_sessions", json!(start), Some(SESSION))
            .await
    }

    #[tool(
        description = "Stop a charging session.",
        annotations(
            title = "Stop charging",
            read_only_hint = false,
            destructive_hint = true,
            idempotent_hint = true
        )
    )]
    async fn stop_charging(&self, Parameters(arguments): Parameters<Confirmed>) -> CallToolResult {
        let action = Action {
            id: &arguments.id,
            prefix: "cs_",
            verb: "stop",
            members: SESSION,
            has_dry_run: false,
        };
        self.act(&action, json!({}), arguments.confirm).await
    }

    #[tool(
        description = "List invoices, newest first.",
        annotations(title = "List invoices", read_only_hint = true, idempotent_hint = true)
    )]
    async fn list_invoices(&self, Parameters(arguments): Parameters<Invoices>) -> CallToolResult {
        let filters = [("status", arguments.status), ("fleet", arguments.fleet)];
        self.list(
            with_all(Request::get("/v1/invoices"), filters),
            arguments.page,
            INVOICE,
        )
        .await
    }

    #[tool(
        description = "The link to an invoice as a PDF, which works for a short time without a key.",
        annotations(
            title = "Document of an invoice",
            read_only_hint = true,
            idempotent_hint = true
        )
    )]
    async fn invoice_document(&self, Parameters(named): Parameters<Named>) -> CallToolResult {
        match path(&named.id, Some("inv_")) {
            Ok(path) => {
                self.send(Request::get(format!("{path}/document")), Some(&["url"]))
                    .await
            }
            Err(why) => refused(why),
        }
    }

    #[tool(
        description = "Pay an open invoice.",
        annotations(
            title = "Pay an invoice",
            read_only_hint = false,
            destructive_hint = true,
            idempotent_hint = true
        )
    )]
    async fn pay_invoice(&self, Parameters(arguments): Parameters<Payment>) -> CallToolResult {
        let body = arguments
            .payment_method
            .map_or_else(|| json!({}), |method| json!({"payment_method": method}));
        let action = Action {
            id: &arguments.id,
            prefix: "inv_",
            verb: "pay",
            members: INVOICE,
            has_dry_run: false,
        };
        self.act(&action, body, arguments.confirm).await
    }

    #[tool(
        description = "Make a report of a period in the background. `show` with its id has the link once its status is `succeeded`.",
        annotations(
            title = "Request a report",
            read_only_hint = false,
            destructive_hint = false,
            idempotent_hint = false
        )
    )]
    async fn request_report(
        &self,
        Parameters(arguments): Parameters<ReportRequest>,
    ) -> CallToolResult {
        let mut parameters = json!({"type": arguments.r#type, "period_start": arguments.period_start, "period_end": arguments.period_end});
        if let Some(group) = arguments.group_by {
            parameters["group_by"] = group.into();
        }
        let mut body = json!({"parameters": parameters});
        if let Some(fleet) = arguments.fleet {
            body["fleet"] = fleet.into();
        }
        self.post("/v1/reports", body, Some(&["id", "status"]))
            .await
    }

    #[tool(
        description = "What happened: events of the account, newest first. They are kept for 30 days.",
        annotations(title = "Recent events", read_only_hint = true, idempotent_hint = true)
    )]
    async fn recent_events(&self, Parameters(arguments): Parameters<Events>) -> CallToolResult {
        let filters = [
            ("type", arguments.r#type),
            ("created[gte]", arguments.since),
        ];
        self.list(
            with_all(Request::get("/v1/events"), filters),
            arguments.page,
            EVENT,
        )
        .await
    }

    #[tool(
        description = "Which webhook endpoints are disabled or have deliveries that failed lately, and how the receivers answered.",
        annotations(
            title = "Failed webhooks",
            read_only_hint = true,
            idempotent_hint = true
        )
    )]
    async fn failed_webhooks(&self) -> CallToolResult {
        match self.failed_deliveries().await {
            Ok(found) => shown(json!({"endpoints": found})),
            Err(failure) => failed(&failure),
        }
    }

    #[tool(
        description = "Send an event to its webhook endpoints again.",
        annotations(
            title = "Send an event again",
            read_only_hint = false,
            destructive_hint = false,
            idempotent_hint = false
        )
    )]
    async fn resend_event(&self, Parameters(named): Parameters<Named>) -> CallToolResult {
        match path(&named.id, Some("evt_")) {
            Ok(path) => {
                self.post(&format!("{path}/redeliver"), json!({}), Some(EVENT))
                    .await
            }
            Err(why) => refused(why),
        }
    }

    #[tool(
        description = "Any object as a whole, by its id: account, charge card, charging session, charging station, driver, event, fleet, invoice, payment method, policy, report, reservation, transaction, vehicle or webhook endpoint.",
        annotations(
            title = "Show an object",
            read_only_hint = true,
            idempotent_hint = true
        )
    )]
    async fn show(&self, Parameters(named): Parameters<Named>) -> CallToolResult {
        self.retrieve(&named.id, None, None).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_that_change_something_say_so() {
        let tools = Server::tool_router().list_all();
        assert!(tools.len() >= 20, "{}", tools.len());
        for tool in tools {
            let annotations = tool.annotations.expect("annotations");
            let confirms = tool.input_schema["properties"].get("confirm").is_some();
            assert_eq!(
                annotations.destructive_hint == Some(true),
                confirms,
                "{}",
                tool.name
            );
            assert!(
                annotations.read_only_hint.is_some() && tool.description.is_some(),
                "{}",
                tool.name
            );
        }
    }
}
