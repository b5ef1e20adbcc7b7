-- A dissector of lasthop's hop for Wireshark and tshark, for captures of `lasthop capture`.
--
-- It shows what docs/hop-frame.md, docs/mtcp-packet.md and docs/session.md define, on the interface "hop" (USER0).
-- Install it in Wireshark's folder of personal Lua plugins (Help, About, Folders), or once:
--   tshark -X lua_script:lasthop.lua -r hop.pcapng -Y lasthop.repeated

local hop = Proto("lasthop", "lasthop hop frame")
local mtcp = Proto("mtcp", "MTCP packet")

local KINDS = { [1] = "plaintext", [2] = "datagram of the session" }
local DIRECTIONS = { [1] = "inbound", [2] = "outbound" }
local ECN = { [0] = "not capable", [1] = "ECT(1)", [2] = "ECT(0)", [3] = "CE" }
local CHUNKS = {
    [1] = "stream", [2] = "brief", [3] = "acknowledgement", [4] = "probe", [5] = "padding", [7] = "transport",
}
local MESSAGES = { [1] = "goodbye", [2] = "challenge", [3] = "answer", [4] = "claim", [5] = "claim refused",
    [6] = "binding question", [7] = "binding answer", [8] = "notice" }
local REFUSALS = { [1] = "the operator alone changes this key", [2] = "the invitation has expired", [3] = "failed" }
local DATAGRAMS = { [1] = "initiation", [2] = "response", [3] = "cookie reply", [4] = "sealed" }
local CONTROLS = {
    [1] = "SYN", [2] = "SYN-ACK", [3] = "RESET", [4] = "PENDING", [5] = "LISTEN", [6] = "LISTENING", [7] = "UNLISTEN",
}
local REASONS = {
    [0] = "aborted", [1] = "refused", [2] = "unreachable", [3] = "timed out", [4] = "too many",
    [5] = "unknown connection", [6] = "no common profile", [7] = "protocol broken", [8] = "nobody listens",
}

local f = {}

