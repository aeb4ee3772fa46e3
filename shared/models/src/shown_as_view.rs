//! Objects whose form in responses differs from the stored one.

/// Shows an object as the `View` of its module, in responses, events and the OpenAPI document. The object is read in its stored form, with
/// the function that `#[serde(remote = "Self")]` derives.
macro_rules! shown_as_view {
    ($object:ty, $name:literal) => {
        impl serde::Serialize for $object {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                View::from(self.clone()).serialize(serializer)
            }
        }

        impl<'de> serde::Deserialize<'de> for $object {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Self::deserialize(deserializer)
            }
        }

        impl utoipa::PartialSchema for $object {
            fn schema() -> RefOr<Schema> {
                View::schema()
            }
        }

        impl utoipa::ToSchema for $object {
            fn name() -> std::borrow::Cow<'static, str> {
                $name.into()
            }

            fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
                View::schemas(schemas);
            }
        }
    };
}

pub(crate) use shown_as_view;
