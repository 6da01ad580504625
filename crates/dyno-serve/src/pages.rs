//! Pages from templates. Whatever is written into one is text: the templates' names end with `.html`, which makes
//! minijinja escape it.

use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Response};
use minijinja::Environment;
use minijinja::value::Serde;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;
use std::sync::LazyLock;

const TEMPLATES: [(&str, &str); 6] = [
    ("base.html", include_str!("../templates/base.html")),
    ("list.html", include_str!("../templates/list.html")),
    ("live.html", include_str!("../templates/live.html")),
    ("problem.html", include_str!("../templates/problem.html")),
    ("signed-in.html", include_str!("../templates/signed-in.html")),
    ("waiting.html", include_str!("../templates/waiting.html")),
];

static ENVIRONMENT: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut environment = Environment::new();
    environment.add_global("charts", cfg!(feature = "charts"));
    for (name, source) in TEMPLATES {
        // A template of ours that is wrong is found by the test below.
        let _ = environment.add_template(name, source);
    }
    environment
});

/// What stands for itself in an address, beside letters and digits.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'=')
    .remove(b',');

/// A name as a part of an address.
pub(crate) fn in_address(name: &str) -> String {
    utf8_percent_encode(name, PLAIN).to_string()
}

/// The page that the template makes of `content`.
pub(crate) fn render(template: &str, content: &impl Serialize) -> Response {
    let page = ENVIRONMENT
        .get_template(template)
        .and_then(|template| template.render(Serde(content)));
    match page {
        Ok(page) => Html(page).into_response(),
        Err(error) => {
            let text = format!("the page {template} cannot be rendered: {error}\n");
            (StatusCode::INTERNAL_SERVER_ERROR, text).into_response()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_are_sound() {
        for (name, source) in TEMPLATES {
            let mut environment = Environment::new();
            environment.add_template(name, source).unwrap();
        }
    }
}
