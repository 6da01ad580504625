//! The pictures of the README: charts of two short campaigns on the embedded server.
//!
//!     cargo test --release -p dyno --test browser -- --ignored pictures

use crate::browser::browser;
use crate::desk::Desk;
use std::fs;
use std::path::Path;

#[test]
#[ignore = "measures for about five minutes, and writes docs/images"]
fn pictures() {
    let browser = browser().expect("pictures need a browser");
    let images = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/images");
    fs::create_dir_all(&images).unwrap();
    let desk = Desk::new();
    desk.run("pk-update --set warmup=10s --set measure=110s --set checkpoint_timeout=30s");
    let report = desk.report("update.html", [""; 0]);
    browser.run(
        "picture",
        [report, "run-throughput".into(), images.join("throughput.png")],
    );
    desk.run("pk-select --set clients=1,2,4,8,16,32 --repeat 3 --set warmup=1s --set measure=6s");
    let report = desk.report("select.html", [""; 0]);
    browser.run("picture", [report, "tps-1".into(), images.join("sweep.png")]);
}
