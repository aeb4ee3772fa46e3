//! What a handler takes, as its signature says: the part of the interface's document that is not in its route.

use axum::extract::State;
use shared::App;
use shared::error::Code;
use shared::http::{Body, Caller, ListQuery, PathId};
use shared::models::body::RequestBody;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;

/// Schemas by their names.
pub type Schemas = Vec<(String, RefOr<Schema>)>;

/// What the arguments of a handler ask of a request.
#[derive(Clone, Default)]
pub struct Takes {
    /// The `{id}` of the path.
    pub id: bool,
    /// A page of a list.
    pub page: bool,
    pub body: Option<BodyType>,
}

/// The type of a body.
#[derive(Clone)]
pub struct BodyType {
    pub name: String,
    /// Its schema and those it refers to.
    pub schemas: Schemas,
    /// The code of a 400 about it.
    pub invalid: Option<Code>,
}

/// An argument of a handler.
pub trait Argument {
    fn describe(_takes: &mut Takes) {}
}

impl Argument for Caller {}

impl Argument for State<App> {}

impl Argument for PathId {
    fn describe(takes: &mut Takes) {
        takes.id = true;
    }
}

impl Argument for ListQuery {
    fn describe(takes: &mut Takes) {
        takes.page = true;
    }
}

impl<T: RequestBody> Argument for Body<T> {
    fn describe(takes: &mut Takes) {
        let mut schemas = vec![(T::name().into_owned(), T::schema())];
        T::schemas(&mut schemas);
        takes.body = Some(BodyType {
            name: T::name().into_owned(),
            schemas,
            invalid: T::INVALID,
        });
    }
}

/// The arguments of a handler, behind axum's own marker.
pub trait Arguments {
    fn takes() -> Takes;
}

macro_rules! arguments {
    ($($argument:ident)*) => {
        impl<M, $($argument: Argument,)*> Arguments for (M, $($argument,)*) {
            fn takes() -> Takes {
                let mut takes = Takes::default();
                $($argument::describe(&mut takes);)*
                takes
            }
        }
    };
}

arguments!(A B);
arguments!(A B C);
arguments!(A B C D);
