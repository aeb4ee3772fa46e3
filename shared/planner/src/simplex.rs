//! The network simplex method, in whole numbers, for networks in which every supply has an arc to one sink.
//!
//! A basis is a spanning tree whose root is the sink. Arcs outside of the tree are empty or full. Each step searches an arc that lowers the
//! cost (the best of a block of arcs), sends as much as fits along its cycle, and exchanges the arc for an arc of the cycle that is empty
//! or full then. Every basis is strongly feasible (from each node a unit more could flow along the tree to the sink), which excludes
//! endless sequences of steps that send nothing.
//!
//! Hubs are nodes of which there are many, and almost all of them are leaves of the tree. A hub that is a leaf is in no list of children, and
//! its potential is computed from its parent when it is needed: so the work of a step does not grow with the number of hubs.

const NONE: u32 = u32::MAX;

/// More than all supplies together.
pub const UNLIMITED: i64 = i64::MAX / 4;

/// The number of arcs that are compared for a step. A smaller number results in more steps of less work.
const BLOCK: usize = 1_000;

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Empty,
    Tree,
    Full,
}

#[derive(Clone, Copy)]
struct Arc {
    tail: u32,
    head: u32,
    state: State,
    capacity: i64,
    flow: i64,
    cost: i128,
}

#[derive(Clone, Copy)]
struct Node {
    parent: u32,
    /// The arc between the node and its parent.
    arc: u32,
    depth: u32,
    first_child: u32,
    next: u32,
    previous: u32,
    listed: bool,
    hub: bool,
}

/// A network. Node 0 is the sink.
pub struct Network {
    arcs: Vec<Arc>,
    nodes: Vec<Node>,
    potentials: Vec<i128>,
    stack: Vec<u32>,
}

/// The end of a cycle at which an arc leaves the tree.
enum Leaving {
    /// The entering arc itself becomes full or empty.
    Entering,
    /// The arc above a node on the path from the entering arc's beginning.
    First(u32),
    /// The arc above a node on the path from the entering arc's end.
    Second(u32),
}

impl Network {
    pub fn new() -> Self {
        let mut network = Self {
            arcs: Vec::new(),
            nodes: Vec::new(),
            potentials: Vec::new(),
            stack: Vec::new(),
        };
        network.push_node(NONE, NONE, false);
        network
    }

    fn push_node(&mut self, parent: u32, arc: u32, hub: bool) -> u32 {
        let node = index(self.nodes.len());
        self.nodes.push(Node {
            parent,
            arc,
            depth: 0,
            first_child: NONE,
            next: NONE,
            previous: NONE,
            listed: false,
            hub,
        });
        self.potentials.push(0);
        if parent != NONE && !hub {
            self.list(node);
        }
        node
    }

    /// Adds a node with an arc of the tree to its parent, on which the supply of the node flows. Returns the numbers of the node and the
    /// arc.
    pub fn node(&mut self, parent: u32, capacity: i64, supply: i64, cost: i128) -> (u32, u32) {
        self.tree_node(parent, (capacity, supply, cost), false)
    }

    /// Adds a node without supply of which there are many.
    pub fn hub(&mut self, parent: u32, capacity: i64, cost: i128) -> (u32, u32) {
        self.tree_node(parent, (capacity, 0, cost), true)
    }

    fn tree_node(&mut self, parent: u32, arc: (i64, i64, i128), hub: bool) -> (u32, u32) {
        let (capacity, flow, cost) = arc;
        let node = self.push_node(parent, index(self.arcs.len()), hub);
        let arc = self.arc(node, parent, capacity, cost);
        self.arcs[arc as usize].state = State::Tree;
        self.arcs[arc as usize].flow = flow;
        if !hub {
            self.place(node);
        }
        (node, arc)
    }

    /// Adds an arc, which is empty.
    pub fn arc(&mut self, tail: u32, head: u32, capacity: i64, cost: i128) -> u32 {
        self.arcs.push(Arc {
            tail,
            head,
            state: State::Empty,
            capacity,
            flow: 0,
            cost,
        });
        index(self.arcs.len() - 1)
    }

