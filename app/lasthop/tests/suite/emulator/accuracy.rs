//! How accurate the emulator is on this machine. These print and judge, so they are run by hand on an
//! idle machine: `cargo test --release -p lasthop --test suite emulator:: -- --ignored --nocapture --test-threads 1`.

use std::net::UdpSocket;
use std::thread;
use std::time::{Duration, Instant};

use super::HEADERS;
use super::rig::Rig;

const PAYLOAD: usize = 1472;

fn link(rate: &str, delay: &str, loss: &str) -> String {
    format!(
        "[each]\nrate = '{rate}'\ndelay = '{delay}'\nqueue = '500 packets'\n[errors]\nmodel = \
        'independent'\np = '{loss}'\n"
    )
}

/// Sends full packets at `rate` (in Mbit/s on the wire) for `span`.
fn send(socket: &UdpSocket, rate: f64, span: Duration) {
    let begin = Instant::now();
    let payload = [0; PAYLOAD];
    let gap = (PAYLOAD as u64 + HEADERS) as f64 * 8.0 / rate * 1e-6;
    let mut sent = 0.0;
    while begin.elapsed() < span {
        while sent * gap <= begin.elapsed().as_secs_f64() {
            let _ = socket.send(&payload);
            sent += 1.0;
        }
        thread::sleep(Duration::from_micros(200));
    }
}

/// Receives until nothing comes for a while; gives the packets and the time from the first to the last.
fn receive(socket: &UdpSocket) -> (u64, Duration) {
    socket
        .set_read_timeout(Some(Duration::from_millis(700)))
        .unwrap();
    let mut buffer = [0; 2048];
    let (mut first, mut last, mut count) = (None, Instant::now(), 0);
    while socket.recv(&mut buffer).is_ok() {
        last = Instant::now();
        first.get_or_insert(last);
        count += 1;
    }
    (count, first.map_or(Duration::ZERO, |first| last - first))
}

/// The rate that came through, in Mbit/s, and the emulator's share of a processor.
fn throughput(link_rate: &str, offered: f64, span: Duration) -> (f64, f64) {
    let rig = Rig::start(&link(link_rate, "5 ms", "0 %"), 1).expect("needs root");
    let (gateway, mobile) = rig.sockets();
    let before = rig.air.processor_seconds();
    let (count, time) = thread::scope(|scope| {
        let receiver = scope.spawn(|| receive(&mobile));
        send(&gateway, offered, span);
        receiver.join().unwrap()
    });
    let used = (rig.air.processor_seconds() - before) / span.as_secs_f64();
    let bits = (count - 1) * (PAYLOAD as u64 + HEADERS) * 8;
    println!("  {}", rig.air.end()["lateness"]);
    (bits as f64 / time.as_secs_f64() / 1e6, used)
}

#[test]
#[ignore = "measures time, so it needs an idle machine"]
fn the_rate_is_kept_within_three_per_mille() {
    for rate in [2.0, 20.0, 100.0] {
        let (measured, used) = throughput(
            &format!("{rate} Mbit/s"),
            rate * 1.1,
            Duration::from_secs(5),
        );
        println!(
            "rate {rate} Mbit/s: measured {measured:.3}, processor {:.1} %",
            used * 100.0
        );
        assert!((measured / rate - 1.0).abs() < 0.003);
    }
}

#[test]
#[ignore = "measures time, so it needs an idle machine"]
fn five_hundred_megabits_get_through() {
    let (measured, used) = throughput("2 Gbit/s", 900.0, Duration::from_secs(5));
    println!(
        "most: {measured:.0} Mbit/s of 900 offered, processor {:.0} %",
        used * 100.0
    );
    assert!(measured >= 500.0);
}

/// Waits for a datagram without sleeping near `due`, so that our own wake-up is no part of it.
fn catch(socket: &UdpSocket, due: Instant) -> Instant {
    let left = due.saturating_duration_since(Instant::now());
    thread::sleep(left.saturating_sub(Duration::from_millis(1)));
    socket.set_nonblocking(true).unwrap();
    while socket.recv(&mut [0; 200]).is_err() {
        assert!(
            due.elapsed() < Duration::from_secs(1),
            "the datagram is lost"
        );
    }
    Instant::now()
}

#[test]
#[ignore = "measures time, so it needs an idle machine"]
fn the_delay_is_kept() {
    // Else the figure would be of what this thread waits for the processor.
    edges::process::go_first().expect("needs root");
    let rig = Rig::start(&link("100 Mbit/s", "20 ms", "0 %"), 1).expect("needs root");
    let (gateway, mobile) = rig.sockets();
    let delay = Duration::from_secs_f64(0.020 + (100 + HEADERS) as f64 * 8.0 / 100e6);
    let mut errors: Vec<f64> = (0..1500)
        .map(|_| {
            thread::sleep(Duration::from_millis(3));
            let begin = Instant::now();
            gateway.send(&[0; 100]).unwrap();
            let arrival = catch(&mobile, begin + delay);
            ((arrival - begin).as_secs_f64() - delay.as_secs_f64()) * 1e3
        })
        .collect();
    errors.sort_by(f64::total_cmp);
    let mean = errors.iter().sum::<f64>() / errors.len() as f64;
    let tail = errors[errors.len() * 99 / 100];
    println!(
        "delay error: mean {mean:.3} ms, 99th percentile {tail:.3} ms; {}",
        rig.air.end()["lateness"]
    );
    assert!(mean.abs() < 0.2 && tail < 2.0);
}

#[test]
#[ignore = "measures time, so it needs an idle machine"]
fn the_mean_loss_lies_in_its_interval() {
    let rig = Rig::start(&link("20 Mbit/s", "5 ms", "1 %"), 1).expect("needs root");
    let (gateway, mobile) = rig.sockets();
    let (count, _) = thread::scope(|scope| {
        let receiver = scope.spawn(|| receive(&mobile));
        send(&gateway, 15.0, Duration::from_mins(1));
        receiver.join().unwrap()
    });
    let report = rig.air.end();
    let offered = report["down"]["offered"]["packets"].as_f64().unwrap();
    let loss = 1.0 - count as f64 / offered;
    let half_width = 1.96 * (0.01 * 0.99 / offered).sqrt();
    println!(
        "loss {:.4} % of {offered} packets, interval 1 % ± {:.4}",
        loss * 100.0,
        half_width * 100.0
    );
    assert!((loss - 0.01).abs() < half_width);
}
