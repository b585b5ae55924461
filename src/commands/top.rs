//! `tollgate top`: the live view in a terminal, over the ops port.
//!
//! A thread takes events from the port; this one draws the newest and looks at the keyboard. Drawing is a pure function of
//! one event and the history, so that it can be tested without a terminal.

use std::collections::VecDeque;
use std::io::Write as _;
use std::thread;
use std::time::Duration;

use crossbeam::channel::{Receiver, RecvTimeoutError, bounded};
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyModifiers};
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Gauge, Paragraph, Row, Sparkline, Table, Widget as _};
use serde_json::Value;

use super::report::{bytes, grouped, time};
use super::{Ended, Failure, ops_client};
use crate::cli::Top;
use crate::ops::client::Client;

/// How often the keyboard is looked at.
const KEYS_EVERY: Duration = Duration::from_millis(100);
/// How long to wait before a lost connection is tried again.
const RETRY_EVERY: Duration = Duration::from_secs(2);
/// LIMIT: seconds that are drawn.
const HISTORY_S: usize = 300;
/// The size of a picture that goes to no terminal.
const PICTURE: Rect = Rect { x: 0, y: 0, width: 110, height: 34 };

pub(super) fn run(args: &Top) -> Result<Ended, Failure> {
    let client = ops_client(&args.port)?;
    if args.once {
        let mut view = View::default();
        view.take(&client.get("/now")?);
        let mut buffer = Buffer::empty(PICTURE);
        view.draw(PICTURE, &mut buffer);
        std::io::stdout().write_all(plain(&buffer).as_bytes())?;
        return Ok(Ended::Well);
    }
    // The first answer tells whether anybody is there, before the screen is taken over.
    client.get("/now")?;
    let (to, events) = bounded(16);
    let listener = client.clone();
    thread::Builder::new().name("events".into()).spawn(move || {
        loop {
            for event in listener.events("/events").into_iter().flatten().map_while(Result::ok) {
                if to.send(Some(event)).is_err() {
                    return;
                }
            }
            if to.send(None).is_err() {
                return;
            }
            thread::sleep(RETRY_EVERY);
        }
    })?;
    let mut terminal = ratatui::try_init()?;
    let shown = show(&mut terminal, &client, &events);
    ratatui::restore();
    shown
}

fn show(
    terminal: &mut ratatui::DefaultTerminal,
    client: &Client,
    events: &Receiver<Option<String>>,
) -> Result<Ended, Failure> {
    let mut view = View { address: client.address().to_owned(), ..View::default() };
    loop {
        match events.recv_timeout(KEYS_EVERY) {
            Ok(Some(event)) => view.take(&event),
            Ok(None) => view.lost = true,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(Ended::Well),
        }
        terminal.draw(|frame| view.draw(frame.area(), frame.buffer_mut()))?;
        while event::poll(Duration::ZERO)? {
            if let Event::Key(key) = event::read()? {
                let interrupt =
                    key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
                if interrupt || matches!(key.code, KeyCode::Char('q') | KeyCode::Esc) {
                    return Ok(Ended::Well);
                }
            }
        }
    }
}

/// What is drawn.
#[derive(Default)]
struct View {
    address: String,
    now: Value,
    rates: VecDeque<(u64, u64)>,
    lost: bool,
}

impl View {
    /// Takes an event: the history, or a second.
    fn take(&mut self, event: &str) {
        let Ok(value) = serde_json::from_str::<Value>(event) else { return };
        self.lost = false;
        if let Some(history) = value.as_array() {
            self.rates.clear();
            for point in history {
                self.push(point);
            }
            return;
        }
        self.push(value.get("point").unwrap_or(&Value::Null));
        self.now = value;
    }

    fn push(&mut self, point: &Value) {
        let rate = |at: usize| point.get(at).and_then(Value::as_f64).unwrap_or(0.0) as u64;
        if self.rates.len() == HISTORY_S {
            self.rates.pop_front();
        }
        self.rates.push_back((rate(1), rate(2)));
    }

    fn number(&self, pointer: &str) -> u64 {
        self.now.pointer(pointer).and_then(Value::as_f64).unwrap_or(0.0) as u64
    }

    fn text(&self, pointer: &str) -> &str {
        self.now.pointer(pointer).and_then(Value::as_str).unwrap_or("")
    }

