//! Campaigns under way, as they go on: one follower for each that somebody watches, however many watch it, and none
//! without viewers.
//!
//! A viewer first gets a snapshot of everything and then, each second, what is new. Whoever comes again, or cannot
//! keep up, gets a snapshot again, so nothing is lost by a reload, a sleeping computer or a slow line.

mod change;
mod figures;
mod follower;
mod followers;
mod run;
mod status;
mod tail;

pub(crate) use followers::Followers;
pub(crate) use status::Totals;
pub(crate) use tail::Table;

use axum::response::sse;
use follower::{Follower, News};
use futures_util::Stream;
use futures_util::stream::unfold;
use serde::Serialize;
use std::collections::HashMap;
use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::broadcast::{Receiver, Sender};
use tokio::time::MissedTickBehavior;

/// How often files are looked at.
const PERIOD: Duration = Duration::from_secs(1);
/// For so many periods a campaign is kept that nobody watches: somebody may only be loading the page again. It is not
/// looked at meanwhile.
const KEPT_PERIODS: u32 = 30;
/// How many messages a viewer may be behind.
const BEHIND: usize = 16;

/// What a viewer is sent.
#[derive(Clone, Debug)]
struct Message {
    event: &'static str,
    data: Arc<str>,
}

impl Message {
    fn new(event: &'static str, data: &impl Serialize) -> Self {
        // Of plain fields: there is nothing that could fail.
        let data = serde_json::to_string(data).unwrap_or_default().into();
        Self { event, data }
    }
}

/// All campaigns that are watched.
pub(crate) struct Hub {
    archive: PathBuf,
    watched: Mutex<HashMap<String, Arc<Watched>>>,
}

/// A campaign that somebody watches.
struct Watched {
    follower: Mutex<Follower>,
    news: Sender<Message>,
}

impl Hub {
    /// None yet of the campaigns in `archive`.
    pub(crate) fn new(archive: PathBuf) -> Self {
        Self {
            archive,
            watched: Mutex::default(),
        }
    }

    /// How many watch.
    pub(crate) fn viewers(&self) -> usize {
        self.all().values().map(|watched| watched.news.receiver_count()).sum()
    }

    fn all(&self) -> MutexGuard<'_, HashMap<String, Arc<Watched>>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Another viewer of the campaign `name`, which exists.
    fn viewer(self: &Arc<Self>, name: &str) -> Viewer {
        let mut all = self.all();
        let watched = all.entry(name.to_owned()).or_insert_with(|| {
            let watched = Arc::new(Watched {
                follower: Mutex::new(Follower::new(&self.archive, name)),
                news: Sender::new(BEHIND),
            });
            tokio::spawn(keep_looking(Arc::clone(self), name.to_owned(), Arc::clone(&watched)));
            watched
        });
        Viewer {
            watched: Arc::clone(watched),
            // From now on it counts as watched.
            news: watched.news.subscribe(),
            begun: false,
            over: false,
        }
    }

    /// Forgets the campaign `name` if nobody watches it.
    fn forget(&self, name: &str) -> bool {
        let mut all = self.all();
        let unwatched = all.get(name).is_none_or(|watched| watched.news.receiver_count() == 0);
        if unwatched {
            all.remove(name);
        }
        unwatched
    }
}

/// Looks at a campaign again and again, as long as it has viewers.
async fn keep_looking(hub: Arc<Hub>, name: String, watched: Arc<Watched>) {
    let mut ticks = tokio::time::interval(PERIOD);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut unwatched = 0;
    loop {
        ticks.tick().await;
        if watched.news.receiver_count() > 0 {
            unwatched = 0;
            let watched = Arc::clone(&watched);
            // A look that went wrong is like one without news.
            let _ = tokio::task::spawn_blocking(move || watched.look()).await;
        } else {
            unwatched += 1;
            if unwatched >= KEPT_PERIODS && hub.forget(&name) {
                return;
            }
        }
    }
}

impl Watched {
    fn follower(&self) -> MutexGuard<'_, Follower> {
        self.follower.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks what is new and tells all viewers.
    fn look(&self) {
        // Locked until it is told: a viewer who comes in between gets it either with the snapshot or as news, and not
        // twice.
        let mut follower = self.follower();
        let message = match follower.look() {
            News::None => return,
            News::Anew => Message::new("snapshot", &follower.snapshot()),
            News::Update(update) => Message::new("update", &update),
            News::Ended => Message::new("ended", &follower.snapshot()),
        };
        // The last viewer may have gone meanwhile.
        let _ = self.news.send(message);
    }

    /// Everything so far, and what will bring the rest.
    fn begin(&self) -> (Message, Receiver<Message>) {
        let mut follower = self.follower();
        let news = self.news.subscribe();
        let data = Message::new("snapshot", &follower.snapshot()).data;
        let event = if follower.ended() { "ended" } else { "snapshot" };
        (Message { event, data }, news)
    }
}

/// Somebody who watches.
struct Viewer {
    watched: Arc<Watched>,
    news: Receiver<Message>,
    begun: bool,
    over: bool,
}

impl Viewer {
    /// The next message; `None` after the last.
    async fn next(&mut self) -> Option<Message> {
        if self.over {
            return None;
        }
        let news = match self.begun {
            true => self.news.recv().await,
            false => Err(RecvError::Lagged(0)),
        };
        let message = match news {
            Ok(message) => message,
            Err(RecvError::Closed) => return None,
            // New, or too far behind: begin with everything.
            Err(RecvError::Lagged(_)) => {
                let watched = Arc::clone(&self.watched);
                let (message, news) = tokio::task::spawn_blocking(move || watched.begin()).await.ok()?;
                (self.news, self.begun) = (news, true);
                message
            }
        };
        self.over = message.event == "ended";
        Some(message)
    }
}

/// The messages for one more viewer of the campaign `name`, which exists. `snapshot`: everything so far; `update`:
/// what is new since the last message; `ended`: everything, for the last time.
pub(crate) fn events(
    hub: &Arc<Hub>,
    name: &str,
    place: followers::Place,
) -> impl Stream<Item = Result<sse::Event, Infallible>> + use<> {
    unfold((hub.viewer(name), place), |(mut viewer, place)| async move {
        let message = viewer.next().await?;
        Some((
            Ok(sse::Event::default().event(message.event).data(&*message.data)),
            (viewer, place),
        ))
    })
}
