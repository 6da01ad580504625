//! `[[stage]]` and `[metrics]`: the parts of the measured time, and what is calculated from the results.

use super::Reader;
use crate::experiment::diagnostic::Diagnostic;
use crate::experiment::section::{Section, scalar};
use crate::experiment::{StagePlan, WorkPlan, did_you_mean, set};
use crate::nearest::nearest;
use dyno_analysis::summary::metrics;
use dyno_analysis::summary::metrics::{MetricError, RESULTS, SCRIPT_RESULTS};
use dyno_archive::plan::{MEASURE, Scripts, Span, Value, WARMUP};
use toml::Spanned;
use toml::de::DeValue;

pub(super) const STAGE_KEYS: [&str; 6] = ["name", "lasts", "until", "clients", "rate", "workloads"];
/// The only thing that a stage can wait for.
const DONE: &str = "done";
const SPAN_KEYS: [&str; 2] = ["from", "to"];
/// What is said of a metric that has bounds.
const METRIC_KEYS: [&str; 3] = ["value", "at_least", "at_most"];

impl Reader<'_> {
    /// Reads the stages. `phases` is the section that must not say how long is measured, too.
    pub(super) fn stages(
        &mut self,
        value: &Spanned<DeValue<'_>>,
        phases: Option<&Spanned<DeValue<'_>>>,
    ) -> Result<(), Diagnostic> {
        let Some(list) = value.get_ref().as_array().filter(|list| !list.is_empty()) else {
            let help = "write [[stage]], with two brackets";
            return Err(self.source.complain(value.span(), "`stage` is a list", help));
        };
        if let Some(phases) = phases
            && let Some(measure) = Section::open(self.source, "[phases]", phases)?.get(MEASURE)
        {
            let message = "`measure` cannot be combined with stages";
            let help = "the stages determine how long is measured; leave it out";
            return Err(self.source.complain(measure.span(), message, help));
        }
        for value in list.iter() {
            let stage = self.stage(&Section::of(self.source, "[[stage]]", value, &STAGE_KEYS)?)?;
            self.experiment.stages.push(stage);
        }
        Ok(())
    }

    fn stage(&self, section: &Section<'_>) -> Result<StagePlan, Diagnostic> {
        let (name, span) = section
            .text("name")?
            .ok_or_else(|| section.missing("name", "results are kept by the name of the stage"))?;
        self.check_name("a stage", &name, span.clone())?;
        if name == WARMUP {
            let help = "`warmup` under [phases] is the time before the first stage; choose another";
            return Err(self.source.complain(span, "a stage cannot be called `warmup`", help));
        }
        if self.experiment.stages.iter().any(|known| known.name == name) {
            let message = format!("two stages are called `{name}`");
            let help = "results are kept by name; choose another";
            return Err(self.source.complain(span, message, help));
        }
        let until_done = match section.text("until")? {
            None => false,
            Some((until, _)) if until == DONE => true,
            Some((other, span)) => {
                let message = format!("`until` cannot be `{other}`");
                let help = "write until = \"done\": the stage then lasts until its workloads with `transactions` have \
                            had them";
                return Err(self.source.complain(span, message, help));
            }
        };
        let lasts = section.get("lasts");
        if lasts.is_none() && !until_done {
            let help = "give a duration, for example: lasts = \"30s\", or until = \"done\" where a workload has \
                        `transactions`";
            return Err(section.missing("lasts", help));
        }
        let mut stage = StagePlan {
            name,
            lasts: None,
            until_done,
            clients: self.span(section, "clients", |value| {
                set::count(value).map(|clients| clients as f64)
            })?,
            rate: self.span(section, "rate", set::rate)?,
            workloads: Vec::new(),
        };
        if let Some(lasts) = lasts {
            let text = scalar(self.source, "lasts", lasts)?;
            stage.set("lasts", &text).map_err(|reason| {
                self.source
                    .complain(lasts.span(), format!("`lasts` cannot be `{text}`"), reason)
            })?;
        }
        for (name, span) in section.texts("workloads")? {
            let known = || self.experiment.workloads.iter().map(|workload| workload.name.as_str());
            if !known().any(|known| known == name) {
                let message = format!("there is no workload `{name}`{}", did_you_mean(nearest(&name, known())));
                let help = format!("there are: {}", known().collect::<Vec<_>>().join(", "));
                return Err(self.source.complain(span, message, help));
            }
            stage.workloads.push(name);
        }
        Ok(stage)
    }

    /// The number, or the two of a table, under `key`.
    fn span(
        &self,
        section: &Section<'_>,
        key: &str,
        read: impl Fn(&Value) -> Result<f64, String>,
    ) -> Result<Option<Span>, Diagnostic> {
        let number = |key: &str, value: &Spanned<DeValue<'_>>| {
            let number = scalar(self.source, key, value)?;
            read(&number).map_err(|reason| {
                self.source
                    .complain(value.span(), format!("`{key}` cannot be `{number}`"), reason)
            })
        };
        let Some(value) = section.get(key) else {
            return Ok(None);
        };
        if value.get_ref().as_table().is_none() {
            return Ok(Some(Span::constant(number(key, value)?)));
        }
        let table = Section::of(self.source, key, value, &SPAN_KEYS)?;
        let end = |key: &str| {
            let value = table
                .get(key)
                .ok_or_else(|| table.missing(key, "give both, for example: { from = 1, to = 64 }"))?;
            number(key, value)
        };
        Ok(Some(Span {
            from: end("from")?,
            to: end("to")?,
        }))
    }

    /// Whether `name` is something to calculate with.
    fn is_number(&self, name: &str) -> bool {
        self.numbers().any(|known| known == name)
    }

    /// What there is to calculate with: results of all workloads together and of each, and parameters that are numbers.
    fn numbers(&self) -> impl Iterator<Item = String> {
        let parameters = self.experiment.parameters.iter();
        let parameters = parameters.filter(|(_, value)| value.to_float().is_some());
        let workloads = self.experiment.workloads.iter();
        let results = workloads.flat_map(|workload| {
            let own = RESULTS.map(|result| format!("{}.{result}", workload.name));
            let scripts = match &workload.scripts {
                WorkPlan::Scripts(Scripts::Several { scripts }) => &scripts[..],
                _ => &[],
            };
            let of_scripts = scripts.iter().flat_map(|weighted| {
                let script = &weighted.script.script_name;
                SCRIPT_RESULTS.map(|result| format!("{}.{script}.{result}", workload.name))
            });
            own.into_iter().chain(of_scripts)
        });
        RESULTS
            .map(str::to_owned)
            .into_iter()
            .chain(results)
            .chain(parameters.map(|(name, _)| name.clone()))
    }

    pub(super) fn metrics(&mut self, value: &Spanned<DeValue<'_>>) -> Result<(), Diagnostic> {
        for (name, _, value) in Section::open(self.source, "[metrics]", value)?.entries() {
            let (expression, limits) = match value.get_ref() {
                DeValue::Table(_) => {
                    let section = Section::of(self.source, format!("the metric \"{name}\""), value, &METRIC_KEYS)?;
                    let missing = || section.missing("value", "an expression over the results");
                    let expression = section.get("value").ok_or_else(missing)?;
                    (scalar(self.source, "value", expression)?, self.limits(&section)?)
                }
                _ => (scalar(self.source, name, value)?, None),
            };
            let expression = expression.to_string();
            if name.trim().is_empty() {
                let message = "a metric needs a name";
                return Err(self.source.complain(value.span(), message, "such as \"rows/s\""));
            }
            metrics::check(&expression, |name| self.is_number(name)).map_err(|error| {
                let names: Vec<_> = self.numbers().collect();
                let known = names.iter().map(String::as_str);
                let hint = match &error {
                    MetricError::Unknown { name } => nearest(name, known),
                    _ => None,
                };
                let mut help = hint.map_or_else(String::new, |hint| format!("did you mean {{{hint}}}?\n"));
                help.push_str(&format!("known names: {}", names.join(", ")));
                let message = format!("the metric \"{name}\" is not valid: {error}");
                self.source.complain(value.span(), message, help)
            })?;
            self.experiment.metrics.insert(name.to_owned(), expression);
            if let Some(limits) = limits {
                self.experiment.limits.insert(name.to_owned(), limits);
            }
        }
        Ok(())
    }
}
