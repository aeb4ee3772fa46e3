//! The sites of charging stations, and the number of vehicles of a site. A station belongs to at most one site of each account.

use super::keys::{self, Key};
use super::list::all_items;
use super::unit_of_work::{UnitOfWork, Write};
use super::{Store, n, new_item, s, string};
use kernel::error::{Error, Result};
use kernel::id::Id;
use kernel::origin::{Mode, Tenant};
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
            (Tenant { account, mode }, Id::from(string(item, SITE)))
        });
        Ok(sites.collect())
    }
}

impl UnitOfWork<'_> {
    /// Increases or decreases the number of vehicles of a site by one. The commit fails with `Contended` if the site does not exist, or has
    /// as many vehicles as it can have.
    pub fn count_vehicle_of_site(&mut self, site: &Id, by: i8) {
        let tenant = &self.origin().tenant;
        let mut update = self.store.update(Key::Object { tenant, id: site })
            .update_expression("SET #internal.#vehicles = #internal.#vehicles + :by, #version = #version + :one REMOVE events")
            .condition_expression(if by > 0 {
                "#internal.#vehicles < :most"
            } else {
                "attribute_exists(pk)"
            })
            .expression_attribute_names("#internal", "internal")
            .expression_attribute_names("#vehicles", "vehicles")
            .expression_attribute_names("#version", "version")
            .expression_attribute_values(":by", n(by))
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
