//! `cargo xtask browser`: the page of `lasthop web` in a headless Chromium, at the widths of a phone and of a desktop,
//! in light and dark, about a real hop that fades. It needs root.

mod devtools;
mod traffic;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use rig::{Air, Process};
use serde_json::{Value, json};

use self::devtools::{Browser, Tab};
use self::traffic::Traffic;
use crate::bench::peers;
use crate::failure::Failure;
use crate::hop::Hop;
use crate::soak::alone::Alone;
use crate::soak::folder;
use xtask::shell::Shell;

/// Programs and the Debian packages that hold them.
const NEEDED: [(&str, &str); 2] = [("nft", "nftables"), ("chromium", "chromium")];
/// A hop of 20 Mbit/s that fades for half a second every few seconds.
const LINK: &str = "[each]\nrate = \"20 Mbit/s\"\ndelay = \"10 ms\"\nqueue = \"100 packets\"\n\
    [errors]\nmodel = \"temporal\"\ngood = { distribution = \"exponential\", mean = \"3 s\" }\n\
    bad = { distribution = \"exponential\", mean = \"500 ms\" }\n";
/// Where the page is served.
const PAGE: &str = "127.0.0.1:9530";
/// Widths of a phone and of a desktop, in CSS pixels.
const WIDTHS: [u32; 2] = [360, 1280];
const SCHEMES: [&str; 2] = ["light", "dark"];
/// Number of loads whose first paint is measured, and the aim for the fastest: other programs slow the others down.
const LOADS: usize = 5;
const PAINT_MS: f64 = 200.0;
/// Most bytes of the page.
const BYTES: u64 = 100_000;
/// Contrast that WCAG 2.2 demands of text (1.4.3).
const CONTRAST: f64 = 4.5;
/// Functions that examine the page.
const EXAMINE: &str = include_str!("browser/examine.js");
/// Time limit for anything to appear.
const PATIENCE: Duration = Duration::from_secs(30);

/// Options of the command.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Folder for pictures of the page
    #[arg(long, value_name = "FOLDER", default_value = "target/browser")]
    pictures: PathBuf,
    /// Seconds of traffic before the page is examined; ten minutes fill its plots
    #[arg(long, default_value_t = 20)]
    seconds: u64,
    #[command(flatten)]
    alone: Alone,
}

/// Runs the command.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let shell = Shell::new(false);
    let program = options
        .alone
        .enter(&shell, || peers::provide(&shell, &NEEDED))?;
    let scene = Scene::new(program)?;
    println!("the hop carries traffic for {} s", options.seconds);
    std::thread::sleep(Duration::from_secs(options.seconds));
    let pictures = shell.root.join(&options.pictures);
    std::fs::create_dir_all(&pictures).map_err(found("make the folder of pictures"))?;
    let mut browser = Browser::start(folder()?, &scene.hop.gateway)?;
    let mut findings = Vec::new();
    for width in WIDTHS {
        for scheme in SCHEMES {
            let view = View { width, scheme };
            let picture = pictures.join(format!("{width}-{scheme}.png"));
            let found = view.examine(&mut browser, &picture)?;
            findings.extend(
                found
                    .into_iter()
                    .map(|what| format!("{width} px, {scheme}: {what}")),
            );
        }
    }
    findings.extend(first_paint(&mut browser)?);
    findings.extend(scene.restart(&mut browser)?);
    println!("pictures: {}", pictures.display());
    Failure::unless_empty(&findings)
}

fn found<E: std::fmt::Display>(what: &str) -> impl FnOnce(E) -> Failure + '_ {
    move |error| Failure::Found(format!("cannot {what}: {error}"))
}

/// A hop that fades, with traffic in both directions, and the page about its gateway.
struct Scene {
    hop: Hop,
    program: PathBuf,
    web: Process,
    _parts: (Air, Vec<Process>, Traffic),
}

impl Scene {
    fn new(program: &Path) -> Result<Self, Failure> {
        let hop = Hop::new(folder()?, program)?;
        let file = hop.path("link.toml");
        peers::write(&file, LINK)?;
        let air = hop.air(&file.to_string_lossy(), 1)?;
        let daemons = hop.start_daemons(&hop.daemons())?;
        let connected = || !hop.daemons().status(0)["host"]["peers"][0]["keys_age"].is_null();
        hop.wait("the mobile host is connected", connected)?;
        let traffic = Traffic::start(&hop)?;
        let web = serve(&hop, program)?;
        Ok(Self {
            program: program.into(),
            web,
            _parts: (air, daemons, traffic),
            hop,
        })
    }

    /// Ends the server of the page and starts it again: the page says so, and goes on by itself.
    fn restart(mut self, browser: &mut Browser) -> Result<Vec<String>, Failure> {
        let mut tab = open(
            browser,
            &View {
                width: WIDTHS[1],
                scheme: SCHEMES[0],
            },
        )?;
        self.web.end()?;
        wait(&mut tab, "it says that the connection is gone", "!isLive()")?;
        let _web = serve(&self.hop, &self.program)?;
        wait(&mut tab, "it is live again", "isLive()")?;
        println!("the page went on after a restart of its server");
        tab.close()?;
        Ok(Vec::new())
    }
}

