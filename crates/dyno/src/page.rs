//! How wide what is shown may be: as wide as the terminal, or as a usual one where there is none.

use console::Term;
use dyno_report::Page;

/// The page of results.
pub fn of_results() -> Page {
    of(&Term::stdout())
}

/// The page of progress and complaints.
pub fn of_asides() -> Page {
    of(&Term::stderr())
}

/// The page of lists. Where there is no terminal each row is a line, however long, for other tools read it.
pub fn of_lists() -> Option<Page> {
    let terminal = Term::stdout();
    terminal.is_term().then(|| of(&terminal))
}

fn of(terminal: &Term) -> Page {
    let size = terminal.size_checked();
    size.map_or_else(Page::default, |(_, columns)| Page::new(usize::from(columns)))
}
