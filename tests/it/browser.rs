//! The HTML report in a real browser: headless Chromium, driven over its debugging pipe, no other tool needed.
//!
//! Without Chromium the test says that it is skipped; `TOLLGATE_REQUIRE_CHROMIUM=1` makes that a failure.
//! `TOLLGATE_REPORT_HTML=FILE` looks at another report, `TOLLGATE_SCREENSHOTS=DIR` keeps pictures of it.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use base64::Engine as _;
use serde_json::{Value, json};

use crate::cli::{TempDir, tollgate};

/// A browser with one page, and everything that the page complained about or asked for.
struct Browser {
    child: Child,
    to: File,
    from: BufReader<File>,
    session: Option<String>,
    number: u64,
    complaints: Vec<Value>,
    requests: Vec<String>,
    _dir: TempDir,
}

fn chromium() -> Option<&'static str> {
    ["chromium", "chromium-browser", "google-chrome"].into_iter().find(|name| {
        let found = Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        found.is_ok_and(|status| status.success())
    })
}

impl Browser {
    fn start(program: &str) -> Self {
        let dir = TempDir::new("browser");
        let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
        let (to, from) = (path("to"), path("from"));
        assert!(Command::new("mkfifo").args([&to, &from]).status().unwrap().success());
        // The pipe is on the descriptors 3 and 4.
        let script = "exec \"$1\" --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run \
            --hide-scrollbars --remote-debugging-pipe --user-data-dir=\"$2\" 3<\"$3\" 4>\"$4\"";
        let child = Command::new("sh")
            .args(["-c", script, "sh", program, &path("profile"), &to, &from])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let to = OpenOptions::new().write(true).open(to).unwrap();
        let from = BufReader::new(File::open(from).unwrap());
        let mut browser = Self {
            child,
            to,
            from,
            session: None,
            number: 0,
            complaints: vec![],
            requests: vec![],
            _dir: dir,
        };
        let page = browser.call("Target.createTarget", &json!({"url": "about:blank"}));
        let attach = json!({"targetId": page["targetId"], "flatten": true});
        browser.session =
            browser.call("Target.attachToTarget", &attach)["sessionId"].as_str().map(Into::into);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), &json!({}));
        }
        browser
    }

    /// Sends a command and gives its result; events that come before it are kept.
    fn call(&mut self, method: &str, params: &Value) -> Value {
        self.number += 1;
        let mut message = json!({"id": self.number, "method": method, "params": params});
        if let Some(session) = &self.session {
            message["sessionId"] = session.clone().into();
        }
        self.to.write_all(message.to_string().as_bytes()).unwrap();
        self.to.write_all(b"\0").unwrap();
        loop {
            let message = self.receive();
            if message["id"] == self.number {
                assert!(message["error"].is_null(), "{method}: {}", message["error"]);
                return message["result"].clone();
            }
        }
    }

    fn receive(&mut self) -> Value {
        let mut bytes = Vec::new();
        self.from.read_until(0, &mut bytes).unwrap();
        assert_eq!(bytes.pop(), Some(0), "the browser has ended");
        let message: Value = serde_json::from_slice(&bytes).unwrap();
        match message["method"].as_str() {
            Some("Runtime.exceptionThrown" | "Runtime.consoleAPICalled" | "Log.entryAdded") => {
                self.complaints.push(message["params"].clone());
            }
            Some("Network.requestWillBeSent") => {
                self.requests
                    .push(message["params"]["request"]["url"].as_str().unwrap_or_default().to_owned());
            }
            _ => {}
        }
        message
    }

    fn open(&mut self, path: &Path) {
        self.call("Page.navigate", &json!({"url": format!("file://{}", path.display())}));
        while self.evaluate("document.readyState") != "complete" {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }

    /// The value of an expression in the page.
    fn evaluate(&mut self, expression: &str) -> Value {
        let result = self.call("Runtime.evaluate", &json!({"expression": expression, "returnByValue": true}));
        assert!(result["exceptionDetails"].is_null(), "{expression}: {}", result["exceptionDetails"]);
        result["result"]["value"].clone()
    }

    fn look(&mut self, width: u32, scheme: &str) {
        let size = json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600});
        self.call("Emulation.setDeviceMetricsOverride", &size);
        let scheme = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.call("Emulation.setEmulatedMedia", &scheme);
    }

    fn picture(&mut self, name: &str, height: u32) {
        let Ok(dir) = std::env::var("TOLLGATE_SCREENSHOTS") else { return };
        let width = self.evaluate("innerWidth");
        let clip = json!({"x": 0, "y": 0, "width": width, "height": height, "scale": 1});
        let picture =
            self.call("Page.captureScreenshot", &json!({"captureBeyondViewport": true, "clip": clip}));
        let bytes =
            base64::engine::general_purpose::STANDARD.decode(picture["data"].as_str().unwrap()).unwrap();
        fs::create_dir_all(&dir).unwrap();
        fs::write(Path::new(&dir).join(format!("{name}.png")), bytes).unwrap();
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The lowest contrast between a text and what is behind it, and the text.
const CONTRAST: &str = r#"(() => {
  const parse = (color) => { const p = color.match(/[\d.]+/g).map(Number); return p.length > 3 ? p : [...p, 1]; };
  const light = ([r, g, b]) => { const f = (v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
    return 0.2126 * f(r) + 0.7152 * f(g) + 0.0722 * f(b); };
  const behind = (element) => { for (let at = element; at; at = at.parentElement) {
      const color = parse(getComputedStyle(at).backgroundColor); if (color[3] > 0) return color; } return [255, 255, 255, 1]; };
  let worst = [99, ""];
  for (const element of document.querySelectorAll("body *")) {
    if (element.closest("script,style,svg") || !element.offsetParent) continue;
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!own && element.tagName !== "INPUT") continue;
    const [a, b] = [light(parse(getComputedStyle(element).color)), light(behind(element))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < worst[0]) worst = [ratio, element.tagName + " " + element.className + " " + element.textContent.slice(0, 40)];
  }
  return worst;
})()"#;

