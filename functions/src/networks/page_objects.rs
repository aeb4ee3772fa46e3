//! The objects of a page that a pull has read: their identification and storage.

use crate::App;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use kernel::Error;
use models::network::{Module, ObjectId, PartyId};
use ocpi::cdr::Cdr;
use ocpi::network::{Network, PartyRefusal};
use ocpi::object::{Part, Refusal, Update, put, put_part};
use ocpi::periods::{MAX_RECEIVED, bounded_within};
use ocpi::reader::{self, lenient};
use ocpi::session::Session;
use ocpi::tariff::Tariff;
use ocpi::token::ClientInfo;
use serde_json::Value;
use serde_json::value::RawValue;
use table::networks::UNMATCHED_KEPT;
use table::pulls::Pull;

use super::{hubs, objects, stations};

/// The number of objects that are stored concurrently.
pub(super) const WRITERS: usize = 8;

/// The maximum size of a stored object, in bytes: the same as for a pushed object.
const MAX_OBJECT: usize = web::body::MAX_BODY;

/// Stores the objects of a network's pages.
pub(super) struct PageObjects<'a> {
    pub app: &'a App,
    pub network: &'a Network,
}

impl PageObjects<'_> {
    /// Stores some objects of a page. Returns those whose ids are known, whether or not they could be used.
    pub async fn store_group(
        &self,
        pull: &mut Pull,
        module: Module,
        group: Vec<Box<RawValue>>,
    ) -> Result<Vec<ObjectId>, Error> {
        let count = group.len() as u32;
        pull.counts.received += count;
        pull.objects += count;
        if module == Module::HubClientInfo {
            self.store_parties(pull, &group).await?;
            return Ok(Vec::new());
        }
        let stored: Vec<Outcome> = stream::iter(group)
            .map(|object| self.store(module, object))
            .buffer_unordered(WRITERS)
            .try_collect()
            .await?;
        let mut ids = Vec::new();
        for Outcome {
            id,
            is_changed,
            problem,
        } in stored
        {
            pull.counts.changed += u32::from(is_changed);
            if let Some(problem) = problem {
                pull.note_problem(&problem);
            }
            ids.extend(id);
        }
        pull.unnamed += count - ids.len() as u32;
        Ok(ids)
    }

    /// Stores parties that a hub reports.
    async fn store_parties(&self, pull: &mut Pull, group: &[Box<RawValue>]) -> Result<(), Error> {
        let mut reports: Vec<ClientInfo> = Vec::new();
        for object in group {
            match read(object, MAX_OBJECT).and_then(|value| lenient(&value)) {
                Ok(report) => reports.push(report),
                Err(why) => pull.note_problem(&format!("hubclientinfo: {why}")),
            }
        }
        let Network { mode, id, .. } = self.network;
        // This pull continues with the objects of the parties.
        let refused = hubs::report(self.app, *mode, id, &reports, !pull.full).await?;
        for (party, why) in refused {
            pull.note_problem(&format!("hubclientinfo: {party} {why}"));
        }
        Ok(())
    }

    /// The id of an object, if it belongs to one of the platform's parties.
    pub fn identify(&self, module: Module, object: &RawValue) -> Result<ObjectId, String> {
        let Named {
            id,
            country_code,
            party_id,
        } = serde_json::from_str(object.get())
            .map_err(|error| format!("an object that cannot be read: {error}"))?;
        let party = PartyId::new(&country_code, &party_id).map_err(|why| format!("{id}: {why}"))?;
        let refused = |why: PartyRefusal| match why {
            PartyRefusal::Unknown => format!("{id}: {party} {why}"),
            // The message is the same for all objects of the party, so that it is listed once.
            PartyRefusal::NotApproved => format!("{party} {why}"),
        };
        let owner = self.network.owner(&party).map_err(refused)?;
        ObjectId::new(owner, module, &id).map_err(|why| format!("{id}: {why}"))
    }

    /// Stores an object of a page.
    async fn store(&self, module: Module, object: Box<RawValue>) -> Result<Outcome, Error> {
        let id = match self.identify(module, &object) {
            Ok(id) => id,
            Err(why) => {
                return Ok(Outcome::unusable(
                    None,
                    format!("{}: {why}", module.as_str()),
                ));
            }
        };
        let stored = match readable(module, &object) {
            Ok(value) => self.store_as(&id, value).await,
            Err(why) => Ok(Err(why)),
        };
        Ok(match stored {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(why)) => Outcome::unusable(Some(id.clone()), format!("{id}: {why}")),
            Err(error @ Error::Unavailable(_)) => return Err(error),
            // One object must not prevent all others from being stored.
            Err(error) => {
                tracing::error!(%error, object = %id, "an object of a network was not stored");
                let why = format!("{id}: it could not be stored");
                Outcome::unusable(Some(id), why)
            }
        })
    }

    /// Stores an object. The inner error is the reason of a refusal.
    async fn store_as(
        &self,
        id: &ObjectId,
        object: Value,
    ) -> Result<Result<Outcome, String>, Error> {
        let (network, now) = (self.network, self.app.now());
        let refused = |refusal: Refusal| match refusal {
            Refusal::NotFound(message) => message.to_owned(),
            Refusal::Invalid(_, message) => message,
            Refusal::TooLarge => format!("it has more than {} bytes", ocpi::object::MAX_OBJECT),
        };
        if id.module() == Module::Locations {
            let change =
                |before: Option<&Value>| put_part(before, &Part::Location, object.clone(), now);
            let stored = stations::store(self.app, network.mode, network, id, &change).await?;
            return Ok(stored.map_err(refused).map(|stored| Outcome {
                id: Some(id.clone()),
                is_changed: stored.update != Update::Stale,
                problem: stored.problem.map(|why| format!("{id}: {why}")),
            }));
        }
        let unusable = match id.module() {
            Module::Tariffs => lenient::<Tariff>(&object).and_then(Tariff::read).err(),
            _ => None,
        };
        let change = |before: Option<&Value>| match before {
            // CDRs do not change.
            Some(_) if id.module() == Module::Cdrs => Ok(Update::Stale),
            before => put(before, object.clone(), now),
        };
        // A network of that age has listed older objects before. The unmatched ones have expired; a full pull would store them again.
        let expired = now.plus(-UNMATCHED_KEPT);
        let oldest = (network.created < expired).then_some(expired);
        let stored = objects::store_from(self.app, network.mode, id, oldest, change).await?;
        Ok(stored.map_err(refused).map(|update| Outcome {
            id: Some(id.clone()),
            is_changed: update != Update::Stale,
            problem: unusable.map(|why| format!("{id}: {why}")),
        }))
    }
}

