//! Time and size of the page of a series: 48 experiments on three databases, alone and with how it was at nine earlier
//! times.
//!
//!     cargo bench --bench series_cost -- [--experiments 48] [--earlier 9] [--times 5]
//!
//! The campaigns are made up and written by the archive's own writer.

use dyno_archive::plan::PlannedRun;
use dyno_bench::{Result, Spread, archive, dyno_binary, option, report_wall_s};
use dyno_fixtures::Pace;
use serde_json::json;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

fn main() -> Result<()> {
    let experiments: usize = option("--experiments", 48)?;
    let earlier: usize = option("--earlier", 9)?;
    let times: usize = option("--times", 5)?;
    let dyno = dyno_binary()?;
    let folder = tempfile::tempdir()?;
    let mut table = "| series | form | wall s | size MB |\n|---|---|---|---|\n".to_owned();
    print!("{table}");
    let mut results = Vec::new();
    for number in 0..=earlier {
        let series = made(folder.path(), number, experiments).map_err(|error| error.to_string())?;
        if ![0, earlier].contains(&number) {
            continue;
        }
        for form in ["html", "md"] {
            let file = folder.path().join(format!("report.{form}"));
            let mut walls = Vec::new();
            for _ in 0..times {
                walls.push(report_wall_s(&dyno, form, &file, &series)?);
            }
            let wall_s = Spread::of(walls.iter().copied());
            let size = fs::metadata(&file)?.len() as f64 / 1e6;
            let of = number + 1;
            let row = format!("| {of} | {form} | {wall_s} | {size:.2} |\n");
            print!("{row}");
            write!(table, "{row}")?;
            results.push(json!({
                "series": of, "form": form, "wall_s": wall_s, "size_mb": size, "walls_s": walls,
            }));
        }
    }
    let facts = json!({
        "summary": format!(
            "The page of a made-up series of {experiments} experiments on three databases, with as many series of its \
             name in the archive as the first column says, in the page cache. Each cell is the median \
             (minimum–maximum) of {times}."
        ),
    });
    let kept = archive("series-cost", facts, json!(results), &table)?;
    println!("kept in {}", kept.display());
    Ok(())
}

/// Makes the series of the day `number`.
fn made(
    archive: &Path,
    number: usize,
    experiments: usize,
) -> std::result::Result<std::path::PathBuf, dyno_fixtures::Error> {
    let experiments: Vec<_> = (1..=experiments).map(experiment).collect();
    let started = format!("2026-11-{:02}T22:00:00[UTC]", number + 1);
    let pace = |run: &PlannedRun, _: &str| Pace {
        tps: 300.0 + 50.0 * run.number as f64,
        spread: 0.03,
        error: String::new(),
    };
    dyno_fixtures::series(archive, "shelf", &started, &experiments, pace)
}

fn experiment(number: usize) -> (String, String) {
    let text = format!(
        "title = \"Scenario {number}\"\nquestion = \"How many of these a second?\"\ngroup = \"Group {}\"\n\
         [[workload]]\nclients = 8\nscript = \"update accounts set balance = balance + 1 where id = 1;\"\n\
         [phases]\nwarmup = \"5s\"\nmeasure = \"30s\"\n\
         [factors]\ntarget = [\"embedded:16\", \"embedded:18\", \"embedded:mariadb\"]\n\
         [[published]]\nmeasure = \"tps\"\nvalue = {number}000\n",
        number / 8
    );
    (format!("scenario-{number}"), text)
}
