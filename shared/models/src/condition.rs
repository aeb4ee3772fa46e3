//! The conditions by which lists are filtered.

use serde::Serialize;
use serde_json::Value;

use kernel::Timestamp;

/// A requirement for a member of an object. A member is a path such as `status` or `preferences.currency`. An object without the member, or
/// with null, does not meet the condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition<'a> {
    /// The member is this string.
    Equals { member: &'a str, value: String },
    /// The member is a list that contains this string.
    Contains { member: &'a str, value: String },
    /// The member is a moment before this one.
    Before { member: &'a str, at: Timestamp },
    /// The member is this moment or a later one.
    From { member: &'a str, at: Timestamp },
}

impl<'a> Condition<'a> {
    /// Returns the condition that the member is this id, status or other string.
    pub fn equals(member: &'a str, value: impl Serialize) -> Self {
        let Ok(Value::String(value)) = serde_json::to_value(value) else {
            unreachable!("the value is a string in JSON");
        };
        Self::Equals { member, value }
    }

    /// Returns the condition that the member is this string, or none without a value.
    pub fn given(member: &'a str, value: Option<impl Serialize>) -> Option<Self> {
        value.map(|value| Self::equals(member, value))
    }
}
