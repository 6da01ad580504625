//! Pure functions over measured series.
//!
//! Statistics are kept apart from everything that reads files or sockets, so that each can be checked against
//! numbers worked out by hand.

mod bootstrap;
mod change;
mod dips;
mod judgement;
mod knee;
mod mean_sign;
mod paired;
mod period;
mod ranks;
mod robust;
mod running;
mod screen;
mod steady;
mod trend;
mod window;

pub use bootstrap::{Estimate, ratio_of_means};
pub use change::{Change, change_point};
pub use dips::{Dip, dips};
pub use judgement::{CONFIDENCE, FALSE_JUDGEMENTS, FEWEST_RUNS, Judgement, MANY_RUNS, Outcome, judge};
pub use knee::knee;
pub use mean_sign::{MeanSign, mean_sign};
pub use paired::{Answer, Paired, block, differs};
pub use period::period;
pub use ranks::{least_p_value, mann_whitney};
pub use robust::{Level, median};
pub use running::Running;
pub use screen::{Design, Effects, MOST_FACTORS};
pub use steady::{Stationarity, batch_means, stationarity, warm_up};
pub use trend::{Trend, trend};
pub use window::running_median;
