//! Which address leads to which page.

use crate::access::{Access, guard};
use crate::list::{Filter, List};
use crate::problem::Problem;
use crate::reports::{Asked, Reports};
use crate::shelf::{Campaign, Shelf};
use crate::{assets, pages};
use axum::Router;
use axum::extract::{Path, Query, State};
use axum::http::HeaderValue;
use axum::http::header::CONTENT_SECURITY_POLICY;
use axum::middleware;
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use dyno_lab::archive::{Archive, ArchiveError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Semaphore;

/// What a report may do: it is one file, with its scripts in it.
const REPORT_POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'; \
     frame-ancestors 'none'",
);

/// What all pages are made from.
pub(crate) struct App {
    archive: Archive,
    shelf: Mutex<Shelf>,
    reports: Reports,
    /// For making a report.
    turn: Semaphore,
}

/// All pages. Each is for reading: any method but GET is refused by the routes themselves.
pub(crate) fn router(archive: Archive, access: Access) -> Router {
    let app = Arc::new(App {
        shelf: Mutex::new(Shelf::new(archive.path().to_owned())),
        archive,
        reports: Reports::default(),
        turn: Semaphore::new(1),
    });
    Router::new()
        .route("/", get(list))
        .route("/campaigns/{campaign}", get(campaign))
        .route("/campaigns/{campaign}/{run}", get(run))
        .route("/report", get(side_by_side))
        .route("/assets/{file}", get(assets::asset))
        .fallback(|| async { Problem::missing("The address is not one of this server's.") })
        .with_state(app)
        .layer(middleware::from_fn_with_state(Arc::new(access), guard))
}

impl App {
    fn shelf(&self) -> MutexGuard<'_, Shelf> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The campaign of this name.
    fn campaign(&self, name: &str) -> Result<Campaign, Problem> {
        let found = self.shelf().campaign(name).map_err(unreadable)?;
        match found {
            Some(campaign) => Ok(campaign),
            None => Err(self.no_campaign(name)),
        }
    }

    /// Says which campaigns there are, the newest first.
    fn no_campaign(&self, name: &str) -> Problem {
        const SHOWN: usize = 10;
        let problem = Problem::missing(format!(
            "There is no campaign \"{name}\" in {}.",
            self.archive.path().display()
        ));
        let names = self.shelf().names().unwrap_or_default();
        let newest = names.into_iter().rev().take(SHOWN);
        newest.fold(problem, |problem, name| {
            let address = format!("/campaigns/{}", pages::in_address(&name));
            problem.or((name, address))
        })
    }
}

fn unreadable(error: ArchiveError) -> Problem {
    Problem::failed(error.to_string())
}

/// Does what reads files or computes beside the thread that answers.
async fn aside<T: Send + 'static>(work: impl FnOnce() -> Result<T, Problem> + Send + 'static) -> Result<T, Problem> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err(Problem::failed("Something is wrong in dyno itself; please report it.")))
}

async fn list(State(app): State<Arc<App>>, Query(filter): Query<Filter>) -> Result<Response, Problem> {
    aside(move || {
        let campaigns = app.shelf().all().map_err(unreadable)?;
        let archive = app.archive.path().display().to_string();
        Ok(pages::render("list.html", &List::new(archive, &campaigns, filter)))
    })
    .await
}

/// Makes a report of what `asked` gives. Reports are made one at a time: that keeps no more than one core busy, and whoever waits keeps no thread.
async fn report(
    app: Arc<App>,
    asked: impl FnOnce(&App) -> Result<Asked, Problem> + Send + 'static,
) -> Result<Response, Problem> {
    // It is never closed.
    let _turn = app.turn.acquire().await;
    let maker = Arc::clone(&app);
    aside(move || {
        let page = maker.reports.page(&maker.archive, &asked(&maker)?)?;
        let mut response = Html(page.to_string()).into_response();
        response.headers_mut().insert(CONTENT_SECURITY_POLICY, REPORT_POLICY);
        Ok(response)
    })
    .await
}

async fn campaign(State(app): State<Arc<App>>, Path(name): Path<String>) -> Result<Response, Problem> {
    report(app, move |app| {
        Ok(Asked {
            campaigns: vec![app.campaign(&name)?.name],
            ..Asked::default()
        })
    })
    .await
}

async fn run(State(app): State<Arc<App>>, Path((name, run)): Path<(String, String)>) -> Result<Response, Problem> {
    report(app, move |app| {
        let campaign = app.campaign(&name)?;
        if campaign.runs.iter().any(|there| there.name == run) {
            return Ok(Asked {
                campaigns: vec![campaign.name],
                run: Some(run),
                baseline: None,
            });
        }
        let problem = Problem::missing(format!("There is no run \"{run}\" in {name}."));
        let runs = campaign.runs.into_iter().map(|run| {
            let address = format!(
                "/campaigns/{}/{}",
                pages::in_address(&name),
                pages::in_address(&run.name)
            );
            (run.name, address)
        });
        Err(runs.fold(problem, Problem::or))
    })
    .await
}

/// Several campaigns beside each other: `campaign` once for each, and `baseline` for what they are compared with.
async fn side_by_side(
    State(app): State<Arc<App>>,
    Query(pairs): Query<Vec<(String, String)>>,
) -> Result<Response, Problem> {
    report(app, move |app| {
        let values = |wanted: &'static str| {
            pairs
                .iter()
                .filter(move |(name, _)| name == wanted)
                .map(|(_, value)| value)
        };
        let mut campaigns: Vec<String> = Vec::new();
        let baseline = values("baseline").find(|name| !name.is_empty());
        for name in values("campaign").chain(baseline) {
            if !campaigns.contains(name) {
                campaigns.push(app.campaign(name)?.name);
            }
        }
        if campaigns.is_empty() {
            return Err(Problem::unclear("Choose at least one campaign."));
        }
        Ok(Asked {
            campaigns,
            run: None,
            baseline: baseline.cloned(),
        })
    })
    .await
}
