//! `[[published]]`: what the source of the experiment found, to be shown beside what is measured.

use super::Reader;
use crate::experiment::diagnostic::Diagnostic;
use crate::experiment::section::{Section, scalar, wrong_type};
use crate::experiment::{Change, did_you_mean};
use crate::nearest::nearest;
use dyno_analysis::published::{MEASURES, THAT_ADD_UP, UNITS_OF_LATENCY, is_latency};
use dyno_archive::plan::{Levels, PublishedFigure};
use std::ops::Range;
use toml::Spanned;
use toml::de::DeValue;

pub(super) const PUBLISHED_KEYS: [&str; 7] = ["of", "levels", "workload", "measure", "value", "unit", "note"];

/// The key of the file that says on what the source measured.
pub(super) const HOST: &str = "published_host";

impl Reader<'_> {
    /// Reads all figures; everything that they may name has been read before.
    pub(super) fn published(&mut self, value: &Spanned<DeValue<'_>>) -> Result<(), Diagnostic> {
        let Some(list) = value.get_ref().as_array().filter(|list| !list.is_empty()) else {
            let help = "write [[published]], with two brackets";
            return Err(self.source.complain(value.span(), "`published` is a list", help));
        };
        for value in list.iter() {
            let section = Section::of(self.source, "[[published]]", value, &PUBLISHED_KEYS)?;
            let figure = self.published_figure(&section)?;
            self.experiment.published.figures.push(figure);
        }
        Ok(())
    }

    fn published_figure(&self, section: &Section<'_>) -> Result<PublishedFigure, Diagnostic> {
        let (measure, span) = section
            .text("measure")?
            .ok_or_else(|| section.missing("measure", "say what was published, for example: measure = \"tps\""))?;
        let usual_unit = self.usual_unit(&measure, span)?;
        let value = section
            .get("value")
            .ok_or_else(|| section.missing("value", "give the published figure, for example: value = 60_217"))?;
        let number = match value.get_ref() {
            DeValue::Integer(_) | DeValue::Float(_) => scalar(self.source, "value", value)?.to_float(),
            _ => None,
        };
        let number = number.ok_or_else(|| wrong_type(self.source, value, "value", "a finite number"))?;
        let unit = match section.text("unit")? {
            Some((unit, span)) => {
                self.check_unit(&measure, &unit, span)?;
                unit
            }
            None => usual_unit.to_owned(),
        };
        let levels = section.get("levels").map(|levels| self.published_levels(levels));
        Ok(PublishedFigure {
            of: section.text("of")?.unwrap_or_default().0,
            levels: levels.transpose()?.unwrap_or_default(),
            workload: self.published_workload(section, &measure)?,
            measure,
            value: number,
            unit,
            note: section.text("note")?.unwrap_or_default().0,
        })
    }

    /// The unit in which figures of this name usually are.
    fn usual_unit(&self, measure: &str, span: Range<usize>) -> Result<&'static str, Diagnostic> {
        let metrics = || self.experiment.metrics.keys().map(String::as_str);
        if metrics().any(|metric| metric == measure) {
            return Ok("");
        }
        if let Some((_, unit)) = MEASURES.iter().find(|(name, _)| *name == measure) {
            return Ok(unit);
        }
        let known: Vec<&str> = metrics().chain(MEASURES.map(|(name, _)| name)).collect();
        let hint = did_you_mean(nearest(measure, known.iter().copied()));
        let message = format!("nothing called `{measure}` is measured{hint}");
        let help = format!(
            "a measure is the name of a metric, or one of these: {}",
            known.join(", ")
        );
        Err(self.source.complain(span, message, help))
    }

    /// Latencies are converted, so their unit must be known.
    fn check_unit(&self, measure: &str, unit: &str, span: Range<usize>) -> Result<(), Diagnostic> {
        let known = UNITS_OF_LATENCY.map(|(unit, _)| unit);
        if !is_latency(measure) || known.contains(&unit) {
            return Ok(());
        }
        let message = format!("`unit` of a latency cannot be `{unit}`");
        Err(self
            .source
            .complain(span, message, format!("units: {}", known.join(", "))))
    }

    fn published_workload(&self, section: &Section<'_>, measure: &str) -> Result<Option<String>, Diagnostic> {
        let Some((name, span)) = section.text("workload")? else {
            return Ok(None);
        };
        let known = || self.experiment.workloads.iter().map(|workload| workload.name.as_str());
        if !known().any(|known| known == name) {
            let message = format!("there is no workload `{name}`{}", did_you_mean(nearest(&name, known())));
            let help = format!("workloads: {}", known().collect::<Vec<_>>().join(", "));
            return Err(self.source.complain(span, message, help));
        }
        let workload = self.experiment.workloads.iter().find(|workload| workload.name == name);
        if let Some(workload) = workload.filter(|workload| self.experiment.is_counted(workload)) {
            let why = match (THAT_ADD_UP.contains(&measure), workload.sum) {
                (true, true) => return Ok(Some(name)),
                (true, false) => "a figure stands beside their sum, which takes `sum = true` in the workload",
                (false, _) => "only tps and qps of these add up",
            };
            let message = format!("`{name}` runs on each of several servers, and {why}");
            let help = "make a metric of it under [metrics], and give the name of that as the measure".to_owned();
            return Err(self.source.complain(span, message, help));
        }
        Ok(Some(name))
    }

    /// Levels of factors, or of anything that could be one.
    fn published_levels(&self, value: &Spanned<DeValue<'_>>) -> Result<Levels, Diagnostic> {
        let mut levels = Levels::new();
        for (name, span, value) in Section::open(self.source, "levels", value)?.entries() {
            let factor = self.experiment.factor(name);
            let factor = factor.map_err(|error| self.source.refuse(span, &error))?;
            let level = self.experiment.level(&factor, &self.level_value(&factor, value)?);
            let level = level.map_err(|error| self.source.refuse(value.span(), &error))?;
            self.check_known(&factor, &level, value.span())?;
            levels.insert(factor, level);
        }
        Ok(levels)
    }

    /// Makes sure that the level of a factor is one of its levels in some size, if these are words: of numbers others
    /// may have been published.
    fn check_known(&self, factor: &str, level: &str, span: Range<usize>) -> Result<(), Diagnostic> {
        let Some(own) = self.experiment.design.factors.get(factor) else {
            return Ok(());
        };
        let changes = self.experiment.sizes.iter().flat_map(|(_, changes)| changes);
        let of_sizes = changes.filter_map(|change| match change {
            Change::Factor(name, levels) if name == factor => Some(levels),
            _ => None,
        });
        let known: Vec<&String> = own.iter().chain(of_sizes.flatten()).collect();
        let is_number = |level: &String| level.parse::<f64>().is_ok();
        if known.iter().all(|level| is_number(level)) || known.iter().any(|known| *known == level) {
            return Ok(());
        }
        let known: Vec<&str> = known.iter().map(|level| level.as_str()).collect();
        let hint = did_you_mean(nearest(level, known.iter().copied()));
        let message = format!("`{factor}` has no level `{level}`{hint}");
        Err(self
            .source
            .complain(span, message, format!("levels: {}", known.join(", "))))
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use dyno_archive::plan::{Plan, Size};
    use insta::assert_snapshot;
    use std::path::Path;

    const FILE: &str = "title = \"t\"\npublished_host = \"24 cores\"\n[parameters]\nrows = 5\n[[workload]]\nname = \
                        \"one\"\nscript = \"select 1\"\n[metrics]\n\"rows/s\" = \"{one.tps} * 5\"\n[factors]\nclients \
                        = [1, 2]\nprotocol = [\"simple\", \"prepared\"]\n";

    fn plan(figures: &str) -> Result<Plan, String> {
        let experiment =
            parse(Path::new("mine.toml"), &format!("{FILE}{figures}")).map_err(|error| error.to_string())?;
        Ok(experiment.plan(Size::Full, &[], None, 1, 1).unwrap())
    }

    #[test]
    fn figures_are_part_of_the_plan() {
        let figures = "[[published]]\nlevels = { clients = 26, protocol = \"simple\", rows = 7 }\nmeasure = \"tps\"\n\
                       value = 60_217\n[[published]]\nof = \"Oracle\"\nworkload = \"one\"\nmeasure = \"latency_p95\"\n\
                       value = 1.5\nnote = \"cold\"\n[[published]]\nmeasure = \"rows/s\"\nvalue = 2e6\nunit = \
                       \"rows/s\"\n";
        let published = plan(figures).unwrap().published;
        assert_eq!(published.host, "24 cores");
        let shown = published.figures.iter().map(|figure| {
            let levels = figure.levels.iter().map(|(factor, level)| format!("{factor}={level}"));
            format!(
                "({}) [{}] {:?} {} {} {} ({})",
                figure.of,
                levels.collect::<Vec<_>>().join(" "),
                figure.workload,
                figure.measure,
                figure.value,
                figure.unit,
                figure.note
            )
        });
        assert_snapshot!(shown.collect::<Vec<_>>().join("\n"), @r#"
        () [clients=26 protocol=simple rows=7] None tps 60217 TPS ()
        (Oracle) [] Some("one") latency_p95 1.5 ms (cold)
        () [] None rows/s 2000000 rows/s ()
        "#);
        assert!(plan("").unwrap().published.is_empty());
    }

    #[test]
    fn what_is_wrong_with_a_figure_is_told_with_its_place() {
        let mistakes = [
            "[published]",
            "[[published]]\nvalue = 1",
            "[[published]]\nmeasure = \"tsp\"\nvalue = 1",
            "[[published]]\nmeasure = \"tps\"",
            "[[published]]\nmeasure = \"tps\"\nvalue = \"many\"",
            "[[published]]\nmeasure = \"latency_max\"\nvalue = 1\nunit = \"h\"",
            "[[published]]\nmeasure = \"tps\"\nvalue = 1\nworkload = \"on\"",
            "[[published]]\nmeasure = \"tps\"\nvalue = 1\nlevels = { client = 1 }",
            "[[published]]\nmeasure = \"tps\"\nvalue = 1\nlevels = { clients = \"many\" }",
            "[[published]]\nmeasure = \"tps\"\nvalue = 1\nlevels = { protocol = \"extended\" }",
            "[[published]]\nmeasure = \"tps\"\nvalue = 1\nyear = 2015",
            "[servers.many]\ncount = 2\n[[workload]]\nname = \"each\"\nserver = \"many\"\nsum = true\nscript = \
             \"select 1\"\n[[published]]\nmeasure = \"latency_p95\"\nvalue = 1\nworkload = \"each\"",
            "[servers.many]\ncount = 2\n[[workload]]\nname = \"each\"\nserver = \"many\"\nscript = \"select \
             1\"\n[[published]]\nmeasure = \"tps\"\nvalue = 1\nworkload = \"each\"",
        ];
        let complaints = mistakes.map(|mistake| {
            let complaint = plan(&format!("{mistake}\n")).unwrap_err();
            format!("# {}\n{complaint}\n", mistake.replace('\n', " | "))
        });
        assert_snapshot!(complaints.join("\n"));
    }
}
