//! The figures of a document as SVG files, drawn by the same code as in a page.

use crate::document::model::{Block, Document, Figure, Section};

/// How wide a picture is: as wide as a column of text in a repository or a blog.
#[cfg(feature = "charts")]
const WIDTH_PX: u32 = 900;

/// A figure as a picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// The figure's id: the name of its file without the ending.
    pub id: String,
    /// The text of the SVG file.
    pub svg: String,
}

/// Why there is no picture.
#[derive(Debug, thiserror::Error)]
pub enum PictureError {
    /// This dyno cannot draw.
    #[error(
        "this dyno was built without charts. Build it with its default features (which needs Node 18 or newer), or \
         choose --format json or csv"
    )]
    NoCharts,
    /// A figure cannot be drawn.
    #[error("the figure {id} cannot be drawn: {reason}")]
    Draw {
        /// The figure.
        id: String,
        /// Why not.
        reason: String,
    },
}

/// All figures of `document`, in order.
///
/// # Errors
///
/// [`PictureError::NoCharts`], or one of them cannot be drawn.
pub fn pictures(document: &Document) -> Result<Vec<Picture>, PictureError> {
    figures(&document.sections).into_iter().map(draw).collect()
}

fn figures(sections: &[Section]) -> Vec<&Figure> {
    let mut found = Vec::new();
    for section in sections {
        found.extend(section.blocks.iter().filter_map(|block| match block {
            Block::Figure(figure) => Some(figure),
            _ => None,
        }));
        found.extend(figures(&section.sections));
    }
    found
}

#[cfg(feature = "charts")]
fn draw(figure: &Figure) -> Result<Picture, PictureError> {
    let failed = |reason: String| PictureError::Draw {
        id: figure.id.clone(),
        reason,
    };
    let json = serde_json::to_string(figure).map_err(|error| failed(error.to_string()))?;
    let svg = dyno_charts::svg(&json, WIDTH_PX, None).map_err(|error| failed(error.to_string()))?;
    Ok(Picture {
        id: figure.id.clone(),
        svg,
    })
}

#[cfg(not(feature = "charts"))]
fn draw(_: &Figure) -> Result<Picture, PictureError> {
    Err(PictureError::NoCharts)
}
