//! Takes out of texts what differs from run to run: what was measured, and the program's name.

/// How much is taken out.
#[derive(Clone, Copy, Debug, Default)]
pub struct Normal {
    /// Whole numbers, too, and not only those with a fraction.
    pub whole_numbers: bool,
    /// Bars of histograms are taken out.
    pub bars: bool,
    /// Help: of each option its name, kind and default count, not what is said of it.
    pub help: bool,
}

/// Options that dyno's own workloads have from a later sysbench.
const LATER: [&str; 2] = ["--create_table_options=STRING", "--reconnect=N"];

/// The text without measured numbers.
pub fn normal(text: &str, style: Normal) -> String {
    let lines = text.lines().map(|line| normal_line(line, style));
    let mut lines: Vec<String> = lines
        .filter(|line| !LATER.iter().any(|option| line.starts_with(option)))
        // sysbench says it of empty lines, too.
        .filter(|line| !line.starts_with("(last message repeated "))
        .collect();
    if style.whole_numbers {
        // How many lines tell of intervals is up to the clock.
        let mut told: Vec<String> = Vec::new();
        lines.retain(|line| {
            let is_new = !told.contains(line);
            if line.starts_with("[ #s ] ") {
                told.push(line.clone());
                return is_new;
            }
            true
        });
        lines.dedup();
    }
    lines.join("\n")
}

fn normal_line(line: &str, style: Normal) -> String {
    // The first line: which Lua it is, or which dyno.
    if let Some((name, _)) = line.split_once(" (using ")
        && name.starts_with("sysbench ")
    {
        return name.to_owned();
    }
    if line.starts_with("sysbench ") {
        return line.split(" (dyno").next().unwrap_or(line).to_owned();
    }
    if style.help
        && let Some(option) = line.trim_start().strip_prefix("--")
    {
        let signature = option.split(' ').next().unwrap_or(option);
        let default = line.rfind(" [").map_or("", |at| &line[at..]);
        return format!("--{signature}{default}");
    }
    if style.bars && line.contains(" |*") {
        return "a bar".to_owned();
    }
    numbers(&places(line), style.whole_numbers)
}

/// Takes out where in the workloads that come with either program something is.
fn places(line: &str) -> String {
    let line = line.replace("/usr/share/sysbench/", "");
    let Some((before, after)) = line.split_once(".lua:") else {
        return line;
    };
    let rest = after.trim_start_matches(|character: char| character.is_ascii_digit());
    let name = before.rsplit(' ').next().unwrap_or(before);
    let is_workload = ["oltp", "select_random", "bulk_insert"]
        .iter()
        .any(|own| name.starts_with(own));
    match is_workload {
        // Which module of several it is does not count either.
        true => format!("{}WORKLOAD{rest}", before.strip_suffix(name).unwrap_or(before)),
        false => line,
    }
}

/// Replaces numbers with a fraction, or all, by `#`, with the blanks in front of what is aligned.
fn numbers(line: &str, whole: bool) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(at) = rest.find(|character: char| character.is_ascii_digit()) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let length = rest
            .find(|character: char| !character.is_ascii_digit())
            .unwrap_or(rest.len());
        let (digits, behind) = rest.split_at(length);
        let fraction = behind.strip_prefix('.').map_or(0, |behind| {
            behind
                .find(|character: char| !character.is_ascii_digit())
                .unwrap_or(behind.len())
        });
        if fraction > 0 {
            rest = &behind[1 + fraction..];
            while out.ends_with("  ") {
                out.pop();
            }
            out.push('#');
        } else {
            rest = behind;
            out.push_str(if whole { "#" } else { digits });
            if whole {
                while rest.starts_with("  ") {
                    rest = &rest[1..];
                }
            }
        }
    }
    out.push_str(rest);
    out
}

#[test]
fn measured_numbers_go_and_others_stay() {
    let style = Normal::default();
    assert_eq!(
        normal(
            "    transactions:                        10     (500.93 per sec.)",
            style
        ),
        "    transactions:                        10     (# per sec.)"
    );
    assert_eq!(
        normal("         avg:                                    1.80", style),
        "         avg: #"
    );
    assert_eq!(
        normal("sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)\n", style),
        normal("sysbench 1.0.20 (using dyno 0.1.0 with LuaJIT)\n", style)
    );
    let help = Normal { help: true, ..style };
    assert_eq!(normal("  --threads=N    how many [1]", help), "--threads=N [1]");
}
