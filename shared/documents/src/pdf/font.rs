//! The fonts of a PDF: the glyphs and the width of a text.

use krilla::text::{Font, GlyphId, KrillaGlyph};
use skrifa::instance::{LocationRef, Size};
use skrifa::{FontRef, MetadataProvider, charmap::Charmap, metrics::GlyphMetrics};

use super::error::PdfError;
use crate::text::clean;

const REGULAR: &[u8] = include_bytes!("../../fonts/NotoSans-Regular.ttf");
const SEMIBOLD: &[u8] = include_bytes!("../../fonts/NotoSans-SemiBold.ttf");

/// The replacement for a character that the fonts do not have.
const REPLACEMENT: char = '\u{fffd}';

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Style {
    pub size: f32,
    pub is_bold: bool,
    /// From 0, black, to 255.
    pub gray: u8,
}

impl Style {
    pub const fn new(size: f32) -> Self {
        Self {
            size,
            is_bold: false,
            gray: 0,
        }
    }

    pub const fn bold(self) -> Self {
        Self {
            is_bold: true,
            ..self
        }
    }

    pub const fn gray(self) -> Self {
        Self { gray: 90, ..self }
    }

    /// Returns the distance from one baseline to the next.
    pub fn leading(self) -> f32 {
        self.size * 1.36
    }
}

pub struct Fonts {
    regular: Face,
    semibold: Face,
}

struct Face {
    font: Font,
    charmap: Charmap<'static>,
    metrics: GlyphMetrics<'static>,
}

impl Face {
    fn new(data: &'static [u8]) -> Result<Self, PdfError> {
        let reference = FontRef::new(data).map_err(|error| PdfError(error.to_string()))?;
        Ok(Self {
            font: Font::new(data.into(), 0)
                .ok_or_else(|| PdfError("a font is unreadable".to_owned()))?,
            charmap: reference.charmap(),
            metrics: reference.glyph_metrics(Size::unscaled(), LocationRef::default()),
        })
    }

    /// Returns the width of a character in ems.
    fn advance(&self, letter: char) -> f32 {
        let advance = self
            .charmap
            .map(letter)
            .and_then(|glyph| self.metrics.advance_width(glyph));
        advance.unwrap_or(0.0) / self.font.units_per_em()
    }
}

impl Fonts {
    pub fn new() -> Result<Self, PdfError> {
        Ok(Self {
            regular: Face::new(REGULAR)?,
            semibold: Face::new(SEMIBOLD)?,
        })
    }

    fn face(&self, style: Style) -> &Face {
        if style.is_bold {
            &self.semibold
        } else {
            &self.regular
        }
    }

    pub fn font(&self, style: Style) -> Font {
        self.face(style).font.clone()
    }

    /// Returns a text as the fonts can show it: without invisible characters, and with a replacement for those that no font has. Neither
    /// letters that join nor a direction from right to left are supported, and the fonts have Latin, Greek and Cyrillic letters.
    fn showable(&self, text: &str) -> String {
        let invisible = |letter: &char| matches!(*letter, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}');
        let letters = text.chars().filter(|letter| !invisible(letter));
        letters
            .map(|letter| {
                let shown = [&self.regular, &self.semibold]
                    .iter()
                    .all(|face| face.charmap.map(letter).is_some());
                if shown { letter } else { REPLACEMENT }
            })
            .collect()
    }

    pub fn width(&self, text: &str, style: Style) -> f32 {
        let face = self.face(style);
        text.chars().map(|letter| face.advance(letter)).sum::<f32>() * style.size
    }

    pub fn glyphs(&self, text: &str, style: Style) -> Vec<KrillaGlyph> {
        let face = self.face(style);
        text.char_indices()
            .map(|(at, letter)| {
                let glyph = face.charmap.map(letter).map_or(0, |glyph| glyph.to_u32());
                let range = at..at + letter.len_utf8();
                KrillaGlyph::new(
                    GlyphId::new(glyph),
                    face.advance(letter),
                    0.0,
                    0.0,
                    0.0,
                    range,
                    None,
                )
            })
            .collect()
    }

    /// Returns the lines of a text that is at most `width` wide. A word that is wider is divided.
    pub fn wrap(&self, text: &str, style: Style, width: f32) -> Vec<String> {
        let mut lines = Vec::new();
        let mut line = String::new();
        let text = self.showable(&clean(text));
        for word in text.split(' ').filter(|word| !word.is_empty()) {
            let longer = if line.is_empty() {
                word.to_owned()
            } else {
                format!("{line} {word}")
            };
            if self.width(&longer, style) <= width {
                line = longer;
                continue;
            }
            if !line.is_empty() {
                lines.push(std::mem::take(&mut line));
            }
            let mut taken = 0.0;
            for letter in word.chars() {
                let advance = self.face(style).advance(letter) * style.size;
                if taken + advance > width && !line.is_empty() {
                    lines.push(std::mem::take(&mut line));
                    taken = 0.0;
                }
                line.push(letter);
                taken += advance;
            }
        }
        if !line.is_empty() {
            lines.push(line);
        }
        lines
    }
}
