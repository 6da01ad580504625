//! `dyno --version`, and with `--verbose` what tells this program and machine from others: for reports of bugs.

use crate::failure::Failure;
use crate::say;
use dyno_engine::TransportChoice;
use dyno_target::embedded::home_folder;
use dyno_target::host::host_facts;
use dyno_target::kept::installed;
use std::fs;

const NAME: &str = concat!("dyno ", env!("CARGO_PKG_VERSION"));

/// `dyno --version`.
pub fn version(verbose: bool) -> Result<(), Failure> {
    if !verbose {
        return say::result(NAME);
    }
    let lines = program().into_iter().chain(machine()).chain(kept());
    let lines = lines.map(|(name, value)| format!("{name:<11}{value}\n"));
    say::result(&format!("{NAME}\n{}", lines.collect::<String>()))
}

type Line = (&'static str, String);

/// What was built, of what, and how; see `build.rs`.
fn program() -> [Line; 4] {
    let charts = if cfg!(feature = "charts") { "with" } else { "without" };
    [
        ("commit", env!("DYNO_COMMIT").to_owned()),
        ("target", env!("DYNO_TARGET").to_owned()),
        ("compiler", env!("DYNO_RUSTC").to_owned()),
        ("build", format!("{}, {charts} charts", env!("DYNO_PROFILE"))),
    ]
}

fn machine() -> [Line; 4] {
    let unknown = || "unknown".to_owned();
    let facts = host_facts(None);
    let cores = match facts.cpu_model {
        Some(model) => format!("{} of {model}", facts.cores),
        None => facts.cores.to_string(),
    };
    let io_uring = match TransportChoice::IoUring.check() {
        Ok(()) => "can be used".to_owned(),
        Err(reason) => reason.to_string(),
    };
    [
        ("system", distribution().unwrap_or_else(unknown)),
        ("kernel", facts.kernel.unwrap_or_else(unknown)),
        ("cores", cores),
        ("io_uring", io_uring),
    ]
}

/// What the makers of this Linux call it (`os-release(5)`).
fn distribution() -> Option<String> {
    let text = fs::read_to_string("/etc/os-release").ok()?;
    pretty_name(&text)
}

fn pretty_name(os_release: &str) -> Option<String> {
    let mut lines = os_release.lines();
    let name = lines.find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(name.trim_matches(['"', '\'']).to_owned()).filter(|name| !name.is_empty())
}

/// Where private servers are kept, and which.
fn kept() -> [Line; 2] {
    let none = || "none".to_owned();
    match home_folder(&|name| std::env::var(name).ok()) {
        Ok(home) => {
            let servers = installed(&home).join(", ");
            let servers = Some(servers).filter(|servers| !servers.is_empty());
            [
                ("home", home.display().to_string()),
                ("servers", servers.unwrap_or_else(none)),
            ]
        }
        Err(error) => [("home", error.to_string()), ("servers", none())],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_the_system_is_read() {
        let text = "ID=debian\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n";
        assert_eq!(pretty_name(text).as_deref(), Some("Debian GNU/Linux 12 (bookworm)"));
        assert_eq!(pretty_name("PRETTY_NAME=Alpine\n").as_deref(), Some("Alpine"));
        assert_eq!(pretty_name("ID=x\nPRETTY_NAME=\n"), None);
    }
}
