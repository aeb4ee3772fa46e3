//! Writes the templates of the deployment from the code: `infra/template.yaml`, the root stack, and one file of
//! `infra/stacks/` for each nested stack.
//!
//! The root stack has the resources that all functions share: the table, the bucket, the queues, the secrets, the API and their
//! alarms. Marks in its template show which parts are generated; everything else in it is written by hand. A nested stack has the
//! functions of some resources, each with its version, alias, role, log group, integration and route, and their alarms. The root
//! passes each nested stack the parameters that its functions need, and no others.
//!
//! [`STACKS`] defines which functions are in which stack. A function must stay in its stack: its name is the same in every stack, so
//! CloudFormation cannot create it in another one before it has deleted it in the first.

mod alarms;
mod function;
mod parameters;
mod policy;
mod root;
mod stack;

use std::collections::BTreeMap;

use functions::function::Trigger;
use table::access::Items;
use table::shown::Shows;
use web::Route;
use web::deployment::{Deployment, Need};

/// A nested stack: its name, and a description of its contents.
struct Stack {
    name: String,
    about: String,
}

/// A nested stack of several groups of functions, see [`Function::group`].
struct Groups {
    name: &'static str,
    about: &'static str,
    groups: &'static [&'static str],
}

/// The nested stacks with several groups, and those whose name differs from that of their group. Every other resource has a stack of
/// its own.
const STACKS: &[Groups] = &[
    Groups {
        name: "accounts",
        about: "accounts and API keys",
        groups: &["Accounts", "ApiKeys"],
    },
    Groups {
        name: "fleets",
        about: "fleets, policies, analytics and search",
        groups: &["Fleets", "Policies", "Analytics", "Search"],
    },
    Groups {
        name: "drivers",
        about: "drivers and charge cards",
        groups: &["Drivers", "ChargeCards"],
    },
    Groups {
        name: "vehicles",
        about: "vehicles",
        groups: &["Vehicles"],
    },
    Groups {
        name: "charging",
        about: "stations, sessions and estimations",
        groups: &["ChargingStations", "ChargingSessions", "Estimations"],
    },
    Groups {
        name: "reservations",
        about: "reservations",
        groups: &["Reservations"],
    },
    Groups {
        name: "payments",
        about: "payment methods and transactions",
        groups: &["PaymentMethods", "Transactions"],
    },
    Groups {
        name: "invoices",
        about: "invoices, credit notes, reports and batches",
        groups: &["Invoices", "CreditNotes", "Reports", "Batches"],
    },
    Groups {
        name: "webhooks",
        about: "events and webhook endpoints",
        groups: &["Events", "WebhookEndpoints"],
    },
    Groups {
        name: "ocpi",
        about: "the OCPI interface for charging networks",
        groups: &["Ocpi", "Networks"],
    },
    Groups {
        name: "workers",
        about: "the workers of queues, the stream and the schedule",
        groups: &["Workers", "Triggers"],
    },
    Groups {
        name: "service",
        about: "the API reference, the tools for assistants, unknown paths, and the functions of operators",
        groups: &["Pages", "Operators"],
    },
];

/// A function as it is deployed: a route or another function.
enum Function {
    Route(Route),
    Other(functions::function::Function),
}

