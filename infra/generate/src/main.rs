//! `cargo run -p generate` writes the files that are made from the code. With `--check` it writes nothing and fails if one of
//! them is out of date.

mod capacity;
mod openapi;
mod template;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, ValueEnum};

/// Writes the OpenAPI document, the deployment's template and the capacity table.
#[derive(Parser)]
#[command(name = "generate")]
struct Options {
    /// The files to write; all of them by default
    files: Vec<File>,
    /// Write nothing, and fail if a file is out of date
    #[arg(long)]
    check: bool,
}

/// A generated file. The order is that of writing: measuring the capacity validates responses against the document.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum File {
    /// functions/src/docs/openapi.json
    Openapi,
    /// clients/openapi-3.0.json: the same document for programs that do not read OpenAPI 3.1
    #[value(name = "openapi-3.0")]
    Openapi30,
    /// infra/template.yaml: functions, roles, queues and alarms
    Template,
    /// infra/capacity.md: calls and capacity units of each route
    Capacity,
}

impl File {
    fn name(self) -> &'static str {
        match self {
            Self::Openapi => "openapi",
            Self::Openapi30 => "openapi-3.0",
            Self::Template => "template",
            Self::Capacity => "capacity",
        }
    }

    /// Its path in the repository.
    fn path(self) -> &'static str {
        match self {
            Self::Openapi => "functions/src/docs/openapi.json",
            Self::Openapi30 => "clients/openapi-3.0.json",
            Self::Template => "infra/template.yaml",
            Self::Capacity => "infra/capacity.md",
        }
    }

    /// What the file should contain. The template's is the present one with the generated parts replaced.
    async fn render(self, present: &str) -> String {
        match self {
            Self::Openapi => openapi::render(),
            Self::Openapi30 => openapi::render_3_0(),
            Self::Template => template::render(present),
            Self::Capacity => capacity::render().await,
        }
    }
}

/// The repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::io::Result<ExitCode> {
    let options = Options::parse();
    let mut out_of_date = Vec::new();
    for file in File::value_variants() {
        if !options.files.is_empty() && !options.files.contains(file) {
            continue;
        }
        let path = root().join(file.path());
        let present = match std::fs::read_to_string(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            read => read?,
        };
        let rendered = file.render(&present).await;
        if rendered == present {
            continue;
        }
        if options.check {
            out_of_date.push((file, first_difference(&present, &rendered)));
        } else {
            std::fs::write(&path, rendered)?;
            writeln!(std::io::stdout(), "wrote {}", file.path())?;
        }
    }
    for (file, difference) in &out_of_date {
        let (path, name) = (file.path(), file.name());
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

/// The first line in which the texts differ, as a comparison shows it.
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
