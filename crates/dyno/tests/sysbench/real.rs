//! Finds the real sysbench.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

/// The version whose texts are compared.
pub const VERSION: &str = "1.0.20";

/// The real sysbench; `None` if there is none of the right version.
///
/// Fails if there must be one.
pub fn sysbench() -> Option<PathBuf> {
    static FOUND: OnceLock<Option<PathBuf>> = OnceLock::new();
    let found = FOUND.get_or_init(search).clone();
    if found.is_none() {
        assert!(
            std::env::var_os("DYNO_REQUIRE_SYSBENCH").is_none_or(|value| value != "1"),
            "there is no sysbench {VERSION}, and DYNO_REQUIRE_SYSBENCH=1"
        );
        eprintln!("nothing compared: there is no sysbench {VERSION}");
    }
    found
}

fn search() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let programs = std::env::split_paths(&path).map(|folder| folder.join("sysbench"));
    programs.into_iter().find(|program| {
        let said = Command::new(program).arg("--version").output();
        said.is_ok_and(|said| String::from_utf8_lossy(&said.stdout).trim() == format!("sysbench {VERSION}"))
    })
}
