//! Reads an OpenAPI 3.1 document as a [`Catalog`].
//!
//! Nothing here depends on names of schemas: references are followed, `allOf` is merged, an alternative with `null` makes a value
//! nullable, and alternatives that are all objects become one object with the members of all. If no single plain type results, the
//! value is written as JSON on the command line.

#[path = "names.rs"]
mod names;

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::catalog::{Body, Catalog, Field, Kind, Limits, Operation, Presence, Resource};

/// The methods that an OpenAPI path can have.
const METHODS: [&str; 7] = ["get", "put", "post", "delete", "options", "head", "patch"];

/// The depth to which members of bodies have their own flags. Deeper members are part of their parent's JSON.
const DEPTH: usize = 4;

/// The number of consecutive references and alternatives after which the document counts as circular.
const HOPS: usize = 32;

/// Reads the whole document.
///
/// # Errors
/// If a reference cannot be resolved, an operation has no id or tag, or two operations have the same command.
pub fn read(document: &Value) -> Result<Catalog, String> {
    let reader = Reader { document };
    let mut resources: Vec<Resource> = Vec::new();
    for tag in array(&document["tags"]) {
        let name = text(&tag["name"]);
        resources.push(Resource {
            name: names::group(&name),
            description: text(&tag["description"]),
            operations: Vec::new(),
        });
    }
    for (path, item) in object(&document["paths"]) {
        for method in METHODS {
            let Some(operation) = item.get(method) else {
                continue;
            };
            let at = |why| format!("{method} {path}: {why}");
            let (group, operation) = reader
                .operation(path, method, item, operation)
                .map_err(at)?;
            let place = resources.iter().position(|known| known.name == group);
            let place = place.unwrap_or_else(|| {
                resources.push(Resource {
                    name: group,
                    description: String::new(),
                    operations: Vec::new(),
                });
                resources.len() - 1
            });
            let operations = &mut resources[place].operations;
            let same = |known: &Operation| known.command == operation.command;
            if let Some(known) = operations.iter().find(|known| same(known)) {
                let (first, other) = (&known.id, &operation.id);
                return Err(format!("{first} and {other} have the same command"));
            }
            operations.push(operation);
        }
    }
    resources.retain(|resource| !resource.operations.is_empty());
    resources.sort_by(|resource, other| resource.name.cmp(&other.name));
    let hooks = object(&document["webhooks"]);
    Ok(Catalog {
        version: text(&document["info"]["version"]),
        resources,
        event_types: hooks.map(|(name, _)| name.clone()).collect(),
    })
}

struct Reader<'a> {
    document: &'a Value,
}

