//! The sites of charging stations, the number of vehicles of a site, and the requests to plan it. A station belongs to at most one site of
//! each account.
//!
//! Each request to plan a site has a number. One worker at a time plans a site; the plan covers all requests that were counted before it
//! began. So a burst of requests leads to as many plans as fit into its time, and not to a plan for each of them.

use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use aws_sdk_dynamodb::types::ReturnValue;

use super::keys::{self, Key};
use super::list::all_items;
use super::unit_of_work::{UnitOfWork, Write};
use super::{Store, client, key_item, n, new_item, number, s, string};
use kernel::time::DAY;
use kernel::{Error, Id, Mode, Result, Tenant, Timestamp};
use models::site::MOST_VEHICLES;

/// The attribute with the id of the site.
const SITE: &str = "site";

impl Store {
    /// Returns the site of an account that a station belongs to.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn site_of_station(&self, tenant: &Tenant, station: &Id) -> Result<Option<Id>> {
        let item = self.item(Key::SiteOfStation { tenant, station }, true);
        Ok(item.await?.map(|item| Id::from(string(&item, SITE))))
    }

    /// Returns the sites of all accounts that a station belongs to.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn sites_of_station(&self, mode: Mode, station: &Id) -> Result<Vec<(Tenant, Id)>> {
        let query = self.client.query().table_name(&self.table);
        let query = query
            .key_condition_expression("pk = :pk")
            .expression_attribute_values(":pk", s(keys::sites_partition(mode, station)));
        let items = all_items(query).await?;
        let sites = items.iter().map(|item| {
            let account = Id::from(string(item, "sk"));
            (Tenant::new(account, mode), Id::from(string(item, SITE)))
        });
        Ok(sites.collect())
    }
}

/// A request to plan a site.
#[derive(Debug, Clone, Copy)]
pub struct PlanRequest<'a> {
    pub tenant: &'a Tenant,
    pub site: &'a Id,
    /// Its number, from 1.
    pub number: i64,
    /// The request for which the worker was started, 0 for a plan that is due. A message that comes again after a crash starts the same
    /// worker, which may begin again at once.
    pub worker: i64,
}

impl Store {
    /// Counts a request to plan a site, and returns its number.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn request_plan(&self, tenant: &Tenant, site: &Id, now: Timestamp) -> Result<i64> {
        let call = self
            .update_plans(tenant, site)
            .update_expression("SET #ttl = :ttl ADD requested :one")
            .expression_attribute_names("#ttl", "ttl")
            .expression_attribute_values(":ttl", n(now.plus(DAY).unix_seconds()))
            .expression_attribute_values(":one", n(1))
            .return_values(ReturnValue::UpdatedNew);
        let answer = call.send().await.map_err(client::failure)?;
        Ok(number(&answer.attributes.unwrap_or_default(), "requested"))
    }

    /// Begins to plan a site for a request, and returns the number of the last request that the plan covers. None if a plan that began after
    /// the request covers it, or if another worker plans the site until its time is up: that worker learns of the request when it ends.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn begin_plan(
        &self,
        request: PlanRequest<'_>,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<Option<i64>> {
        let call = self
            .update_plans(request.tenant, request.site)
            .update_expression("SET worker = :worker, busy_until = :until")
            .condition_expression(
                "(attribute_not_exists(covered) OR covered < :number) \
                 AND (attribute_not_exists(worker) OR worker = :worker OR busy_until <= :now)",
            )
            .expression_attribute_values(":number", n(request.number))
            .expression_attribute_values(":until", n(until.unix_millis()))
            .expression_attribute_values(":now", n(now.unix_millis()));
        let requested = requested(call, request.worker).await?;
        Ok(requested.map(|requested| requested.max(request.number)))
    }

    /// Ends the planning of a site. `covered` is the number of the last request that the plan covers; None if the site was not planned.
    /// Returns the number of the last request so far; None if another worker plans the site by now.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    pub async fn end_plan(
        &self,
        request: PlanRequest<'_>,
        covered: Option<i64>,
    ) -> Result<Option<i64>> {
        let call = self
            .update_plans(request.tenant, request.site)
            .condition_expression("worker = :worker");
        let call = match covered {
            Some(covered) => call
                .update_expression("SET covered = :covered REMOVE worker, busy_until")
                .expression_attribute_values(":covered", n(covered)),
            None => call.update_expression("REMOVE worker, busy_until"),
        };
        requested(call, request.worker).await
    }

    fn update_plans(&self, tenant: &Tenant, site: &Id) -> UpdateItemFluentBuilder {
        let key = Key::PlansOfSite { tenant, site };
        let call = self.client.update_item().table_name(&self.table);
        call.set_key(Some(key_item(key)))
    }
}

/// Sends an update of a worker. Returns the number of the last request; None if the condition is not met.
async fn requested(call: UpdateItemFluentBuilder, worker: i64) -> Result<Option<i64>> {
    let call = call
        .expression_attribute_values(":worker", n(worker))
        .return_values(ReturnValue::AllNew);
    let answer = client::if_met(call.send().await)?;
    Ok(answer.map(|answer| number(&answer.attributes.unwrap_or_default(), "requested")))
}

impl UnitOfWork<'_> {
    /// Increases or decreases the number of vehicles of a site by one. The commit fails with `Contended` if the site does not exist, or has
    /// as many vehicles as it can have.
    pub fn count_vehicle_of_site(&mut self, site: &Id, by: i8) {
        let tenant = &self.origin().tenant;
        let mut update = self
            .store
            .update(Key::Object { tenant, id: site })
            .update_expression(
                "SET #internal.#vehicles = #internal.#vehicles + :by, #version = #version + :one, \
                 #internal.#hidden = if_not_exists(#internal.#hidden, :none) + :one REMOVE events",
            )
            .condition_expression(if by > 0 {
                "#internal.#vehicles < :most"
            } else {
                "attribute_exists(pk)"
            })
            .expression_attribute_names("#internal", "internal")
            .expression_attribute_names("#vehicles", "vehicles")
            .expression_attribute_names("#hidden", "hidden_writes")
            .expression_attribute_names("#version", "version")
            .expression_attribute_values(":by", n(by))
            .expression_attribute_values(":none", n(0))
            .expression_attribute_values(":one", n(1));
        if by > 0 {
            update = update.expression_attribute_values(":most", n(MOST_VEHICLES));
        }
        self.push(Write::Update(update), Error::Contended);
    }

    /// Records that a station belongs to a site. The commit fails with 409 if it belongs to another site of the account.
    pub fn note_site_of_station(&mut self, site: &Id, station: &Id) {
        let tenant = &self.origin().tenant;
        let mut item = new_item(Key::SiteOfStation { tenant, station });
        item.insert(SITE.into(), s(site.as_str()));
        let put = self
            .store
            .put(item)
            .condition_expression("attribute_not_exists(pk) OR #site = :site")
            .expression_attribute_names("#site", SITE)
            .expression_attribute_values(":site", s(site.as_str()));
        let message = format!("The station {station} belongs to another site.");
        let refusal = Error::conflict(message, Some("stations"));
        self.push(Write::Put(put), refusal);
    }

    /// Removes the record that a station belongs to a site.
    pub fn forget_site_of_station(&mut self, station: &Id) {
        let tenant = &self.origin().tenant;
        let delete = self.store.delete(Key::SiteOfStation { tenant, station });
        self.push(Write::Delete(delete), Error::Contended);
    }
}
