//! The structure of the sources: each thing is in its one place.

#[test]
fn every_route_has_a_file_of_its_own_and_a_test_of_its_resource() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    for endpoint in functions::endpoints() {
        let resource = endpoint.route.resource();
        let verb = endpoint.route.name.split('-').next().expect("a verb");
        let folder = format!("{root}/functions/src/{resource}");
        let files = std::fs::read_dir(&folder).expect("the folder of the resource");
        let mut names = files.map(|file| file.expect("a file").file_name().into_string());
        let is_named =
            |name: &str| name == format!("{verb}.rs") || name.starts_with(&format!("{verb}_"));
        assert!(
            names.any(|name| name.is_ok_and(|name| is_named(&name))),
            "{} has no file in {folder}",
            endpoint.route.name
        );
        let tests = format!("{root}/tests/api/{resource}");
        let has_tests = |end: &&str| std::path::Path::new(&format!("{tests}{end}")).exists();
        assert!(
            [".rs", "/mod.rs"].iter().any(has_tests),
            "there are no tests in {tests}"
        );
    }
}

/// The lines of every source file, except its own tests.
fn source_lines() -> Vec<(String, String)> {
    fn visit(folder: &std::path::Path, lines: &mut Vec<(String, String)>) {
        for entry in folder.read_dir().expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                visit(&path, lines);
            } else if path.extension().is_some_and(|kind| kind == "rs") {
                let text = std::fs::read_to_string(&path).expect("a file");
                let code = text.split("mod tests {").next().unwrap_or_default();
                let name = path.display().to_string();
                lines.extend(code.lines().map(|line| (name.clone(), line.to_owned())));
            }
        }
    }
    let mut lines = Vec::new();
    for folder in ["shared", "functions/src", "infra/local/src"] {
        visit(
            &std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).join(folder),
            &mut lines,
        );
    }
    lines
}

#[test]
fn prefixes_codes_and_event_types_are_named_in_one_place_each() {
    let prefixes = kernel::Kind::ALL
        .iter()
        .map(|kind| (kind.prefix().to_owned(), "id.rs"));
    let codes = kernel::Code::ALL
        .iter()
        .map(|code| (code.as_str().to_owned(), "error/code.rs"));
    let events = models::event::EventType::ALL
        .iter()
        .filter(|kind| kind.as_str().contains('.'));
    let events = events.map(|kind| (kind.as_str().to_owned(), "event_type.rs"));
    let words: Vec<_> = prefixes.chain(codes).chain(events).collect();
    let lines = source_lines();
    assert!(lines.len() > 3000, "the sources were not found");
    // The tools for assistants use the API like external clients.
    let lines = lines
        .iter()
        .filter(|(file, line)| !file.contains("/mcp/") && !line.trim_start().starts_with("//"));
    for (file, line) in lines {
        for (word, home) in &words {
            let named = line.contains(&format!("\"{word}\""));
            assert!(
                !named || file.ends_with(home),
                "{file} names {word}: {line}"
            );
        }
    }
}

#[test]
fn only_one_folder_formats_keys() {
    for (file, line) in source_lines() {
        let formats = line.contains("format!(\"") && line.contains("}#{");
        assert!(!formats || file.contains("/keys/"), "{file}: {line}");
    }
}
