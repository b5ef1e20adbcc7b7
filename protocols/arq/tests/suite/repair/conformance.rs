//! The contract of a machine.

use arq::{Arq, Input};
use machine::conformance;
use units::{BitRate, Bytes, Duration};
use wire::flow::Class;
use wire::ip::Ecn;

use super::queues::super_packet;
use super::script::{Script, key, packet, usual};

/// Frames as another end sends them: streams, brief packets and acknowledgements; some are left out.
fn frames() -> Vec<Input> {
    let mut other = Script::new(usual());
    let mut frames = Vec::new();
    for round in 0..30 {
        other.bulk(9, 3);
        other.brief(8, 2_000);
        let packet = super_packet(round * 4_000, 4, false);
        let (key, class) = (key(10), Class::Held);
        other.input(Input::Packet { packet, key, class });
        let sent = other.send_all();
        let kept = sent
            .into_iter()
            .enumerate()
            .filter(|(place, _)| !(place + round as usize).is_multiple_of(4));
        frames.extend(kept.map(|(_, frame)| frame.bytes));
        other.wait(Duration::from_millis(7));
    }
    let arrived = units::Instant::ZERO;
    let ecn = Ecn::CongestionExperienced;
    let input = |frame| Input::Frame {
        arrived,
        frame,
        ecn,
    };
    frames.into_iter().map(input).collect()
}

#[test]
fn the_contract_holds() {
    let mut script = vec![(Duration::ZERO, Input::Rate(BitRate::from_megabits(2)))];
    let wait = Duration::from_micros(1_700);
    for (place, frame) in frames().into_iter().enumerate() {
        let class = if place % 3 == 0 {
            Class::Brief
        } else {
            Class::Held
        };
        let flow = place as u16 % 5;
        let packet = packet(flow, place as u32, 200 + 40 * place);
        let key = key(flow);
        script.push((wait, Input::Packet { packet, key, class }));
        script.push((Duration::ZERO, frame));
        script.push((Duration::ZERO, Input::AirFree(Bytes::new(3_000))));
    }
    conformance::check(|| Arq::new(usual()), &script, Duration::from_secs(200));
}
