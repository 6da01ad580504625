//! What whoever waits is told while a server is brought and filled.

/// Is told what happens, on the thread that does it. What it has no interest in it need not take note of.
pub trait Progress {
    /// A step begins, such as "Creating the schema".
    fn step(&mut self, _text: &str) {}

    /// A step begins that is over when a server has answered, such as "Starting PostgreSQL".
    fn asks(&mut self, text: &str) {
        self.step(text);
    }

    /// How far the current step has come.
    fn amount(&mut self, _done: u64, _total: u64, _unit: &str) {}

    /// The current step, which filled a table, is done. It took this many seconds, at this many rows per second.
    fn filled(&mut self, _elapsed_s: f64, _rows_per_s: f64) {}

    /// Something to know that ends nothing.
    fn note(&mut self, text: &str);
}
