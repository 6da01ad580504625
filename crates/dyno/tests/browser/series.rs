//! The page of a series, opened from a file.

use crate::browser::browser;
use crate::desk::Desk;
use dyno_fixtures::Pace;

/// An experiment with a workload of its name, by which it goes fast or slow, on two databases.
fn experiment(name: &str, title: &str, group: &str) -> (String, String) {
    let text = format!(
        "title = \"{title}\"\nquestion = \"How fast is {title}?\"\ngroup = \"{group}\"\n[[workload]]\nname = \
         \"{name}\"\nclients = 8\nscript = \"select 1\"\n[phases]\nwarmup = \"0s\"\nmeasure = \"5s\"\n[factors]\n\
         target = [\"embedded:16\", \"embedded:18\"]\n"
    );
    (name.to_owned(), text)
}

#[test]
fn three_experiments_on_two_databases() {
    let desk = Desk::new();
    let experiments = [
        experiment("slow", "Slow <b>", "One"),
        experiment("fast", "Fast", "Two"),
        experiment("middling", "Middling", "One"),
    ];
    let made = dyno_fixtures::series(
        &desk.archive(),
        "shelf",
        "2026-11-20T12:00:00[UTC]",
        &experiments,
        |run, workload| {
            let tps = match workload {
                "fast" => 900.0,
                "slow" => 300.0,
                _ => 600.0,
            };
            let share = if run.cell["target"] == "embedded:18" { 0.5 } else { 1.0 };
            Pace {
                tps: tps * share,
                spread: 0.02,
                error: String::new(),
            }
        },
    );
    let report = desk.report("series.html", [made.unwrap()]);
    if let Some(browser) = browser() {
        browser.run("series", [report]);
    }
}

#[test]
fn as_many_as_a_laboratory_has() {
    let desk = Desk::new();
    let experiments: Vec<_> = (1..=48)
        .map(|number| {
            let text = format!(
                "title = \"Scenario {number}\"\nquestion = \"How many of these a second?\"\ngroup = \"Group {}\"\n\
                 [[workload]]\nclients = 8\nscript = \"select 1\"\n[phases]\nwarmup = \"0s\"\nmeasure = \"5s\"\n\
                 [factors]\ntarget = [\"embedded:16\", \"embedded:18\", \"embedded:mariadb\"]\n",
                number / 8
            );
            (format!("scenario-{number}"), text)
        })
        .collect();
    let pace = Pace {
        tps: 300.0,
        spread: 0.02,
        error: String::new(),
    };
    let made = dyno_fixtures::series(
        &desk.archive(),
        "shelf",
        "2026-11-20T12:00:00[UTC]",
        &experiments,
        |_, _| pace.clone(),
    );
    let made = made.unwrap();
    let begun = std::time::Instant::now();
    let report = desk.report("many.html", [&made]);
    let bytes = report.metadata().unwrap().len();
    eprintln!("{bytes} bytes in {:.2} s", begun.elapsed().as_secs_f64());
    assert!(bytes <= 3_000_000, "the page of 48 experiments has {bytes} bytes");
}
