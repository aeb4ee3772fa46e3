//! Places text on pages, and builds the structure that makes a PDF accessible: each text belongs to an element such as a cell of a table,
//! or is an artifact, which screen readers skip.

use super::font::Fonts;
pub use super::font::Style;

/// A4, in points.
pub const WIDTH: f32 = 595.28;
pub const HEIGHT: f32 = 841.89;
pub const LEFT: f32 = 54.0;
pub const RIGHT: f32 = WIDTH - 54.0;
/// The upper edge of the text of the first page, and of the other pages, which have a running head.
const TOP: f32 = 54.0;
const TOP_OF_NEXT: f32 = 84.0;

pub const TITLE: Style = Style::new(20.0).bold();
pub const HEADING: Style = Style::new(10.5).bold();
pub const TEXT: Style = Style::new(9.0);
pub const SMALL: Style = Style::new(7.5).gray();

/// The left edge of the right half.
pub const MIDDLE: f32 = 318.0;
pub const WHOLE: Column = Column::left(LEFT, RIGHT);
pub const LEFT_HALF: Column = Column::left(LEFT, MIDDLE - 24.0);

/// The kinds of elements of the structure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Document,
    Title,
    Paragraph,
    Table,
    TableHead,
    TableBody,
    Row,
    HeadCell,
    Cell,
}

/// An element of the structure. The first is the document.
pub struct Element {
    pub role: Role,
    pub children: Vec<ElementId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ElementId(pub usize);

pub enum Mark {
    Text {
        x: f32,
        baseline: f32,
        style: Style,
        text: String,
        /// `None` for an artifact.
        element: Option<ElementId>,
    },
    Rule {
        left: f32,
        right: f32,
        y: f32,
        thickness: f32,
        gray: u8,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    Left,
    Right,
}

/// A horizontal part of the page that text is placed in.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    pub left: f32,
    pub right: f32,
    pub align: Align,
}

impl Column {
    pub const fn left(left: f32, right: f32) -> Self {
        Self {
            left,
            right,
            align: Align::Left,
        }
    }

    pub const fn right(left: f32, right: f32) -> Self {
        Self {
            left,
            right,
            align: Align::Right,
        }
    }

    pub fn width(self) -> f32 {
        self.right - self.left
    }
}

pub struct Layout<'a> {
    pub fonts: &'a Fonts,
    pub pages: Vec<Vec<Mark>>,
    pub elements: Vec<Element>,
    /// The upper edge of the text that is placed next.
    pub y: f32,
    /// The lower edge of the text.
    bottom: f32,
}

impl<'a> Layout<'a> {
    /// Returns a layout with an empty first page, on which the footer is `footer` points high.
    pub fn new(fonts: &'a Fonts, footer: f32) -> Self {
        Self {
            fonts,
            pages: vec![Vec::new()],
            elements: vec![Element {
                role: Role::Document,
                children: Vec::new(),
            }],
            y: TOP,
            bottom: HEIGHT - footer,
        }
    }

    pub const ROOT: ElementId = ElementId(0);

    pub fn element(&mut self, role: Role, parent: ElementId) -> ElementId {
        let id = ElementId(self.elements.len());
        self.elements.push(Element {
            role,
            children: Vec::new(),
        });
        self.elements[parent.0].children.push(id);
        id
    }

    /// Returns whether a height fits on this page.
    pub fn fits(&self, height: f32) -> bool {
        self.y + height <= self.bottom
    }

    /// Returns whether a height fits on an empty page.
    pub fn fits_on_a_page(&self, height: f32) -> bool {
        TOP_OF_NEXT + height <= self.bottom
    }

    pub fn next_page(&mut self) {
        self.pages.push(Vec::new());
        self.y = TOP_OF_NEXT;
    }

    fn place(&mut self, mark: Mark) {
        if let Some(page) = self.pages.last_mut() {
            page.push(mark);
        }
    }

    /// Places a line of text with its upper edge at `y`.
    pub fn line(
        &mut self,
        text: String,
        style: Style,
        column: Column,
        y: f32,
        element: Option<ElementId>,
    ) {
        let x = match column.align {
            Align::Left => column.left,
            Align::Right => column.right - self.fonts.width(&text, style),
        };
        self.place(Mark::Text {
            x,
            baseline: y + style.size * 1.07,
            style,
            text,
            element,
        });
    }

    /// Places a text in as many lines as it needs, and moves the position below it. A line that does not fit is on the next page.
    pub fn text(&mut self, text: &str, style: Style, column: Column, element: Option<ElementId>) {
        for line in self.fonts.wrap(text, style, column.width()) {
            if !self.fits(style.leading()) {
                self.next_page();
            }
            self.line(line, style, column, self.y, element);
            self.y += style.leading();
        }
    }

    pub fn paragraph(&mut self, text: &str, style: Style, column: Column) {
        let element = self.element(Role::Paragraph, Self::ROOT);
        self.text(text, style, column, Some(element));
    }

    /// Places a line from `left` to `right` at the current height.
    pub fn rule(&mut self, left: f32, right: f32, thickness: f32, gray: u8) {
        let y = self.y;
        self.place(Mark::Rule {
            left,
            right,
            y,
            thickness,
            gray,
        });
    }
}