fn serve(hop: &Hop, program: &Path) -> Result<Process, Failure> {
    let mut command = Command::new(program);
    command.args([
        "web",
        "--name",
        "gateway",
        "--state-dir",
        "gateway",
        "--listen",
        PAGE,
    ]);
    let web = hop.start(&hop.gateway, "web", command)?;
    let address: SocketAddr = PAGE.parse().map_err(found("read an address"))?;
    let serves = || {
        let connect = || std::net::TcpStream::connect(address);
        hop.gateway
            .run(connect)
            .is_ok_and(|connected| connected.is_ok())
    };
    hop.wait("the page is served", serves)?;
    Ok(web)
}

/// A window.
#[derive(Debug, Clone, Copy)]
struct View {
    width: u32,
    scheme: &'static str,
}

impl View {
    /// Examines the page, and takes a picture; returns what is wrong.
    fn examine(&self, browser: &mut Browser, picture: &Path) -> Result<Vec<String>, Failure> {
        let mut tab = open(browser, self)?;
        let mut findings = Vec::new();
        let mut demand = |is_so: bool, what: String| {
            if !is_so {
                findings.push(what);
            }
        };
        let samples = tab.evaluate("times.length")?.as_u64().unwrap_or(0);
        let last = tab.evaluate("times.at(-1) ?? 0")?;
        let is_newer = format!("times.at(-1) > {last}");
        wait(&mut tab, "an event brings new samples", &is_newer)?;
        let seen = tab.evaluate("examine()")?;
        let text = |field: &str| seen[field].to_string();
        let number = |field: &str| seen[field].as_f64().unwrap_or(f64::NAN);
        demand(
            number("width") <= f64::from(self.width),
            format!("it scrolls sideways: {} px wide", text("width")),
        );
        let bytes = seen["bytes"].as_u64().unwrap_or(u64::MAX);
        demand(bytes < BYTES, format!("it has {bytes} bytes"));
        demand(
            seen["foreign"] == json!([]),
            format!("it loads from elsewhere: {}", seen["foreign"]),
        );
        demand(
            seen["silent"] == json!([]),
            format!("without a text alternative: {}", seen["silent"]),
        );
        demand(
            number("contrast") >= CONTRAST,
            format!(
                "contrast of {} only: {}",
                text("contrast"),
                text("faintest")
            ),
        );
        demand(
            seen["hosts"] == 1,
            format!("{} hosts are shown", seen["hosts"]),
        );
        for plot in ["to", "from", "fade"] {
            demand(
                seen["plots"][plot] == true,
                format!("no plot of '{plot}' is drawn"),
            );
        }
        let said = tab.messages();
        demand(
            said.is_empty(),
            format!("the console says: {}", said.join("; ")),
        );
        println!(
            "{:>5} px {:<6}{bytes} bytes, contrast at least {:.1}, {samples} samples, {} px wide",
            self.width,
            self.scheme,
            number("contrast"),
            text("width"),
        );
        tab.take_picture(picture)?;
        tab.close()?;
        Ok(findings)
    }
}

/// Opens the page, and waits until it is live.
fn open<'a>(browser: &'a mut Browser, view: &View) -> Result<Tab<'a>, Failure> {
    let mut tab = browser.open(view.width, view.scheme)?;
    tab.load(&format!("http://{PAGE}/"))?;
    wait(
        &mut tab,
        "the page is loaded",
        "document.readyState === 'complete'",
    )?;
    tab.evaluate(EXAMINE)?;
    wait(&mut tab, "it is live", "isLive()")?;
    Ok(tab)
}

/// Waits until an expression of the page is true.
fn wait(tab: &mut Tab<'_>, what: &str, expression: &str) -> Result<(), Failure> {
    let begun = Instant::now();
    while tab.evaluate(expression)? != Value::Bool(true) {
        if begun.elapsed() > PATIENCE {
            return Err(Failure::Found(format!("never: {what}")));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

/// Measures the first paint of some loads, from the start of the navigation.
fn first_paint(browser: &mut Browser) -> Result<Option<String>, Failure> {
    let mut paints = Vec::new();
    for _ in 0..LOADS {
        let mut tab = open(
            browser,
            &View {
                width: WIDTHS[1],
                scheme: SCHEMES[0],
            },
        )?;
        // A page may have its first event before it is painted.
        wait(&mut tab, "it is painted", "firstPaint() !== null")?;
        paints.push(
            tab.evaluate("firstPaint()")?
                .as_f64()
                .unwrap_or(f64::INFINITY),
        );
        tab.close()?;
    }
    paints.sort_by(f64::total_cmp);
    println!("first paint after {paints:.0?} ms");
    let is_missed = paints[0] >= PAINT_MS;
    Ok(is_missed.then(|| {
        format!(
            "the first paint takes {:.0} ms; the aim is {PAINT_MS} ms",
            paints[0]
        )
    }))
}
