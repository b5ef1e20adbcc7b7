//! One large file over a veth pair without loss.

use super::copy::{self, Client, Direction};
use super::row::Row;
use super::{Measured, folder_in_memory};
use crate::bench::spread::{show, spread};
use crate::failure::Failure;
use crate::hop::{GATEWAY, Hop};
use rig::{Directories, Ganesha};

/// The compared clients: a name, and our transport.
const SCHEMES: [(&str, Option<&str>); 3] = [
    (PEER, None),
    ("lasthop tcp", Some("tcp")),
    ("lasthop udp", Some("udp")),
];
/// Baseline of the ratios.
const PEER: &str = "nfs-cp tcp";

/// Measures one large file.
pub(super) fn run(measured: &Measured) -> Result<Vec<Row>, Failure> {
    let size = measured.options.size;
    println!("## One file of {} MB, without loss\n", size as f64 / 1e6);
    without_loss(measured, "lan", size, 0)
}

/// Measures all clients in turns, with a new server for each copy, and prints a table.
pub(super) fn without_loss(
    measured: &Measured,
    setting: &str,
    bytes: u64,
    files: u32,
) -> Result<Vec<Row>, Failure> {
    let folder = folder_in_memory()?;
    let hop = Hop::new(folder.path(), measured.program)?;
    hop.wire()?;
    copy::prepare(&hop, "data", bytes, files)?;
    let mut rows = Vec::new();
    for turn in 1..=measured.options.turns {
        for way in Direction::BOTH {
            for (scheme, transport) in SCHEMES {
                if transport.is_none() && !measured.options.peers {
                    continue;
                }
                // A new server each time: ganesha keeps what it has sent over UDP.
                let usual = Directories::Remembered;
                let server = Ganesha::start(&hop.gateway, GATEWAY, folder.path(), usual)?;
                hop.reach(&server)?;
                let before = server.memory();
                let options = ["--no-signals", "--proto", transport.unwrap_or_default()];
                let client = match transport {
                    Some(_) => Client::Lasthop(measured.program, &options),
                    None => Client::Peer,
                };
                let copied = copy::copy(client, way, "data", &hop, &server)?;
                let growth = before.zip(server.memory());
                rows.push(Row {
                    setting: setting.into(),
                    scheme: scheme.into(),
                    way: way.name(),
                    bytes: bytes * u64::from(files.max(1)),
                    turn: turn.into(),
                    seconds: copied.seconds,
                    good_share: None,
                    repeated: copied.repeated,
                    server_growth: growth
                        .map(|(before, after)| after.get() as i64 - before.get() as i64),
                    held_share: None,
                });
            }
        }
    }
    print(&rows, files);
    Ok(rows)
}

fn print(rows: &[Row], files: u32) {
    let unit = if files == 0 { "MB/s" } else { "files/s" };
    println!(
        "| way | client | {unit}, median (least – most) | rate over {PEER}, by turns | server's growth, MB |\n\
         |---|---|---|---|---|"
    );
    for way in Direction::BOTH.map(Direction::name) {
        for (scheme, _) in SCHEMES {
            let of = |scheme: &str| {
                let scheme = scheme.to_owned();
                rows.iter()
                    .filter(move |row| row.way == way && row.scheme == scheme)
            };
            let speed = |row: &Row| {
                let amount = if files == 0 {
                    row.bytes as f64 / 1e6
                } else {
                    files.into()
                };
                amount / row.seconds
            };
            let speeds = spread(of(scheme).map(speed));
            if speeds.is_none() {
                continue;
            }
            let ratios = of(scheme)
                .zip(of(PEER))
                .map(|(row, peer)| peer.seconds / row.seconds);
            let growth = of(scheme).filter_map(|row| Some(row.server_growth? as f64 / 1e6));
            println!(
                "| {way} | {scheme} | {} | {} | {} |",
                show(speeds, 0),
                show(spread(ratios), 2),
                show(spread(growth), 0),
            );
        }
    }
    println!();
}