impl Reader<'_> {
    /// An operation with the name of its group.
    fn operation(
        &self,
        path: &str,
        method: &str,
        item: &Value,
        operation: &Value,
    ) -> Result<(String, Operation), String> {
        let id = text(&operation["operationId"]);
        let tag = text(&operation["tags"][0]);
        if id.is_empty() || tag.is_empty() {
            return Err("an operation needs an operationId and a tag".into());
        }
        let (mut arguments, mut query, mut headers) = (Vec::new(), Vec::new(), Vec::new());
        let shared = array(&item["parameters"]);
        for parameter in shared.chain(array(&operation["parameters"])) {
            let parameter = self.followed(parameter)?;
            let field = self.parameter(&parameter)?;
            match parameter["in"].as_str() {
                Some("path") => arguments.push(field),
                Some("query") => query.push(field),
                Some("header") => headers.push(field),
                _ => {}
            }
        }
        let place = |field: &Field| path.find(&format!("{{{}}}", field.path[0]));
        arguments.sort_by_key(place);
        let body = self.body(operation)?;
        // A body is sent as a whole, so if the query has the same name, the flag belongs to the body.
        if let Some(body) = &body {
            query.retain(|parameter| body.fields.iter().all(|field| field.flag != parameter.flag));
        }
        let (response, _) = self.success(operation)?;
        let members = &response["properties"];
        let paged = members.get("data").is_some() && members.get("next_page_url").is_some();
        let sample_arguments = self.sample_arguments(path, &arguments, &query)?;
        Ok((
            names::group(&tag),
            Operation {
                command: names::command(&tag, &id, method),
                alias: text(&operation["x-method"]).replace('_', "-"),
                id,
                method: method.to_uppercase(),
                path: path.to_owned(),
                summary: line(&operation["summary"]),
                description: text(&operation["description"]),
                arguments,
                query,
                headers,
                body,
                members: object(members).map(|(name, _)| name.clone()).collect(),
                paged,
                sample_arguments,
            },
        ))
    }

    fn parameter(&self, parameter: &Value) -> Result<Field, String> {
        let path = vec![text(&parameter["name"])];
        let presence = if parameter["required"] == true {
            Presence::Required
        } else {
            Presence::Optional
        };
        let schema = self.plain(&parameter["schema"])?;
        let mut field = self.leaf(path, &schema, presence)?;
        let description = line(&parameter["description"]);
        if !description.is_empty() {
            field.description = description;
        }
        Ok(field)
    }

    fn body(&self, operation: &Value) -> Result<Option<Body>, String> {
        let Some(body) = operation.get("requestBody") else {
            return Ok(None);
        };
        let body = self.followed(body)?;
        let content = json_content(&body);
        let schema = self.plain(&content["schema"])?;
        let mut fields = Vec::new();
        self.members(&[], &schema, true, &mut fields)?;
        let example = self.example(content)?;
        Ok(Some(Body { fields, example }))
    }

    /// The example of a body or response: `example`, or the first of `examples`.
    fn example(&self, content: &Value) -> Result<Option<Value>, String> {
        if let Some(example) = content.get("example") {
            return Ok(Some(example.clone()));
        }
        let Some((_, first)) = object(&content["examples"]).next() else {
            return Ok(content["schema"].get("example").cloned());
        };
        Ok(self.followed(first)?.get("value").cloned())
    }

    /// The plain schema of the first successful response, and its example.
    fn success(&self, operation: &Value) -> Result<(Value, Option<Value>), String> {
        let mut responses = object(&operation["responses"]);
        let Some((_, response)) = responses.find(|(status, _)| status.starts_with('2')) else {
            return Ok((Value::Null, None));
        };
        let response = self.followed(response)?;
        let content = json_content(&response);
        Ok((self.plain(&content["schema"])?, self.example(content)?))
    }

    /// The arguments of an example of the command: those of the path, and the parameters of the query that are required.
    fn sample_arguments(
        &self,
        path: &str,
        arguments: &[Field],
        query: &[Field],
    ) -> Result<Vec<String>, String> {
        let samples = arguments
            .iter()
            .map(|argument| self.sample_argument(path, argument));
        let mut samples: Vec<String> = samples.collect::<Result<_, _>>()?;
        let needed = query
            .iter()
            .filter(|parameter| parameter.presence == Presence::Required);
        for parameter in needed {
            samples.push(format!("--{}", parameter.flag));
            samples.push(self.sample_of_query(&parameter.path[0]));
        }
        Ok(samples)
    }

    /// A value for a parameter of a path: its example, or the id in the example of the object at that path, or of the first object of
    /// the list that contains it.
    fn sample_argument(&self, path: &str, argument: &Field) -> Result<String, String> {
        let name = format!("{{{}}}", argument.path[0]);
        let up_to = path.find(&name).map_or(path.len(), |at| at + name.len());
        let retrieve = &self.document["paths"][&path[..up_to]]["get"];
        let (_, object) = self.success(retrieve)?;
        let parent = path[..up_to].trim_end_matches(&name).trim_end_matches('/');
        let (_, page) = self.success(&self.document["paths"][parent]["get"])?;
        let id = |example: &Value| example["id"].as_str().map(str::to_owned);
        let of_object = object.as_ref().and_then(id);
        let id = of_object.or_else(|| id(&page.as_ref()?["data"][0]));
        Ok(id.unwrap_or_else(|| "ID".into()))
    }

    /// A value for a parameter of a query: for `fleet` the id in the example of `/v1/fleets`, and a text if there is no list of that
    /// name.
    fn sample_of_query(&self, name: &str) -> String {
        let list = &self.document["paths"][format!("/v1/{name}s")]["get"];
        let page = self.success(list).ok().and_then(|(_, page)| page);
        let id = page.and_then(|page| page["data"][0]["id"].as_str().map(str::to_owned));
        id.unwrap_or_else(|| "AB12".into())
    }

    /// Adds the members of an object and of its nested objects.
    fn members(
        &self,
        path: &[String],
        schema: &Value,
        required: bool,
        fields: &mut Vec<Field>,
    ) -> Result<(), String> {
        let names: BTreeSet<String> = array(&schema["required"]).map(text).collect();
        for (name, member) in object(&schema["properties"]) {
            let member = self.plain(member)?;
            let mut path = path.to_vec();
            path.push(name.clone());
            let always = required && names.contains(name);
            let presence = match (always, names.contains(name)) {
                (true, _) => Presence::Required,
                (false, true) => Presence::WithParent,
                (false, false) => Presence::Optional,
            };
            let has_members = object(&member["properties"]).next().is_some();
            let mut field = self.leaf(path.clone(), &member, presence)?;
            if has_members {
                // Its members can be specified individually.
                field.presence = Presence::Optional;
            }
            fields.push(field);
            if has_members && path.len() < DEPTH {
                self.members(&path, &member, always, fields)?;
            }
        }
        Ok(())
    }

    /// A field of a schema without references.
    fn leaf(&self, path: Vec<String>, schema: &Value, presence: Presence) -> Result<Field, String> {
        let list = kind(schema) == Some("array");
        let element = if list {
            self.plain(&schema["items"])?
        } else {
            schema.clone()
        };
        let values = enum_values(&element);
        let kind = match kind(&element) {
            Some("string") if element["format"] == "date-time" => Kind::Time,
            Some("string") => Kind::Text,
            Some("integer") => Kind::Integer,
            Some("number") => Kind::Number,
            Some("boolean") => Kind::Boolean,
            Some("object") if self.is_pairs(&element)? => Kind::Pairs,
            None if !values.is_empty() => Kind::Text,
            _ => Kind::Json,
        };
        let kind = if list && kind == Kind::Pairs {
            Kind::Json
        } else {
            kind
        };
        let description = line(&schema["description"]);
        let description = if description.is_empty() {
            line(&element["description"])
        } else {
            description
        };
        Ok(Field {
            flag: names::flag(&path),
            path,
            kind,
            list,
            presence,
            nullable: schema["nullable"] == true,
            description,
            values: if kind == Kind::Text {
                values
            } else {
                Vec::new()
            },
            default: match &schema["default"] {
                Value::Null => None,
                Value::String(text) => Some(text.clone()),
                other => Some(other.to_string()),
            },
            limits: Limits {
                minimum: element["minimum"].as_f64(),
                maximum: element["maximum"].as_f64(),
                min_length: element["minLength"].as_u64(),
                max_length: element["maxLength"].as_u64(),
                max_items: schema["maxItems"].as_u64(),
                pattern: element["pattern"].as_str().map(str::to_owned),
            },
        })
    }

    /// Whether an object has keys of the client's choice and text as values.
    fn is_pairs(&self, schema: &Value) -> Result<bool, String> {
        if object(&schema["properties"]).next().is_some() {
            return Ok(false);
        }
        let values = self.plain(&schema["additionalProperties"])?;
        Ok(kind(&values) == Some("string"))
    }

    /// Resolves a `$ref`; any other value is returned unchanged. Members beside the reference take precedence.
    fn followed(&self, value: &Value) -> Result<Value, String> {
        let mut value = value.clone();
        for _ in 0..HOPS {
            let Some(reference) = value["$ref"].as_str().map(str::to_owned) else {
                return Ok(value);
            };
            let pointer = reference.strip_prefix('#');
            let target = pointer.and_then(|pointer| self.document.pointer(pointer));
            let target = target.ok_or_else(|| format!("{reference} leads nowhere"))?;
            let mut merged = target.clone();
            for (name, member) in object(&value).filter(|(name, _)| *name != "$ref") {
                merged[name] = member.clone();
            }
            value = merged;
        }
        Err("references lead in a circle".into())
    }

    /// A schema without references, `allOf` and alternatives at its top level. `nullable` is whether null is permitted, and `type` is
    /// one type or absent.
    fn plain(&self, schema: &Value) -> Result<Value, String> {
        self.plain_within(schema, HOPS)
    }

    fn plain_within(&self, schema: &Value, hops: usize) -> Result<Value, String> {
        let Some(hops) = hops.checked_sub(1) else {
            return Err("schemas lead in a circle".into());
        };
        let schema = self.followed(schema)?;
        let Value::Object(mut members) = schema else {
            return Ok(json!({}));
        };
        let mut plain = json!({});
        if let Some(Value::Array(parts)) = members.remove("allOf") {
            for part in &parts {
                merge(&mut plain, &self.plain_within(part, hops)?);
            }
        }
        let mut alternatives = Vec::new();
        for name in ["oneOf", "anyOf"] {
            if let Some(Value::Array(parts)) = members.remove(name) {
                for part in &parts {
                    alternatives.push(self.plain_within(part, hops)?);
                }
            }
        }
        let mut nullable = alternatives.iter().any(|part| part["nullable"] == true);
        let nulls = alternatives
            .iter()
            .filter(|part| part["type"] == "null")
            .count();
        nullable |= nulls > 0;
        alternatives.retain(|part| part["type"] != "null");
        match alternatives.as_slice() {
            [] => {}
            [only] => merge(&mut plain, only),
            several => merge(&mut plain, &united(several)),
        }
        if let Some(Value::Array(types)) = members.get("type") {
            nullable |= types.iter().any(|name| name == "null");
            let mut others = types.iter().filter(|name| *name != "null");
            let only = others.next().filter(|_| others.next().is_none()).cloned();
            match only {
                Some(only) => members.insert("type".into(), only),
                None => members.remove("type"),
            };
        }
        if let Some(Value::Array(values)) = members.get_mut("enum") {
            nullable |= values.iter().any(Value::is_null);
            values.retain(|value| !value.is_null());
        }
        merge(&mut plain, &Value::Object(members));
        if nullable {
            plain["nullable"] = true.into();
        }
        Ok(plain)
    }
}

