//! The conditions of a list, as expressions that DynamoDB evaluates and as functions that are evaluated here.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;

use super::{Item, s};
use models::Condition;

/// The conditions of a list. An object has to meet all of them.
pub type Filter<'a> = Vec<Condition<'a>>;

/// A member of the object that must have one of these values: at least 1 and at most 100.
#[derive(Debug, Clone, Copy)]
pub struct Among<'a> {
    pub member: &'a str,
    pub values: &'a [&'a str],
}

impl Among<'_> {
    /// Returns whether an item has one of the values.
    pub(super) fn has(&self, item: &Item) -> bool {
        let found = member(item, self.member);
        let text = found.and_then(|value| value.as_s().ok());
        text.is_some_and(|text| self.values.contains(&text.as_str()))
    }

    fn expression(
        self,
        names: &mut HashMap<String, String>,
        values: &mut HashMap<String, AttributeValue>,
    ) -> String {
        names.insert("#among".into(), self.member.to_owned());
        let mut places = Vec::new();
        for (place, value) in self.values.iter().enumerate() {
            let place = format!(":among{place}");
            values.insert(place.clone(), s(*value));
            places.push(place);
        }
        format!("#object.#among IN ({})", places.join(", "))
    }
}

/// Returns a member of an item's object by its path, such as `preferences.currency`.
fn member<'a>(item: &'a Item, path: &str) -> Option<&'a AttributeValue> {
    let mut found = item.get("object")?;
    for part in path.split('.') {
        found = found.as_m().ok()?.get(part)?;
    }
    Some(found)
}

/// Returns whether an item meets a condition, with the same result as its expression in DynamoDB.
pub(super) fn is_met(item: &Item, condition: &Condition<'_>) -> bool {
    let text = |path| member(item, path).and_then(|value| value.as_s().ok());
    match condition {
        Condition::Equals { member, value } => text(member) == Some(value),
        Condition::Contains {
            member: path,
            value,
        } => {
            let list = member(item, path).and_then(|value| value.as_l().ok());
            list.is_some_and(|list| list.iter().any(|element| element.as_s() == Ok(value)))
        }
        // Items contain moments as texts of the same length, whose order is that of the moments.
        Condition::Before { member, at } => {
            text(member).is_some_and(|found| *found < at.to_string())
        }
        Condition::From { member, at } => {
            text(member).is_some_and(|found| *found >= at.to_string())
        }
    }
}

fn filter_expression(
    filter: Filter<'_>,
    names: &mut HashMap<String, String>,
    values: &mut HashMap<String, AttributeValue>,
) -> Option<String> {
    let mut terms = Vec::new();
    for (n, condition) in filter.into_iter().enumerate() {
        let mut path_of = |member: &str| {
            let mut path = "#object".to_owned();
            for (depth, part) in member.split('.').enumerate() {
                let name = format!("#f{n}_{depth}");
                path.push('.');
                path.push_str(&name);
                names.insert(name, part.to_owned());
            }
            path
        };
        let (term, value) = match condition {
            Condition::Equals { member, value } => (format!("{} = :f{n}", path_of(member)), value),
            Condition::Contains { member, value } => {
                (format!("contains({}, :f{n})", path_of(member)), value)
            }
            Condition::From { member, at } => {
                (format!("{} >= :f{n}", path_of(member)), at.to_string())
            }
            Condition::Before { member, at } => {
                (format!("{} < :f{n}", path_of(member)), at.to_string())
            }
        };
        values.insert(format!(":f{n}"), s(value));
        terms.push(term);
    }
    (!terms.is_empty()).then(|| terms.join(" AND "))
}

/// Returns the expression for the items that meet these conditions and have one of these values.
pub(super) fn expression_of(
    filter: Filter<'_>,
    among: Option<Among<'_>>,
    names: &mut HashMap<String, String>,
    values: &mut HashMap<String, AttributeValue>,
) -> Option<String> {
    let conditions = filter_expression(filter, names, values);
    let among = among.map(|among| among.expression(names, values));
    let terms: Vec<String> = conditions.into_iter().chain(among).collect();
    (!terms.is_empty()).then(|| terms.join(" AND "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::Timestamp;

    #[test]
    fn a_condition_means_the_same_here_as_in_an_expression() {
        let object = serde_json::json!({"status": "open", "due_date": "2026-03-01T00:00:00.000Z", "fleet": null,
            "policy_ids": ["a", "b"], "preferences": {"currency": "gbp"}});
        let object = serde_dynamo::to_attribute_value(object).unwrap();
        let item = Item::from([("object".to_owned(), object)]);
        let is = |member: &str, value: &str| is_met(&item, &Condition::equals(member, value));
        assert!(is("status", "open") && !is("status", "paid") && !is("fleet", "open"));
        assert!(is("preferences.currency", "gbp") && !is("preferences.name", "gbp"));
        let contains = |member, value: &str| {
            let value = value.to_owned();
            is_met(&item, &Condition::Contains { member, value })
        };
        assert!(contains("policy_ids", "b") && !contains("policy_ids", "c"));
        assert!(!contains("absent", "b") && !contains("status", "open"));
        let before = |member, at: &str| {
            let at = Timestamp::parse(at).unwrap();
            is_met(&item, &Condition::Before { member, at })
        };
        assert!(before("due_date", "2026-03-01T00:00:00.001Z"));
        assert!(!before("due_date", "2026-03-01T00:00:00Z"));
        assert!(!before("fleet", "2026-03-02T00:00:00Z"));
        let from = |at: &str| {
            let (member, at) = ("due_date", Timestamp::parse(at).unwrap());
            is_met(&item, &Condition::From { member, at })
        };
        assert!(from("2026-03-01T00:00:00Z") && !from("2026-03-01T00:00:00.001Z"));
        let among = |values| Among {
            member: "status",
            values,
        };
        assert!(among(&["paid", "open"]).has(&item) && !among(&["paid"]).has(&item));
    }

    #[test]
    fn an_expression_has_a_term_for_each_condition() {
        let (mut names, mut values) = (HashMap::new(), HashMap::new());
        let filter = vec![
            Condition::equals("preferences.currency", "gbp"),
            Condition::Contains {
                member: "policy_ids",
                value: "pol_1".into(),
            },
            Condition::Before {
                member: "due_date",
                at: Timestamp::EPOCH,
            },
        ];
        let expression = filter_expression(filter, &mut names, &mut values);
        let want =
            "#object.#f0_0.#f0_1 = :f0 AND contains(#object.#f1_0, :f1) AND #object.#f2_0 < :f2";
        assert_eq!(expression.as_deref(), Some(want));
        assert_eq!((names["#f0_1"].as_str(), names.len()), ("currency", 4));
        assert_eq!(values[":f2"], s("1970-01-01T00:00:00.000Z"));
        assert_eq!(filter_expression(Vec::new(), &mut names, &mut values), None);
    }
}
