//! `cargo run -p imports` lists the import cycles between files of `shared` and `functions`, and the imports against the order of
//! the parts of `shared`. With `--check` it compares them with the list of those that are known, `infra/imports/known.txt`: one
//! that is not listed fails, and so does one that is listed and no longer exists. The list may only become shorter.

mod graph;
mod modules;
mod order;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use graph::Graph;
use modules::{Import, Modules};

/// The violations that are known.
const KNOWN: &str = "infra/imports/known.txt";

const HEAD: &str = "\
# Imports that violate the order of the parts (`order`) or are part of a cycle between files (`cycle`).
# `cargo run -p imports -- --check` fails for one that is missing here, and for one that is here and no longer exists.
# `cargo run -p imports -- --prune` removes the latter. Add none: the list may only become shorter.
";

/// Lists import cycles between files, and imports against the order of the parts.
#[derive(Parser)]
#[command(name = "imports")]
struct Options {
    /// Fail if a violation is not in infra/imports/known.txt, or is there and no longer exists
    #[arg(long)]
    check: bool,
    /// Remove those from infra/imports/known.txt that no longer exist
    #[arg(long, conflicts_with = "check")]
    prune: bool,
}

/// The violations, each as a line of the list, with an explanation.
type Violations = BTreeMap<String, String>;

