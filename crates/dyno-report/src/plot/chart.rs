//! A chart: lines on a grid of dots with its two axes, and what is marked beneath.

use super::Screen;
use super::axis::Axis;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Color;
use ratatui::symbols::Marker;
use ratatui::widgets::Widget;
use ratatui::widgets::canvas::{Canvas, Line};

/// Charts are no wider than other text.
const WIDEST: usize = crate::table::WIDTH;

/// A narrower chart shows nothing.
const NARROWEST: usize = 40;

/// Rows of a chart without its axis.
const HEIGHT: usize = 12;

/// A chart to be drawn.
pub(super) struct Chart {
    /// What is drawn, with the unit of the vertical axis.
    pub title: String,
    /// The vertical axis.
    pub y: Axis,
    /// The lines.
    pub lines: Vec<Curve>,
}

/// A line of a chart.
pub(super) struct Curve {
    /// Points by ascending x.
    pub points: Vec<(f64, f64)>,
    /// What stands at each point; `None`: points are too many to be marked.
    pub symbol: Option<char>,
}

/// What is marked beneath the charts, in a row of its own.
pub(super) struct Row {
    /// What it is.
    pub name: String,
    /// From where to where on the horizontal axis; may have no length.
    pub spans: Vec<(f64, f64)>,
    /// What it is drawn with; `None`: with a line.
    pub symbol: Option<char>,
}

/// Draws charts above each other over one horizontal axis, whose unit is `x_unit`, with `rows` beneath. The axis is
/// made for the number of columns that it has.
pub(super) fn draw(
    charts: &[Chart],
    x: impl Fn(usize) -> Axis,
    x_unit: impl Fn(&Axis) -> String,
    rows: &[Row],
    screen: Screen,
) -> String {
    let labels = charts
        .iter()
        .flat_map(|chart| &chart.y.ticks)
        .map(|(_, label)| label.as_str());
    let names = rows.iter().map(|row| row.name.as_str());
    let margin = labels
        .chain(names)
        .map(|label| label.chars().count())
        .max()
        .unwrap_or(0);
    let columns = screen.width.clamp(NARROWEST, WIDEST).saturating_sub(margin + 2).max(10);
    let x = x(columns);
    let mut text = String::new();
    for chart in charts {
        text.push_str(&format!("{}\n", chart.title));
        for (row, line) in chart.canvas(&x, columns, screen).iter().enumerate() {
            let label = chart.label(row);
            let edge = match (screen.unicode, label.is_empty()) {
                (true, true) => '│',
                (true, false) => '┤',
                (false, true) => '|',
                (false, false) => '+',
            };
            text.push_str(format!("{label:>margin$} {edge}{line}").trim_end());
            text.push('\n');
        }
        text.push_str(&axis(&x, margin, columns, screen));
    }
    text.push_str(&format!("{:margin$}  {}\n", "", x_unit(&x)));
    for row in rows {
        let line = row.line(&x, columns, screen);
        text.push_str(format!("{:>margin$}  {line}", row.name).trim_end());
        text.push('\n');
    }
    text
}

/// The column of `value` on an axis of so many.
fn column(axis: &Axis, value: f64, columns: usize) -> usize {
    (axis.share(value) * (columns - 1) as f64).round() as usize
}

impl Chart {
    /// The label in this row, from the top; empty where there is none.
    fn label(&self, row: usize) -> &str {
        let mut ticks = self.y.ticks.iter();
        let tick = ticks.find(|(value, _)| HEIGHT - 1 - column(&self.y, *value, HEIGHT) == row);
        tick.map_or("", |(_, label)| label)
    }

    /// The lines, drawn with dots: eight in each character, or one on a screen that knows only ASCII.
    fn canvas(&self, x: &Axis, columns: usize, screen: Screen) -> Vec<String> {
        let area = Rect::new(0, 0, columns as u16, HEIGHT as u16);
        let mut buffer = Buffer::empty(area);
        let at = |(level, value): (f64, f64)| (x.share(level), self.y.share(value));
        let canvas = Canvas::default()
            .x_bounds([0.0, 1.0])
            .y_bounds([0.0, 1.0])
            .marker(if screen.unicode { Marker::Braille } else { Marker::Dot })
            .paint(|context| {
                for curve in &self.lines {
                    let points: Vec<(f64, f64)> = curve.points.iter().copied().map(at).collect();
                    // A single point is a line, too.
                    let ends = points.iter().zip(points.iter().skip(1).chain(points.last()));
                    for ((x1, y1), (x2, y2)) in ends {
                        context.draw(&Line::new(*x1, *y1, *x2, *y2, Color::Reset));
                    }
                }
            });
        canvas.render(area, &mut buffer);
        let mut lines: Vec<Vec<char>> = (0..area.height)
            .map(|row| {
                let cells = (0..area.width).map(|column| buffer[(column, row)].symbol().chars().next().unwrap_or(' '));
                cells
                    .map(|drawn| if screen.unicode || drawn.is_ascii() { drawn } else { '*' })
                    .collect()
            })
            .collect();
        for curve in &self.lines {
            for (level, value) in curve.points.iter().filter(|_| curve.symbol.is_some()) {
                let row = HEIGHT - 1 - column(&self.y, *value, HEIGHT);
                lines[row][column(x, *level, columns)] = curve.symbol.unwrap_or(' ');
            }
        }
        lines.into_iter().map(String::from_iter).collect()
    }
}

/// The horizontal axis with its labels; those for which there is no room are left out.
fn axis(x: &Axis, margin: usize, columns: usize, screen: Screen) -> String {
    let (corner, line, tick) = if screen.unicode {
        ('└', '─', '┬')
    } else {
        ('+', '-', '+')
    };
    let mut edge = vec![line; columns];
    let mut labels = String::new();
    for (value, label) in &x.ticks {
        let at = column(x, *value, columns);
        edge[at] = tick;
        let width = label.chars().count();
        let from = at.saturating_sub(width / 2).min(columns.saturating_sub(width));
        let free = labels.chars().count();
        // Two blanks between labels.
        if from >= free + if free > 0 { 2 } else { 0 } {
            labels.push_str(&" ".repeat(from - free));
            labels.push_str(label);
        }
    }
    format!(
        "{:margin$} {corner}{}\n{:margin$}  {labels}\n",
        "",
        String::from_iter(edge),
        ""
    )
}

impl Row {
    fn line(&self, x: &Axis, columns: usize, screen: Screen) -> String {
        let symbol = self.symbol.unwrap_or(if screen.unicode { '━' } else { '=' });
        let mut line = vec![' '; columns];
        for (from, to) in &self.spans {
            let (from, to) = (column(x, *from, columns), column(x, *to, columns));
            line[from..=to.max(from)].fill(symbol);
        }
        String::from_iter(line)
    }
}
