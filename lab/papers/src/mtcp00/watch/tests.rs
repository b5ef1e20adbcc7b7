//! Buffers and the times between them.

use super::*;

#[test]
fn buffers_that_come_together_have_no_time_between_them() {
    let mut buffers = Buffers::new(100);
    let at = Instant::from_millis;
    for (now, bytes) in [(10, 99), (20, 100), (30, 200), (30, 250), (530, 500)] {
        buffers.reach(at(now), bytes);
    }
    // 10, 500, 0 and 0 ms.
    let (mean, deviation) = buffers.intervals().unwrap();
    assert!((mean - 0.1275).abs() < 1e-9);
    let square: f64 = (0.01f64.powi(2) + 0.25) / 4.0;
    assert!((deviation - (square - mean * mean).sqrt()).abs() < 1e-9);
    assert_eq!(buffers.longest(), Duration::from_millis(500));
    assert_eq!(buffers.stalled(), Duration::from_millis(500));
}

#[test]
fn one_buffer_has_no_interval() {
    let mut buffers = Buffers::new(100);
    buffers.reach(Instant::from_millis(10), 100);
    assert_eq!(buffers.intervals(), None);
}
