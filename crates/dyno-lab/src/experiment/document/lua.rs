//! Scripts in Lua, of workloads and of data.

use super::Reader;
use crate::experiment::diagnostic::Diagnostic;
use crate::experiment::section::{Section, option_value, scalar};
use crate::experiment::set::count;
use crate::lua::{LuaPlan, OPTIONS, PreparePlan, Purpose, spelt};
use dyno_archive::plan::shown_option;
use std::collections::HashSet;
use std::path::Path;

/// How many clients make data unless told otherwise: as many as load generated rows, at most.
const THREADS: usize = 4;

impl Reader<'_> {
    /// The script in Lua that a section names, if it does. With it, none of the keys `instead` may be there.
    pub(super) fn lua(
        &self,
        section: &Section<'_>,
        purpose: Purpose,
        instead: &[&str],
    ) -> Result<Option<LuaPlan>, Diagnostic> {
        let Some((name, span)) = section.text("lua")? else {
            return match ["options", "safe_lua"]
                .iter()
                .find_map(|key| Some((key, section.get(key)?)))
            {
                None => Ok(None),
                Some((key, value)) => {
                    let message = format!("`{key}` is of no use here");
                    let help = "it is for scripts in Lua: add lua = \"oltp_read_write\", or the name of a file";
                    Err(self.source.complain(value.span(), message, help))
                }
            };
        };
        if let Some((key, other)) = instead.iter().find_map(|key| Some((key, section.get(key)?))) {
            let message = format!("the workload has both `lua` and a `{key}`");
            return Err(self.source.complain(other.span(), message, "keep only one of them"));
        }
        let safe = section.flag("safe_lua")?.unwrap_or(false);
        let folder = self.source.path.parent().unwrap_or(Path::new(""));
        let found = LuaPlan::find(folder, &name, safe, purpose);
        let mut script = found.map_err(|error| self.source.refuse(span, &error))?;
        if let Some(options) = section.get(OPTIONS) {
            let mut seen = HashSet::new();
            for (option, span, value) in Section::open(self.source, OPTIONS, options)?.entries() {
                if !seen.insert(spelt(option)) {
                    let message = format!("`{option}` is there twice: `-` and `_` are the same in names of options");
                    return Err(self.source.complain(span, message, "keep only one of them"));
                }
                if !script.knows(option) {
                    // At the name, not at the value.
                    let error = script.set(option, &"".into(), &self.experiment.parameters);
                    return Err(self.source.refuse(span, &error.err().unwrap_or_default()));
                }
                let scalar = option_value(self.source, option, value)?;
                let set = script.set(option, &scalar, &self.experiment.parameters);
                set.map_err(|reason| {
                    let message = format!("`{option}` cannot be `{}`", shown_option(option, &scalar));
                    self.source.complain(value.span(), message, reason)
                })?;
            }
        }
        Ok(Some(script))
    }

    /// The script that makes data, if a section of data names one.
    pub(super) fn prepare(&self, data: &Section<'_>) -> Result<Option<PreparePlan>, Diagnostic> {
        let threads = match data.get("threads") {
            None => THREADS,
            Some(value) => {
                let number = scalar(self.source, "threads", value)?;
                count(&number).map_err(|reason| {
                    self.source
                        .complain(value.span(), format!("`threads` cannot be `{number}`"), reason)
                })?
            }
        };
        let script = self.lua(data, Purpose::Data, &[])?;
        match (script, data.get("threads")) {
            (None, Some(threads)) => {
                let help = "it is for a script in Lua that makes the data: add lua = \"oltp_read_write\"";
                Err(self
                    .source
                    .complain(threads.span(), "`threads` is of no use here", help))
            }
            (script, _) => Ok(script.map(|script| PreparePlan { script, threads })),
        }
    }
}
