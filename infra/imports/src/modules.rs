//! The modules of the crates, and which file defines what a path names.
//!
//! An import is any path that names an item of another file: in a `use`, in code, inside a macro call or in an attribute. It
//! counts as an import of the file that defines the item: a `pub use` on the way is followed, and is no import of its own.
//! Code behind `#[cfg(test)]` is left out.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemUse, Macro, Meta, UseTree, Visibility};

/// The text of a file, if it exists.
pub type Source<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The modules of all crates.
#[derive(Default)]
pub struct Modules {
    all: Vec<Module>,
    /// The root of each crate that others can name.
    roots: BTreeMap<String, usize>,
}

struct Module {
    file: String,
    root: usize,
    parent: Option<usize>,
    children: BTreeMap<String, usize>,
    items: BTreeSet<String>,
    /// What `use` declarations bring into scope, by name.
    bindings: BTreeMap<String, Vec<String>>,
    globs: Vec<Vec<String>>,
    named: Vec<Named>,
}

/// A path in the code.
struct Named {
    path: Vec<String>,
    line: usize,
}

/// An import of an item that another file defines.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Import {
    pub from: String,
    pub to: String,
    pub line: usize,
    /// The path as it is written.
    pub path: String,
}

enum Target {
    Module(usize),
    Item(usize),
}

impl Modules {
    /// Reads a crate from its root file. Other crates name it by `name`.
    ///
    /// # Errors
    /// A file is missing or is not Rust.
    pub fn read(&mut self, name: &str, file: &str, source: Source<'_>) -> Result<(), String> {
        let root = self.all.len();
        self.roots.entry(name.to_owned()).or_insert(root);
        let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
        self.read_file(file, folder, None, source).map(drop)
    }

    fn read_file(
        &mut self,
        file: &str,
        folder: &str,
        parent: Option<usize>,
        source: Source<'_>,
    ) -> Result<usize, String> {
        let text = source(file).ok_or_else(|| format!("{file} is missing"))?;
        let parsed = syn::parse_file(&text).map_err(|error| format!("{file}: {error}"))?;
        self.add(file, folder, parent, &parsed.items, source)
    }

    /// Adds a module and those inside it. Files of modules inside it are in the folder.
    fn add(
        &mut self,
        file: &str,
        folder: &str,
        parent: Option<usize>,
        items: &[Item],
        source: Source<'_>,
    ) -> Result<usize, String> {
        let id = self.all.len();
        let root = parent.map_or(id, |parent| self.all[parent].root);
        self.all.push(Module {
            file: file.to_owned(),
            root,
            parent,
            children: BTreeMap::new(),
            items: BTreeSet::new(),
            bindings: BTreeMap::new(),
            globs: Vec::new(),
            named: Vec::new(),
        });
        for item in items.iter().filter(|item| !is_test(attributes(item))) {
            let Item::Mod(inner) = item else {
                let module = &mut self.all[id];
                module.items.extend(name_of(item));
                Reader { module }.visit_item(item);
                continue;
            };
            let name = inner.ident.to_string();
            let below = format!("{folder}/{name}");
            let child = match &inner.content {
                Some((_, items)) => self.add(file, &below, Some(id), items, source)?,
                None => {
                    let flat = format!("{below}.rs");
                    let found = match source(&flat) {
                        Some(_) => flat,
                        None => format!("{below}/mod.rs"),
                    };
                    self.read_file(&found, &below, Some(id), source)?
                }
            };
            self.all[id].children.insert(name, child);
        }
        Ok(id)
    }

    /// Every import of an item of another file.
    pub fn imports(&self) -> BTreeSet<Import> {
        let mut found = BTreeSet::new();
        for (id, module) in self.all.iter().enumerate() {
            for named in &module.named {
                let Some(Target::Item(target)) = self.resolve(id, &named.path, &mut Vec::new())
                else {
                    continue;
                };
                let to = &self.all[target].file;
                if *to != module.file {
                    found.insert(Import {
                        from: module.file.clone(),
                        to: to.clone(),
                        line: named.line,
                        path: named.path.join("::"),
                    });
                }
            }
        }
        found
    }

    /// What a path means in a module; nothing if it is outside of these crates.
    fn resolve(
        &self,
        from: usize,
        path: &[String],
        seen: &mut Vec<(usize, Vec<String>)>,
    ) -> Option<Target> {
        let here = (from, path.to_vec());
        if seen.contains(&here) {
            return None;
        }
        seen.push(here);
        let mut rest = path.iter().peekable();
        let mut at = from;
        let mut inside = false;
        while let Some(segment) = rest.peek() {
            match segment.as_str() {
                "crate" => at = self.all[from].root,
                "self" => {}
                "super" => at = self.all[at].parent?,
                _ => break,
            }
            inside = true;
            rest.next();
        }
        while let Some(segment) = rest.next() {
            let more = rest.peek().is_some();
            let member = self.member(at, segment, more, seen).or_else(|| {
                let root = self.roots.get(segment).filter(|_| !inside);
                root.map(|root| Target::Module(*root))
            });
            match member {
                Some(Target::Module(module)) => at = module,
                Some(item) => return Some(item),
                // A macro, or what a macro has made: it belongs to the module that was reached.
                None if inside => return Some(Target::Item(at)),
                None => return None,
            }
            inside = true;
        }
        Some(Target::Module(at))
    }

