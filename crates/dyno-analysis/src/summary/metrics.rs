//! Figures that an experiment derives from its results: rows per second from transactions per second and the rows
//! of a batch, for example.
//!
//! A metric is an expression of pgbench's language in which `{ingest.tps}` stands for a result of a workload (of one
//! that runs on several servers of one name, for the sum over them), `{ingest.large.tps}` for that of one script of a
//! mix, `{tps}` for that of all workloads together, and `{batch}` for a parameter. They are all doubles, so that no
//! division is cut to a whole number unless its constants are whole.

use dyno_archive::plan::{Resolved, Scripts, Value as Parameter};
use dyno_archive::summary::{ScriptSummary, Summary};
use dyno_script::{Cursor, Random, Script, Step, Symbols, Value, Variables};
use indexmap::IndexMap;

/// The results that each workload has, and all of them together.
pub const RESULTS: [&str; 2] = ["tps", "statements_per_s"];

/// The results that each script of a mix has: `{workload.script.tps}`, and the 90th percentile of its latency without
/// what it slept, in milliseconds.
pub const SCRIPT_RESULTS: [&str; 2] = ["tps", "response_p90_ms"];

/// Variable that receives the value.
const VALUE: &str = "value";

/// Why a metric has no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MetricError {
    /// It is no expression.
    #[error("this is not an expression of pgbench's language: {message}")]
    Syntax {
        /// What is wrong.
        message: String,
    },
    /// A brace is not closed.
    #[error("`{{` is not closed; write names of results and parameters in braces, for example {{tps}}")]
    Unclosed,
    /// It names a result that there is not.
    #[error("`{{{name}}}` is neither a result nor a parameter that is a number")]
    Unknown {
        /// The name.
        name: String,
    },
    /// Its value is no number, whatever was measured.
    #[error("it cannot be calculated: it is not a number")]
    NoNumber,
    /// It cannot be calculated from these numbers.
    #[error("it cannot be calculated: {message}")]
    Calculation {
        /// Why not.
        message: String,
    },
}

/// A stretch of an expression.
enum Piece<'a> {
    Literal(&'a str),
    Name(&'a str),
}

/// Cuts an expression at the names in braces.
fn pieces(expression: &str) -> Result<Vec<Piece<'_>>, MetricError> {
    let mut pieces = Vec::new();
    let mut rest = expression;
    while let Some((before, after)) = rest.split_once('{') {
        let (name, after) = after.split_once('}').ok_or(MetricError::Unclosed)?;
        pieces.push(Piece::Literal(before));
        pieces.push(Piece::Name(name.trim()));
        rest = after;
    }
    pieces.push(Piece::Literal(rest));
    Ok(pieces)
}

/// The workloads whose results an expression uses.
pub fn workloads(expression: &str) -> impl Iterator<Item = &str> {
    pieces(expression)
        .unwrap_or_default()
        .into_iter()
        .filter_map(|piece| match piece {
            Piece::Name(name) => result(name).map(|result| result.workload),
            Piece::Literal(_) => None,
        })
}

/// A result of a workload, or of a script of one.
struct NamedResult<'a> {
    workload: &'a str,
    script: Option<&'a str>,
    result: &'a str,
}

/// The result that is called so.
fn result(name: &str) -> Option<NamedResult<'_>> {
    let (workload, rest) = name.split_once('.')?;
    let (script, result) = match rest.rsplit_once('.') {
        Some((script, result)) => (Some(script), result),
        None => (None, rest),
    };
    let known = script.map_or(RESULTS, |_| SCRIPT_RESULTS);
    known.contains(&result).then_some(NamedResult {
        workload,
        script,
        result,
    })
}

/// Makes sure that `expression` is one, and that each of its names is `known`.
///
/// # Errors
///
/// What is wrong with it.
pub fn check(expression: &str, known: impl Fn(&str) -> bool) -> Result<(), MetricError> {
    compile(expression, |name| known(name).then_some(1.0)).map(|_| ())
}

/// Makes sure that the metrics of `experiment` are numbers over numbers, with results that nobody measured. One
/// that divides by zero is left out of a run with a warning: it is seldom what a campaign is for.
///
/// # Errors
///
/// The metric that cannot be, and why.
pub fn rehearse(experiment: &Resolved) -> Result<(), (String, MetricError)> {
    // No two alike, so that no difference is zero.
    let scripts: Vec<_> = experiment
        .workloads
        .iter()
        .map(|workload| made_up(&workload.scripts))
        .collect();
    let workloads = experiment.workloads.iter().zip(&scripts).enumerate();
    let throughput = workloads.map(|(index, (workload, scripts))| Throughput {
        workload: &workload.name,
        tps: 1_000.1 + 37.3 * index as f64,
        statements_per_s: 5_000.7 + 53.9 * index as f64,
        scripts,
    });
    let throughput: Vec<Throughput> = throughput.collect();
    for (name, expression) in &experiment.metrics {
        match calculate(expression, |name| number(name, experiment, &throughput)) {
            Ok(_) | Err(MetricError::Calculation { .. }) => {}
            Err(error) => return Err((name.clone(), error)),
        }
    }
    Ok(())
}

