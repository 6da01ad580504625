//! What is said when there is no page: what is the matter, and what there is instead.

use crate::pages;
use axum::http::StatusCode;
use axum::http::header::{HeaderValue, WWW_AUTHENTICATE};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

/// A page that cannot be shown.
#[derive(Debug, Serialize)]
pub(crate) struct Problem {
    #[serde(skip)]
    status: StatusCode,
    title: String,
    text: String,
    /// What there is instead: words and address.
    instead: Vec<(String, String)>,
}

impl Problem {
    fn new(status: StatusCode, title: &str, text: impl Into<String>) -> Self {
        Self {
            status,
            title: title.to_owned(),
            text: text.into(),
            instead: Vec::new(),
        }
    }

    /// There is no such page.
    pub(crate) fn missing(text: impl Into<String>) -> Self {
        let list = ("All campaigns".to_owned(), "/".to_owned());
        Self::new(StatusCode::NOT_FOUND, "There is no such page", text).or(list)
    }

    /// The address does not say what is wanted.
    pub(crate) fn unclear(text: impl Into<String>) -> Self {
        let list = ("All campaigns".to_owned(), "/".to_owned());
        Self::new(StatusCode::BAD_REQUEST, "Invalid request", text).or(list)
    }

    /// The archive cannot be read, or something else went wrong here.
    pub(crate) fn failed(text: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "Something went wrong", text)
    }

    /// Too many ask for it.
    pub(crate) fn busy(text: &str) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "Too many requests", text)
    }

    /// The visitor may not look.
    pub(crate) fn refused(text: &str) -> Self {
        Self::new(StatusCode::FORBIDDEN, "Access refused", text)
    }

    /// The visitor has no token, or a wrong one.
    pub(crate) fn token(what: &str) -> Self {
        let how = "Open the address once with ?token= and the token at the end, or send it in the header \
                   \"Authorization: Bearer\".";
        Self::new(StatusCode::UNAUTHORIZED, "Token required", format!("{what} {how}"))
    }

    /// Adds another page that may be meant: its words and address.
    pub(crate) fn or(mut self, page: (String, String)) -> Self {
        self.instead.push(page);
        self
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = pages::render("problem.html", &self);
        *response.status_mut() = self.status;
        if self.status == StatusCode::UNAUTHORIZED {
            let scheme = HeaderValue::from_static("Bearer");
            response.headers_mut().insert(WWW_AUTHENTICATE, scheme);
        }
        response
    }
}
