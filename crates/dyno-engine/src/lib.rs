//! Event loops, clients, pacing and latency recording
