//! What pages load beside themselves.

use crate::problem::Problem;
use axum::extract::Path;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};

/// The style of all pages.
#[cfg(feature = "charts")]
const STYLE_CSS: &str = dyno_charts::STYLE_CSS;
#[cfg(not(feature = "charts"))]
const STYLE_CSS: &str = include_str!("../../../web/src/style.css");

/// The style of the pages of this server, on top of that of reports.
const SERVE_CSS: &str = include_str!("../templates/serve.css");

/// A script or style sheet.
pub(crate) async fn asset(Path(name): Path<String>) -> Response {
    let (kind, text) = match name.as_str() {
        "serve.css" => ("text/css", SERVE_CSS),
        "style.css" => ("text/css", STYLE_CSS),
        #[cfg(feature = "charts")]
        "live.js" => ("text/javascript", dyno_charts::LIVE_JS),
        _ => return Problem::missing("There is no such file.").into_response(),
    };
    ([(CONTENT_TYPE, format!("{kind}; charset=utf-8"))], text).into_response()
}
