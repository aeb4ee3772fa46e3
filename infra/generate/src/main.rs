//! `cargo run -p generate` writes the files that are generated from the code. With `--check` it writes nothing and fails if one of
//! them is out of date.

mod capacity;
mod openapi;
mod samples;
mod template;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use kernel::function_scope::{EVERY_CHANGE, EVERY_REQUEST};
use tests::access;

/// Writes the sample events, the OpenAPI document, the deployment's template, the capacity table, and the functions' calls of the table.
#[derive(Parser)]
#[command(name = "generate")]
struct Options {
    /// The files to write; by default all that are in the repository
    files: Vec<File>,
    /// Write nothing, and fail if a file is out of date
    #[arg(long)]
    check: bool,
    /// The recordings below target/access are those of all tests: remove permissions from infra/access.json that no test needs
    #[arg(long)]
    all: bool,
}

/// A generated file. The order is that of writing: the measurement of the capacity sends the sample events and validates responses
/// against the document.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum File {
    /// events: the sample event of each function
    Events,
    /// api/openapi.json
    Openapi,
    /// target/openapi-3.0.json: the same document for programs that do not read OpenAPI 3.1. Written only if it is named
    #[value(name = "openapi-3.0")]
    Openapi30,
    /// infra/access.json: each function's calls of the table, as recorded by tests
    Access,
    /// infra/template.yaml and infra/stacks: functions, roles, queues and alarms
    Template,
    /// infra/capacity.md: calls and capacity units of each route
    Capacity,
    /// tests/golden: an item of each kind in the present version of the layout. Existing files are not changed
    Golden,
}

impl File {
    fn name(self) -> &'static str {
        match self {
            Self::Events => "events",
            Self::Openapi => "openapi",
            Self::Openapi30 => "openapi-3.0",
            Self::Access => "access",
            Self::Template => "template",
            Self::Capacity => "capacity",
            Self::Golden => "golden",
        }
    }

    /// The folder that contains its files and no others.
    fn folder(self) -> Option<&'static str> {
        match self {
            Self::Events => Some("events"),
            Self::Template => Some("infra/stacks"),
            _ => None,
        }
    }

    /// The paths of its files in the repository, with the content that each should have. The root stack's template is the present one
    /// with its generated parts replaced.
    async fn render(self, options: &Options) -> std::io::Result<Vec<(String, String)>> {
        Ok(match self {
            Self::Events => samples::render()?,
            Self::Openapi => vec![("api/openapi.json".to_owned(), openapi::render())],
            Self::Openapi30 => vec![("target/openapi-3.0.json".to_owned(), openapi::render_3_0())],
            Self::Access => vec![(access::FILE.to_owned(), recorded_access(options.all)?)],
            Self::Template => template::render(&present("infra/template.yaml")?),
            Self::Capacity => vec![("infra/capacity.md".to_owned(), capacity::render().await)],
            Self::Golden => tests::golden::render().await,
        })
    }
}

/// The file of recorded calls: the present file together with the calls that tests have recorded since, or the recorded calls alone if
/// all tests were recorded. Rare calls are always in it. Functions that do not exist any more are left out.
fn recorded_access(all: bool) -> std::io::Result<String> {
    let mut recorded = access::read(&root().join(access::RARE))?;
    let known = if all {
        access::Recorded::new()
    } else {
        access::read(&root().join(access::FILE))?
    };
    for (function, calls) in known.into_iter().chain(access::recordings()?) {
        recorded.entry(function).or_default().extend(calls);
    }
    recorded.retain(|name, _| {
        [EVERY_REQUEST, EVERY_CHANGE].contains(&name.as_str())
            || functions::endpoint_named(name).is_some()
            || functions::deployment_named(name).is_some()
    });
    Ok(access::render(&recorded))
}

/// The present content of a file; empty if the file does not exist.
fn present(path: &str) -> std::io::Result<String> {
    match std::fs::read_to_string(root().join(path)) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        read => read,
    }
}

/// The files of a folder that exist and should not.
fn left_over(folder: &str, files: &[(String, String)]) -> std::io::Result<Vec<PathBuf>> {
    let mut left = Vec::new();
    for entry in std::fs::read_dir(root().join(folder))? {
        let path = entry?.path();
        if !files.iter().any(|(file, _)| root().join(file) == path) {
            left.push(path);
        }
    }
    Ok(left)
}

/// The path of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::io::Result<ExitCode> {
    let options = Options::parse();
    let mut out_of_date = Vec::new();
    for file in File::value_variants() {
        let is_wanted = if options.files.is_empty() {
            *file != File::Openapi30
        } else {
            options.files.contains(file)
        };
        if !is_wanted {
            continue;
        }
        let files = file.render(&options).await?;
        for (path, rendered) in &files {
            let present = present(path)?;
            if *rendered == present {
                continue;
            }
            if options.check {
                let difference = first_difference(&present, rendered);
                out_of_date.push((path.clone(), file.name(), difference));
            } else {
                let file = root().join(path);
                if let Some(folder) = file.parent() {
                    std::fs::create_dir_all(folder)?;
                }
                std::fs::write(file, rendered)?;
                writeln!(std::io::stdout(), "wrote {path}")?;
            }
        }
        if let Some(folder) = file.folder() {
            for path in left_over(folder, &files)? {
                if options.check {
                    let difference = "no function or nested stack has it".to_owned();
                    out_of_date.push((path.display().to_string(), file.name(), difference));
                } else {
                    std::fs::remove_file(path)?;
                }
            }
        }
    }
    for (path, name, difference) in &out_of_date {
        writeln!(
            std::io::stderr(),
            "{path} is out of date: run `cargo run -p generate {name}`\n{difference}"
        )?;
    }
    Ok(if out_of_date.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// The first line in which the texts differ, in the format of a comparison.
fn first_difference(present: &str, rendered: &str) -> String {
    let (mut before, mut after) = (present.lines(), rendered.lines());
    let mut number = 1;
    loop {
        match (before.next(), after.next()) {
            (None, None) => return "only the end of the file differs".to_owned(),
            (before, after) if before == after => number += 1,
            (before, after) => {
                let (before, after) = (before.unwrap_or_default(), after.unwrap_or_default());
                return format!("line {number}:\n- {before}\n+ {after}");
            }
        }
    }
}
