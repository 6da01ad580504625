//! Finds the real pgbench.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

/// The version whose texts are compared.
pub const VERSION: &str = "15";

/// The real pgbench; `None` if there is none of the right version.
///
/// Fails if there must be one.
pub fn pgbench() -> Option<PathBuf> {
    static FOUND: OnceLock<Option<PathBuf>> = OnceLock::new();
    let found = FOUND.get_or_init(search).clone();
    if found.is_none() {
        assert!(
            std::env::var_os("DYNO_REQUIRE_PGBENCH").is_none_or(|value| value != "1"),
            "there is no pgbench {VERSION}, and DYNO_REQUIRE_PGBENCH=1"
        );
        eprintln!("nothing compared: there is no pgbench {VERSION}");
    }
    found
}

fn search() -> Option<PathBuf> {
    // The program itself comes before Debian's wrapper, which decides about versions.
    let debian = PathBuf::from(format!("/usr/lib/postgresql/{VERSION}/bin/pgbench"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let in_path = std::env::split_paths(&path).map(|folder| folder.join("pgbench"));
    std::iter::once(debian).chain(in_path).find(|program| {
        let said = Command::new(program).arg("--version").output();
        said.is_ok_and(|said| {
            String::from_utf8_lossy(&said.stdout).starts_with(&format!("pgbench (PostgreSQL) {VERSION}."))
        })
    })
}
