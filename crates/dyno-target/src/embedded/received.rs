//! How much of a download has arrived.
//!
//! The fetching library tells it only to the progress bar of a tracing span. So while a download runs, such bars
//! exist, none of them is shown, and what they are told is read off.

use indicatif::ProgressState;
use indicatif::style::{ProgressStyle, ProgressTracker};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use tracing_indicatif::IndicatifLayer;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// Bytes that have arrived, and bytes there are in all; zero while that is not known.
#[derive(Clone, Debug, Default)]
pub(crate) struct Received {
    bytes: Arc<AtomicU64>,
    total_bytes: Arc<AtomicU64>,
}

impl Received {
    /// Bytes so far, and in all if that is known.
    pub(crate) fn so_far(&self) -> (u64, Option<u64>) {
        let total_bytes = self.total_bytes.load(Ordering::Relaxed);
        (
            self.bytes.load(Ordering::Relaxed),
            (total_bytes > 0).then_some(total_bytes),
        )
    }

    /// Runs `download` on this thread and counts what it receives.
    pub(crate) fn during<T>(&self, download: impl FnOnce() -> T) -> T {
        // A name that no template uses: the bar is there to be told, not to be drawn.
        let style = ProgressStyle::default_bar().with_key("received", self.clone());
        let layer = IndicatifLayer::new()
            .with_progress_style(style)
            .with_max_progress_bars(0, None);
        let _guard = tracing_subscriber::registry().with(layer).set_default();
        download()
    }
}

impl ProgressTracker for Received {
    fn clone_box(&self) -> Box<dyn ProgressTracker> {
        Box::new(self.clone())
    }

    fn tick(&mut self, state: &ProgressState, _: Instant) {
        // Spans around the download have bars as well, which know no length.
        if let Some(total_bytes) = state.len().filter(|bytes| *bytes > 0) {
            self.total_bytes.store(total_bytes, Ordering::Relaxed);
            self.bytes.store(state.pos(), Ordering::Relaxed);
        }
    }

    fn reset(&mut self, _: &ProgressState, _: Instant) {}

    fn write(&self, _: &ProgressState, _: &mut dyn fmt::Write) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracing_indicatif::span_ext::IndicatifSpanExt;

    #[test]
    fn counts_what_the_span_is_told() {
        let received = Received::default();
        received.during(|| {
            assert_eq!(received.so_far(), (0, None));
            let outer = tracing::info_span!("outer").entered();
            let inner = tracing::info_span!("inner").entered();
            inner.pb_set_length(100);
            inner.pb_set_position(30);
            assert_eq!(received.so_far(), (30, Some(100)));
            inner.pb_set_position(100);
            drop((inner, outer));
        });
        assert_eq!(received.so_far(), (100, Some(100)));
    }
}