/// The result for an object: its id, if that is known, and the reason for which it cannot be used, if any.
struct Outcome {
    id: Option<ObjectId>,
    is_changed: bool,
    problem: Option<String>,
}

impl Outcome {
    fn unusable(id: Option<ObjectId>, problem: String) -> Self {
        Self {
            id,
            is_changed: false,
            problem: Some(problem),
        }
    }
}

/// The identifying fields of an object, read without the rest of it, which may be too large.
#[derive(serde::Deserialize)]
struct Named {
    #[serde(deserialize_with = "reader::text")]
    id: String,
    country_code: String,
    party_id: String,
}

/// An object of a page, unless it is larger than `max` bytes.
fn read(object: &RawValue, max: usize) -> Result<Value, String> {
    let size = object.get().len();
    if size > max {
        return Err(too_large(size, max));
    }
    serde_json::from_str(object.get()).map_err(|error| error.to_string())
}

fn too_large(size: usize, max: usize) -> String {
    format!("it has {size} bytes, more than {max}")
}

/// An object of a page, if it has the fields that this service needs.
fn readable(module: Module, object: &RawValue) -> Result<Value, String> {
    let value = if matches!(module, Module::Sessions | Module::Cdrs) {
        let received = read(object, MAX_RECEIVED)?;
        bounded_within(received, object.get().len(), MAX_OBJECT)
            .map_err(|size| too_large(size, MAX_OBJECT))?
    } else {
        read(object, MAX_OBJECT)?
    };
    match module {
        Module::Tariffs => lenient::<Tariff>(&value).map(drop),
        Module::Sessions => lenient::<Session>(&value).map(drop),
        Module::Cdrs => lenient::<Cdr>(&value).map(drop),
        Module::Locations | Module::HubClientInfo => Ok(()),
    }?;
    Ok(value)
}
