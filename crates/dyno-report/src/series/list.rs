//! The list of the series of an archive.

use crate::table::unbroken;
use dyno_archive::Series;

/// The series of an archive, one line each, the newest last.
#[must_use]
pub fn list(serieses: &[Series]) -> String {
    let rows = serieses.iter().map(|series| {
        let members = &series.record.members;
        let count = |is: fn(&dyno_archive::SeriesMember) -> bool| members.iter().filter(|member| is(member)).count();
        let ended = [
            ("failed", count(|member| member.failure.is_some())),
            (
                "not begun",
                count(|member| member.failure.is_none() && member.planned.is_some()),
            ),
            ("left out", count(|member| member.left_out.is_some())),
        ];
        let ended = ended.iter().filter(|(_, number)| *number > 0);
        let ended: Vec<String> = ended.map(|(what, number)| format!("{number} {what}")).collect();
        vec![
            series.folder(),
            series.record.name.clone(),
            members.len().to_string(),
            ended.join(", "),
        ]
    });
    unbroken(&["series", "name", "experiments", "of these"], &[0, 1, 3], rows)
}
