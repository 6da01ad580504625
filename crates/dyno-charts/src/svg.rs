//! Figures as SVG: the charts' script, evaluated in QuickJS.
//!
//! Evaluating the script costs much more than drawing a figure, so each thread does it once and keeps the result.

use std::cell::{Cell, OnceCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

use rquickjs::{CatchResultExt, CaughtError, Context, Ctx, Function, Runtime};

const SVG_JS: &str = include_str!(concat!(env!("OUT_DIR"), "/svg.js"));
/// Far more than the longest timeline needs.
const MEMORY_BYTES: usize = 512 * 1024 * 1024;
/// Half of what a thread of Rust has at least.
const STACK_BYTES: usize = 1024 * 1024;
/// How long a figure may take.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// Why a figure could not be drawn.
#[derive(Debug, thiserror::Error)]
pub enum ChartError {
    /// The charts' script did not start.
    #[error("cannot start the charts' script: {0}")]
    Start(String),
    /// The script refused the figure, or ran out of memory or time.
    #[error("cannot draw the figure: {0}")]
    Draw(String),
}

/// Draws a figure as an SVG document.
///
/// `figure_json` is a `Figure` of the report document as JSON. Without `height_px` the figure is as high as its
/// panels need.
///
/// # Errors
///
/// If the text is not a figure, or drawing it takes more memory or time than any real one would.
pub fn svg(figure_json: &str, width_px: u32, height_px: Option<u32>) -> Result<String, ChartError> {
    thread_local! {
        static DRAWER: OnceCell<Drawer> = const { OnceCell::new() };
    }
    DRAWER.with(|drawer| {
        let drawer = match drawer.get() {
            Some(drawer) => drawer,
            None => {
                let started = Drawer::start().map_err(ChartError::Start)?;
                drawer.get_or_init(|| started)
            }
        };
        drawer.draw(figure_json, width_px, height_px).map_err(ChartError::Draw)
    })
}

/// A QuickJS with the script in it.
struct Drawer {
    context: Context,
    deadline: Rc<Cell<Instant>>,
}

impl Drawer {
    fn start() -> Result<Self, String> {
        let deadline = Rc::new(Cell::new(Instant::now() + TIME_LIMIT));
        let runtime = Runtime::new().map_err(|error| error.to_string())?;
        runtime.set_memory_limit(MEMORY_BYTES);
        runtime.set_max_stack_size(STACK_BYTES);
        let until = Rc::clone(&deadline);
        runtime.set_interrupt_handler(Some(Box::new(move || Instant::now() > until.get())));
        let context = Context::full(&runtime).map_err(|error| error.to_string())?;
        context.with(|ctx| ctx.eval::<(), _>(SVG_JS).catch(&ctx).map_err(message))?;
        Ok(Self { context, deadline })
    }

    fn draw(&self, figure_json: &str, width_px: u32, height_px: Option<u32>) -> Result<String, String> {
        self.deadline.set(Instant::now() + TIME_LIMIT);
        self.context.with(|ctx| {
            let render = |ctx: &Ctx<'_>| {
                let render: Function = ctx.globals().get("renderSvg")?;
                render.call::<_, String>((figure_json, width_px, height_px))
            };
            render(&ctx).catch(&ctx).map_err(message)
        })
    }
}

/// What an exception says, without the places in the bundle that it came through.
fn message(error: CaughtError<'_>) -> String {
    match &error {
        CaughtError::Exception(exception) => exception.message().unwrap_or_else(|| error.to_string()),
        CaughtError::Error(_) | CaughtError::Value(_) => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BARS: &str = r#"{"id":"rate","title":"Rate of <b>update</b>","caption":"","table":null,"data":
        {"kind":"bars","title":"Throughput","unit":"TPS","categories":["on","off"],"series":[
        {"name":"8 clients","values":[1200.0,null],"low":[],"high":[]}]}}"#;

    #[test]
    fn a_figure_is_drawn_with_its_title_as_text() {
        let drawn = svg(BARS, 600, None).unwrap();
        assert!(drawn.starts_with("<svg"), "{drawn}");
        assert!(drawn.contains("Rate of &lt;b&gt;update&lt;/b&gt;"), "{drawn}");
        assert!(drawn.contains("1,200"), "{drawn}");
    }

    #[test]
    fn the_second_figure_of_a_thread_is_like_the_first() {
        assert_eq!(svg(BARS, 600, Some(300)).unwrap(), svg(BARS, 600, Some(300)).unwrap());
    }

    #[test]
    fn what_is_no_figure_is_refused_and_the_next_one_drawn() {
        let error = svg("{", 600, None).unwrap_err();
        assert!(error.to_string().starts_with("cannot draw the figure: "), "{error}");
        let error = svg(r#"{"title":"","data":{"kind":"pie"}}"#, 600, None).unwrap_err();
        assert!(error.to_string().contains("pie"), "{error}");
        assert!(svg(BARS, 600, None).is_ok());
    }
}
