//! The documents of final invoices and of credit notes: a PDF, and XML in the two syntaxes of EN 16931.
//!
//! A document is derived from the object as it was issued, so the same document results however often and whenever it is created. The job
//! [`make`] creates all of them when the object is issued, without delaying the issue; a request for a missing document creates that
//! document. They are kept below `documents/` in the bucket, where nothing expires and the erasure of an account deletes nothing: issued
//! documents have to be kept for the legal term.

mod credit_note;
mod invoice;
pub mod make;
mod parties;
pub mod write;

use std::future::Future;

use documents::Document;
use kernel::response::FileOf;
use kernel::{Error, Id, Reply, Response, Tenant};
use models::Stored;
use serde::Deserialize;
use table::stored_item::ById;
use utoipa::ToSchema;

use crate::{App, Request};
use write::DocumentFormat;

/// The query of a request for a document.
#[derive(Deserialize, ToSchema)]
pub struct DocumentQuery {
    /// The form of the document: `pdf` (default), `ubl` or `cii`.
    pub format: Option<DocumentFormat>,
}

/// An object that has documents as soon as it has a number.
pub trait Documented: ById {
    fn number(&self) -> Option<&str>;

    /// Assembles the content of the documents.
    ///
    /// # Errors
    /// `Unavailable` if DynamoDB cannot be reached.
    fn document(
        app: &App,
        tenant: &Tenant,
        stored: &Stored<Self>,
    ) -> impl Future<Output = Result<Document, Error>> + Send;
}

/// The keys of the documents of an object in the bucket, without their extensions.
///
/// # Errors
/// 409 for an object without a number.
fn key<T: Documented>(tenant: &Tenant, object: &T) -> Result<String, Error> {
    let number = object.number().ok_or_else(|| {
        let message = "Only what was issued with a number has documents: a final invoice, or a credit note of one.";
        Error::conflict(message, Some(T::KIND.name()))
    })?;
    let (account, mode, id) = (&tenant.account, tenant.mode, object.id());
    let number = number.replace('/', "-");
    Ok(format!("documents/{account}/{mode}/{id}/{number}"))
}

/// Redirects to a document, which is created if it is missing.
///
/// # Errors
/// 409 for an object without a number, and for one that cannot be written in this format; `Unavailable` if DynamoDB or the bucket cannot be
/// reached.
pub async fn redirect<T: Documented>(
    request: &Request,
    id: &Id,
    format: Option<DocumentFormat>,
) -> Result<Reply<FileOf<T>>, Error> {
    let tenant = request.tenant();
    let stored = request.get::<T>(id).await?;
    let format = format.unwrap_or_default();
    let key = format!("{}{}", key(tenant, &stored.object)?, format.ending());
    if !request.app.files.list(&key).await?.contains(&key) {
        let document = T::document(&request.app, tenant, &stored).await?;
        make_one(&request.app, &key, document, format).await?;
    }
    Ok(Response::redirect(request.app.files.link(&key).await?).into())
}

/// Creates every document of an object that can be written.
///
/// # Errors
/// 409 for an object without a number; `Unavailable` if DynamoDB or the bucket cannot be reached.
pub async fn make_all<T: Documented>(
    app: &App,
    tenant: &Tenant,
    stored: &Stored<T>,
) -> Result<(), Error> {
    let key = key(tenant, &stored.object)?;
    let document = T::document(app, tenant, stored).await?;
    for format in DocumentFormat::ALL {
        let key = format!("{key}{}", format.ending());
        match make_one(app, &key, document.clone(), format).await {
            // A request for such a document returns the reason.
            Err(Error::Client(_)) | Ok(()) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

async fn make_one(
    app: &App,
    key: &str,
    document: Document,
    format: DocumentFormat,
) -> Result<(), Error> {
    let write = app.write_document;
    let written = tokio::task::spawn_blocking(move || write(&document, format));
    let content = written.await.map_err(Error::internal)??;
    app.files.put(key, format.content_type(), content).await
}
