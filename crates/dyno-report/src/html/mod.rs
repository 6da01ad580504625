//! A document as one HTML file that needs nothing else: no server, no network, and for everything but the charts no
//! script.
//!
//! All text goes through the template's escaping. The page forbids itself whatever it does not need: only its own
//! script runs, known by its hash, and nothing is fetched from anywhere.

mod view;
pub(crate) mod whole;

use crate::document::model::Document;
use crate::figures::counted;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{Environment, Value, context};
use sha2::{Digest, Sha256};
use std::io::Write;
use std::sync::LazyLock;

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
pub enum HtmlError {
    /// The template does not fit the document, which is a mistake of the program.
    #[error("the report's template failed: {0:#}")]
    Template(#[from] minijinja::Error),
    /// The figures cannot be written as JSON.
    #[error("the report's figures cannot be written: {0}")]
    Figures(#[from] serde_json::Error),
    /// The figures cannot be packed.
    #[error("the report's figures cannot be compressed: {0}")]
    Pack(#[from] std::io::Error),
}

/// What draws the charts, as it stands in the page: nothing if dyno was built without them.
static SCRIPT: LazyLock<String> = LazyLock::new(|| {
    #[cfg(feature = "charts")]
    let script = dyno_charts::REPORT_JS;
    #[cfg(not(feature = "charts"))]
    let script = "";
    // Within a script element nothing else ends it; in JavaScript the backslash changes nothing.
    script.replace("</script", "<\\/script")
});

/// The style of all pages.
#[cfg(feature = "charts")]
pub(crate) const STYLE: &str = dyno_charts::STYLE_CSS;
#[cfg(not(feature = "charts"))]
pub(crate) const STYLE: &str = include_str!("../../../../web/src/style.css");

/// What a page may do, for its Content-Security-Policy: run its own script, use its own style and draw pictures, and
/// nothing else.
#[must_use]
pub fn security_policy() -> String {
    static HASH: LazyLock<String> = LazyLock::new(|| STANDARD.encode(Sha256::digest(SCRIPT.as_bytes())));
    format!(
        "default-src 'none'; script-src 'sha256-{}'; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; \
         form-action 'none'",
        *HASH
    )
}

/// The page of `document`.
///
/// # Errors
///
/// None but for mistakes of the program.
pub fn page(document: &Document) -> Result<String, HtmlError> {
    let mut environment = Environment::new();
    environment.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
    environment.add_filter("cell", view::cell);
    environment.add_filter("whole", whole::whole);
    environment.add_template("report.html", include_str!("report.html"))?;
    let (document, figures) = view::split(document);
    let cautions = document.warnings.len() as u64;
    let page = environment.get_template("report.html")?;
    Ok(page.render(context! {
        document => Value::from(Serde(&document)),
        figures => pack(&figures)?,
        cautions => (cautions > 0).then(|| counted(cautions, "caution")),
        policy => security_policy(),
        style => STYLE,
        script => SCRIPT.as_str(),
        charts => cfg!(feature = "charts"),
    })?)
}

/// JSON, compressed, as text.
fn pack(figures: &view::Figures) -> Result<String, HtmlError> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    let json = serde_json::to_vec(figures)?;
    packed.write_all(&json)?;
    Ok(STANDARD.encode(packed.finish()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::model::{
        Block, Caution, Column, Definition, Figure, FigureData, Headline, Part, Section, Table, Timeline, Value,
    };

    const HOSTILE: &str = "<img src=x onerror=alert(1)> </script><script>alert(2)</script> \" ' & ]]>";

    fn hostile() -> Document {
        let text = || HOSTILE.to_owned();
        let table = Table {
            caption: text(),
            columns: vec![Column {
                name: text(),
                unit: text(),
                ..Column::default()
            }],
            rows: vec![
                vec![Value::Text(text())],
                vec![Value::Nothing(())],
                vec![Value::Number(12_345.678)],
            ],
        };
        let figure = Figure {
            id: "run-throughput".to_owned(),
            title: text(),
            caption: text(),
            data: FigureData::Timeline(Timeline {
                group: text(),
                ..Timeline::default()
            }),
            table: Some(table.clone()),
        };
        let inner = Section {
            id: "inner".to_owned(),
            title: text(),
            folded: true,
            blocks: vec![Block::Figure(figure)],
            ..Section::default()
        };
        Document {
            title: text(),
            question: Some(text()),
            headlines: vec![Headline {
                subject: text(),
                figure: text(),
                interval: text(),
                verdict: text(),
            }],
            warnings: vec![Caution {
                subject: text(),
                text: text(),
                ..Caution::default()
            }],
            sections: vec![Section {
                id: "outer".to_owned(),
                title: text(),
                blocks: vec![
                    Block::Text { text: text() },
                    Block::List { items: vec![text()] },
                    Block::Code {
                        caption: text(),
                        text: text(),
                    },
                    Block::Table(table),
                ],
                sections: vec![inner],
                ..Section::default()
            }],
            ..Document::default()
        }
    }

    /// The page without what dyno itself puts into it.
    fn own(page: &str) -> String {
        page.replace(SCRIPT.as_str(), "").replace(STYLE, "")
    }

    #[test]
    fn text_is_text_wherever_it_stands() {
        let page = own(&page(&hostile()).unwrap());
        assert!(!page.contains("<img") && !page.contains("alert(2)</script>"), "{page}");
        let escaped = "&lt;img src=x onerror=alert(1)&gt;";
        // Title twice; question, headline, warning, sections and their places in the list, blocks, figure with its
        // table.
        assert!(page.matches(escaped).count() >= 20, "{page}");
        assert!(page.contains("12,346"), "{page}");
    }

    #[test]
    fn the_answer_comes_first_and_cautions_are_folded_after_the_evidence() {
        let section = |id: &str, part| Section {
            id: id.to_owned(),
            part,
            cautions: vec![format!("mind {id}")],
            ..Section::default()
        };
        let caution = |text: &str| Caution {
            text: text.to_owned(),
            ..Caution::default()
        };
        let document = Document {
            answer: Some("It is faster.".to_owned()),
            warnings: ["It failed.", "It is short.", "It is noisy."].map(caution).into(),
            sections: vec![
                section("picture", Part::Answer),
                section("each-run", Part::Evidence),
                section("environment", Part::Setup),
            ],
            definitions: vec![Definition::default()],
            ..Document::default()
        };
        let page = own(&page(&document).unwrap());
        let order = [
            "It is faster.",
            "<a href=\"#cautions\">3 cautions; the gravest: It failed.</a>",
            "<section id=\"picture\"",
            "mind picture",
            "<section id=\"each-run\"",
            "<details class=\"warnings\" id=\"cautions\">",
            "<h2>3 cautions</h2><span class=\"gravest\">; the gravest: It failed.</span></summary>",
            "It is noisy.",
            "<section id=\"environment\"",
            "<section id=\"definitions\"",
        ];
        let places: Vec<_> = order.iter().map(|text| page.find(text)).collect();
        assert!(
            places.iter().all(Option::is_some) && places.is_sorted(),
            "{places:?} {page}"
        );
    }

    #[cfg(feature = "charts")]
    #[test]
    fn figures_are_read_back_whole() {
        use std::io::Read;
        let page = page(&hostile()).unwrap();
        let (_, rest) = page.split_once("id=\"figures\">").unwrap();
        let packed = STANDARD.decode(rest.split_once("</script>").unwrap().0.trim()).unwrap();
        let mut json = String::new();
        flate2::read::GzDecoder::new(packed.as_slice())
            .read_to_string(&mut json)
            .unwrap();
        let figures: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(figures["run-throughput"]["kind"], "timeline");
        assert_eq!(figures["run-throughput"]["group"], HOSTILE);
    }

    #[test]
    fn a_page_fetches_nothing() {
        let page = own(&page(&hostile()).unwrap());
        for fetching in ["<link", " src=\"", "href=\"http", "url(", "@import"] {
            assert!(!page.contains(fetching), "{fetching}");
        }
        assert!(page.contains("default-src &#x27;none&#x27;"), "{page}");
    }
}