impl Function {
    fn name(&self) -> &'static str {
        match self {
            Self::Route(route) => route.name,
            Self::Other(other) => other.name,
        }
    }

    /// The executable that it runs.
    fn executable(&self) -> &'static str {
        match self.trigger() {
            Some(Trigger::Assistants(_)) => "assistants",
            Some(Trigger::Pages | Trigger::Otherwise) => "functions",
            _ if self.needs(Need::Documents) => "functions",
            _ => "core",
        }
    }

    /// Its logical name: `CreateFleet`.
    fn id(&self) -> String {
        pascal(self.name())
    }

    fn deployment(&self) -> &Deployment {
        match self {
            Self::Route(route) => &route.deployment,
            Self::Other(other) => &other.deployment,
        }
    }

    fn needs(&self, need: Need) -> bool {
        self.deployment().needs.contains(&need)
    }

    fn writes(&self) -> Vec<Items> {
        match self {
            Self::Route(route) => route.writes(),
            Self::Other(other) => other.deployment.writes.to_vec(),
        }
    }

    /// The trigger that invokes it, if it is not a route.
    fn trigger(&self) -> Option<Trigger> {
        match self {
            Self::Route(_) => None,
            Self::Other(other) => Some(other.trigger),
        }
    }

    fn is_worker(&self) -> bool {
        matches!(self.trigger(), Some(Trigger::Queue { .. }))
    }

    /// Whether it returns pages of a list, whose tokens it authenticates. The function for unknown paths serves every route, but never
    /// reaches a list.
    fn has_pages(&self) -> bool {
        match self {
            Self::Route(route) => {
                self.needs(Need::PageTokens)
                    || matches!(route.shows, Shows::Page(_) | Shows::Parts { .. })
            }
            Self::Other(_) => false,
        }
    }

    /// The keys of its routes in the API: `GET /v1/fleets`.
    fn route_keys(&self) -> Vec<String> {
        match self {
            Self::Route(route) => vec![route.to_string()],
            Self::Other(other) => match other.trigger {
                Trigger::Pages => {
                    let pages = functions::docs::PAGES.iter();
                    pages.map(|(_, path)| format!("GET {path}")).collect()
                }
                Trigger::Ocpi(paths) => paths.iter().map(|path| format!("ANY {path}")).collect(),
                Trigger::Assistants(path) => vec![format!("ANY {path}")],
                Trigger::Otherwise => vec!["$default".to_owned()],
                _ => Vec::new(),
            },
        }
    }

    /// Its group: the resource of a route, or the trigger of another function.
    fn group(&self) -> String {
        match self {
            Self::Route(route) => pascal(route.resource()),
            Self::Other(other) => match other.trigger {
                Trigger::Queue { .. } => "Workers".into(),
                Trigger::Ocpi(_) => "Networks".into(),
                Trigger::Assistants(_) | Trigger::Pages | Trigger::Otherwise => "Pages".into(),
                Trigger::Stream | Trigger::Rate(_) => "Triggers".into(),
                Trigger::Invocation => "Operators".into(),
            },
        }
    }
}

fn pascal(name: &str) -> String {
    let words = name.split(['-', '_']);
    words
        .map(|word| {
            let (first, rest) = word.split_at(1);
            first.to_uppercase() + rest
        })
        .collect()
}

/// Every function: the routes by resource, then the others.
fn functions() -> Vec<Function> {
    let endpoints = functions::endpoints().into_iter();
    let mut all: Vec<Function> = endpoints
        .map(|endpoint| Function::Route(endpoint.route))
        .collect();
    all.sort_by_key(|function| (function.group(), function.name()));
    all.extend(functions::functions().map(Function::Other));
    all
}

/// The nested stacks that have functions, each with its functions.
fn stacks() -> Vec<(Stack, Vec<Function>)> {
    let mut groups: BTreeMap<String, Vec<Function>> = BTreeMap::new();
    for function in functions() {
        groups.entry(function.group()).or_default().push(function);
    }
    let mut stacks = Vec::new();
    for stack in STACKS {
        let own = stack
            .groups
            .iter()
            .filter_map(|group| groups.remove(*group));
        let own: Vec<Function> = own.flatten().collect();
        if !own.is_empty() {
            let (name, about) = (stack.name.to_owned(), stack.about.to_owned());
            stacks.push((Stack { name, about }, own));
        }
    }
    for own in groups.into_values() {
        let Some(Function::Route(route)) = own.first() else {
            unreachable!("the groups of other functions are in STACKS");
        };
        let resource = route.resource();
        let (name, about) = (resource.replace('_', "-"), resource.replace('_', " "));
        stacks.push((Stack { name, about }, own));
    }
    stacks
}

/// The files of the templates with their contents. The root is the present template with its generated parts replaced.
///
/// # Panics
/// If a mark of a generated part is missing in the root.
pub fn render(present: &str) -> Vec<(String, String)> {
    let stacks = stacks();
    let mut files = vec![(
        "infra/template.yaml".to_owned(),
        root::render(present, &stacks),
    )];
    for (stack, functions) in &stacks {
        let path = format!("infra/stacks/{}.yaml", stack.name);
        files.push((path, stack::render(stack, functions)));
    }
    files
}

/// Indents every line of the text.
fn indented(by: usize, text: &str) -> String {
    let blanks = " ".repeat(by);
    let line = |line: &str| match line {
        "" => "\n".to_owned(),
        line => format!("{blanks}{line}\n"),
    };
    text.lines().map(line).collect()
}
