//! A headless Chromium, driven by its `DevTools` protocol over pipes: messages of JSON that end with a zero byte.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Command;

use rig::{Namespace, Process};
use serde_json::{Value, json};

use super::found;
use crate::failure::Failure;

/// Chromium reads from descriptor 3 and writes to 4.
const START: &str = "exec chromium \"$@\" 3<\"$TO_BROWSER\" 4>\"$FROM_BROWSER\"";
const ARGUMENTS: [&str; 8] = [
    "--headless",
    // As root it cannot make its own sandbox; it loads no page but ours.
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--hide-scrollbars",
    "--no-first-run",
    "--remote-debugging-pipe",
];
/// Events that say that something went wrong on the page.
const TROUBLES: [&str; 3] = [
    "Runtime.consoleAPICalled",
    "Runtime.exceptionThrown",
    "Log.entryAdded",
];

/// A browser; it ends when this is dropped.
pub(super) struct Browser {
    _process: Process,
    to: File,
    from: BufReader<File>,
    calls: u64,
    /// Troubles since the present tab was opened.
    troubles: Vec<String>,
}

impl Browser {
    /// Starts it on a host, with its files in `folder`.
    pub(super) fn start(folder: &Path, host: &Namespace) -> Result<Self, Failure> {
        let [to, from] = ["to_browser", "from_browser"].map(|name| folder.join(name));
        let mut make = Command::new("mkfifo");
        let made = make.arg(&to).arg(&from).status();
        made.map_err(found("make the pipes to the browser"))?;
        let mut command = Command::new("sh");
        command.args(["-c", START, "sh"]).args(ARGUMENTS);
        command.arg(format!(
            "--user-data-dir={}",
            folder.join("browser").display()
        ));
        command.arg("about:blank");
        command.env("TO_BROWSER", &to).env("FROM_BROWSER", &from);
        let process = Process::start(command, "chromium", folder, Some(host))?;
        // Opening waits for the other end.
        let to = File::options().write(true).open(to);
        let from = File::open(from);
        Ok(Self {
            _process: process,
            to: to.map_err(found("reach the browser"))?,
            from: BufReader::new(from.map_err(found("hear the browser"))?),
            calls: 0,
            troubles: Vec::new(),
        })
    }

    /// Opens a tab with this width and colour scheme.
    pub(super) fn open(&mut self, width: u32, scheme: &str) -> Result<Tab<'_>, Failure> {
        self.troubles.clear();
        let made = self.call(
            None,
            "Target.createTarget",
            &json!({ "url": "about:blank" }),
        )?;
        let target = text(&made["targetId"]);
        let attach = json!({ "targetId": target, "flatten": true });
        let attached = self.call(None, "Target.attachToTarget", &attach)?;
        let mut tab = Tab {
            session: text(&attached["sessionId"]),
            browser: self,
            target,
            width,
        };
        for domain in ["Page", "Runtime", "Log"] {
            tab.call(&format!("{domain}.enable"), &json!({}))?;
        }
        let is_phone = width < 600;
        tab.call(
            "Emulation.setDeviceMetricsOverride",
            &json!({ "width": width, "height": 800, "deviceScaleFactor": 1, "mobile": is_phone }),
        )?;
        let feature = json!({ "name": "prefers-color-scheme", "value": scheme });
        tab.call(
            "Emulation.setEmulatedMedia",
            &json!({ "features": [feature] }),
        )?;
        Ok(tab)
    }

    /// Calls a method, and waits for its result.
    fn call(
        &mut self,
        session: Option<&str>,
        method: &str,
        parameters: &Value,
    ) -> Result<Value, Failure> {
        self.calls += 1;
        let mut message = json!({ "id": self.calls, "method": method, "params": parameters });
        if let Some(session) = session {
            message["sessionId"] = session.into();
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.to
            .write_all(&bytes)
            .map_err(found("speak to the browser"))?;
        loop {
            let mut message = self.receive()?;
            if message["id"] == self.calls {
                return match &message["error"] {
                    Value::Null => Ok(message["result"].take()),
                    error => Err(Failure::Found(format!(
                        "the browser refuses {method}: {error}"
                    ))),
                };
            }
            if TROUBLES.iter().any(|trouble| message["method"] == *trouble) {
                self.troubles.push(message["params"].to_string());
            }
        }
    }

    fn receive(&mut self) -> Result<Value, Failure> {
        let mut bytes = Vec::new();
        self.from
            .read_until(0, &mut bytes)
            .map_err(found("hear the browser"))?;
        if bytes.pop() != Some(0) {
            return Err(Failure::Found(
                "the browser has ended; see chromium.log".into(),
            ));
        }
        serde_json::from_slice(&bytes).map_err(found("understand the browser"))
    }
}

/// A tab.
pub(super) struct Tab<'a> {
    browser: &'a mut Browser,
    target: String,
    session: String,
    width: u32,
}

impl Tab<'_> {
    fn call(&mut self, method: &str, parameters: &Value) -> Result<Value, Failure> {
        self.browser.call(Some(&self.session), method, parameters)
    }

    /// Begins to load a page.
    pub(super) fn load(&mut self, url: &str) -> Result<(), Failure> {
        self.call("Page.navigate", &json!({ "url": url })).map(drop)
    }

    /// Returns the value of an expression in the page.
    pub(super) fn evaluate(&mut self, expression: &str) -> Result<Value, Failure> {
        let parameters = json!({ "expression": expression, "returnByValue": true });
        let mut result = self.call("Runtime.evaluate", &parameters)?;
        match &result["exceptionDetails"] {
            Value::Null => Ok(result["result"]["value"].take()),
            details => Err(Failure::Found(format!(
                "`{expression}` fails in the page: {details}"
            ))),
        }
    }

    /// Returns what went wrong since the tab was opened.
    pub(super) fn messages(&self) -> Vec<String> {
        self.browser.troubles.clone()
    }

    /// Writes a picture of the page, as a PNG.
    pub(super) fn take_picture(&mut self, path: &Path) -> Result<(), Failure> {
        let height = self.evaluate("document.documentElement.scrollHeight")?;
        let clip = json!({ "x": 0, "y": 0, "width": self.width, "height": height, "scale": 1 });
        let parameters = json!({ "captureBeyondViewport": true, "clip": clip });
        let picture = self.call("Page.captureScreenshot", &parameters)?;
        let bytes = decode(&text(&picture["data"]));
        std::fs::write(path, bytes).map_err(found("write a picture"))
    }

    /// Closes it.
    pub(super) fn close(self) -> Result<(), Failure> {
        let target = json!({ "targetId": self.target });
        self.browser
            .call(None, "Target.closeTarget", &target)
            .map(drop)
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().into()
}

/// Decodes base64 (RFC 4648 §4).
fn decode(text: &str) -> Vec<u8> {
    let value = |letter: u8| match letter {
        b'A'..=b'Z' => Some(letter - b'A'),
        b'a'..=b'z' => Some(letter - b'a' + 26),
        b'0'..=b'9' => Some(letter - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0_u32, 0);
    for sextet in text.bytes().filter_map(value) {
        bits = bits << 6 | u32::from(sextet);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn base64_is_decoded() {
        for (text, bytes) in [
            ("", ""),
            ("Zg==", "f"),
            ("Zm8=", "fo"),
            ("Zm9vYmFy", "foobar"),
        ] {
            assert_eq!(decode(text), bytes.as_bytes());
        }
    }
}
