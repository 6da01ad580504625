//! Connections and their limits: how many there are, how long a request may take to arrive and its answer to be read,
//! and how large its head may be.
//!
//! No visitor keeps others out: a new connection is always accepted. If there are too many, the one that has been
//! silent longest gives way, of the address that has most of them.

use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use axum::http::Request;
use hyper::body::{Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::convert::Infallible;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// Connections at a time. A browser needs up to six.
const MOST_CONNECTIONS: usize = 128;
/// For the head of a request to arrive, and for how long a connection may be idle.
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);
/// For how long a visitor may leave unread what was sent.
#[cfg(target_os = "linux")]
const READING_TIMEOUT: Duration = Duration::from_secs(20);
/// Bytes of a request's head.
const LARGEST_HEAD: usize = 16 * 1024;
/// Before the next attempt if the system has no more files for connections.
const PAUSE: Duration = Duration::from_millis(100);

/// Whose request it is.
#[derive(Clone, Copy)]
pub(crate) struct Visitor(pub(crate) IpAddr);

/// The connections there are.
#[derive(Clone, Default)]
struct Connections(Arc<Mutex<HashMap<u64, Arc<Open>>>>);

/// An open connection.
struct Open {
    number: u64,
    visitor: IpAddr,
    /// Requests that are being answered: one at most.
    requests: AtomicUsize,
    /// When it last had a request.
    heard: Mutex<Instant>,
    /// Closes it.
    close: Notify,
}

impl Connections {
    fn all(&self) -> MutexGuard<'_, HashMap<u64, Arc<Open>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a connection, for which another one gives way if need be: rather one without a request than one that is
    /// being answered.
    fn add(&self, number: u64, visitor: IpAddr) -> Arc<Open> {
        let mut all = self.all();
        if all.len() >= MOST_CONNECTIONS {
            let mut numbers: HashMap<IpAddr, usize> = HashMap::new();
            for open in all.values() {
                *numbers.entry(open.visitor).or_default() += 1;
            }
            let weary = all
                .values()
                .max_by_key(|open| (!open.is_busy(), numbers.get(&open.visitor), Reverse(*open.heard())));
            if let Some(open) = weary.map(Arc::clone) {
                all.remove(&open.number);
                open.close.notify_one();
            }
        }
        let open = Arc::new(Open {
            number,
            visitor,
            requests: AtomicUsize::new(0),
            heard: Mutex::new(Instant::now()),
            close: Notify::new(),
        });
        all.insert(number, Arc::clone(&open));
        open
    }
}

impl Open {
    fn is_busy(&self) -> bool {
        self.requests.load(Ordering::Relaxed) > 0
    }

    fn heard(&self) -> MutexGuard<'_, Instant> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request from its head to the end of its answer.
struct Answering(Arc<Open>);

impl Answering {
    fn of(open: &Arc<Open>) -> Self {
        *open.heard() = Instant::now();
        open.requests.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(open))
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.requests.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What is answered, which is over when the last of it was sent.
struct Answer {
    body: Body,
    _answering: Answering,
}

impl HttpBody for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Serves all that connect, and does not end.
///
/// axum's own loop does not limit any of this, so this is hyper's.
pub(crate) async fn serve(listener: TcpListener, router: Router) {
    let connections = Connections::default();
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(LARGEST_HEAD);
    for number in 0.. {
        let Ok((stream, visitor)) = listener.accept().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let open = connections.add(number, visitor.ip());
        prepare(&stream);
        let (pages, answered) = (TowerToHyperService::new(router.clone()), Arc::clone(&open));
        let service = service_fn(move |mut request: Request<Incoming>| {
            let answering = Answering::of(&answered);
            request.extensions_mut().insert(Visitor(answered.visitor));
            let answer = pages.call(request);
            async move {
                let answer = answer.await?;
                Ok::<_, Infallible>(answer.map(|body| Answer {
                    body,
                    _answering: answering,
                }))
            }
        });
        let connection = http.serve_connection(TokioIo::new(stream), service);
        let connections = connections.clone();
        tokio::spawn(async move {
            // What breaks a connection concerns nobody but its visitor.
            tokio::select! {
                _ = connection => {}
                () = open.close.notified() => {}
            }
            connections.all().remove(&number);
        });
    }
}

fn prepare(stream: &TcpStream) {
    // Without it an event waits for the acknowledgement of the one before.
    let _ = stream.set_nodelay(true);
    // The system closes the connection of a visitor who does not read, or is gone: Linux after this time.
    #[cfg(target_os = "linux")]
    let _ = rustix::net::sockopt::set_tcp_user_timeout(
        stream,
        u32::try_from(READING_TIMEOUT.as_millis()).unwrap_or(u32::MAX),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visitor(last: u8) -> IpAddr {
        [10, 0, 0, last].into()
    }

    #[test]
    fn whoever_has_most_gives_way() {
        let connections = Connections::default();
        connections.add(0, visitor(1));
        for number in 1..MOST_CONNECTIONS as u64 {
            connections.add(number, visitor(2));
        }
        connections.add(1_000, visitor(3));
        let all = connections.all();
        assert_eq!(all.len(), MOST_CONNECTIONS);
        assert!(all.contains_key(&0) && all.contains_key(&1_000) && !all.contains_key(&1));
    }

    #[test]
    fn whoever_is_being_answered_gives_way_last() {
        let connections = Connections::default();
        let open: Vec<_> = (0..MOST_CONNECTIONS as u64)
            .map(|number| connections.add(number, visitor(1)))
            .collect();
        let mut answering: Vec<_> = open.iter().map(Answering::of).collect();
        // This one is done.
        answering.remove(7);
        connections.add(1_000, visitor(2));
        assert!(!connections.all().contains_key(&7));
        // Then comes the newcomer, who says nothing, and then one who is being answered.
        connections.add(1_001, visitor(3));
        assert!(!connections.all().contains_key(&1_000));
        let _last = Answering::of(&connections.all()[&1_001]);
        connections.add(1_002, visitor(4));
        assert!(connections.all().contains_key(&1_002));
    }
}