fn main() -> Result<ExitCode, String> {
    let options = Options::parse();
    let mut modules = Modules::default();
    let read = |file: &str| std::fs::read_to_string(root().join(file)).ok();
    modules.read("shared", "shared/src/lib.rs", &read)?;
    modules.read("functions", "functions/src/lib.rs", &read)?;
    modules.read("main", "functions/src/main.rs", &read)?;
    let found = violations(&modules.imports())?;
    let listed = read(KNOWN).unwrap_or_default();
    let known = entries(&listed);
    if options.prune {
        let kept: Vec<&str> = known
            .into_iter()
            .filter(|one| found.contains_key(*one))
            .collect();
        let text = format!("{HEAD}{}\n", kept.join("\n"));
        std::fs::write(root().join(KNOWN), text).map_err(|error| format!("{KNOWN}: {error}"))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut out = String::new();
    if options.check {
        out = differences(&found, &known);
    } else {
        for (violation, explanation) in &found {
            out += &format!("{violation}\n{explanation}");
        }
        out += &format!("{} violations\n", found.len());
    }
    let written = std::io::stdout().write_all(out.as_bytes());
    written.map_err(|error| error.to_string())?;
    let failed = options.check && !out.is_empty();
    Ok(if failed {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

/// The repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The lines of the list that are no comments.
fn entries(text: &str) -> BTreeSet<&str> {
    let lines = text.lines().map(str::trim);
    lines
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .collect()
}

/// What differs between the violations and the list of the known ones.
fn differences(found: &Violations, known: &BTreeSet<&str>) -> String {
    let mut out = String::new();
    for (violation, explanation) in found {
        if !known.contains(violation.as_str()) {
            out += &format!("new: {violation}\n{explanation}");
        }
    }
    for violation in known.iter().filter(|one| !found.contains_key(**one)) {
        out +=
            &format!("no longer exists: {violation}\n    run `cargo run -p imports -- --prune`\n");
    }
    out
}

/// The violations among these imports. Of several imports between the same two files the first is shown.
///
/// # Errors
/// A file has no place in the order.
fn violations(imports: &BTreeSet<Import>) -> Result<Violations, String> {
    let mut found = Violations::new();
    for import in imports {
        let (from, to) = (order::height(&import.from)?, order::height(&import.to)?);
        if let (Some(from), Some(to)) = (from, to)
            && from < to
        {
            found
                .entry(format!("order {} -> {}", import.from, import.to))
                .or_insert_with(|| shown(import));
        }
    }
    let graph = Graph::new(imports);
    for (from, to) in graph.in_cycles() {
        let first = imports
            .iter()
            .find(|import| import.from == from && import.to == to);
        let back = graph.way(to, from).unwrap_or_default();
        let explanation = format!(
            "{}    {from} -> {}\n",
            first.map(shown).unwrap_or_default(),
            back.join(" -> ")
        );
        found.insert(format!("cycle {from} -> {to}"), explanation);
    }
    Ok(found)
}

fn shown(import: &Import) -> String {
    format!(
        "    {}:{} names `{}`\n",
        import.from, import.line, import.path
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The imports of a crate `shared` with these files, and of a crate `functions` if it has any.
    fn imports(files: &[(&str, &str)]) -> BTreeSet<Import> {
        let source = |file: &str| {
            let found = files.iter().find(|(name, _)| *name == file);
            found.map(|(_, text)| (*text).to_owned())
        };
        let mut modules = Modules::default();
        modules
            .read("shared", "shared/src/lib.rs", &source)
            .expect("a crate");
        if source("functions/src/lib.rs").is_some() {
            modules
                .read("functions", "functions/src/lib.rs", &source)
                .expect("a crate");
        }
        modules.imports()
    }

    /// The violations among these files, without `shared/src/`.
    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let found = violations(&imports(files)).expect("every file has a place");
        let found = found.keys();
        found.map(|one| one.replace("shared/src/", "")).collect()
    }

    const TWO: (&str, &str) = ("shared/src/lib.rs", "pub mod id; pub mod error;");
    const BOTH_WAYS: [&str; 2] = ["cycle error.rs -> id.rs", "cycle id.rs -> error.rs"];

    /// Whether a file with this text imports another that imports it.
    #[track_caller]
    fn assert_imports_error(id: &str) {
        let error =
            "use crate::id::Id; pub struct Error(Id); pub const MOST: u8 = 1; pub fn check() {}";
        let found = found(&[
            TWO,
            ("shared/src/id.rs", id),
            ("shared/src/error.rs", error),
        ]);
        assert_eq!(found, BOTH_WAYS, "{id}");
    }

    #[test]
    fn a_cycle_is_found_however_the_import_is_written() {
        for id in [
            "use crate::error::Error; pub struct Id;",
            "use super::error::Error; pub struct Id;",
            "use crate::error::{Error as Failure}; pub struct Id;",
            "use crate::{error::Error}; pub struct Id;",
            "use crate::error; pub struct Id; fn check() -> error::Error { todo!() }",
            "use crate::error::{self}; pub struct Id(error::Error);",
            "use crate::error as failure; pub struct Id; impl From<failure::Error> for Id {}",
            "use crate::error::*; pub struct Id; impl From<Error> for Id {}",
            "pub struct Id([u8; crate::error::MOST as usize]);",
            "pub struct Id; fn check() { use crate::error::check; check() }",
            "pub struct Id; fn check() { println!(\"{}\", crate::error::MOST) }",
            "use crate::error; pub struct Id; fn check() { println!(\"{}\", { error::MOST }) }",
            "#[derive(Deserialize)] pub struct Id { #[serde(with = \"crate::error::check\")] id: u8 }",
            "pub struct Id; mod inner { use super::super::error::Error; }",
            "pub struct Id; mod inner { mod deeper { fn check() -> crate::error::Error {} } }",
        ] {
            assert_imports_error(id);
        }
    }

    #[test]
    fn files_that_import_each_other_one_way_are_no_cycle() {
        let error = (
            "shared/src/error.rs",
            "use crate::id::Id; pub struct Error(Id);",
        );
        let id = ("shared/src/id.rs", "use std::error::Error; pub struct Id;");
        assert_eq!(found(&[TWO, id, error]), [] as [&str; 0]);
    }

    #[test]
    fn a_cycle_of_three_files_is_found_with_each_of_its_imports() {
        let root = ("shared/src/lib.rs", "mod id; mod money; mod time;");
        let id = ("shared/src/id.rs", "pub struct Id(crate::money::Money);");
        let money = (
            "shared/src/money.rs",
            "pub struct Money(crate::time::Time);",
        );
        let time = ("shared/src/time.rs", "pub struct Time(crate::id::Id);");
        let expected = [
            "cycle id.rs -> money.rs",
            "cycle money.rs -> time.rs",
            "cycle time.rs -> id.rs",
        ];
        assert_eq!(found(&[root, id, money, time]), expected);
    }

    #[test]
    fn a_cycle_through_re_exports_is_found_between_the_files_that_define_the_items() {
        let root = ("shared/src/lib.rs", "pub mod store; pub use store::Found;");
        let store = (
            "shared/src/store/mod.rs",
            "mod list; mod row; pub use list::Page as Found; pub use self::row::*;",
        );
        let list = (
            "shared/src/store/list.rs",
            "use crate::store::Row; pub struct Page(Row);",
        );
        let row = (
            "shared/src/store/row.rs",
            "use crate::Found; pub struct Row(Found);",
        );
        let expected = [
            "cycle store/list.rs -> store/row.rs",
            "cycle store/row.rs -> store/list.rs",
        ];
        assert_eq!(found(&[root, store, list, row]), expected);
    }

    #[test]
    fn a_module_that_only_re_exports_what_its_files_define_is_in_no_cycle() {
        let root = ("shared/src/lib.rs", "pub mod store;");
        let store = (
            "shared/src/store/mod.rs",
            "mod row; pub use row::Row; pub struct Store; pub(crate) use row::Key;",
        );
        let row = (
            "shared/src/store/row.rs",
            "use super::Store; pub struct Key; pub struct Row(Store);",
        );
        assert_eq!(found(&[root, store, row]), [] as [&str; 0]);
        // Using it there makes one.
        let store = (
            "shared/src/store/mod.rs",
            "mod row; pub use row::Row; pub struct Store(Row);",
        );
        let expected = [
            "cycle store/mod.rs -> store/row.rs",
            "cycle store/row.rs -> store/mod.rs",
        ];
        assert_eq!(found(&[root, store, row]), expected);
    }

    #[test]
    fn what_only_tests_import_does_not_count() {
        let error = (
            "shared/src/error.rs",
            "use crate::id::Id; pub struct Error(Id);",
        );
        let id = "pub struct Id; #[cfg(test)] mod tests { use crate::error::Error; }";
        assert_eq!(
            found(&[TWO, ("shared/src/id.rs", id), error]),
            [] as [&str; 0]
        );
    }

    #[test]
    fn an_import_against_the_order_is_found_and_one_along_it_is_not() {
        let root = ("shared/src/lib.rs", "pub mod models; pub mod store;");
        let models = ("shared/src/models/mod.rs", "pub mod fleet;");
        let store = ("shared/src/store/mod.rs", "pub struct Store;");
        let fleet = ("shared/src/models/fleet.rs", "use crate::store::Store;");
        let expected = ["order models/fleet.rs -> store/mod.rs"];
        assert_eq!(found(&[root, models, store, fleet]), expected);
        let store = (
            "shared/src/store/mod.rs",
            "use crate::models::fleet::Fleet;",
        );
        let fleet = ("shared/src/models/fleet.rs", "pub struct Fleet;");
        assert_eq!(found(&[root, models, store, fleet]), [] as [&str; 0]);
    }

    #[test]
    fn a_cycle_inside_of_functions_is_found_and_imports_of_shared_are_followed() {
        let files = [
            ("shared/src/lib.rs", "pub mod id; pub use id::Id;"),
            ("shared/src/id.rs", "pub struct Id;"),
            ("functions/src/lib.rs", "mod book; mod confirm;"),
            (
                "functions/src/book.rs",
                "use shared::Id; pub fn book() { crate::confirm::confirm() }",
            ),
            (
                "functions/src/confirm.rs",
                "use super::book::book; pub fn confirm() { book() }",
            ),
        ];
        let expected = [
            "cycle functions/src/book.rs -> functions/src/confirm.rs",
            "cycle functions/src/confirm.rs -> functions/src/book.rs",
        ];
        assert_eq!(found(&files), expected);
        let followed = imports(&files)
            .into_iter()
            .find(|one| one.path == "shared::Id");
        assert_eq!(
            followed.map(|one| one.to).as_deref(),
            Some("shared/src/id.rs")
        );
    }

    #[test]
    fn a_part_without_a_place_in_the_order_is_an_error() {
        let files = [
            ("shared/src/lib.rs", "mod id; mod other;"),
            ("shared/src/id.rs", "pub struct Id;"),
            ("shared/src/other.rs", "use crate::id::Id;"),
        ];
        let error = violations(&imports(&files)).expect_err("it has no place");
        assert!(error.contains("`other` has no place"), "{error}");
    }

    #[test]
    fn a_new_violation_fails_and_so_does_a_listed_one_that_no_longer_exists() {
        let found = Violations::from([
            ("cycle a -> b".into(), String::new()),
            ("cycle b -> a".into(), String::new()),
        ]);
        let known = |text| differences(&found, &entries(text));
        assert_eq!(known("# A comment.\ncycle a -> b\n\ncycle b -> a\n"), "");
        assert!(known("cycle a -> b").starts_with("new: cycle b -> a\n"));
        let stale = known("cycle a -> b\ncycle b -> a\norder a -> b");
        assert!(
            stale.starts_with("no longer exists: order a -> b\n"),
            "{stale}"
        );
    }
}
