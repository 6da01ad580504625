//! Loads a script, to try it.
use dyno_lua::*;
use std::sync::Arc;
fn main() {
    let path = std::env::args().nth(1).unwrap();
    let safe = std::env::args().nth(2).is_some();
    let settings = Settings {
        safe,
        ..Settings::new(Dialect::Mysql, Arc::new(Terminal))
    };
    match Environment::load(&Source::file(path.as_ref()).unwrap(), &settings, 0, None) {
        Ok(e) => println!("{:?}", e.declared().functions),
        Err(e) => println!("{e}"),
    }
}