    pub fn flow(&self, arc: u32) -> i64 {
        self.arcs[arc as usize].flow
    }

    /// Sends all supplies to the sink at the least cost.
    pub fn solve(&mut self) {
        let mut next = 0;
        while let Some(entering) = self.entering(&mut next) {
            self.step(entering);
        }
    }

    fn potential(&self, node: u32) -> i128 {
        let Node {
            listed, hub, arc, ..
        } = self.nodes[node as usize];
        if listed || !hub {
            return self.potentials[node as usize];
        }
        let parent = self.potentials[self.nodes[node as usize].parent as usize];
        let arc = &self.arcs[arc as usize];
        if arc.tail == node {
            parent - arc.cost
        } else {
            parent + arc.cost
        }
    }

    /// Returns the arc of a block that lowers the cost most, from the first block that has one.
    fn entering(&self, next: &mut usize) -> Option<u32> {
        let count = self.arcs.len();
        let mut best = (0, NONE);
        for looked in 1..=count {
            let arc = &self.arcs[*next];
            if arc.state != State::Tree {
                let cost = arc.cost + self.potential(arc.tail) - self.potential(arc.head);
                let gain = if arc.state == State::Empty {
                    cost
                } else {
                    -cost
                };
                if gain < best.0 {
                    best = (gain, index(*next));
                }
            }
            *next = if *next + 1 == count { 0 } else { *next + 1 };
            if looked % BLOCK == 0 && best.1 != NONE {
                break;
            }
        }
        (best.1 != NONE).then_some(best.1)
    }

    fn step(&mut self, entering: u32) {
        let Arc {
            tail, head, state, ..
        } = self.arcs[entering as usize];
        for end in [tail, head] {
            if self.nodes[end as usize].hub && !self.nodes[end as usize].listed {
                self.place(end);
                self.list(end);
            }
        }
        let (first, second) = if state == State::Empty {
            (tail, head)
        } else {
            (head, tail)
        };
        let join = self.join(first, second);
        let (amount, leaving) = self.leaving(entering, first, second, join);
        self.send(entering, amount, join);
        let (below, from, to) = match leaving {
            Leaving::Entering => {
                let arc = &mut self.arcs[entering as usize];
                arc.state = if state == State::Empty {
                    State::Full
                } else {
                    State::Empty
                };
                return self.unlist_leaves([tail, head]);
            }
            Leaving::First(below) => (below, first, second),
            Leaving::Second(below) => (below, second, first),
        };
        let arc = &mut self.arcs[self.nodes[below as usize].arc as usize];
        arc.state = if arc.flow == 0 {
            State::Empty
        } else {
            State::Full
        };
        let ends = [arc.tail, arc.head];
        self.arcs[entering as usize].state = State::Tree;
        self.hang(below, from, to, entering);
        self.unlist_leaves([tail, head]);
        self.unlist_leaves(ends);
    }

    /// Returns the lowest node above both.
    fn join(&self, mut left: u32, mut right: u32) -> u32 {
        while left != right {
            let (of_left, of_right) = (&self.nodes[left as usize], &self.nodes[right as usize]);
            if of_left.depth >= of_right.depth {
                left = of_left.parent;
            } else {
                right = of_right.parent;
            }
        }
        left
    }