-- Declares the fields of a protocol: { key, type, filter name behind the prefix, title, [values or base] }.
local function declare(proto, prefix, list)
    local all = {}
    for _, field in ipairs(list) do
        local key, kind, name, title, values = field[1], field[2], field[3], field[4], field[5]
        local made
        if kind == "bool" then
            made = ProtoField.bool(prefix .. name, title)
        elseif kind == "hex8" then
            made = ProtoField.uint8(prefix .. name, title, base.HEX)
        elseif kind == "hex16" then
            made = ProtoField.uint16(prefix .. name, title, base.HEX)
        elseif kind == "string" or kind == "bytes" or kind == "ipv4" or kind == "ipv6" then
            made = ProtoField[kind](prefix .. name, title)
        else
            made = ProtoField[kind](prefix .. name, title, base.DEC, values)
        end
        f[key] = made
        all[#all + 1] = made
    end
    proto.fields = all
end

declare(hop, "lasthop.", {
    { "capture_version", "uint8", "capture.version", "Version of the capture header" },
    { "kind", "uint8", "kind", "Kind", KINDS },
    { "direction", "uint8", "direction", "Direction", DIRECTIONS },
    { "ecn", "uint8", "ecn", "ECN of the datagram", ECN },
    { "association", "uint32", "association", "Association" },
    { "address", "string", "address", "Address of the other end" },
    { "peer", "string", "peer", "Peer" },
    { "version", "uint8", "version", "Version" },
    { "number", "uint32", "number", "Transmission number" },
    { "missing", "uint32", "missing", "Transmissions missing before this one" },
    { "repeated", "bool", "repeated", "Sent before, at least in part" },
    { "repeated_bytes", "uint32", "repeated.bytes", "Bytes of streams sent again" },
    { "chunk", "uint8", "chunk", "Chunk", CHUNKS },
    { "flags", "hex8", "chunk.flags", "Flags" },
    { "length", "uint16", "chunk.length", "Length" },
    { "bytes", "bytes", "chunk.bytes", "Bytes" },
    { "is_end", "bool", "chunk.end", "End of the stream or the record" },
    { "flow", "uint64", "stream.flow", "Flow" },
    { "offset", "uint32", "stream.offset", "Offset" },
    { "position", "uint64", "stream.position", "Position in the stream" },
    { "brief_packet", "uint32", "brief.packet", "Packet number" },
    { "brief_offset", "uint16", "brief.offset", "Offset in the record" },
    { "brief_repaired", "bool", "brief.repaired", "In the repaired lane" },
    { "largest", "uint32", "ack.largest", "Largest number received" },
    { "arrival", "uint32", "ack.arrival", "Its arrival, in microseconds of the receiver's clock" },
    { "delay", "uint64", "ack.delay", "Delay since then, in microseconds" },
    { "first", "uint64", "ack.first", "Received just below it" },
    { "ect0", "uint64", "ack.ect0", "Arrived with ECT(0)" },
    { "ce", "uint64", "ack.ce", "Arrived with CE" },
    { "count", "uint8", "ack.count", "Further ranges" },
    { "gap", "uint64", "ack.gap", "Missing below, less one" },
    { "run", "uint64", "ack.run", "Received below, less one" },
    { "range", "string", "ack.range", "Received" },
    { "acked", "uint64", "ack.received", "Transmissions that it covers" },
    { "after_long", "bool", "probe.after_long", "The transmission before was a probe of the path MTU" },
    { "message", "uint8", "message", "Message", MESSAGES },
    { "bits", "bytes", "message.bits", "Bits" },
    { "key", "bytes", "message.key", "Public key" },
    { "refusal", "uint8", "message.reason", "Reason", REFUSALS },
    { "datagram", "uint8", "datagram", "Datagram", DATAGRAMS },
    { "receiver", "uint32", "datagram.receiver", "Index of the session at the receiver" },
    { "counter", "uint32", "datagram.counter", "Packet number, low 32 bits" },
    { "record", "string", "record", "Record" },
    { "record_first", "hex8", "record.first", "First byte" },
    { "record_length", "uint64", "record.length", "Bytes of the packet, or of a delta's payload" },
    { "record_sequence", "uint32", "record.sequence", "TCP sequence number" },
    { "record_ack", "uint64", "record.acknowledgement", "TCP acknowledgement number, difference" },
    { "record_window", "uint16", "record.window", "TCP window" },
    { "record_stamp", "uint64", "record.timestamp", "TCP timestamp, difference" },
    { "record_echo", "uint64", "record.echo", "TCP timestamp echo, difference" },
    { "record_flags", "hex8", "record.flags", "TCP flags" },
    { "record_id", "uint16", "record.identification", "IPv4 identification" },
    { "record_size", "uint16", "record.segment_size", "Segment size" },
    { "record_protocol", "uint8", "record.protocol", "Protocol of IP" },
    { "record_source4", "ipv4", "record.source", "Source" },
    { "record_destination4", "ipv4", "record.destination", "Destination" },
    { "record_source6", "ipv6", "record.source6", "Source" },
    { "record_destination6", "ipv6", "record.destination6", "Destination" },
    { "continues", "uint32", "record.continues", "Bytes of a record that began before" },
})

declare(mtcp, "mtcp.", {
    { "m_code", "hex16", "code", "Code" },
    { "m_wide", "bool", "wide", "Wide profile" },
    { "m_lean", "bool", "lean", "Its sender keeps no timers" },
    { "m_kind", "uint8", "kind", "Kind", CONTROLS },
    { "m_reason", "uint8", "reason", "Reason", REASONS },
    { "m_connection", "uint16", "connection", "Connection ID" },
    { "m_sequence", "uint32", "sequence", "Sequence number" },
    { "m_ack", "uint32", "acknowledgment", "Acknowledgment number" },
    { "m_reverse", "uint16", "reverse", "Reverse connection ID" },
    { "m_checksum", "hex16", "checksum", "Checksum" },
    { "m_buffer", "uint32", "max_buffer", "Max buffer" },
    { "m_packet", "uint16", "max_packet", "Max packet" },
    { "m_shift", "uint8", "shift", "Shift of windows" },
    { "m_family", "uint8", "family", "Address family" },
    { "m_to_port", "uint16", "destination_port", "Destination port" },
    { "m_from_port", "uint16", "source_port", "Source port" },
    { "m_to4", "ipv4", "destination", "Destination" },
    { "m_from4", "ipv4", "source", "Source" },
    { "m_to6", "ipv6", "destination6", "Destination" },
    { "m_from6", "ipv6", "source6", "Source" },
    { "m_window", "uint16", "window", "Window" },
    { "m_length", "uint16", "length", "Data length" },
    { "m_rc", "uint16", "rc", "Retransmission cycle or number (RC)" },
    { "m_rcr", "uint16", "rcr", "The other end's (RCR)" },
    { "m_rrq", "bool", "rrq", "Retransmission request (RRQ)" },
    { "m_fin", "bool", "fin", "FIN" },
    { "m_poll", "bool", "poll", "POLL" },
    { "m_cause", "bool", "cause", "CAUSE" },
    { "m_hole", "uint32", "negative_ack", "Negative acknowledgement" },
    { "m_count", "uint8", "holes", "Further holes" },
    { "m_hole_at", "uint32", "hole.offset", "Hole behind the acknowledgment number" },
    { "m_hole_length", "uint32", "hole.length", "Length of the hole" },
    { "m_repeated", "bool", "repeated", "Data sent before, at least in part" },
    { "m_data", "bytes", "data", "Data" },
})

local e = {
    malformed = ProtoExpert.new("lasthop.malformed", "Malformed", expert.group.MALFORMED, expert.severity.ERROR),
    unknown = ProtoExpert.new("lasthop.unknown", "Unknown kind or version", expert.group.UNDECODED, expert.severity.WARN),
    cut = ProtoExpert.new("lasthop.cut", "Cut by the capture (--snap)", expert.group.UNDECODED, expert.severity.CHAT),
    gap = ProtoExpert.new("lasthop.gap", "Transmissions are missing", expert.group.SEQUENCE, expert.severity.NOTE),
    repeated = ProtoExpert.new("lasthop.again", "Sent again", expert.group.SEQUENCE, expert.severity.NOTE),
    unclear = ProtoExpert.new("lasthop.unclear", "Bytes before it are not captured yet, so its records are unknown",
        expert.group.UNDECODED, expert.severity.CHAT),
}
hop.experts = { e.malformed, e.unknown, e.cut, e.gap, e.repeated, e.unclear }
local m_malformed = ProtoExpert.new("mtcp.malformed", "Malformed", expert.group.MALFORMED, expert.severity.ERROR)
local m_checksum = ProtoExpert.new("mtcp.bad_checksum", "Wrong checksum", expert.group.CHECKSUM, expert.severity.ERROR)
local m_again = ProtoExpert.new("mtcp.again", "Sent again", expert.group.SEQUENCE, expert.severity.NOTE)
mtcp.experts = { m_malformed, m_checksum, m_again }

-- State of the capture: directions of associations, and what the first pass has found of each frame.
local ways, found

function hop.init()
    ways, found = {}, {}
end

-- Returns true if `value` has this bit (a power of two).
local function has(value, bit)
    return math.floor(value / bit) % 2 == 1
end

-- Returns the number nearest to `near` that is `low` modulo `modulus`.
local function expand(low, near, modulus)
    local number = near - near % modulus + low
    if number + modulus / 2 <= near then
        return number + modulus
    elseif number > near + modulus / 2 and number >= modulus then
        return number - modulus
    end
    return number
end

-- A reader of the bytes `at` to `stop`, of which those before `captured` are in the file. It raises a reason.
local Reader = {}
Reader.__index = Reader

local function reader(tvb, at, stop)
    return setmetatable({ tvb = tvb, at = at, stop = stop, captured = math.min(stop, tvb:len()) }, Reader)
end

function Reader:left()
    return self.stop - self.at
end

function Reader:take(count)
    if self.at + count > self.stop then
        error({ expert = e.malformed, text = "it ends before its fields do" }, 0)
    elseif self.at + count > self.captured then
        error({ expert = e.cut, text = "the capture has no more of it" }, 0)
    end
    local range = self.tvb:range(self.at, count)
    self.at = self.at + count
    return range
end

-- Takes an unsigned number of `count` bytes, adds it to `tree` as `field`, and returns it.
function Reader:uint(tree, field, count)
    local range = self:take(count)
    local value = range:uint()
    if field then tree:add(field, range) end
    return value, range
end

-- Takes a variable-length number (RFC 9000 section 16).
function Reader:varint(tree, field)
    local from = self.at
    local first = self:take(1):uint()
    local value = first % 64
    for _ = 2, 2 ^ math.floor(first / 64) do
        value = value * 256 + self:take(1):uint()
    end
    local range = self.tvb:range(from, self.at - from)
    if field then tree:add(field, range, UInt64.new(value % 4294967296, math.floor(value / 4294967296))) end
    return value, range
end

-- Takes `count` bytes of content, as far as they are captured.
function Reader:content(tree, field, count)
    if count > self:left() then
        error({ expert = e.malformed, text = "it ends before its content does" }, 0)
    end
    local kept = math.max(0, math.min(count, self.captured - self.at))
    local from = self.at
    self.at = self.at + count
    if kept > 0 then tree:add(field, self.tvb:range(from, kept)) end
    if kept < count then tree:add_proto_expert_info(e.cut) end
    return from, kept
end

-- Runs `read`; if it raises a reason, adds that to `tree`. Returns true if it ended well.
local function guarded(tree, read)
    local is_fine, reason = pcall(read)
    if is_fine then return true end
    if type(reason) ~= "table" then error(reason, 0) end
    tree:add_proto_expert_info(reason.expert, reason.text)
    return false
end

local function generated(tree, field, range, value)
    local item
    if range then item = tree:add(field, range, value) else item = tree:add(field, value) end
    item:set_generated()
    return item
end

-- Shows the fields of a delta record behind its first byte and length, in the order of docs/hop-frame.md.
local function delta_fields(input, tree, first)
    if has(first, 0x01) then input:uint(tree, f.record_sequence, 4) end
    if has(first, 0x02) then input:varint(tree, f.record_ack) end
    if has(first, 0x04) then input:uint(tree, f.record_window, 2) end
    if has(first, 0x08) then
        input:varint(tree, f.record_stamp)
        input:varint(tree, f.record_echo)
    end
    if has(first, 0x10) then input:uint(tree, f.record_flags, 1) end
    if has(first, 0x20) then input:uint(tree, f.record_id, 2) end
    if has(first, 0x40) then input:uint(tree, f.record_size, 2) end
end

-- Shows addresses and protocol at the beginning of a packet, if they are there.
local function packet_fields(tvb, from, kept, tree)
    if kept < 20 then return end
    local version = math.floor(tvb:range(from, 1):uint() / 16)
    if version == 4 then
        tree:add(f.record_protocol, tvb:range(from + 9, 1))
        tree:add(f.record_source4, tvb:range(from + 12, 4))
        tree:add(f.record_destination4, tvb:range(from + 16, 4))
    elseif version == 6 and kept >= 40 then
        tree:add(f.record_protocol, tvb:range(from + 6, 1))
        tree:add(f.record_source6, tvb:range(from + 8, 16))
        tree:add(f.record_destination6, tvb:range(from + 24, 16))
    end
end

-- Reads one record's head from `input`, and as much of its body as is there; returns the bytes that are missing.
local function record(input, tree)
    local from = input.at
    local item = tree:add(f.record, input.tvb:range(from, 1), "")
    local first = input:uint(item, f.record_first, 1)
    local length = input:varint(item, f.record_length)
    if first >= 0x80 then
        item:append_text("delta, " .. length .. " bytes of payload")
        delta_fields(input, item, first)
    else
        item:append_text("whole packet of " .. length .. " bytes")
        if first > 3 then item:add_proto_expert_info(e.malformed, "reserved bits are set") end
        if has(first, 0x01) then input:uint(item, f.record_size, 2) end
        if length > 65535 then
            error({ expert = e.malformed, text = "a packet of " .. length .. " bytes" }, 0)
        end
        packet_fields(input.tvb, input.at, math.min(length, input.captured - input.at), item)
    end
    local here = math.min(length, input:left())
    input.at = input.at + here
    item:set_len(math.max(1, math.min(input.at, input.captured) - from))
    return length - here
end

-- The size of a record's head in `text` from `at`, and the length of its body; nothing if the head is not complete.
local function head_of(text, at)
    local place = at
    local function byte()
        local value = text:byte(place)
        if not value then error({}, 0) end
        place = place + 1
        return value
    end
    local function varint()
        local first = byte()
        local value = first % 64
        for _ = 2, 2 ^ math.floor(first / 64) do value = value * 256 + byte() end
        return value
    end
    local function skip(count) for _ = 1, count do byte() end end
    local is_whole, length = pcall(function()
        local first = byte()
        local body = varint()
        if first < 0x80 then
            if has(first, 0x01) then skip(2) end
            return body
        end
        if has(first, 0x01) then skip(4) end
        if has(first, 0x02) then varint() end
        if has(first, 0x04) then skip(2) end
        if has(first, 0x08) then varint() varint() end
        if has(first, 0x10) then skip(1) end
        if has(first, 0x20) then skip(2) end
        if has(first, 0x40) then skip(2) end
        return body
    end)
    if is_whole then return place - at, length end
end

-- The state of a stream behind `text`, by its state before: bytes to skip, or a part of a head.
local function advance(state, text)
    local before = #state.part
    text = state.part .. text
    local at = 1 + state.skip
    while at <= #text do
        local size, length = head_of(text, at)
        if not size then return { skip = 0, part = text:sub(at) } end
        at = at + size + length
    end
    return { skip = at - 1 - #text, part = "" }, before
end

-- Notes where records continue in `text`, which begins where `flow` is clear.
local function clear_range(flow, text)
    local before, start = flow.states[flow.clear], flow.clear
    for position, _ in pairs(flow.waiting) do
        if position > start and position < start + #text then
            flow.states[position] = advance(before, text:sub(1, position - start))
        end
    end
    flow.clear = start + #text
    flow.states[flow.clear] = advance(before, text)
end

-- Notes a range of a stream, on the first pass; what waits behind it becomes clear with it. Repairs may have other
-- limits than the ranges that were lost.
local function note_range(flow, position, text)
    if position + #text <= flow.clear then return end
    flow.waiting[position] = text
    local goes_on = true
    while goes_on do
        goes_on = false
        for start, waiting in pairs(flow.waiting) do
            if start <= flow.clear then
                flow.waiting[start] = nil
                local new = waiting:sub(flow.clear - start + 1)
                if #new > 0 then clear_range(flow, new) end
                goes_on = true
                break
            end
        end
    end
end

-- Shows the records in the `kept` bytes of a stream from `from`, if it is known where they begin.
local function records(tvb, from, kept, state, tree)
    local input = reader(tvb, from, from + kept)
    local continues = state.skip
    if #state.part > 0 then
        local bytes = tvb:range(from, kept):bytes():raw()
        local size, length = head_of(state.part .. bytes, 1)
        if not size then return end
        continues = size + length - #state.part
    end
    if continues > 0 then
        local here = math.min(continues, kept)
        generated(tree, f.continues, tvb:range(from, here), here)
        input.at = input.at + here
    end
    -- A head that this range has only a part of is no error: the next range has the rest.
    pcall(function() while input:left() > 0 do record(input, tree) end end)
end

local function flow_of(way, number)
    local flow = way.flows[number]
    if not flow then
        flow = { sent = 0, clear = 0, waiting = {}, states = { [0] = { skip = 0, part = "" } } }
        way.flows[number] = flow
    end
    return flow
end

local function stream_chunk(input, tree, context, flags)
    local number = input:varint(tree, f.flow)
    local low = input:uint(tree, f.offset, 4)
    local length = input:left()
    if has(flags, 1) then length = input:uint(tree, f.length, 2) end
    tree:add(f.is_end, has(flags, 2))
    local from, kept = input:content(tree, f.bytes, length)
    local flow = flow_of(context.way, number)
    local note = context:note()
    if not note.position then
        note.position = expand(low, flow.sent, 4294967296)
        -- As the daemon counts: a range whose first byte was sent before.
        note.is_repeated = note.position < flow.sent
        flow.sent = math.max(flow.sent, note.position + length)
        if kept == length and kept > 0 then
            note_range(flow, note.position, input.tvb:range(from, kept):bytes():raw())
        end
    end
    generated(tree, f.position, nil, UInt64.new(note.position % 4294967296, math.floor(note.position / 4294967296)))
    local state = flow.states[note.position]
    if state and kept > 0 then
        records(input.tvb, from, kept, state, tree)
    elseif kept > 0 then
        tree:add_proto_expert_info(e.unclear)
    end
    if note.is_repeated then
        tree:add_proto_expert_info(e.repeated)
        context.repeated_bytes = context.repeated_bytes + length
    end
    return string.format("flow %d %d+%d%s", number, note.position, length, note.is_repeated and " again" or "")
end

local function brief_chunk(input, tree, context, flags)
    local packet = input:uint(tree, f.brief_packet, 4)
    local offset = has(flags, 4) and input:uint(tree, f.brief_offset, 2) or 0
    local length = has(flags, 1) and input:uint(tree, f.length, 2) or input:left()
    tree:add(f.is_end, has(flags, 2))
    tree:add(f.brief_repaired, has(flags, 8))
    local from, kept = input:content(tree, f.bytes, length)
    local note = context:note()
    if not note.is_known then
        local place = packet .. ":" .. offset
        note.is_known, note.is_repeated = true, context.way.briefs[place] == true
        context.way.briefs[place] = true
    end
    if offset == 0 and kept > 0 then
        guarded(tree, function() record(reader(input.tvb, from, from + kept), tree) end)
    end
    if note.is_repeated then tree:add_proto_expert_info(e.repeated) end
    return string.format("brief %d%s", packet, note.is_repeated and " again" or "")
end

local function range_text(tree, range, low, high)
    generated(tree, f.range, range, low == high and tostring(low) or string.format("%d-%d", low, high))
end

local function ack_chunk(input, tree, _, flags)
    local largest, largest_range = input:uint(tree, f.largest, 4)
    input:uint(tree, f.arrival, 4)
    input:varint(tree, f.delay)
    local first = input:varint(tree, f.first)
    if has(flags, 1) then
        input:varint(tree, f.ect0)
        input:varint(tree, f.ce)
    end
    local count = input:uint(tree, f.count, 1)
    local start, covered = largest - first, first + 1
    range_text(tree, largest_range, start, largest)
    for _ = 1, count do
        local from = input.at
        local gap = input:varint(tree, f.gap)
        local run = input:varint(tree, f.run)
        local high = start - gap - 2
        start = high - run
        covered = covered + run + 1
        range_text(tree, input.tvb:range(from, input.at - from), start, high)
    end
    generated(tree, f.acked, nil, UInt64.new(covered % 4294967296, math.floor(covered / 4294967296)))
    -- The numbers are the low 32 bits, so those of an old association may be below zero here.
    if start < 0 and start > -65536 and largest < 65536 then
        tree:add_proto_expert_info(e.malformed, "it reaches below the first transmission")
    end
    return string.format("ack %d%s", largest, count > 0 and " (" .. count .. " gaps)" or "")
end

local function probe_chunk(_, tree, _, flags)
    tree:add(f.after_long, has(flags, 2))
    return has(flags, 2) and "probe after a long one" or "probe"
end

local function padding_chunk(input, tree, _, flags)
    local length = has(flags, 1) and input:uint(tree, f.length, 2) or input:left()
    input:content(tree, f.bytes, length)
    return "padding " .. length
end

-- The sum of RFC 1071 over a packet; 0xffff if the checksum in it is right.
local function checksum(tvb, from, length)
    local sum, bytes = 0, tvb:range(from, length):bytes():raw()
    for at = 1, length - 1, 2 do
        local high, low = bytes:byte(at, at + 1)
        sum = sum + high * 256 + low
    end
    if length % 2 == 1 then sum = sum + bytes:byte(length) * 256 end
    while sum > 0xffff do sum = sum % 0x10000 + math.floor(sum / 0x10000) end
    return sum
end

local function mtcp_control(input, tree, code, wide)
    local kind = code % 16
    tree:add(f.m_lean, has(code, 0x0100))
    tree:add(f.m_kind, kind)
    local reason = math.floor(code / 16) % 16
    if kind == 3 or kind == 7 then tree:add(f.m_reason, reason) end
    if not CONTROLS[kind] or math.floor(code % 0x4000 / 0x200) > 0 or (reason > 0 and kind ~= 3 and kind ~= 7) then
        error({ expert = m_malformed, text = "the code is that of no known packet" }, 0)
    end
    local number = wide and 4 or 2
    input:uint(tree, f.m_connection, 2)
    input:uint(tree, f.m_sequence, number)
    input:uint(tree, f.m_ack, number)
    input:uint(tree, f.m_reverse, 2)
    input:uint(tree, f.m_checksum, 2)
    input:uint(tree, f.m_buffer, number)
    input:uint(tree, f.m_packet, 2)
    local family = 4
    if wide then
        input:uint(tree, f.m_shift, 1)
        family = input:uint(tree, f.m_family, 1)
    end
    input:uint(tree, f.m_to_port, 2)
    input:uint(tree, f.m_from_port, 2)
    if family ~= 4 and family ~= 6 then
        error({ expert = m_malformed, text = "address family " .. family }, 0)
    end
    local to, from, size = f.m_to4, f.m_from4, 4
    if family == 6 then to, from, size = f.m_to6, f.m_from6, 16 end
    tree:add(to, input:take(size))
    tree:add(from, input:take(size))
    return CONTROLS[kind] .. (kind == 3 and " (" .. (REASONS[reason] or reason) .. ")" or "")
end

local function mtcp_data(input, tree, context, code, wide)
    local number = wide and 4 or 2
    tree:add(f.m_rrq, has(code, 4))
    tree:add(f.m_fin, has(code, 8))
    tree:add(f.m_poll, has(code, 16))
    tree:add(f.m_cause, has(code, 32))
    if not wide then
        tree:add(f.m_rc, code % 2)
        tree:add(f.m_rcr, math.floor(code / 2) % 2)
    end
    local connection = input:uint(tree, f.m_connection, 2)
    local sequence = input:uint(tree, f.m_sequence, number)
    local ack = input:uint(tree, f.m_ack, number)
    input:uint(tree, f.m_window, 2)
    local length, hole, holes = 0, 0, 0
    if wide then
        length = input:uint(tree, f.m_length, 2)
        input:uint(tree, f.m_rc, 2)
        input:uint(tree, f.m_rcr, 2)
        hole = input:uint(tree, f.m_hole, 4)
        input:uint(tree, f.m_checksum, 2)
        holes = input:uint(tree, f.m_count, 1)
        input:take(1)
        for _ = 1, holes do
            input:uint(tree, f.m_hole_at, 4)
            input:uint(tree, f.m_hole_length, 4)
        end
    else
        hole = input:uint(tree, f.m_hole, 2)
        length = input:uint(tree, f.m_length, 2)
        input:uint(tree, f.m_checksum, 2)
    end
    if length > 0 then input:content(tree, f.m_data, length) end
    local note = context:note()
    if length > 0 and not note.is_known then
        local key = connection .. (wide and "w" or "p")
        local sent = context.way.connections[key] or sequence
        local position = expand(sequence, sent, wide and 4294967296 or 65536)
        note.is_known, note.is_repeated = true, position < sent
        context.way.connections[key] = math.max(sent, position + length)
    end
    if note.is_repeated then
        generated(tree, f.m_repeated, nil, true)
        tree:add_proto_expert_info(m_again)
    end
    local parts = { string.format("data %d+%d ack %d", sequence, length, ack) }
    if has(code, 8) then parts[#parts + 1] = "FIN" end
    if has(code, 4) then parts[#parts + 1] = "RRQ" end
    if hole > 0 then parts[#parts + 1] = "missing " .. hole end
    if note.is_repeated then parts[#parts + 1] = "again" end
    return table.concat(parts, " ")
end

local function transport_chunk(input, tree, context, flags)
    local length = has(flags, 1) and input:uint(tree, f.length, 2) or input:left()
    local from, kept = input:content(tree, f.bytes, length)
    if kept == 0 then return "MTCP" end
    local item = tree:add(mtcp, input.tvb:range(from, kept))
    local packet, text = reader(input.tvb, from, from + length), ""
    local is_fine = guarded(item, function()
        local code = packet:uint(item, f.m_code, 2)
        local wide = has(code, 0x4000)
        item:add(f.m_wide, wide)
        if code >= 0x8000 then
            text = mtcp_data(packet, item, context, code, wide)
        else
            text = mtcp_control(packet, item, code, wide)
        end
    end)
    -- Bytes of an Ethernet frame's end may follow a packet.
    local size = packet.at - from
    if is_fine and kept >= size and checksum(input.tvb, from, size) ~= 0xffff then
        item:add_proto_expert_info(m_checksum)
    end
    item:append_text(": " .. text)
    return "MTCP " .. text
end

local READERS = {
    [1] = stream_chunk, [2] = brief_chunk, [3] = ack_chunk, [4] = probe_chunk, [5] = padding_chunk,
    [7] = transport_chunk,
}

local function chunks(input, tree, context)
    local texts = {}
    while input:left() > 0 do
        local from = input.at
        local first = input:take(1)
        local kind, flags = math.floor(first:uint() / 16), first:uint() % 16
        local item = tree:add(f.chunk, first, kind)
        item:add(f.flags, first, flags)
        context.chunk = context.chunk + 1
        local read = READERS[kind]
        if not read then
            item:add_proto_expert_info(e.unknown, "the rest of the frame cannot be read")
            break
        end
        local is_fine = guarded(item, function()
            local text = read(input, item, context, flags)
            texts[#texts + 1] = text
            item:append_text(": " .. text)
        end)
        item:set_len(math.max(1, math.min(input.at, input.captured) - from))
        if not is_fine then break end
    end
    return table.concat(texts, ", ")
end

-- Shows which transmissions are missing before this one, and notes its number.
local function follow(tree, range, number, context)
    local note = context:note()
    if not note.is_followed then
        local last = context.way.last
        local whole = expand(number, last or number, 4294967296)
        note.is_followed, note.missing = true, last and math.max(0, whole - last - 1) or 0
        context.way.last = math.max(whole, last or 0)
    end
    if note.missing > 0 then
        generated(tree, f.missing, range, note.missing)
        tree:add_proto_expert_info(e.gap, note.missing .. " transmissions are missing before this one")
    end
end

local function message(input, tree)
    local kind = input:uint(tree, f.message, 1)
    if kind == 2 or kind == 3 then
        tree:add(f.bits, input:take(8))
    elseif kind == 4 then
        tree:add(f.key, input:take(32))
    elseif kind == 5 then
        input:uint(tree, f.refusal, 1)
    elseif kind ~= 1 then
        error({ expert = e.unknown, text = "message " .. kind }, 0)
    end
    if input:left() > 0 then error({ expert = e.malformed, text = "bytes follow the message" }, 0) end
    return MESSAGES[kind]
end

local function plaintext(input, tree, context)
    if input:left() == 0 then return "confirmation or probe of the session" end
    local first = input:take(1)
    local version = math.floor(first:uint() / 16)
    if version == 0 then
        input.at = input.at - 1
        return message(input, tree)
    end
    tree:add(f.version, first, version)
    if version ~= 1 then error({ expert = e.unknown, text = "frame version " .. version }, 0) end
    if first:uint() % 16 > 0 then tree:add_proto_expert_info(e.malformed, "reserved bits are set") end
    local number, range = input:uint(tree, f.number, 4)
    follow(tree, range, number, context)
    local text = chunks(input, tree, context)
    if context.repeated_bytes > 0 then
        generated(tree, f.repeated, nil, true)
        generated(tree, f.repeated_bytes, nil, context.repeated_bytes)
    end
    return "#" .. number .. " " .. text
end

local function datagram(input, tree)
    local kind = input:uint(tree, f.datagram, 1)
    if kind ~= 4 then return "handshake: " .. (DATAGRAMS[kind] or "type " .. kind) end
    local whole = input.stop - input.at + 1
    tree:add_le(f.receiver, input:take(4))
    tree:add_le(f.counter, input:take(4))
    return whole == 26 and "sealed: goodbye" or "sealed: confirmation or probe of the session"
end

-- Returns the text of the other end's address.
local function address_of(input, kind)
    if kind == 0 then return nil end
    if kind == 1 then return tostring(input:take(6):ether()) end
    local bearer = ""
    if kind == 20 or kind == 22 then bearer, kind = "tls:", kind - 16 end
    local address = kind == 4 and input:take(4) or kind == 6 and input:take(16)
    if not address then error({ expert = e.unknown, text = "address kind " .. kind }, 0) end
    local port = input:take(2):uint()
    if kind == 4 then return bearer .. tostring(address:ipv4()) .. ":" .. port end
    return bearer .. "[" .. tostring(address:ipv6()) .. "]:" .. port
end

local function capture_header(input, tree)
    local version = input:uint(tree, f.capture_version, 1)
    if version ~= 1 then error({ expert = e.unknown, text = "capture header version " .. version }, 0) end
    local kind = input:uint(tree, f.kind, 1)
    local direction = input:uint(tree, f.direction, 1)
    input:uint(tree, f.ecn, 1)
    local association = input:uint(tree, f.association, 4)
    local address_kind, name_length = input:take(1):uint(), input:take(1):uint()
    local from = input.at
    local address = address_of(input, address_kind)
    if address then tree:add(f.address, input.tvb:range(from, input.at - from), address) end
    local name = ""
    if name_length > 0 then
        local range = input:take(name_length)
        name = range:string(ENC_UTF_8)
        tree:add(f.peer, range)
    end
    return kind, direction, name, name .. "\0" .. association .. "\0" .. direction
end

-- What the first pass found of the present chunk of a frame.
local Context = {}
Context.__index = Context

function Context:note()
    local notes = found[self.frame]
    if not notes then
        notes = {}
        found[self.frame] = notes
    end
    notes[self.chunk] = notes[self.chunk] or {}
    return notes[self.chunk]
end

function hop.dissector(tvb, pinfo, root)
    pinfo.cols.protocol = "lasthop"
    local tree = root:add(hop, tvb())
    local input = reader(tvb, 0, tvb:reported_len())
    local info, kind, direction, peer, key = "", nil, nil, nil, nil
    guarded(tree, function() kind, direction, peer, key = capture_header(input, tree) end)
    if kind then
        ways[key] = ways[key] or { flows = {}, briefs = {}, connections = {} }
        local context = { frame = pinfo.number, chunk = 0, repeated_bytes = 0, way = ways[key] }
        setmetatable(context, Context)
        guarded(tree, function()
            if kind == 1 then
                info = plaintext(input, tree, context)
            elseif kind == 2 then
                info = datagram(input, tree)
            else
                error({ expert = e.unknown, text = "kind " .. kind }, 0)
            end
        end)
        local arrow = direction == 1 and "<- " or "-> "
        info = arrow .. (peer ~= "" and peer or "?") .. ": " .. info
    end
    pinfo.cols.info = info
    tree:append_text(", " .. info)
    return tvb:len()
end

DissectorTable.get("wtap_encap"):add(wtap.USER0, hop)
