//! The examples of docs/experiment-files.md are files that dyno reads.

use crate::experiment::Experiment;
use dyno_archive::plan::Size;
use dyno_target::target::PRODUCTS;
use std::path::Path;

const REFERENCE: &str = include_str!("../../../../../docs/experiment-files.md");

/// An example with what every file needs, if it does not say that itself.
fn completed(example: &str) -> String {
    let title = if example.contains("title =") {
        ""
    } else {
        "title = \"t\"\n"
    };
    let workload = if example.contains("[[workload]]") {
        ""
    } else {
        "\n[[workload]]\nscript = \"select 1;\"\n"
    };
    format!("{title}{example}{workload}")
}

#[test]
fn every_example_of_the_reference_is_valid() {
    let examples: Vec<_> = REFERENCE
        .split("```toml\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .collect();
    assert!(examples.len() >= 11, "{}", examples.len());
    for example in examples {
        let experiment = Experiment::parse(Path::new("example.toml"), &completed(example));
        let experiment = experiment.unwrap_or_else(|error| panic!("{error}\n{example}"));
        for size in Size::NAMES {
            let plan = experiment.plan(size.parse().unwrap(), &[], None, 1, 4);
            assert!(plan.is_ok_and(|plan| !plan.runs.is_empty()), "{size}\n{example}");
        }
    }
}

#[test]
fn every_key_is_in_the_reference() {
    let forms = |key: &str| [format!("`{key}`"), format!("[{key}]"), format!("`{key}.TABLE`")];
    let documented = |key: &str| forms(key).iter().any(|form| REFERENCE.contains(form));
    let keys = [
        &super::FILE_KEYS[..],
        &super::workload::WORKLOAD_KEYS,
        &super::stage::STAGE_KEYS,
        &super::load::LOAD_KEYS,
        &super::plan::PLAN_KEYS,
        &super::data::DATA_KEYS,
        &super::dialect::DIALECT_KEYS,
        &["target", "path", "locale", "warmup", "measure", "interval", "setup"],
    ];
    let databases = PRODUCTS.iter().map(|product| product.key());
    for key in keys.concat().into_iter().chain(databases).filter(|key| *key != "size") {
        assert!(documented(key), "{key}");
    }
}
