//! The Grafana dashboard, made from the table of metrics: the text of `configs/grafana/tollgate.json`.

use serde_json::{Value, json};

use crate::metrics::{Kind, METRICS, Metric, Unit};

/// Panels beside each other, and the columns of Grafana's grid.
const PANELS_ABREAST: usize = 3;
const COLUMNS: usize = 24;
const PANEL_HEIGHT: usize = 8;

/// The dashboard as JSON.
#[must_use]
pub fn grafana() -> String {
    let mut panels = Vec::new();
    let (mut row, mut y, mut in_row) = ("", 0, 0);
    for metric in METRICS {
        if metric.row != row {
            row = metric.row;
            y += if in_row > 0 { PANEL_HEIGHT } else { 0 };
            in_row = 0;
            panels.push(json!({
                "type": "row", "title": row, "collapsed": false, "panels": [],
                "id": panels.len() + 1, "gridPos": { "x": 0, "y": y, "w": COLUMNS, "h": 1 },
            }));
            y += 1;
        } else if in_row == PANELS_ABREAST {
            y += PANEL_HEIGHT;
            in_row = 0;
        }
        let width = COLUMNS / PANELS_ABREAST;
        let place = json!({ "x": in_row * width, "y": y, "w": width, "h": PANEL_HEIGHT });
        panels.push(panel(metric, panels.len() + 1, &place));
        in_row += 1;
    }
    let dashboard = json!({
        "uid": "tollgate", "title": "Tollgate", "tags": ["tollgate", "kafka"], "schemaVersion": 39,
        "editable": true, "refresh": "10s", "time": { "from": "now-1h", "to": "now" }, "timezone": "browser",
        "templating": { "list": [
            { "name": "datasource", "type": "datasource", "query": "prometheus", "label": "Data source" },
            {
                "name": "instance", "type": "query", "label": "Instance", "multi": true, "includeAll": true,
                "allValue": ".*", "refresh": 2, "datasource": datasource(),
                "query": { "query": "label_values(tollgate_build_info, instance)", "refId": "instances" },
                "current": { "text": "All", "value": "$__all" },
            },
        ] },
        "panels": panels,
    });
    format!("{dashboard:#}\n")
}

fn datasource() -> Value {
    json!({ "type": "prometheus", "uid": "${datasource}" })
}

fn panel(metric: &Metric, id: usize, place: &Value) -> Value {
    let kind = if metric.kind == Kind::Info { "table" } else { "timeseries" };
    let targets: Vec<_> = queries(metric)
        .into_iter()
        .enumerate()
        .map(|(index, (query, legend))| {
            let name = char::from(b'A' + (index as u8));
            json!({
                "refId": name.to_string(), "expr": query, "legendFormat": legend, "datasource": datasource(),
                "instant": metric.kind == Kind::Info, "format": if metric.kind == Kind::Info { "table" } else { "time_series" },
            })
        })
        .collect();
    let title = metric.name.trim_start_matches("tollgate_").trim_end_matches("_total").replace('_', " ");
    json!({
        "type": kind, "id": id, "title": title, "description": format!("{}.", metric.help),
        "datasource": datasource(), "gridPos": place, "targets": targets,
        "fieldConfig": { "defaults": { "unit": unit(metric), "min": 0 }, "overrides": [] },
        "options": { "legend": { "displayMode": "list", "placement": "bottom" }, "tooltip": { "mode": "multi" } },
    })
}

/// The queries of a panel with their legends.
fn queries(metric: &Metric) -> Vec<(String, String)> {
    let series = format!("{}{{instance=~\"$instance\"}}", metric.name);
    let by = |labels: &[&str]| labels.join(", ");
    let legend = |labels: &[&str]| {
        let shown: Vec<_> = labels.iter().map(|label| format!("{{{{{label}}}}}")).collect();
        shown.join(" ")
    };
    match metric.kind {
        Kind::Counter if metric.labels.is_empty() => {
            vec![(format!("rate({series}[$__rate_interval])"), "{{instance}}".into())]
        }
        Kind::Counter => vec![(
            format!("sum by ({}) (rate({series}[$__rate_interval]))", by(metric.labels)),
            legend(metric.labels),
        )],
        Kind::Gauge if metric.name.ends_with("_timestamp_seconds") => {
            vec![(format!("time() - {series}"), "{{instance}}".into())]
        }
        Kind::Gauge => {
            let mut labels = vec!["instance"];
            labels.extend(metric.labels);
            vec![(series, legend(&labels))]
        }
        Kind::Histogram => {
            let bucket = format!("{}_bucket{{instance=~\"$instance\"}}", metric.name);
            let mut labels = vec!["le"];
            labels.extend(metric.labels);
            [0.5, 0.99, 0.999]
                .map(|quantile| {
                    let query = format!(
                        "histogram_quantile({quantile}, sum by ({}) (rate({bucket}[$__rate_interval])))",
                        by(&labels)
                    );
                    (query, format!("{} p{}", legend(metric.labels), quantile * 100.0).trim().to_owned())
                })
                .to_vec()
        }
        Kind::Info => vec![(series, String::new())],
    }
}

fn unit(metric: &Metric) -> &'static str {
    match (metric.kind, metric.unit) {
        (Kind::Counter, Unit::Bytes) => "Bps",
        (Kind::Counter, Unit::Seconds) => "percentunit",
        (Kind::Counter, Unit::Count) => "cps",
        (_, Unit::Bytes) => "bytes",
        (_, Unit::Seconds) => "s",
        (_, Unit::Count) => "short",
    }
}
