//! Which address leads to which page.

use crate::access::{Access, guard};
use crate::cache::{ArchiveCache, Campaign};
use crate::connections::Visitor;
use crate::list::{Filter, List};
use crate::live::{self, Followers, Hub};
use crate::metrics::{self, Metrics};
use crate::problem::Problem;
use crate::reports::{Asked, Reports};
use crate::{assets, pages, series};
use axum::extract::{Path, Query, State};
use axum::http::HeaderValue;
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::response::sse::{KeepAlive, Sse};
use axum::response::{Html, IntoResponse, Redirect, Response};
use axum::routing::get;
use axum::{Extension, Router, middleware};
use dyno_archive::{Archive, ArchiveError};
use serde::{Deserialize, Serialize};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Semaphore;

/// Reports being made and waited for at a time.
const MOST_WAITING: usize = 16;

/// What all pages are made from.
pub(crate) struct App {
    archive: Archive,
    cache: Mutex<ArchiveCache>,
    reports: Reports,
    /// For making a report.
    turn: Semaphore,
    /// For waiting until it is made.
    queue: Semaphore,
    followers: Followers,
    hub: Arc<Hub>,
    metrics: Metrics,
}

/// All pages. Each is for reading: any method but GET is refused by the routes themselves.
pub(crate) fn router(archive: Archive, access: Access, hub: Arc<Hub>) -> Router {
    let app = Arc::new(App {
        cache: Mutex::new(ArchiveCache::new(archive.path().to_owned())),
        archive,
        reports: Reports::default(),
        turn: Semaphore::new(1),
        queue: Semaphore::new(MOST_WAITING),
        followers: Followers::default(),
        hub,
        metrics: Metrics::default(),
    });
    Router::new()
        .route("/", get(list))
        .route("/campaigns/{campaign}", get(campaign))
        .route("/campaigns/{campaign}/{run}", get(run))
        .route("/series/{series}", get(one_series))
        .route("/report", get(side_by_side))
        .route("/compare", get(compare))
        .route("/live", get(newest_live))
        .route("/live/{campaign}", get(live_page))
        .route("/live/{campaign}/events", get(live_events))
        .route("/metrics", get(metrics))
        .route("/assets/{file}", get(assets::asset))
        .fallback(|| async { Problem::missing("This server has no such page.") })
        .with_state(app)
        .layer(middleware::from_fn_with_state(Arc::new(access), guard))
}

