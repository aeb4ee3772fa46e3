//! The conditions by which lists are filtered.

use crate::time::Timestamp;

/// What a member of an object must be. A member is a path such as `status` or `preferences.currency`. An object without
/// the member, or with null, does not meet the condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition<'a> {
    /// The member is this string.
    Equals { member: &'a str, value: String },
    /// The member is a list that contains this string.
    Contains { member: &'a str, value: String },
    /// The member is a moment before this one.
    Before { member: &'a str, at: Timestamp },
}

impl<'a> Condition<'a> {
    /// The member is this string, such as an id or a status.
    pub fn equals(member: &'a str, value: impl Into<String>) -> Self {
        Self::Equals {
            member,
            value: value.into(),
        }
    }
}
