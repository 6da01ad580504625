//! A machine's ceiling as text.

use crate::figures::{count, figure, rate, time};
use crate::table::{facts, table};
use dyno_record::{Ceiling, Point};

/// What was measured, shape by shape.
#[must_use]
pub fn ceiling(ceiling: &Ceiling) -> String {
    let machine = &ceiling.machine;
    let known = |fact: &Option<String>| fact.clone().unwrap_or_else(|| "unknown".to_owned());
    let about = facts([
        ("machine", known(&machine.hostname)),
        (
            "processor",
            format!("{}, {} cores", known(&machine.cpu_model), machine.cores),
        ),
        ("kernel", known(&machine.kernel)),
        ("dyno", machine.dyno_version.clone()),
    ]);
    let header = [
        "path",
        "transport",
        "clients",
        "threads",
        "tps",
        "tps/core",
        "user",
        "system",
        "responder",
        "p50",
        "p99",
    ];
    let rows = ceiling.points.iter().map(|point| {
        vec![
            point.shape.route.to_string(),
            point.transport.clone(),
            count(point.shape.clients as u64),
            count(point.shape.threads as u64),
            rate(point.tps),
            rate(point.tps_per_core),
            figure(point.client_user_us),
            figure(point.client_system_us),
            figure(point.responder_us),
            time(point.p50_us),
            time(point.p99_us),
        ]
    });
    format!(
        "The ceiling of this machine, against a server that answers at once\n\n{about}\n{}\n  \
         tps/core: transactions of one statement for each second of CPU time that dyno used;\n  \
         user, system and responder: CPU time per transaction in µs, of dyno and of the responder.\n",
        table(&header, &[0, 1], rows)
    )
}

/// One shape, when it was measured.
#[must_use]
pub fn ceiling_line(point: &Point) -> String {
    format!(
        "{:<4}  {:<8}  {:>6} clients  {:>3} threads  {:>9} tps  {:>9} tps/core",
        point.shape.route.to_string(),
        point.transport,
        count(point.shape.clients as u64),
        count(point.shape.threads as u64),
        rate(point.tps),
        rate(point.tps_per_core)
    )
}
