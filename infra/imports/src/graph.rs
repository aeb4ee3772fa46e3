//! Cycles among the imports.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::modules::Import;

/// The files that each file imports.
pub struct Graph<'a> {
    edges: BTreeMap<&'a str, BTreeSet<&'a str>>,
}

impl<'a> Graph<'a> {
    pub fn new(imports: impl IntoIterator<Item = &'a Import>) -> Self {
        let mut edges: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        for import in imports {
            edges
                .entry(import.from.as_str())
                .or_default()
                .insert(import.to.as_str());
        }
        Self { edges }
    }

    fn next(&self, file: &str) -> impl Iterator<Item = &'a str> {
        self.edges.get(file).into_iter().flatten().copied()
    }

    /// The shortest way from a file to another.
    pub fn way(&self, from: &'a str, to: &str) -> Option<Vec<&'a str>> {
        let mut before: BTreeMap<&str, &str> = BTreeMap::new();
        let mut open = VecDeque::from([from]);
        while let Some(file) = open.pop_front() {
            if file == to {
                let mut way = vec![file];
                while let Some(previous) = way.last().filter(|last| **last != from) {
                    way.push(before[previous]);
                }
                way.reverse();
                return Some(way);
            }
            for next in self.next(file) {
                if next != from && !before.contains_key(next) {
                    before.insert(next, file);
                    open.push_back(next);
                }
            }
        }
        None
    }

    /// Every import that is part of a cycle, by its two files.
    pub fn in_cycles(&self) -> BTreeSet<(&'a str, &'a str)> {
        let edges = self.edges.iter();
        edges
            .flat_map(|(from, targets)| targets.iter().map(|to| (*from, *to)))
            .filter(|(from, to)| self.way(to, from).is_some())
            .collect()
    }
}
