// The reference topology in ns-3: sources - 100 Mbit/s, 1 ms - base station - 10 Mbit/s, 10 ms, one data packet
// in a thousand lost - mobile host. NewReno, an acknowledgement for each segment, 1400 bytes of data in a packet,
// windows of 64 packets, queues of 200.
//
// reference FLOWS PACKETS [PCAP SNAP]; prints what was delivered, how long the simulation ran, by the clock
// and on the processor, and its memory.
// With PCAP it captures the hop at the mobile host, at most SNAP bytes of each packet.

#include "ns3/bulk-send-helper.h"
#include "ns3/config.h"
#include "ns3/error-model.h"
#include "ns3/inet-socket-address.h"
#include "ns3/internet-stack-helper.h"
#include "ns3/ipv4-address-helper.h"
#include "ns3/ipv4-global-routing-helper.h"
#include "ns3/packet-sink-helper.h"
#include "ns3/packet-sink.h"
#include "ns3/point-to-point-helper.h"
#include "ns3/pointer.h"
#include "ns3/simulator.h"
#include "ns3/string.h"
#include "ns3/tcp-recovery-ops.h"
#include "ns3/tcp-congestion-ops.h"
#include "ns3/traffic-control-helper.h"
#include "ns3/uinteger.h"

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>

using namespace ns3;

namespace
{
const uint32_t SEGMENT = 1400;
const uint32_t WINDOW = 64 * SEGMENT;
const uint16_t PORT = 5001;

uint64_t
MemoryPeak()
{
    std::ifstream status("/proc/self/status");
    std::string word;
    while (status >> word)
    {
        if (word == "VmHWM:")
        {
            uint64_t peak = 0;
            status >> peak;
            return peak;
        }
    }
    return 0;
}

// How long this process has had a processor.
double
ProcessorSeconds()
{
    std::ifstream schedstat("/proc/self/schedstat");
    double nanoseconds = 0;
    schedstat >> nanoseconds;
    return nanoseconds / 1e9;
}

void
Configure()
{
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpNewReno::GetTypeId()));
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType", TypeIdValue(TcpClassicRecovery::GetTypeId()));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(SEGMENT));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(WINDOW));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(WINDOW));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
}

PointToPointHelper
Line(const std::string& rate, const std::string& delay)
{
    PointToPointHelper line;
    line.SetDeviceAttribute("DataRate", StringValue(rate));
    line.SetChannelAttribute("Delay", StringValue(delay));
    line.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("200p"));
    return line;
}

// Gives the addresses of both devices. Their own queues are the only ones: no queue disc stands before them.
Ipv4InterfaceContainer
GiveAddresses(Ipv4AddressHelper& addresses, const NetDeviceContainer& devices)
{
    Ipv4InterfaceContainer interfaces = addresses.Assign(devices);
    addresses.NewNetwork();
    TrafficControlHelper().Uninstall(devices);
    return interfaces;
}
} // namespace

int
main(int argc, char** argv)
{
    if (argc != 3 && argc != 5)
    {
        std::cerr << "usage: reference FLOWS PACKETS [PCAP SNAP]" << std::endl;
        return 2;
    }
    const uint32_t flows = std::strtoul(argv[1], nullptr, 10);
    const uint64_t packets = std::strtoull(argv[2], nullptr, 10);
    Configure();

    Ptr<Node> base = CreateObject<Node>();
    Ptr<Node> mobile = CreateObject<Node>();
    NodeContainer sources(flows);
    InternetStackHelper stack;
    stack.Install(NodeContainer(NodeContainer(base, mobile), sources));

    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
    PointToPointHelper air = Line("10Mbps", "10ms");
    NetDeviceContainer hop = air.Install(base, mobile);
    Ptr<RateErrorModel> loss = CreateObject<RateErrorModel>();
    loss->SetUnit(RateErrorModel::ERROR_UNIT_PACKET);
    loss->SetRate(0.001);
    hop.Get(1)->SetAttribute("ReceiveErrorModel", PointerValue(loss));
    Ipv4Address to = GiveAddresses(addresses, hop).GetAddress(1);

    PointToPointHelper wire = Line("100Mbps", "1ms");
    for (uint32_t flow = 0; flow < flows; flow++)
    {
        GiveAddresses(addresses, wire.Install(sources.Get(flow), base));
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    PacketSinkHelper sinks("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), PORT));
    Ptr<PacketSink> sink = DynamicCast<PacketSink>(sinks.Install(mobile).Get(0));
    BulkSendHelper senders("ns3::TcpSocketFactory", InetSocketAddress(to, PORT));
    senders.SetAttribute("MaxBytes", UintegerValue(packets / flows * SEGMENT));
    senders.SetAttribute("SendSize", UintegerValue(SEGMENT));
    senders.Install(sources);
    if (argc == 5)
    {
        const uint32_t snap = std::strtoul(argv[4], nullptr, 10);
        Config::SetDefault("ns3::PcapFileWrapper::CaptureSize", UintegerValue(snap));
        air.EnablePcap(argv[3], hop.Get(1), true, true);
    }

    const double begunProcessor = ProcessorSeconds();
    const auto begun = std::chrono::steady_clock::now();
    Simulator::Run();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begun;
    const double processor = ProcessorSeconds() - begunProcessor;
    std::cout << "{\"packets\": " << sink->GetTotalRx() / SEGMENT << ", \"seconds\": " << seconds.count()
              << ", \"processor_seconds\": " << processor << ", \"peak_kib\": " << MemoryPeak() << "}" << std::endl;
    Simulator::Destroy();
    return 0;
}