/// Merges several alternatives into one schema. Objects become one with the members of all, of which only those are required that all
/// alternatives require; enums of text are joined; equal types keep their type. Otherwise the schema has no type.
fn united(alternatives: &[Value]) -> Value {
    let types: BTreeSet<Option<&str>> = alternatives.iter().map(kind).collect();
    let mut types = types.into_iter();
    let (Some(Some(only)), None) = (types.next(), types.next()) else {
        return json!({});
    };
    match only {
        "object" => {
            let mut united = json!({"type": "object", "properties": {}});
            for part in alternatives {
                for (name, member) in object(&part["properties"]) {
                    let known = united["properties"].get(name).cloned();
                    united["properties"][name] = match known {
                        Some(known) if known != *member => {
                            json!({"anyOf": [known, member]})
                        }
                        _ => member.clone(),
                    };
                }
            }
            let required = |part: &Value| array(&part["required"]).map(text).collect();
            let mut common: BTreeSet<String> = required(&alternatives[0]);
            for part in alternatives {
                let theirs: BTreeSet<String> = required(part);
                common.retain(|name| theirs.contains(name));
            }
            united["required"] = common.into_iter().collect::<Vec<_>>().into();
            united
        }
        "string"
            if alternatives
                .iter()
                .all(|part| !enum_values(part).is_empty()) =>
        {
            let values: Vec<String> = alternatives.iter().flat_map(enum_values).collect();
            json!({"type": "string", "enum": values})
        }
        only => json!({"type": only}),
    }
}

