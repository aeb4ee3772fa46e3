//! The names of commands and flags.

/// Flags that every command has, or that have a special meaning for requests. If a field of the API has such a name, its flag ends
/// with `-field`.
const RESERVED: [&str; 17] = [
    "all",
    "api-key",
    "base-url",
    "body",
    "get",
    "help",
    "json",
    "json-lines",
    "max-retries",
    "output",
    "profile",
    "quiet",
    "timeout",
    "unset",
    "verbose",
    "version",
    "yes",
];

/// The words of a name in any convention: `createAPIKey`, `charging_sessions`, `Line items`.
pub fn words(name: &str) -> Vec<String> {
    let letters: Vec<char> = name.chars().collect();
    let mut words = vec![String::new()];
    for (place, letter) in letters.iter().enumerate() {
        if !letter.is_alphanumeric() {
            words.push(String::new());
            continue;
        }
        let before = place.checked_sub(1).map(|before| letters[before]);
        let after = letters.get(place + 1);
        // A capital letter begins a word if it follows a small letter or a digit, or if it is the last of several capitals before a
        // small letter.
        let begins = letter.is_uppercase()
            && before.is_some_and(|before| {
                before.is_lowercase()
                    || before.is_ascii_digit()
                    || before.is_uppercase() && after.is_some_and(|after| after.is_lowercase())
            });
        if begins {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            word.extend(letter.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Converts `policies` to `policy`, `drivers` to `driver`.
fn singular(word: &str) -> String {
    match word.strip_suffix("ies") {
        Some(stem) => format!("{stem}y"),
        None => word.strip_suffix('s').unwrap_or(word).to_owned(),
    }
}

/// The name of the group of a tag.
pub fn group(tag: &str) -> String {
    words(tag).join("-")
}

/// The name of an operation's command: the words of its id without those of its tag, in singular or plural. `createDriver` of
/// `drivers` is `create`, `listInvoiceLineItems` of `invoices` is `list-line-items`. If the id has no other words than the tag, the
/// command is named after the method.
pub fn command(tag: &str, id: &str, method: &str) -> String {
    let tag: Vec<String> = words(tag).iter().map(|word| singular(word)).collect();
    let mut rest = words(id);
    let found = rest.windows(tag.len().max(1)).position(|part| {
        part.iter()
            .map(|word| singular(word))
            .eq(tag.iter().cloned())
    });
    if let Some(place) = found {
        rest.drain(place..place + tag.len());
    }
    if rest.is_empty() {
        method.to_lowercase()
    } else {
        rest.join("-")
    }
}

/// The name of the flag of a field: `location.radius`, `created.gte` for `created[gte]`, `operator` for `operator[]`.
pub fn flag(path: &[String]) -> String {
    let segments = path.iter().flat_map(|segment| segment.split(['[', ']']));
    let segments = segments.filter(|segment| !segment.is_empty());
    let kebab = segments.map(|segment| segment.replace('_', "-").to_lowercase());
    let name = kebab.collect::<Vec<_>>().join(".");
    if RESERVED.contains(&name.as_str()) {
        format!("{name}-field")
    } else {
        name
    }
}
