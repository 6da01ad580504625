//! Experiment files, plan, phases, campaign and archive