/// Results of a mix that nobody measured.
fn made_up(scripts: &Scripts) -> Vec<ScriptSummary> {
    let Scripts::Several { scripts } = scripts else {
        return Vec::new();
    };
    let each = scripts.iter().enumerate().map(|(index, weighted)| ScriptSummary {
        name: weighted.script.script_name.clone(),
        tps: 100.3 + 7.1 * index as f64,
        response_p90_us: Some(2_000.9 + 11.7 * index as f64),
        ..ScriptSummary::default()
    });
    each.collect()
}

/// All metrics of `experiment` that can be calculated from `summary`, and for each other one a sentence that says
/// why not.
#[must_use]
pub fn evaluate(experiment: &Resolved, summary: &Summary) -> (IndexMap<String, f64>, Vec<String>) {
    let mut values = IndexMap::new();
    let mut complaints = Vec::new();
    let throughput = summary.workloads.iter().map(|workload| Throughput {
        workload: &workload.name,
        tps: workload.tps,
        statements_per_s: workload.statements_per_s,
        scripts: &workload.scripts,
    });
    let throughput: Vec<Throughput> = throughput.collect();
    for (name, expression) in &experiment.metrics {
        match calculate(expression, |name| number(name, experiment, &throughput)) {
            Ok(value) => {
                values.insert(name.clone(), value);
            }
            Err(error) => complaints.push(format!("The metric \"{name}\" was left out: {error}.")),
        }
    }
    (values, complaints)
}

/// How much a workload got done, in a run or in a part of one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Throughput<'a> {
    /// The workload.
    pub workload: &'a str,
    /// Transactions per second.
    pub tps: f64,
    /// Statements per second.
    pub statements_per_s: f64,
    /// Its scripts, if it has several and this is of a whole run.
    pub scripts: &'a [ScriptSummary],
}

/// The metric `name` of `experiment` while its workloads have this throughput; `None` if it cannot be calculated.
#[must_use]
pub fn at(experiment: &Resolved, name: &str, throughput: &[Throughput]) -> Option<f64> {
    let expression = experiment.metrics.get(name)?;
    calculate(expression, |name| number(name, experiment, throughput)).ok()
}

/// What `name` stands for.
fn number(name: &str, experiment: &Resolved, throughput: &[Throughput]) -> Option<f64> {
    match (result(name), name) {
        (Some(named), _) => {
            let NamedResult {
                workload,
                script,
                result,
            } = named;
            let is_meant = |known: &&Throughput| known.workload == workload || is_instance(experiment, known, workload);
            let mut meant = throughput.iter().filter(is_meant).peekable();
            meant.peek()?;
            if let Some(script) = script {
                let scripts = meant.flat_map(|known| known.scripts);
                return of_script(scripts.filter(|known| known.name == script), result);
            }
            Some(if result == "tps" {
                meant.map(|known| known.tps).sum()
            } else {
                meant.map(|known| known.statements_per_s).sum()
            })
        }
        (None, "tps") => Some(throughput.iter().map(|known| known.tps).sum()),
        (None, "statements_per_s") => Some(throughput.iter().map(|known| known.statements_per_s).sum()),
        _ => experiment.parameters.get(name).and_then(Parameter::to_float),
    }
}

/// A result of a script, of which there are several if its workload runs on several servers.
fn of_script<'a>(scripts: impl Iterator<Item = &'a ScriptSummary>, result: &str) -> Option<f64> {
    if result == "tps" {
        return scripts.map(|script| script.tps).reduce(|sum, tps| sum + tps);
    }
    // Percentiles cannot be added: what holds everywhere is the longest.
    let p90_us = scripts
        .map(|script| script.response_p90_us)
        .reduce(|one, other| Some(one?.max(other?)));
    p90_us.flatten().map(|p90_us| p90_us / 1000.0)
}

/// Whether this is what an instance of `workload` got done, which runs on several servers of one name.
fn is_instance(experiment: &Resolved, known: &Throughput, workload: &str) -> bool {
    let mut all = experiment.workloads.iter();
    let its = all.find(|other| other.name == known.workload);
    its.and_then(|its| its.instances.as_ref())
        .is_some_and(|instances| instances.of == workload)
}

