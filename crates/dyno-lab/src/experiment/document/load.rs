//! `[load]`: the hosts that a load is driven from.

use super::Reader;
use crate::experiment::diagnostic::Diagnostic;
use crate::experiment::load_hosts::{HostWord, MOST_HOSTS, OnHosts};
use crate::experiment::section::{Section, list, scalar};
use dyno_archive::plan::{OnLostHost, Value};
use dyno_fleet::start::RAY;
use toml::Spanned;
use toml::de::DeValue;

pub(super) const LOAD_KEYS: [&str; 5] = ["hosts", "shares", "on_lost_host", "ray", "listen"];

impl Reader<'_> {
    pub(super) fn load(&mut self, value: &Spanned<DeValue<'_>>) -> Result<(), Diagnostic> {
        let section = Section::of(self.source, "[load]", value, &LOAD_KEYS)?;
        for (word, span) in section.texts("hosts")? {
            dyno_fleet::start::hosts([word.as_str()]).map_err(|error| self.source.refuse(span, &error))?;
            self.experiment.load_hosts.hosts.push(word);
        }
        if self.experiment.load_hosts.is_empty() {
            let help = "name the hosts that drive the load, for example: hosts = [\"local\", \"user@other\"]";
            return Err(section.missing("hosts", help));
        }
        if let Some(value) = section.get("shares") {
            self.experiment.load_hosts.shares = self.shares(value)?;
        }
        if let Some((word, span)) = section.text("on_lost_host")? {
            self.experiment.load_hosts.on_lost_host = match word.as_str() {
                "continue" => OnLostHost::Continue,
                "end" => OnLostHost::End,
                _ => {
                    let message = format!("`on_lost_host` cannot be `{word}`");
                    return Err(self.source.complain(span, message, "expected \"continue\" or \"end\""));
                }
            };
        }
        if let Some((address, span)) = section.text("ray")? {
            dyno_fleet::start::check_ray(&address).map_err(|error| self.source.refuse(span.clone(), &error))?;
            self.experiment.load_hosts.ray = Some(address);
        }
        if self.experiment.load_hosts.ray.is_none() && self.experiment.load_hosts.hosts.iter().any(|word| word == RAY) {
            return Err(section.missing("ray", "name the cluster, for example: ray = \"http://head:8265\""));
        }
        if let Some((address, span)) = section.text("listen")? {
            let Ok(address) = address.parse() else {
                let help = "expected an address and a port of this machine, for example: listen = \"10.0.0.5:7000\"";
                let message = format!("`{address}` is no address to listen at");
                return Err(self.source.complain(span, message, help));
            };
            self.experiment.load_hosts.listen = Some(address);
        }
        Ok(())
    }

    /// The load hosts that drive a workload of `server`.
    pub(super) fn on_hosts(&self, section: &Section<'_>, server: Option<&str>) -> Result<OnHosts, Diagnostic> {
        let Some(value) = section.get("hosts") else {
            return Ok(OnHosts::All);
        };
        if let Some(word) = value.get_ref().as_str() {
            let is_counted = server
                .and_then(|server| self.experiment.servers.get(server))
                .is_some_and(|server| server.count.is_some());
            return match word {
                "in turn" if is_counted => Ok(OnHosts::InTurn),
                "in turn" => {
                    let message = "the workload has one server, so its hosts cannot take turns";
                    let help = "give the server a `count`, or list the hosts that drive the workload";
                    Err(self.source.complain(value.span(), message, help))
                }
                _ => {
                    let message = format!("`hosts` cannot be `{word}`");
                    let help = "expected a list, for example [\"a\", \"b\"] or [1, 2], or \"in turn\"";
                    Err(self.source.complain(value.span(), message, help))
                }
            };
        }
        let mut words = Vec::new();
        for value in list(self.source, value, "hosts", "a list of load hosts, or \"in turn\"")? {
            let word = match scalar(self.source, "hosts", value)? {
                Value::Text(name) => HostWord::Name(name),
                Value::Integer(number) if (1..=MOST_HOSTS).contains(&number) => {
                    HostWord::Number(usize::try_from(number).unwrap_or(usize::MAX))
                }
                other => {
                    let message = format!("`{other}` is no load host");
                    let help = "expected a name, or a place in the list of hosts, from 1";
                    return Err(self.source.complain(value.span(), message, help));
                }
            };
            // Whether it is there depends on the command line, which is not known yet.
            words.push((word, self.source.line_of(&value.span())));
        }
        if words.is_empty() {
            let help = "name the hosts that drive the workload, or leave it out: then all do";
            return Err(self.source.complain(value.span(), "`hosts` is empty", help));
        }
        Ok(OnHosts::These(words))
    }

    /// What each host has of the load.
    fn shares(&self, value: &Spanned<DeValue<'_>>) -> Result<Vec<f64>, Diagnostic> {
        let mut shares = Vec::new();
        for value in list(self.source, value, "shares", "a list of numbers")? {
            let share = match scalar(self.source, "shares", value)? {
                Value::Integer(number) => number as f64,
                Value::Float(number) => number,
                Value::Text(_) => 0.0,
            };
            if share <= 0.0 {
                let help = "expected a number above 0 for each host, for example: shares = [2, 1]";
                return Err(self.source.complain(value.span(), "this is no share of a load", help));
            }
            shares.push(share);
        }
        let hosts = self.experiment.load_hosts.hosts.len();
        if shares.len() != hosts {
            let message = format!("there are {} shares for {hosts} load hosts", shares.len());
            return Err(self
                .source
                .complain(value.span(), message, "give one for each host, in their order"));
        }
        Ok(shares)
    }
}
