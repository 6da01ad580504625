//! Pure functions over measured series: summaries and variation