    /// What a name means inside a module.
    fn member(
        &self,
        module: usize,
        name: &str,
        more: bool,
        seen: &mut Vec<(usize, Vec<String>)>,
    ) -> Option<Target> {
        let this = &self.all[module];
        let child = this.children.get(name).map(|child| Target::Module(*child));
        if child.is_some() && more {
            return child;
        }
        if this.items.contains(name) {
            return Some(Target::Item(module));
        }
        if let Some(path) = this.bindings.get(name)
            && let Some(target) = self.resolve(module, path, seen)
        {
            return Some(target);
        }
        child.or_else(|| {
            this.globs.iter().find_map(|glob| {
                let Some(Target::Module(opened)) = self.resolve(module, glob, seen) else {
                    return None;
                };
                self.member(opened, name, more, seen)
            })
        })
    }
}

/// Collects the bindings and paths of an item.
struct Reader<'a> {
    module: &'a mut Module,
}

impl Reader<'_> {
    fn name(&mut self, path: Vec<String>, line: usize) {
        self.module.named.push(Named { path, line });
    }

    fn add_use(&mut self, tree: &UseTree, before: &[String], exported: bool) {
        let with = |ident: &syn::Ident| {
            let mut path = before.to_vec();
            path.push(ident.to_string());
            path
        };
        let (name, path, line) = match tree {
            UseTree::Path(inner) => {
                return self.add_use(&inner.tree, &with(&inner.ident), exported);
            }
            UseTree::Group(group) => {
                for inner in &group.items {
                    self.add_use(inner, before, exported);
                }
                return;
            }
            UseTree::Glob(_) => return self.module.globs.push(before.to_vec()),
            UseTree::Name(name) if name.ident == "self" => {
                let last = before.last().cloned().unwrap_or_default();
                (last, before.to_vec(), name.ident.span().start().line)
            }
            UseTree::Name(name) => {
                let line = name.ident.span().start().line;
                (name.ident.to_string(), with(&name.ident), line)
            }
            UseTree::Rename(renamed) => {
                let path = match renamed.ident == "self" {
                    true => before.to_vec(),
                    false => with(&renamed.ident),
                };
                let line = renamed.ident.span().start().line;
                (renamed.rename.to_string(), path, line)
            }
        };
        // `use a::a` would otherwise mean itself.
        if path != [name.clone()] {
            self.module.bindings.insert(name, path.clone());
        }
        if !exported {
            self.name(path, line);
        }
    }

    /// The paths among the tokens of a macro call or an attribute, which have no syntax tree.
    fn read_tokens(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let is_colon = |at: usize| matches!(tokens.get(at), Some(TokenTree::Punct(mark)) if mark.as_char() == ':');
        let mut at = 0;
        while at < tokens.len() {
            match &tokens[at] {
                TokenTree::Group(group) => self.read_tokens(group.stream()),
                TokenTree::Ident(first) => {
                    let mut path = vec![first.to_string()];
                    while is_colon(at + 1)
                        && is_colon(at + 2)
                        && let Some(TokenTree::Ident(next)) = tokens.get(at + 3)
                    {
                        path.push(next.to_string());
                        at += 3;
                    }
                    if path.len() > 1 {
                        self.name(path, first.span().start().line);
                    }
                }
                TokenTree::Literal(literal) => {
                    self.read_text(&literal.to_string(), literal.span().start().line);
                }
                TokenTree::Punct(_) => {}
            }
            at += 1;
        }
    }

    /// A path in quotes, as in `#[serde(with = "crate::time::seconds")]`.
    fn read_text(&mut self, literal: &str, line: usize) {
        let text = literal.trim_matches('"');
        let path: Vec<String> = text.split("::").map(str::to_owned).collect();
        let is_ident = |segment: &String| {
            !segment.is_empty() && segment.chars().all(|c| c.is_alphanumeric() || c == '_')
        };
        if path.len() > 1 && path.iter().all(is_ident) {
            self.name(path, line);
        }
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        let exported = !matches!(item.vis, Visibility::Inherited);
        self.add_use(&item.tree, &[], exported);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let mut segments = path.segments.iter();
        let first = segments.clone().next();
        let line = first.map_or(0, |first| first.ident.span().start().line);
        let named = segments.by_ref().map(|one| one.ident.to_string()).collect();
        self.name(named, line);
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        self.visit_path(&call.path);
        self.read_tokens(call.tokens.clone());
    }

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        match &attribute.meta {
            Meta::List(list) => self.read_tokens(list.tokens.clone()),
            Meta::Path(_) | Meta::NameValue(_) => {}
        }
    }

    fn visit_item_mod(&mut self, _: &'ast syn::ItemMod) {}

    fn visit_vis_restricted(&mut self, _: &'ast syn::VisRestricted) {}
}

fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::List(list) if list.path.is_ident("cfg") => {
            let condition = list.tokens.to_string();
            condition == "test" || condition.starts_with("all (test")
        }
        _ => false,
    })
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

fn name_of(item: &Item) -> Option<String> {
    let name = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(name.to_string())
}
