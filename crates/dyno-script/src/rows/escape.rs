//! What must not stand in a value as it is.

/// Puts something else in the place of special bytes, from `start` on. `rule` gives it.
pub(super) fn escape(out: &mut Vec<u8>, start: usize, rule: impl Fn(u8) -> Option<&'static str>) {
    let value = out.get(start..).unwrap_or_default();
    let Some(first) = value.iter().position(|&byte| rule(byte).is_some()) else {
        return;
    };
    let tail = out.split_off(start + first);
    for byte in tail {
        match rule(byte) {
            Some(instead) => out.extend_from_slice(instead.as_bytes()),
            None => out.push(byte),
        }
    }
}

/// In a line of values with tabs between them. Only what COPY and LOAD DATA read alike.
pub(super) fn in_line(byte: u8) -> Option<&'static str> {
    Some(match byte {
        b'\\' => "\\\\",
        b'\t' => "\\t",
        b'\n' => "\\n",
        b'\r' => "\\r",
        _ => return None,
    })
}

/// Between single quotation marks, where backslashes escape.
pub(super) fn in_literal(byte: u8) -> Option<&'static str> {
    Some(match byte {
        b'\\' => "\\\\",
        b'\'' => "''",
        _ => return None,
    })
}

/// In a string of JSON.
pub(super) fn in_json(byte: u8) -> Option<&'static str> {
    Some(match byte {
        b'\\' => "\\\\",
        b'"' => "\\\"",
        0..=0x1F => CONTROLS[usize::from(byte)],
        _ => return None,
    })
}

/// Whether a text needs no escaping, whatever the format.
pub(super) fn is_plain(text: &str) -> bool {
    text.bytes()
        .all(|byte| byte >= b' ' && !matches!(byte, b'\\' | b'\'' | b'"'))
}

/// Control characters in JSON.
const CONTROLS: [&str; 32] = [
    "\\u0000", "\\u0001", "\\u0002", "\\u0003", "\\u0004", "\\u0005", "\\u0006", "\\u0007", "\\b", "\\t", "\\n",
    "\\u000b", "\\f", "\\r", "\\u000e", "\\u000f", "\\u0010", "\\u0011", "\\u0012", "\\u0013", "\\u0014", "\\u0015",
    "\\u0016", "\\u0017", "\\u0018", "\\u0019", "\\u001a", "\\u001b", "\\u001c", "\\u001d", "\\u001e", "\\u001f",
];