/// The value of an expression in which names have these values.
///
/// # Errors
///
/// Why it has none.
pub fn calculate(expression: &str, number: impl Fn(&str) -> Option<f64>) -> Result<f64, MetricError> {
    let (script, symbols, mut variables) = compile(expression, number)?;
    let failed = |message: &str| MetricError::Calculation {
        message: message.to_owned(),
    };
    // Functions that draw have nothing to do with a run's numbers: the same seed each time gives the same metric.
    let mut random = Random::new(0);
    let step = script.next(&mut Cursor::default(), &mut variables, &mut random, false);
    let step = step.map_err(|error| failed(error.message()))?;
    let value = symbols.lookup(VALUE).and_then(|id| variables.get(id));
    let value = match (step, value) {
        (Step::End, Some(Value::Int(number))) => *number as f64,
        (Step::End, Some(Value::Double(number))) => *number,
        _ => return Err(MetricError::NoNumber),
    };
    if !value.is_finite() {
        return Err(failed("division by zero, or a number that is too large"));
    }
    Ok(value)
}

/// The expression as a script of one command, and the values of its names.
fn compile(
    expression: &str,
    number: impl Fn(&str) -> Option<f64>,
) -> Result<(Script, Symbols, Variables), MetricError> {
    let mut symbols = Symbols::new();
    let mut text = format!("\\set {VALUE} ");
    let mut numbers = Vec::new();
    for piece in pieces(expression)? {
        match piece {
            // A line break would end the command.
            Piece::Literal(literal) => text.push_str(&literal.replace(['\n', '\r'], " ")),
            Piece::Name(name) => {
                let number = number(name).ok_or_else(|| MetricError::Unknown { name: name.to_owned() })?;
                let variable = format!("x{}", numbers.len());
                text.push_str(&format!(":{variable}"));
                numbers.push((symbols.intern(&variable), number));
            }
        }
    }
    let known = symbols.len();
    let syntax = |message: &str| MetricError::Syntax {
        message: message.to_owned(),
    };
    let script = Script::parse("metric", &text, &mut symbols).map_err(|error| syntax(error.message()))?;
    // The command's own variable is the only one that may come in addition.
    if symbols.len() > known + 1 {
        return Err(syntax("write {name} instead of :name"));
    }
    let mut variables = Variables::new(&symbols);
    for (variable, number) in numbers {
        variables.set(variable, Value::Double(number));
    }
    Ok((script, symbols, variables))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::SummaryBuilder;
    use dyno_archive::plan::Size;
    use dyno_archive::summary::WorkloadFacts;
    use dyno_lab::experiment::Experiment;
    use proptest::prelude::*;
    use std::time::Duration;

    fn resolved(experiment: &Experiment) -> Resolved {
        let mut plan = experiment.plan(Size::Small, &[], None, 1, 1).unwrap();
        plan.cells.remove(0).experiment
    }

    fn value(expression: &str) -> Result<f64, String> {
        let number = |name: &str| match name {
            "ingest.tps" => Some(1_937.87),
            "batch" => Some(1_000.0),
            "none" => Some(0.0),
            _ => None,
        };
        calculate(expression, number).map_err(|error| error.to_string())
    }

    #[test]
    fn expressions_are_those_of_pgbench() {
        assert_eq!(value("{ingest.tps} * {batch}"), Ok(1_937_870.0));
        assert_eq!(value("{ batch } / 3"), Ok(1_000.0 / 3.0));
        assert_eq!(value("int({batch} / 7)"), Ok(143.0));
        assert_eq!(value("greatest({batch},\n 5)"), Ok(1_000.0));
        assert_eq!(value("7 / 2"), Ok(3.0));
    }

    #[test]
    fn what_cannot_be_calculated_says_why() {
        let texts = [
            "{ingest.tps",
            "{nobody.tps}",
            "{batch} *",
            "{batch} / {none}",
            "1 / 0",
            ":x0",
            "true",
            "",
            "1\n\\sleep 5",
        ];
        let complaints = texts.map(|text| format!("{text:?}: {}", value(text).unwrap_err()));
        insta::assert_snapshot!(complaints.join("\n"));
    }

    #[test]
    fn only_what_no_result_could_make_a_number_is_refused() {
        let refused = |metric: &str, parameter: &str| {
            let file = format!(
                "title = \"t\"\n[parameters]\nbatch = {parameter}\n[[workload]]\nscript = \"select 1\"\n\
                 [metrics]\nm = \"{metric}\"\n"
            );
            let experiment = Experiment::parse(std::path::Path::new("t.toml"), &file).unwrap();
            let experiment = resolved(&experiment);
            rehearse(&experiment).err().map(|(_, error)| error)
        };
        for metric in ["{tps} / {batch}", "1 / 0", "{tps} * {batch}"] {
            assert_eq!(refused(metric, "0"), None, "{metric}");
        }
        assert_eq!(refused("{tps} > {batch}", "0"), Some(MetricError::NoNumber));
    }

    #[test]
    fn of_a_workload_on_several_servers_the_sum_counts() {
        let file = "title = \"t\"\n[servers.proxy]\ncount = 3\n[[workload]]\nname = \"a\"\nserver = \
                    \"proxy\"\nscript = \"select 1\"\n[metrics]\nsum = \"{a.tps}\"\n";
        let experiment = Experiment::parse(std::path::Path::new("t.toml"), file).unwrap();
        let experiment = resolved(&experiment);
        let names: Vec<_> = experiment
            .workloads
            .iter()
            .map(|workload| workload.name.as_str())
            .collect();
        assert_eq!(names, ["a-1", "a-2", "a-3"]);
        let throughput = names.iter().zip([1.0, 2.0, 4.0]).map(|(workload, tps)| Throughput {
            workload,
            tps,
            statements_per_s: 0.0,
            scripts: &[],
        });
        assert_eq!(at(&experiment, "sum", &throughput.collect::<Vec<_>>()), Some(7.0));
    }

    #[test]
    fn scripts_of_a_mix_have_results_of_their_own() {
        let file = "title = \"t\"\n[[workload]]\nname = \"a\"\nscripts = [{ name = \"one\", script = \"select 1\" }, { \
                    name = \"two\", script = \"select 2\" }]\n[metrics]\nper_minute = \"60 * {a.two.tps}\"\nslow = \
                    \"{a.two.response_p90_ms}\"\nall = \"{a.tps}\"\n";
        let experiment = Experiment::parse(std::path::Path::new("t.toml"), file).unwrap();
        let experiment = resolved(&experiment);
        rehearse(&experiment).unwrap();
        let script = |name: &str, tps, response_p90_us| ScriptSummary {
            name: name.to_owned(),
            tps,
            response_p90_us,
            ..ScriptSummary::default()
        };
        let value = |name: &str, scripts: &[ScriptSummary]| {
            let throughput = [Throughput {
                workload: "a",
                tps: 7.0,
                statements_per_s: 7.0,
                scripts,
            }];
            at(&experiment, name, &throughput)
        };
        let scripts = [script("one", 5.0, Some(1.0)), script("two", 2.0, Some(3_500.0))];
        let found = ["per_minute", "slow", "all"].map(|name| value(name, &scripts));
        assert_eq!(found, [Some(120.0), Some(3.5), Some(7.0)]);
        // Nothing is known of scripts in a part of a run, nor how long one takes that was never finished.
        assert_eq!(value("per_minute", &[]), None);
        assert_eq!(value("slow", &[script("two", 0.0, None)]), None);
        assert_eq!(
            workloads("{a.two.tps} + {b.tps} + {a.two.p50}").collect::<Vec<_>>(),
            ["a", "b"]
        );
    }

    #[test]
    fn a_missing_result_leaves_out_its_metric_alone() {
        let file = "title = \"t\"\n[parameters]\nbatch = 10\nkind = \"heap\"\n[[workload]]\nname = \"a\"\nscript \
                    = \"select 1\"\n\
                    [metrics]\n\"rows/s\" = \"({a.tps} + 2) * {batch}\"\nall = \"{tps}\"\nratio = \"{batch} / \
                                 {a.statements_per_s}\"\n";
        let experiment = Experiment::parse(std::path::Path::new("t.toml"), file).unwrap();
        let experiment = resolved(&experiment);
        let facts = [WorkloadFacts::new(&experiment.workloads[0], Vec::new())];
        let summary = SummaryBuilder::new(&facts, Duration::from_secs(1)).build();
        let (values, complaints) = evaluate(&experiment, &summary);
        assert_eq!(
            values.into_iter().collect::<Vec<_>>(),
            [("rows/s".to_owned(), 20.0), ("all".to_owned(), 0.0)]
        );
        assert!(
            complaints[0].starts_with("The metric \"ratio\" was left out: it cannot be calculated"),
            "{complaints:?}"
        );
    }

    proptest! {
        #[test]
        fn any_text_is_calculated_or_refused(text in "[-{}a-z0-9.+*/%()<>:=, \\\\\n]{0,30}") {
            if let Ok(value) = value(&text) {
                prop_assert!(value.is_finite());
            }
        }
    }
}
