//! Writes pages as a PDF/A-3, level A: archivable, with embedded fonts, and accessible.

use jiff::civil::Date;
use krilla::color::luma;
use krilla::configure::{Archival, ConfigurationBuilder};
use krilla::geom::{PathBuilder, Point, Rect};
use krilla::metadata::{DateTime, Metadata};
use krilla::page::PageSettings;
use krilla::paint::{Fill, FillRule};
use krilla::surface::Surface;
use krilla::tagging::{
    Artifact, ArtifactType, ContentTag, Identifier, Node, SpanTag, TableHeaderScope, Tag, TagGroup,
    TagKind, TagTree,
};
use krilla::{Document, SerializeSettings};

use super::error::PdfError;
use super::font::Fonts;
use super::layout::{Element, HEIGHT, Layout, Mark, Role, WIDTH};

/// The metadata of a PDF.
pub struct About {
    pub title: String,
    pub description: String,
    pub author: String,
    pub language: &'static str,
    pub date: Date,
}

pub fn write(layout: Layout<'_>, about: About) -> Result<Vec<u8>, PdfError> {
    let configuration = ConfigurationBuilder::new()
        .with_archival_validator(Archival::A3_A)
        .finish()
        .map_err(|error| PdfError(format!("{error:?}")))?;
    let mut document = Document::new_with(SerializeSettings {
        configuration,
        enable_tagging: true,
        ..SerializeSettings::default()
    });
    let mut leaves: Vec<Vec<Identifier>> = layout.elements.iter().map(|_| Vec::new()).collect();
    for marks in layout.pages {
        let size = PageSettings::from_wh(WIDTH, HEIGHT)
            .ok_or_else(|| PdfError("a page has no size".to_owned()))?;
        let mut page = document.start_page_with(size);
        let mut surface = page.surface();
        for mark in marks {
            draw(&mut surface, layout.fonts, mark, &mut leaves)?;
        }
        surface.finish();
        page.finish();
    }
    let mut tree = TagTree::new().with_lang(Some(about.language.to_owned()));
    for child in &layout.elements[Layout::ROOT.0].children {
        tree.push(group(&layout.elements, &mut leaves, child.0));
    }
    document.set_tag_tree(tree);
    document.set_metadata(metadata(about));
    document
        .finish()
        .map_err(|error| PdfError(error.to_string()))
}

fn metadata(about: About) -> Metadata {
    let date = about.date;
    let created = DateTime::new(date.year().unsigned_abs())
        .month(date.month().unsigned_abs())
        .day(date.day().unsigned_abs())
        .hour(0)
        .minute(0)
        .second(0)
        .utc_offset_hour(0)
        .utc_offset_minute(0);
    Metadata::new()
        .title(about.title)
        .description(about.description)
        .authors(vec![about.author])
        .language(about.language.to_owned())
        .creation_date(created)
}

fn draw(
    surface: &mut Surface<'_>,
    fonts: &Fonts,
    mark: Mark,
    leaves: &mut [Vec<Identifier>],
) -> Result<(), PdfError> {
    match mark {
        Mark::Text {
            x,
            baseline,
            style,
            text,
            element,
        } => {
            let tag = match element {
                Some(_) => ContentTag::Span(SpanTag::empty()),
                None => ContentTag::Artifact(Artifact::with_kind(ArtifactType::PaginationOther)),
            };
            let identifier = surface.start_tagged(tag);
            if let Some(element) = element {
                leaves[element.0].push(identifier);
            }
            fill(surface, style.gray);
            let glyphs = fonts.glyphs(&text, style);
            surface.draw_glyphs(
                Point::from_xy(x, baseline),
                &glyphs,
                fonts.font(style),
                &text,
                style.size,
                false,
            );
            surface.end_tagged();
        }
        Mark::Rule {
            left,
            right,
            y,
            thickness,
            gray,
        } => {
            surface.start_tagged(ContentTag::Artifact(Artifact::with_kind(
                ArtifactType::Layout,
            )));
            fill(surface, gray);
            let mut path = PathBuilder::new();
            path.push_rect(
                Rect::from_ltrb(left, y, right, y + thickness)
                    .ok_or_else(|| PdfError("a line has no length".to_owned()))?,
            );
            let path = path
                .finish()
                .ok_or_else(|| PdfError("a line has no length".to_owned()))?;
            surface.draw_path(&path);
            surface.end_tagged();
        }
    }
    Ok(())
}

fn fill(surface: &mut Surface<'_>, gray: u8) {
    surface.set_fill(Some(Fill {
        paint: luma::Color::new(gray).into(),
        opacity: krilla::num::NormalizedF32::ONE,
        rule: FillRule::default(),
    }));
}

/// Returns the element of an index with everything below it.
fn group(elements: &[Element], leaves: &mut [Vec<Identifier>], index: usize) -> TagGroup {
    let tag: TagKind = match elements[index].role {
        Role::Document => Tag::Part.into(),
        Role::Title => Tag::Title.into(),
        Role::Paragraph => Tag::P.into(),
        Role::Table => Tag::Table.into(),
        Role::TableHead => Tag::THead.into(),
        Role::TableBody => Tag::TBody.into(),
        Role::Row => Tag::TR.into(),
        Role::HeadCell => Tag::TH(TableHeaderScope::Column).into(),
        Role::Cell => Tag::TD.into(),
    };
    let texts = std::mem::take(&mut leaves[index]);
    let children = elements[index].children.iter();
    let groups: Vec<_> = children
        .map(|child| Node::Group(group(elements, leaves, child.0)))
        .collect();
    TagGroup::with_children(
        tag,
        texts
            .into_iter()
            .map(Node::Leaf)
            .chain(groups)
            .collect::<Vec<_>>(),
    )
}