/// Elements that reach beyond the page, other than those that scroll by themselves.
const OVERFLOW: &str = r#"(() => {
  const found = [];
  for (const element of document.querySelectorAll("body *")) {
    const box = element.getBoundingClientRect();
    if (box.width && box.right > innerWidth + 1 && !element.closest(".scroll > *, svg")) found.push(element.tagName + "." + element.className);
  }
  return { page: document.documentElement.scrollWidth - innerWidth, found: found.slice(0, 5) };
})()"#;

/// A report with something in every table, some of it hostile.
fn report(dir: &TempDir) -> PathBuf {
    let mut lines = String::new();
    for number in 0..400 {
        let from = match number % 40 {
            7 => "<img src=x onerror=alert(1)>".to_owned(),
            8 => "\u{202e}reversed\u{1b}[31m".to_owned(),
            9 => "unbroken".repeat(40),
            peer => format!("peer-{peer}"),
        };
        let id = if number % 5 == 0 { number / 10 } else { number };
        let mut value = json!({"protocol": "agh-network/v0", "id": id.to_string(), "workspace_id": format!("ws_{}", number % 3),
            "kind": if number % 11 == 0 { "shout" } else { "greet" }, "channel": "c", "from": from, "to": "worker",
            "ts": 1_775_600_000 + number * 60, "body": {"note": "x".repeat(number % 97)}});
        if number > 200 {
            value["ext"] = json!({"a": 1});
        }
        lines.push_str(&format!("{value}\n"));
    }
    // Clocks that are off, by numbers that sort differently as texts.
    for (number, off) in [0, -400, 0, 39, 0, 197].into_iter().cycle().take(300).enumerate() {
        let value = json!({"protocol": "agh-network/v0", "id": format!("c{number}"), "workspace_id": "ws_0",
            "kind": "greet", "channel": "c", "from": format!("clock {off}"), "to": "worker",
            "ts": 1_775_624_000 + off, "body": {"note": "x"}});
        lines.push_str(&format!("{value}\n"));
    }
    lines.push_str("{\"half\":\n</script><script>alert(1)</script>\n");
    let input = dir.write("in.ndjson", lines);
    let out = dir.path().join("report");
    let args = ["--clock", "record", "--out"];
    let output = tollgate().arg("audit").arg(input).args(args).arg(&out).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    out.join("report.html")
}

#[test]
fn the_html_report_works_in_a_browser() {
    let Some(program) = chromium() else {
        assert!(std::env::var("TOLLGATE_REQUIRE_CHROMIUM").is_err(), "Chromium is required and not there");
        eprintln!("SKIPPED: the HTML report was not looked at, because Chromium is not installed");
        return;
    };
    let dir = TempDir::new("audit-html");
    let page = std::env::var("TOLLGATE_REPORT_HTML").map_or_else(|_| report(&dir), PathBuf::from);
    let mut browser = Browser::start(program);
    browser.look(1280, "light");
    browser.open(&page);
    browser.picture("light", 2600);
    for (width, scheme, name) in [
        (1280, "dark", "dark"),
        (375, "light", "phone"),
        (375, "dark", "phone-dark"),
        (820, "light", "tablet"),
    ] {
        browser.look(width, scheme);
        browser.picture(name, 2600);
        let over = browser.evaluate(OVERFLOW);
        assert!(over["page"].as_i64().unwrap() <= 0, "{width}: {over}");
        assert_eq!(over["found"], json!([]), "{width} wide");
        let worst = browser.evaluate(CONTRAST);
        assert!(worst[0].as_f64().unwrap() >= 4.5, "{scheme}: contrast {worst}");
    }
    browser.look(1280, "light");
    let worst = browser.evaluate(CONTRAST);
    assert!(worst[0].as_f64().unwrap() >= 4.5, "light: contrast {worst}");
    works(&mut browser);
    prints(&mut browser);
    assert_eq!(browser.complaints, Vec::<Value>::new(), "the page says nothing");
    let foreign: Vec<_> =
        browser.requests.iter().filter(|url| !url.starts_with("file://") && *url != "data:,").collect();
    assert_eq!(foreign, Vec::<&String>::new(), "the page asks for nothing");
    let files = browser.requests.iter().filter(|url| url.starts_with("file://")).count();
    assert_eq!(files, 1, "the page is one file: {:?}", browser.requests);
}

