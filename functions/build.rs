//! Renders the guides in `docs` as pages, and leaves the unwinding tables out of the executables for Lambda.

#![allow(clippy::print_stdout)]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};

fn main() {
    leave_unwinding_out();
    make_guides();
}

/// Discards the unwinding tables: they are a tenth of the executable, and nothing reads them, because a panic aborts there. No setting of a
/// Cargo profile leaves them out.
fn leave_unwinding_out() {
    println!("cargo::rerun-if-changed=no-unwinding-tables.ld");
    if variable("PROFILE") == "release" && variable("CARGO_CFG_TARGET_OS") == "linux" {
        let folder = variable("CARGO_MANIFEST_DIR");
        println!("cargo::rustc-link-arg-bins=-Wl,-T,{folder}/no-unwinding-tables.ld");
    }
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}

/// Writes `guides.rs`: the expression of an array with the name, the Markdown and the page of each guide. `docs/README.md` is the first
/// one, without a name; its lists define the guides, their order and their headings.
fn make_guides() {
    let folder = PathBuf::from(variable("CARGO_MANIFEST_DIR")).join("../docs");
    let template = Path::new("src/docs/guide.html");
    println!("cargo::rerun-if-changed={}", folder.display());
    println!("cargo::rerun-if-changed={}", template.display());
    let template = read(template);
    let index = read(&folder.join("README.md"));
    let mut guides = vec![("".to_owned(), index.clone())];
    for (name, _) in index.lines().filter_map(listed) {
        guides.push((name.to_owned(), read(&folder.join(format!("{name}.md")))));
    }
    let mut array = String::from("&[\n");
    for (name, markdown) in &guides {
        let page = page(&template, &index, name, markdown);
        writeln!(
            array,
            "Guide {{ name: {name:?}, markdown: {markdown:?}, page: {page:?} }},"
        )
        .expect("text");
    }
    array.push(']');
    let target = PathBuf::from(variable("OUT_DIR")).join("guides.rs");
    std::fs::write(target, array).expect("the folder of the build");
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The name and the title of a guide in a line of the index: `- [Title](name.md): …`.
fn listed(line: &str) -> Option<(&str, &str)> {
    let (title, rest) = line.strip_prefix("- [")?.split_once("](")?;
    let (name, _) = rest.split_once(".md)")?;
    Some((name, title))
}

fn page(template: &str, index: &str, name: &str, markdown: &str) -> String {
    let title = markdown.lines().next().unwrap_or_default();
    let alternate = match name {
        "" => String::new(),
        name => format!("<link rel=\"alternate\" type=\"text/markdown\" href=\"/docs/{name}.md\">"),
    };
    template
        .replace("<!-- title -->", title.trim_start_matches("# "))
        .replace("<!-- alternate -->", &alternate)
        .replace("<!-- nav -->", &navigation(index, name))
        .replace("<!-- content -->", &content(markdown))
}

fn navigation(index: &str, current: &str) -> String {
    let link = |target: &str, title: &str, here: bool| {
        let here = if here { " aria-current=\"page\"" } else { "" };
        format!("<a href=\"{target}\"{here}>{title}</a>\n")
    };
    let mut shown = link("/docs", "Guides", current.is_empty());
    for line in index.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            writeln!(shown, "<b>{heading}</b>").expect("text");
        } else if let Some((name, title)) = listed(line) {
            shown += &link(&format!("/docs/{name}"), title, name == current);
        }
    }
    shown += "<b>Look up</b>\n";
    shown += &link("/docs/reference", "API reference", false);
    shown += &link("/docs/errors", "Errors", false);
    shown
}

/// The HTML of a guide. Headings have ids, and a link to another guide leads to its page.
fn content(markdown: &str) -> String {
    let mut events: Vec<Event> = Parser::new_ext(markdown, Options::ENABLE_TABLES).collect();
    let mut heading = None;
    for at in 0..events.len() {
        match &events[at] {
            Event::Start(Tag::Heading { .. }) => heading = Some((at, String::new())),
            Event::Text(text) | Event::Code(text) => {
                if let Some((_, title)) = &mut heading {
                    title.push_str(text);
                }
            }
            Event::End(TagEnd::Heading(_)) => {
                let (start, title) = heading.take().expect("a heading that began");
                if let Event::Start(Tag::Heading { id, .. }) = &mut events[start] {
                    *id = Some(CowStr::from(slug(&title)));
                }
            }
            _ => {}
        }
        if let Event::Start(Tag::Link { dest_url, .. }) = &mut events[at] {
            let there = dest_url.replace(".md", "");
            if !there.starts_with(['/', '#']) && !there.contains("://") {
                *dest_url = CowStr::from(format!("/docs/{there}"));
            }
        }
    }
    let mut shown = String::new();
    html::push_html(&mut shown, events.into_iter());
    shown
}

/// Returns the slug of a title: `1. Receive beside the loop` becomes `1-receive-beside-the-loop`.
fn slug(title: &str) -> String {
    let words = title.split(|c: char| !c.is_alphanumeric());
    let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
    words.join("-").to_lowercase()
}