/// Merges the members of a schema into another: properties and required names are joined, others replaced.
fn merge(schema: &mut Value, other: &Value) {
    for (name, member) in object(other) {
        match name.as_str() {
            "properties" => {
                for (name, property) in object(member) {
                    let known = schema["properties"].get(name).cloned();
                    schema["properties"][name] = match known {
                        Some(known) if known != *property => json!({"allOf": [known, property]}),
                        _ => property.clone(),
                    };
                }
            }
            "required" => {
                let mut names: BTreeSet<String> = array(&schema["required"]).map(text).collect();
                names.extend(array(member).map(text));
                schema["required"] = names.into_iter().collect::<Vec<_>>().into();
            }
            _ => schema[name] = member.clone(),
        }
    }
}

/// The single type of a plain schema. The type of an object may be omitted.
fn kind(schema: &Value) -> Option<&str> {
    match schema["type"].as_str() {
        None if schema.get("properties").is_some() => Some("object"),
        kind => kind,
    }
}

/// The permitted texts of a schema.
fn enum_values(schema: &Value) -> Vec<String> {
    let constant = schema.get("const").into_iter();
    let values = constant.chain(array(&schema["enum"]));
    values
        .filter_map(|value| value.as_str().map(str::to_owned))
        .collect()
}

/// The description of the JSON of a body or response.
fn json_content(holder: &Value) -> &Value {
    let mut contents = object(&holder["content"]);
    let found = contents.find(|(kind, _)| kind.split(';').next() == Some("application/json"));
    found.map_or(&Value::Null, |(_, content)| content)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Converts a text to one line.
fn line(value: &Value) -> String {
    let text = value.as_str().unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn array(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn object(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flat_map(Map::iter)
}