    /// Returns how much fits through the cycle of an arc, and where it is full. Of several such arcs, the last one of the cycle, in its
    /// direction and from the join on, keeps the basis strongly feasible.
    fn leaving(&self, entering: u32, first: u32, second: u32, join: u32) -> (i64, Leaving) {
        let mut leaving = (self.arcs[entering as usize].capacity, Leaving::Entering);
        let mut node = first;
        while node != join {
            let arc = &self.arcs[self.nodes[node as usize].arc as usize];
            let room = if arc.tail == node {
                arc.flow
            } else {
                arc.capacity - arc.flow
            };
            if room < leaving.0 {
                leaving = (room, Leaving::First(node));
            }
            node = self.nodes[node as usize].parent;
        }
        let mut node = second;
        while node != join {
            let arc = &self.arcs[self.nodes[node as usize].arc as usize];
            let room = if arc.tail == node {
                arc.capacity - arc.flow
            } else {
                arc.flow
            };
            if room <= leaving.0 {
                leaving = (room, Leaving::Second(node));
            }
            node = self.nodes[node as usize].parent;
        }
        leaving
    }

    /// Sends an amount around the cycle of an arc.
    fn send(&mut self, entering: u32, amount: i64, join: u32) {
        if amount == 0 {
            return;
        }
        let arc = &mut self.arcs[entering as usize];
        let amount = if arc.state == State::Empty {
            amount
        } else {
            -amount
        };
        arc.flow += amount;
        for (end, amount) in [(arc.tail, -amount), (arc.head, amount)] {
            let mut node = end;
            while node != join {
                let Node { parent, arc, .. } = self.nodes[node as usize];
                let arc = &mut self.arcs[arc as usize];
                arc.flow += if arc.tail == node { amount } else { -amount };
                node = parent;
            }
        }
    }

    /// Cuts the tree above a node, and attaches the part below it to another node: `from`, which is below the cut, becomes a child of `to`.
    fn hang(&mut self, below: u32, from: u32, to: u32, entering: u32) {
        let (mut node, mut parent, mut arc) = (from, to, entering);
        loop {
            let old = self.nodes[node as usize];
            self.unlist(node);
            self.nodes[node as usize].parent = parent;
            self.nodes[node as usize].arc = arc;
            self.list(node);
            if node == below {
                break;
            }
            (parent, arc, node) = (node, old.arc, old.parent);
        }
        self.stack.push(from);
        while let Some(node) = self.stack.pop() {
            self.place(node);
            let mut child = self.nodes[node as usize].first_child;
            while child != NONE {
                self.stack.push(child);
                child = self.nodes[child as usize].next;
            }
        }
    }

    /// Computes depth and potential of a node from those of its parent.
    fn place(&mut self, node: u32) {
        let Node { parent, arc, .. } = self.nodes[node as usize];
        self.nodes[node as usize].depth = self.nodes[parent as usize].depth + 1;
        let arc = &self.arcs[arc as usize];
        let above = self.potentials[parent as usize];
        self.potentials[node as usize] = if arc.tail == node {
            above - arc.cost
        } else {
            above + arc.cost
        };
    }

    fn list(&mut self, node: u32) {
        let parent = self.nodes[node as usize].parent;
        let next = std::mem::replace(&mut self.nodes[parent as usize].first_child, node);
        if next != NONE {
            self.nodes[next as usize].previous = node;
        }
        let node = &mut self.nodes[node as usize];
        (node.next, node.previous, node.listed) = (next, NONE, true);
    }

    fn unlist(&mut self, node: u32) {
        let Node {
            parent,
            next,
            previous,
            ..
        } = self.nodes[node as usize];
        if previous == NONE {
            self.nodes[parent as usize].first_child = next;
        } else {
            self.nodes[previous as usize].next = next;
        }
        if next != NONE {
            self.nodes[next as usize].previous = previous;
        }
        self.nodes[node as usize].listed = false;
    }

    fn unlist_leaves(&mut self, nodes: [u32; 2]) {
        for node in nodes {
            let of_node = &self.nodes[node as usize];
            if of_node.hub && of_node.listed && of_node.first_child == NONE {
                self.unlist(node);
            }
        }
    }
}

/// Converts the number of a node or an arc.
#[allow(clippy::expect_used)] // A depot of 2^32 arcs would not fit in memory.
fn index(number: usize) -> u32 {
    u32::try_from(number).expect("fewer than 2^32 nodes and arcs")
}
