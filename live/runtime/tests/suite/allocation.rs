//! In steady state a packet costs the loop no allocation, in either direction.

use edges::bearer::{Arrival, DatagramBearer};
use edges::memory::{MemoryBearer, MemoryDevice};
use edges::tun::PacketDevice;
use runtime::{EventLoop, Ports, Stopped};
use units::Instant;
use wire::packet::{Packet, PacketBuffer};

use crate::echo::Echo;

/// Number of packets, less than the loop's share of one turn.
const PACKETS: usize = 50;

/// Everything runs in one thread, since buffers return to the pool of the thread that drops them.
#[test]
fn packets_cost_no_allocation() {
    let addresses = ["192.0.2.1:1", "192.0.2.2:2"].map(|text| text.parse().unwrap());
    let (device, mut user) = MemoryDevice::pair(PACKETS).unwrap();
    let (bearer, mut peer) = MemoryBearer::pair(addresses, PACKETS).unwrap();
    let mut event_loop =
        EventLoop::new(Echo::new(addresses[1]), Ports::new(device, bearer)).unwrap();
    let stopper = event_loop.stopper();
    let batch = vec![PacketBuffer::copy_of(&[7; 1_000]); PACKETS];
    for round in 0..10 {
        for datagram in &batch {
            user.send(&mut Packet::new(datagram.clone())).unwrap();
        }
        assert_eq!(peer.send(addresses[0], &batch).handled, PACKETS);
        // It handles the waiting packets, and then ends.
        stopper.wake().unwrap();
        let count = allocation_counter::measure(|| {
            assert_eq!(event_loop.run().unwrap(), Stopped::Woken);
        });
        // The first rounds fill the pool.
        assert!(
            round < 3 || count.count_total == 0,
            "{} allocations",
            count.count_total
        );
        let mut sink = |_: Arrival, datagram: &mut [u8]| assert_eq!(datagram, [7; 1_000]);
        let batch = peer.receive_batch(Instant::ZERO, &mut sink).unwrap();
        assert_eq!(batch.datagrams, PACKETS);
        for _ in 0..PACKETS {
            assert_eq!(*user.receive().unwrap().unwrap(), [7; 1_000]);
        }
    }
}
