//! Connections and their limits: how many there are, how long a request may take to arrive, and how large its head may be.

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

/// Connections at a time; more wait until one is closed. A browser needs up to six, and one for each live page.
const MOST_CONNECTIONS: usize = 128;
/// For the head of a request to arrive, and for how long a connection may be idle.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// Bytes of a request's head.
const LARGEST_HEAD: usize = 16 * 1024;
/// Before the next attempt if the system has no more files for connections.
const PAUSE: Duration = Duration::from_millis(100);

/// Serves all that connect, and does not end.
///
/// axum's own loop does not limit any of this, so this is hyper's.
pub(crate) async fn serve(listener: TcpListener, router: Router) {
    let slots = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(LARGEST_HEAD);
    // The semaphore is never closed.
    while let Ok(slot) = Arc::clone(&slots).acquire_owned().await {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        // Without it an event waits for the acknowledgement of the one before.
        let _ = stream.set_nodelay(true);
        let connection = http.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router.clone()));
        tokio::spawn(async move {
            // What breaks a connection concerns nobody but its visitor.
            let _ = connection.await;
            drop(slot);
        });
    }
}
