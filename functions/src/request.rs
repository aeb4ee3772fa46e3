//! The request that a handler serves: its context, the app, and the reads and writes that handlers have in common.

use std::ops::Deref;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use kernel::{Deleted, Id, Reply, Result};
use models::{Account, Stored};
use table::stored_item::{ById, Record};
use table::{Store, UnitOfWork};
use web::RequestContext;

use crate::App;

/// An authenticated and authorized request, and the app that serves it.
pub struct Request {
    pub context: RequestContext,
    pub app: App,
}

impl Request {
    pub fn store(&self) -> &Store {
        &self.app.store
    }

    /// Begins the unit of work of the request.
    pub fn begin(&self) -> UnitOfWork<'_> {
        self.store().begin(&self.origin)
    }

    /// Reads the account in which the request acts, to show it or its settings.
    ///
    /// # Errors
    /// As for [`Request::get`].
    pub async fn account(&self) -> Result<Stored<Account>> {
        self.get(&self.tenant().account).await
    }

    /// Reads an object to show it.
    ///
    /// # Errors
    /// As for [`Store::get`].
    pub async fn get<T: ById>(&self, id: &Id) -> Result<Stored<T>> {
        self.store().get(self.tenant(), id).await
    }

    /// Reads an object to decide on it.
    ///
    /// # Errors
    /// As for [`Store::load`].
    pub async fn load<T: ById>(&self, id: &Id) -> Result<Stored<T>> {
        self.store().load(self.tenant(), id).await
    }

    /// Reads an object to decide on it; `None` if it does not exist.
    ///
    /// # Errors
    /// As for [`Store::find`].
    pub async fn find<T: ById>(&self, id: &Id) -> Result<Option<Stored<T>>> {
        self.store().find(self.tenant(), id).await
    }

    /// Reads objects of one kind to show them; those that do not exist are left out.
    ///
    /// # Errors
    /// As for [`Store::get_all`].
    pub async fn get_all<T: ById>(&self, ids: &[Id]) -> Result<Vec<Stored<T>>> {
        self.store().get_all(self.tenant(), ids).await
    }

    /// Creates an object and nothing else, and shows it.
    ///
    /// # Errors
    /// As for [`UnitOfWork::create`] and [`UnitOfWork::commit`].
    pub async fn create<T: Record>(&self, mut stored: Stored<T>) -> Result<Reply<T>> {
        let response = self.respond(&stored.object)?;
        let mut tx = self.begin();
        tx.create(&mut stored)?;
        tx.commit(response).await
    }

    /// Saves an object that was read and changed and nothing else, and shows it.
    ///
    /// # Errors
    /// As for [`UnitOfWork::save`] and [`UnitOfWork::commit`].
    pub async fn save<T: Record>(&self, mut stored: Stored<T>) -> Result<Reply<T>> {
        let response = self.changed(&stored)?;
        let mut tx = self.begin();
        tx.save(&mut stored)?;
        tx.commit(response).await
    }

    /// Saves an object after an update and nothing else, unless it is as it was `before`, and shows it.
    ///
    /// # Errors
    /// As for [`UnitOfWork::save`] and [`UnitOfWork::commit`].
    pub async fn save_update<T: Record>(
        &self,
        before: &Stored<T>,
        mut stored: Stored<T>,
    ) -> Result<Reply<T>>
    where
        Stored<T>: PartialEq,
    {
        let response = self.updated(before, &stored)?;
        let mut tx = self.begin();
        tx.save_update(before, &mut stored)?;
        tx.commit(response).await
    }

    /// Deletes an object that was read and nothing else.
    ///
    /// # Errors
    /// As for [`UnitOfWork::delete`] and [`UnitOfWork::commit`].
    pub async fn delete<T: Record>(&self, stored: &Stored<T>) -> Result<Reply<Deleted<T>>> {
        let response = self.deleted(stored.object.id())?;
        let mut tx = self.begin();
        tx.delete(stored)?;
        tx.commit(response).await
    }
}

impl Deref for Request {
    type Target = RequestContext;

    fn deref(&self) -> &RequestContext {
        &self.context
    }
}

impl FromRequestParts<App> for Request {
    type Rejection = <RequestContext as FromRequestParts<App>>::Rejection;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Self::Rejection> {
        Ok(Self {
            context: RequestContext::from_request_parts(parts, app).await?,
            app: app.clone(),
        })
    }
}
