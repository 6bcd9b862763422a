//! Prometheus' text format 0.0.4.

use std::fmt::{Display, Write};

/// What a figure is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It only counts up, from the start of the server on. Its name ends in `_total`.
    Counter,
    /// It goes up and down.
    Gauge,
    /// Its samples are those of [`Latencies`](crate::Latencies).
    Histogram,
}

/// Figures as Prometheus reads them: each family's head, then its samples.
#[derive(Clone, Default)]
pub struct Text(String);

impl Text {
    /// The head of a family, whose samples follow.
    pub fn family(&mut self, name: &str, kind: Kind, help: &str) {
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        debug_assert!(!help.contains(['\n', '\\']), "{name}");
        let _ = write!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    /// One of a family's samples.
    pub fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        self.0 += name;
        for (n, (label, text)) in labels.iter().enumerate() {
            let open = if n == 0 { '{' } else { ',' };
            let _ = write!(self.0, "{open}{label}=\"");
            for c in text.chars() {
                match c {
                    '\n' => self.0 += "\\n",
                    '"' | '\\' => self.0.extend(['\\', c]),
                    c => self.0.push(c),
                }
            }
            self.0.push('"');
        }
        if !labels.is_empty() {
            self.0.push('}');
        }
        let _ = writeln!(self.0, " {value}");
    }

    /// A family of one sample.
    pub fn one(&mut self, name: &str, kind: Kind, help: &str, value: impl Display) {
        self.family(name, kind, help);
        self.sample(name, &[], value);
    }

    /// All of it.
    pub fn finish(self) -> String {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn format() {
        let mut text = Text::default();
        text.one("a_total", Kind::Counter, "Some.", 7);
        text.family("b", Kind::Gauge, "Others.");
        text.sample("b", &[("x", "q\"\\\n"), ("y", "")], 0.5);
        let expected =
            "# HELP a_total Some.\n# TYPE a_total counter\na_total 7\n# HELP b Others.\n\
             # TYPE b gauge\nb{x=\"q\\\"\\\\\\n\",y=\"\"} 0.5\n";
        assert_eq!(text.finish(), expected);
    }
}
