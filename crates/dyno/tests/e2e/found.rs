//! What a program reads of a campaign: `dyno run --json`.

use crate::support::{Desk, database};
use serde_json::{Value, json};

#[test]
fn what_was_found_is_one_document_on_standard_output() {
    let (desk, database) = (Desk::new(), database("e2e_found"));
    desk.file(
        "mix.toml",
        "title = \"Mix\"\n[[workload]]\nname = \"both\"\n[[workload.scripts]]\nname = \"one\"\nweight = 3\n\
         script = \"select 1;\"\n[[workload.scripts]]\nname = \"two\"\nscript = \"select 2;\"\n\
         [phases]\nwarmup = \"0s\"\nmeasure = \"500ms\"\ninterval = \"100ms\"\n",
    );
    let words = ["mix.toml", "--set", "both.clients=1,2", "--json", "--name", "mixed"];
    let ended = desk.on(&database.target(), words).expect(0);
    let ended = ended.says(" tps ").says("Run 2 of 2 ");
    let text = &ended.stdout;
    assert!(text.starts_with("{\n  \"answer\": \"both.clients = "), "{text}");
    let found: Value = serde_json::from_str(text).unwrap();
    assert_eq!((&found["label"], &found["complete_runs"]), (&json!("mixed"), &json!(2)));
    assert!(desk.path().join(found["report"].as_str().unwrap()).is_file(), "{text}");
    let cells = found["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 2);
    for cell in cells {
        let workload = &cell["workloads"][0];
        assert_eq!(workload["tps"], cell["tps"]);
        assert!(workload["latency"]["p99_us"].as_f64().unwrap() > 0.0, "{workload}");
        let tps = |script: usize| workload["scripts"][script]["tps"].as_f64().unwrap();
        assert!(tps(0) > tps(1), "{workload}");
    }
    // Of a run that fails there is a document, too.
    desk.experiment("broken.toml", "", "select 1 / 0;", "300ms");
    let ended = desk.on(&database.target(), ["broken.toml", "--json"]).expect(2);
    let found: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!((&found["complete_runs"], &found["other_runs"]), (&json!(0), &json!(1)));
}