impl App {
    fn cache(&self) -> MutexGuard<'_, ArchiveCache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The campaign of this name.
    fn campaign(&self, name: &str) -> Result<Campaign, Problem> {
        let found = self.cache().campaign(name).map_err(unreadable)?;
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
        let names = self.cache().names().unwrap_or_default();
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
    done.unwrap_or_else(|_| Err(Problem::failed("This is an error in dyno itself; please report it.")))
}

async fn list(State(app): State<Arc<App>>, Query(filter): Query<Filter>) -> Result<Response, Problem> {
    aside(move || {
        let campaigns = app.cache().all().map_err(unreadable)?;
        let archive = app.archive.path().display().to_string();
        let series = series::all(&app.archive).map_err(unreadable)?;
        Ok(pages::render(
            "list.html",
            &List::new(archive, &campaigns, series, filter),
        ))
    })
    .await
}

/// Makes a report of what `asked` gives. Reports are made one at a time: that keeps no more than one core busy, and
/// whoever waits keeps no thread.
async fn report(
    app: Arc<App>,
    asked: impl FnOnce(&App) -> Result<Asked, Problem> + Send + 'static,
) -> Result<Response, Problem> {
    let policy = dyno_report::html::security_policy();
    made(app, policy, move |app| app.reports.page(&app.archive, &asked(app)?)).await
}

/// Answers with a page that `make` takes its time for, and that may do what `policy` says.
async fn made<Page: ToString>(
    app: Arc<App>,
    policy: String,
    make: impl FnOnce(&App) -> Result<Page, Problem> + Send + 'static,
) -> Result<Response, Problem> {
    let Ok(_place) = app.queue.try_acquire() else {
        return Err(Problem::busy(
            "Reports are made one at a time, and many visitors are waiting for theirs. Try again shortly.",
        ));
    };
    // It is never closed.
    let _turn = app.turn.acquire().await;
    let maker = Arc::clone(&app);
    aside(move || {
        let page = make(&maker)?;
        let mut response = Html(page.to_string()).into_response();
        // A page of its own cannot forbid to be framed; only a server can.
        let policy = format!("{policy}; frame-ancestors 'none'");
        if let Ok(policy) = HeaderValue::from_str(&policy) {
            response.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
        }
        Ok(response)
    })
    .await
}

async fn campaign(State(app): State<Arc<App>>, Path(name): Path<String>) -> Result<Response, Problem> {
    report(app, move |app| {
        Ok(Asked::Campaigns {
            campaigns: vec![app.campaign(&name)?.name],
            baseline: None,
        })
    })
    .await
}

async fn run(State(app): State<Arc<App>>, Path((name, run)): Path<(String, String)>) -> Result<Response, Problem> {
    report(app, move |app| {
        let campaign = app.campaign(&name)?;
        if campaign.runs.iter().any(|there| there.name == run) {
            return Ok(Asked::Run {
                campaign: campaign.name,
                run,
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

async fn one_series(State(app): State<Arc<App>>, Path(name): Path<String>) -> Result<Response, Problem> {
    let policy = dyno_report::series::security_policy();
    made(app, policy, move |app| series::made(&app.archive, &name)).await
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
        Ok(Asked::Campaigns {
            campaigns,
            baseline: baseline.cloned(),
        })
    })
    .await
}

/// `b` judged against `a`.
async fn compare(State(app): State<Arc<App>>, Query(pair): Query<Pair>) -> Result<Response, Problem> {
    report(app, move |app| {
        if pair.a == pair.b {
            return Err(Problem::unclear("A campaign cannot be compared with itself; name two."));
        }
        Ok(Asked::Comparison {
            baseline: app.campaign(&pair.a)?.name,
            candidate: app.campaign(&pair.b)?.name,
        })
    })
    .await
}

#[derive(Deserialize)]
struct Pair {
    a: String,
    b: String,
}

/// Leads to the newest campaign under way, as soon as there is one.
async fn newest_live(State(app): State<Arc<App>>) -> Result<Response, Problem> {
    #[derive(Serialize)]
    struct Waiting {
        archive: String,
    }
    aside(move || {
        let campaigns = app.cache().all().map_err(unreadable)?;
        let newest = campaigns.iter().rev().find(|campaign| campaign.under_way);
        Ok(match newest {
            Some(campaign) => Redirect::to(&format!("/live/{}", pages::in_address(&campaign.name))).into_response(),
            None => pages::render(
                "waiting.html",
                &Waiting {
                    archive: app.archive.path().display().to_string(),
                },
            ),
        })
    })
    .await
}

async fn live_page(State(app): State<Arc<App>>, Path(name): Path<String>) -> Result<Response, Problem> {
    #[derive(Serialize)]
    struct Live {
        name: String,
    }
    aside(move || {
        let name = app.campaign(&name)?.name;
        Ok(pages::render("live.html", &Live { name }))
    })
    .await
}

/// What happens in a campaign, as server-sent events.
async fn live_events(
    State(app): State<Arc<App>>,
    Extension(visitor): Extension<Visitor>,
    Path(name): Path<String>,
) -> Result<Response, Problem> {
    const KEEP_ALIVE: Duration = Duration::from_secs(10);
    let (hub, followers) = (Arc::clone(&app.hub), app.followers.clone());
    let name = aside(move || Ok(app.campaign(&name)?.name)).await?;
    let Some(place) = followers.place(visitor.0) else {
        return Err(Problem::busy(
            "Too many visitors are following campaigns here. Close some of the live pages.",
        ));
    };
    let events = Sse::new(live::events(&hub, &name, place)).keep_alive(KeepAlive::new().interval(KEEP_ALIVE));
    Ok(events.into_response())
}

async fn metrics(State(app): State<Arc<App>>) -> Result<Response, Problem> {
    aside(move || {
        let text = app.metrics.text(app.archive.path());
        Ok(([(CONTENT_TYPE, metrics::CONTENT_TYPE)], text).into_response())
    })
    .await
}