    fn draw(&self, area: Rect, buffer: &mut Buffer) {
        let [head, charts, middle, below] = Layout::vertical([
            Constraint::Length(2),
            Constraint::Length(8),
            Constraint::Min(10),
            Constraint::Percentage(35),
        ])
        .areas(area);
        self.draw_head(head, buffer);
        let [flow, levels] =
            Layout::horizontal([Constraint::Percentage(65), Constraint::Percentage(35)]).areas(charts);
        self.draw_flow(flow, buffer);
        self.draw_levels(levels, buffer);
        let [reasons, stages] =
            Layout::horizontal([Constraint::Percentage(50), Constraint::Percentage(50)]).areas(middle);
        self.draw_reasons(reasons, buffer);
        self.draw_stages(stages, buffer);
        self.draw_partitions(below, buffer);
    }

    fn draw_head(&self, area: Rect, buffer: &mut Buffer) {
        let state = if self.lost { "not connected" } else { self.text("/state") };
        let colour = match state {
            "running" => Color::Green,
            "waiting" => Color::Yellow,
            _ => Color::Red,
        };
        let (records, rejected) = (self.number("/total/records"), self.number("/total/rejected"));
        let first = Line::from(vec![
            Span::styled("tollgate ", Style::new().add_modifier(Modifier::BOLD)),
            Span::styled(format!("● {state}"), Style::new().fg(colour)),
            Span::raw(format!("  {}  up {} s", self.address, self.number("/uptime_s"))),
            Span::raw(format!(
                "  rules {} (edition {})",
                self.text("/rules/hash"),
                self.number("/rules/edition")
            )),
            Span::raw("  q ends"),
        ]);
        let rate = self.rates.back().copied().unwrap_or_default();
        let second = format!(
            "{} records/s, {} rejected/s, {}/s; {} records, {} rejected ({:.2} %)",
            grouped(rate.0 + rate.1),
            grouped(rate.1),
            bytes(self.now.pointer("/point/3").and_then(Value::as_f64).unwrap_or(0.0)),
            grouped(records),
            grouped(rejected),
            100.0 * rejected as f64 / records.max(1) as f64
        );
        Paragraph::new(vec![first, Line::from(second)]).render(area, buffer);
    }

    fn draw_flow(&self, area: Rect, buffer: &mut Buffer) {
        let [good, bad] =
            Layout::vertical([Constraint::Percentage(60), Constraint::Percentage(40)]).areas(area);
        let width = usize::from(area.width.saturating_sub(2));
        let recent = |of: fn(&(u64, u64)) -> u64| -> Vec<u64> {
            let skip = self.rates.len().saturating_sub(width);
            self.rates.iter().skip(skip).map(of).collect()
        };
        let (accepted, rejected) = (recent(|rate| rate.0), recent(|rate| rate.1));
        for (place, values, name, colour) in
            [(good, &accepted, "accepted/s", Color::Blue), (bad, &rejected, "rejected/s", Color::Red)]
        {
            let most = values.iter().copied().max().unwrap_or(0);
            let title = format!(" {name}, at most {} ", grouped(most));
            Sparkline::default()
                .block(Block::bordered().title(title))
                .data(values)
                .style(Style::new().fg(colour))
                .render(place, buffer);
        }
    }

    fn draw_levels(&self, area: Rect, buffer: &mut Buffer) {
        let block = Block::bordered().title(" levels ");
        let inside = block.inner(area);
        block.render(area, buffer);
        let level = |part: u64, whole: u64| (part as f64 / whole.max(1) as f64).clamp(0.0, 1.0);
        let busy = self.now.pointer("/point/4").and_then(Value::as_f64).unwrap_or(0.0).clamp(0.0, 1.0);
        let rows = [
            ("window", level(self.number("/window/bytes"), self.number("/window/bytes_max"))),
            ("ledger", level(self.number("/ledger/entries"), self.number("/ledger/entries_max"))),
            ("in flight", level(self.number("/inflight/records"), self.number("/inflight/records_max"))),
            ("gate", busy),
        ];
        for (index, (name, share)) in rows.into_iter().enumerate() {
            let y = inside.y + index as u16;
            if y < inside.bottom() {
                let colour = if share > 0.9 { Color::Red } else { Color::Blue };
                Gauge::default()
                    .ratio(share)
                    .label(format!("{name} {:.1} %", share * 100.0))
                    .gauge_style(Style::new().fg(colour).bg(Color::DarkGray))
                    .render(Rect { y, height: 1, ..inside }, buffer);
            }
        }
    }

