//! Archive and statistics to terminal tables