/// A4 with margins: every table has all its columns, and they fit.
fn prints(browser: &mut Browser) {
    let size = json!({"width": 718, "height": 1000, "deviceScaleFactor": 1, "mobile": false});
    browser.call("Emulation.setDeviceMetricsOverride", &size);
    browser.call("Emulation.setEmulatedMedia", &json!({"media": "print"}));
    let hidden =
        "[...document.querySelectorAll('th')].filter((th) => !th.offsetWidth).map((th) => th.textContent)";
    assert_eq!(browser.evaluate(hidden), json!([]), "columns are lost");
    let wide = "[...document.querySelectorAll('table')].filter((t) => t.offsetWidth > t.parentNode.clientWidth + 1)\
        .map((t) => t.closest('section').id)";
    assert_eq!(browser.evaluate(wide), json!([]), "tables are wider than the paper");
    browser.picture("print", 2600);
}

/// Places and signed numbers sort by what they mean.
fn sorts_by_value(browser: &mut Browser) {
    let click = "document.querySelector('#clocks th:nth-child(4) button').click()";
    browser.evaluate(click);
    let means =
        "[...document.querySelectorAll('#clocks td:nth-child(4)')].map((td) => parseInt(td.textContent))";
    let means: Vec<i64> =
        browser.evaluate(means).as_array().unwrap().iter().map(|mean| mean.as_i64().unwrap()).collect();
    assert!(means.len() > 1 && means.is_sorted_by(|a, b| a >= b), "{means:?}");
    browser.evaluate("document.querySelector('#senders th:nth-child(6) button').click()");
    let places = "[...document.querySelectorAll('#senders td:nth-child(6)')].map((td) => Number(td.textContent.split(':').pop()))";
    let places: Vec<u64> =
        browser.evaluate(places).as_array().unwrap().iter().map(|place| place.as_u64().unwrap()).collect();
    assert!(places.iter().any(|place| *place < 10) && places.is_sorted(), "{places:?}");
}

/// Sorting, filtering, drill-down.
fn works(browser: &mut Browser) {
    let cells = "[...document.querySelectorAll('#senders tbody tr')].filter((r) => !r.hidden).map((r) => r.cells[0].textContent)";
    let click = |column: usize| format!("document.querySelectorAll('#senders th button')[{column}].click()");
    let texts = |value: Value| -> Vec<String> {
        value.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_lowercase()).collect()
    };
    browser.evaluate(&click(0));
    let rising = texts(browser.evaluate(cells));
    assert!(rising.len() > 3 && rising.is_sorted(), "{rising:?}");
    browser.evaluate(&click(0));
    let falling = texts(browser.evaluate(cells));
    assert!(falling.is_sorted_by(|a, b| a >= b), "{falling:?}");
    browser.evaluate(&click(2));
    let rejected =
        "[...document.querySelectorAll('#senders tbody tr')].map((r) => Number(r.cells[2].dataset.v))";
    let counts: Vec<u64> =
        browser.evaluate(rejected).as_array().unwrap().iter().map(|count| count.as_u64().unwrap()).collect();
    assert!(counts.is_sorted_by(|a, b| a >= b), "{counts:?}");

    if browser.evaluate("Boolean(document.querySelector('#clocks'))") == true {
        sorts_by_value(browser);
    }
    let wanted = rising.last().unwrap();
    let filter = format!(
        "(() => {{ const i = document.querySelector('#senders input'); i.value = {}; i.dispatchEvent(new Event('input')); }})()",
        json!(wanted)
    );
    browser.evaluate(&filter);
    let left = texts(browser.evaluate(cells));
    assert!(!left.is_empty() && left.iter().all(|text| text.contains(wanted.as_str())), "{left:?}");

    let shown = "document.querySelector('#findings .finding .example').checkVisibility()";
    assert_eq!(browser.evaluate(shown), false, "examples are folded away");
    browser.evaluate("document.querySelector('#findings .finding:has(.example) summary').click()");
    let place = "document.querySelector('#findings .finding[open] .example .place').checkVisibility()";
    assert_eq!(browser.evaluate(place), true, "drill-down shows the example");
    browser.picture("open", 2600);
    browser.evaluate("document.querySelector('#reasons td.x summary').click()");
    assert_eq!(browser.evaluate("document.querySelector('#reasons td.x .example').checkVisibility()"), true);
    // The same page with everything open must not overflow, either.
    browser.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })");
    browser.look(375, "light");
    let over = browser.evaluate(OVERFLOW);
    assert!(over["page"].as_i64().unwrap() <= 0 && over["found"] == json!([]), "open: {over}");
    browser.picture("phone-open", 3200);
}