    fn draw_reasons(&self, area: Rect, buffer: &mut Buffer) {
        let mut counts: Vec<(&str, u64)> = Vec::new();
        for row in self.now.pointer("/verdicts").and_then(Value::as_array).into_iter().flatten() {
            let Some(reason) = row.get(1).and_then(Value::as_str) else { continue };
            let count = row.get(2).and_then(Value::as_u64).unwrap_or(0);
            match counts.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, sum)) => *sum += count,
                None => counts.push((reason, count)),
            }
        }
        counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let all: u64 = counts.iter().map(|(_, count)| count).sum();
        let rows = counts.iter().map(|(reason, count)| {
            let share = format!("{:.1} %", 100.0 * *count as f64 / all.max(1) as f64);
            Row::new([(*reason).to_owned(), grouped(*count), share])
        });
        let widths = [Constraint::Min(18), Constraint::Length(14), Constraint::Length(8)];
        Table::new(rows, widths).block(Block::bordered().title(" reasons ")).render(area, buffer);
    }

    fn draw_stages(&self, area: Rect, buffer: &mut Buffer) {
        let stages = self.now.get("latency_ns").and_then(Value::as_object);
        let rows = stages.into_iter().flatten().map(|(name, values)| {
            let value = |at: usize| values.get(at).and_then(Value::as_u64).map_or_else(String::new, time);
            Row::new([name.clone(), value(0), value(2), value(3), value(4)])
        });
        let widths = [
            Constraint::Min(12),
            Constraint::Length(9),
            Constraint::Length(9),
            Constraint::Length(9),
            Constraint::Length(9),
        ];
        let head =
            Row::new(["stage", "p50", "p99", "p99.9", "max"]).style(Style::new().add_modifier(Modifier::DIM));
        Table::new(rows, widths)
            .header(head)
            .block(Block::bordered().title(" latency, last second "))
            .render(area, buffer);
    }

    fn draw_partitions(&self, area: Rect, buffer: &mut Buffer) {
        let partitions = self.now.get("partitions").and_then(Value::as_array);
        let rows = partitions.into_iter().flatten().map(|at| {
            let number = |name: &str| at.get(name).and_then(Value::as_u64).map_or("–".to_owned(), grouped);
            let text = |name: &str| at.get(name).and_then(Value::as_str).unwrap_or("").to_owned();
            let behind =
                at.get("lag_s").and_then(Value::as_f64).map_or("–".to_owned(), |s| format!("{s:.1} s"));
            let name = format!("{}/{}", text("topic"), number("partition"));
            Row::new([name, text("state"), number("lag"), behind, number("committed"), number("end")])
        });
        let widths = [
            Constraint::Min(20),
            Constraint::Length(10),
            Constraint::Length(12),
            Constraint::Length(10),
            Constraint::Length(14),
            Constraint::Length(14),
        ];
        let head = Row::new(["partition", "state", "lag", "behind", "committed", "end"])
            .style(Style::new().add_modifier(Modifier::DIM));
        Table::new(rows, widths)
            .header(head)
            .block(Block::bordered().title(" partitions "))
            .render(area, buffer);
    }
}

/// A picture as text.
fn plain(buffer: &Buffer) -> String {
    let width = usize::from(buffer.area.width.max(1));
    let mut text = String::new();
    for row in buffer.content().chunks(width) {
        let line: String = row.iter().map(ratatui::buffer::Cell::symbol).collect();
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_picture_shows_what_the_port_tells() {
        let mut view = View { address: "127.0.0.1:9464".into(), ..View::default() };
        view.take("[[1,100,5,9,0.2,null],[2,200,15,9,0.2,null]]");
        view.take(
            r#"{"state":"running","uptime_s":61,"rules":{"hash":"abcd","edition":3},"point":[3,1500,20,90000,0.95,null],
                "total":{"records":12345,"rejected":45},"verdicts":[["agh","stale",40],["olympus","stale",3],[null,"json-syntax",2],["agh",null,9]],
                "latency_ns":{"gate":[1500,2000,3000,4000,5000]},
                "partitions":[{"topic":"in","partition":3,"state":"reading","committed":50,"end":1057,"lag":1007,"lag_s":2.5}],
                "window":{"bytes":50,"bytes_max":100}}"#,
        );
        let mut buffer = Buffer::empty(PICTURE);
        view.draw(PICTURE, &mut buffer);
        let text = plain(&buffer);
        for shown in [
            "● running",
            "rules abcd (edition 3)",
            "1 520 records/s",
            "stale",
            "43",
            "json-syntax",
            "window 50.0 %",
            "gate 95.0 %",
            "in/3",
            "1 007",
            "2.5 s",
            "1500 ns",
        ] {
            assert!(text.contains(shown), "{shown} is missing in\n{text}");
        }
        // Any size will do.
        for (width, height) in [(1, 1), (20, 5), (300, 90)] {
            let area = Rect { x: 0, y: 0, width, height };
            view.draw(area, &mut Buffer::empty(area));
        }
    }
}
