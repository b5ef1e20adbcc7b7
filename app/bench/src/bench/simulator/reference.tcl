# The reference topology in ns-2: sources - 100 Mbit/s, 1 ms - base station - 10 Mbit/s, 10 ms, one data packet
# in a thousand lost - mobile host. NewReno, an acknowledgement for each segment, 1400 bytes of data in a packet,
# windows of 64 packets, queues of 200.
#
# ns reference.tcl FLOWS PACKETS; prints what was delivered, how long the simulation ran, by the clock and on
# the processor, and its memory.

set flows [lindex $argv 0]
set packets [lindex $argv 1]
set running $flows

ns-random 1
Queue set limit_ 200
Agent/TCP set packetSize_ 1400
Agent/TCP set window_ 64
Agent/TCP set minrto_ 0.2

proc memory_peak {} {
    set file [open /proc/self/status]
    regexp {VmHWM:\s+(\d+)} [read $file] line peak
    close $file
    return $peak
}

# How long this process has had a processor, in nanoseconds.
proc processor_time {} {
    set file [open /proc/self/schedstat]
    set time [lindex [read $file] 0]
    close $file
    return $time
}

# ns-2 calls this when all that a sender had to send is acknowledged.
Agent/TCP/Newreno instproc done {} {
    global running
    incr running -1
    if {$running == 0} {
        report
    }
}

proc report {} {
    global senders begun begun_processor
    set processor [expr {([processor_time] - $begun_processor) / 1e9}]
    set seconds [expr {([clock microseconds] - $begun) / 1e6}]
    set delivered 0
    foreach sender $senders {
        # Number 0 is the SYN.
        incr delivered [$sender set ack_]
    }
    puts "{\"packets\": $delivered, \"seconds\": $seconds, \"processor_seconds\": $processor,"
    puts "\"peak_kib\": [memory_peak]}"
    exit 0
}

# Otherwise each packet has room for the header of every protocol that ns-2 knows.
remove-all-packet-headers
add-packet-header Common Flags IP TCP
set ns [new Simulator]
set base [$ns node]
set mobile [$ns node]
$ns duplex-link $base $mobile 10Mb 10ms DropTail
set loss [new ErrorModel]
$loss unit pkt
$loss set rate_ 0.001
$loss ranvar [new RandomVariable/Uniform]
$loss drop-target [new Agent/Null]
$ns lossmodel $loss $base $mobile

set senders {}
for {set flow 0} {$flow < $flows} {incr flow} {
    set source [$ns node]
    $ns duplex-link $source $base 100Mb 1ms DropTail
    set sender [new Agent/TCP/Newreno]
    set sink [new Agent/TCPSink]
    $ns attach-agent $source $sender
    $ns attach-agent $mobile $sink
    $ns connect $sender $sink
    $ns at 0.0 "$sender advance [expr {$packets / $flows}]"
    lappend senders $sender
}
$ns at 0.0 {
    set begun_processor [processor_time]
    set begun [clock microseconds]
}
$ns run
