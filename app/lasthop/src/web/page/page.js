// The live page: draws what /events sends, and asks for nothing else.
"use strict";

const SVG = { width: 600, top: 2, bottom: 118, lossTop: 124, lossBottom: 150 };
// A loss of this share fills its lane.
const LOSS_FULL = 0.1;
const TONES = {
  "application": ["good", "✓"], "own-queue": ["busy", "●"],
  "air": ["warn", "~"], "queue-on-the-way": ["warn", "≡"], "processor-here": ["warn", "!"],
  "processor-there": ["warn", "!"], "path-mtu": ["warn", "!"],
  "peer-gone": ["bad", "×"], "port-refused": ["bad", "×"], "not-authorised": ["bad", "×"], "key-shared": ["bad", "!"],
};
const VERDICTS = {
  "application": "nothing", "own-queue": "the hop's rate", "air": "the air", "queue-on-the-way": "a queue on the way",
  "processor-here": "this processor", "processor-there": "the other processor", "path-mtu": "the path MTU",
  "peer-gone": "a silent peer", "port-refused": "a closed port", "not-authorised": "wrong keys",
  "key-shared": "a shared key",
};
const STATES = { connected: "good", fading: "warn", away: "bad" };

const $ = (id) => document.getElementById(id);
const cards = new Map();
const chosen = { find: "", verdict: "", from: 0 };
let times = [];
let span = 600;
let source = null;
let reopened = 0;

// ---- Numbers in words -------------------------------------------------------------------------------------------

function digits(value) {
  return value >= 99.95 ? value.toFixed(0) : value >= 9.995 ? value.toFixed(1) : value.toFixed(2);
}

function withUnit(value, step, units) {
  let place = 0;
  while (value >= step * 0.9995 && place < units.length - 1) { value /= step; place += 1; }
  return `${place === 0 ? Math.round(value) : digits(value)} ${units[place]}`;
}

const rate = (bytes) => withUnit(bytes * 8, 1000, ["bit/s", "kbit/s", "Mbit/s", "Gbit/s"]);
const size = (bytes) => withUnit(bytes, 1024, ["B", "KiB", "MiB", "GiB"]);
const percent = (share) => `${(share * 100).toFixed(share > 0 && share < 0.1 ? 1 : 0)} %`;
const unknown = "not measured";

function milliseconds(value) {
  if (value === null) return unknown;
  return value >= 1000 ? `${digits(value / 1000)} s` : `${value >= 10 ? value.toFixed(0) : value.toFixed(1)} ms`;
}

function age(seconds) {
  const whole = Math.floor(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  if (whole < 86400) return `${Math.floor(whole / 3600)} h ${Math.floor(whole / 60) % 60} min`;
  return `${Math.floor(whole / 86400)} d ${Math.floor(whole / 3600) % 24} h`;
}

// The next round number that holds a rate in bytes per second.
function niceRate(bytes) {
  const bits = Math.max(bytes * 8, 10000);
  const power = 10 ** Math.floor(Math.log10(bits));
  const step = [1, 1.5, 2, 3, 4, 5, 6, 8, 10].find((step) => step * power >= bits * 0.9999);
  return step * power / 8;
}

// ---- Elements ---------------------------------------------------------------------------------------------------

function element(name, text, className) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

function setPath(path, d) {
  if (path.getAttribute("d") !== d) path.setAttribute("d", d);
}

// ---- One host ---------------------------------------------------------------------------------------------------

class Card {
  constructor(name) {
    this.name = name;
    this.samples = [];
    this.root = $("host").content.firstElementChild.cloneNode(true);
    const find = (selector) => this.root.querySelector(selector);
    find("h2").textContent = name;
    this.state = find(".state");
    this.sign = find(".sign");
    this.words = find(".words");
    this.most = find(".most");
    this.svg = find(".plot svg");
    this.paths = Object.fromEntries(
      ["fade", "to-area", "to", "from", "lost", "cursor"].map((part) => [part, find(`.plot svg > .${part}`)]));
    this.probe = find(".probe");
    this.list = find("dl");
    this.rows = find(".rows");
    this.details = find("details");
    this.details.addEventListener("toggle", () => this.showRows());
    this.svg.addEventListener("pointermove", (event) => this.point(event));
    this.svg.addEventListener("pointerleave", () => this.unpoint());
    this.values = {};
  }

  // Keeps as many samples as there are times; the newest come last.
  take(peer, added) {
    const missing = added - peer.samples.length;
    for (let i = 0; i < missing; i += 1) this.samples.push(null);
    this.samples.push(...peer.samples);
    this.samples.splice(0, this.samples.length - times.length);
    this.peer = peer;
  }

  draw() {
    const peer = this.peer;
    setText(this.state, peer.state === "fading" ? `in a fade for ${peer.hop.fading_s.toFixed(1)} s` : peer.words);
    this.state.dataset.tone = STATES[peer.state] || "wait";
    const [tone, sign] = TONES[peer.verdict] || ["warn", "!"];
    this.sign.dataset.tone = tone;
    setText(this.sign, sign);
    const trouble = peer.trouble === null ? "" : ` Trouble: ${peer.trouble}.`;
    setText(this.words, `Limited by ${peer.limit}.${trouble}`);
    const summary = this.summary();
    this.plot(summary);
    this.fill(summary);
    if (this.details.open) this.showRows();
  }

  at(place) { return times[times.length - this.samples.length + place]; }

  // Sums and maxima of the remembered time.
  summary() {
    let most = 0, bytes = 0, lost = 0, faded = 0, fades = this.peer.state === "fading" ? 1 : 0;
    this.samples.forEach((sample, place) => {
      if (!sample) return;
      const [to, from, loss, fading, ended] = sample;
      most = Math.max(most, to, from);
      const passed = place > 0 ? this.at(place) - this.at(place - 1) : 1;
      bytes += to + from;
      lost += loss / 10000 * (to + from);
      faded += fading / 100 * passed;
      fades += ended;
    });
    const last = this.samples.at(-1);
    return { most, lost: bytes > 0 ? lost / bytes : 0, faded, fades, last };
  }

  plot({ most, last, lost, faded, fades }) {
    const top = niceRate(most);
    const now = times.at(-1) ?? 0;
    const x = (time) => Math.round((time - now + span) / span * SVG.width * 10) / 10;
    const height = SVG.bottom - SVG.top;
    const y = (value) => Math.round((SVG.bottom - value / top * height) * 10) / 10;
    const parts = { to: "", area: "", from: "", lost: "", fade: "" };
    let run = [], fade = null;
    const band = () => {
      if (fade) parts.fade += `M${fade.left.toFixed(1)} 0V${SVG.lossBottom}H${fade.right}V0Z`;
      fade = null;
    };
    const close = () => {
      if (run.length > 1) {
        const line = run.map((point) => `${point.x} ${point.to}`).join("L");
        parts.to += `M${line}`;
        parts.area += `M${run[0].x} ${SVG.bottom}L${line}L${run.at(-1).x} ${SVG.bottom}Z`;
        parts.from += "M" + run.map((point) => `${point.x} ${point.from}`).join("L");
      }
      run = [];
    };
    this.samples.forEach((sample, place) => {
      if (!sample) { close(); return; }
      const right = x(this.at(place));
      const left = place > 0 ? x(this.at(place - 1)) : right - 1;
      run.push({ x: right, to: y(sample[0]), from: y(sample[1]) });
      if (sample[2] > 0) {
        const share = Math.min(sample[2] / 10000 / LOSS_FULL, 1);
        const peak = SVG.lossBottom - Math.max(share * (SVG.lossBottom - SVG.lossTop), 1.5);
        parts.lost += `M${left} ${SVG.lossBottom}V${peak.toFixed(1)}H${right}V${SVG.lossBottom}Z`;
      }
      if (sample[3] > 0) {
        // One fade may last for several samples.
        if (!fade || fade.right < left) { band(); fade = { left: right - (right - left) * sample[3] / 100 }; }
        fade.right = right;
      }
    });
    close();
    band();
    setPath(this.paths.to, parts.to);
    setPath(this.paths["to-area"], parts.area);
    setPath(this.paths.from, parts.from);
    setPath(this.paths.lost, parts.lost);
    setPath(this.paths.fade, parts.fade);
    setText(this.most, rate(top).replace(/(\.\d*?)0+ /, "$1 ").replace(". ", " "));
    const [to, from] = this.present();
    const present = last ? `now ${to} to it and ${from} from it` : "nothing known now";
    this.svg.setAttribute("aria-label",
      `${this.name}, the last ten minutes: at most ${rate(most)}, ${present}; ${percent(lost)} of frames lost; ` +
      `${fades} fades, ${faded.toFixed(1)} s in all.`);
  }

  // The rates of the last three seconds, in words.
  present() {
    return [this.peer.to_bits_per_second, this.peer.from_bits_per_second].map((bits) => rate(bits / 8));
  }

  fill({ lost, faded, fades }) {
    const hop = this.peer.hop;
    const waits = [hop.queue_ms, hop.way_queue_ms].filter((wait) => wait !== null);
    const [to, from] = this.present();
    this.value("To it", to, "to-key");
    this.value("From it", from, "from-key");
    this.value("Hop's rate", hop.rate_bits_per_second === null ? unknown : rate(hop.rate_bits_per_second / 8));
    this.value("Round trip", milliseconds(hop.round_trip_ms));
    this.value("Queues", waits.length > 0 ? milliseconds(waits.reduce((sum, wait) => sum + wait, 0)) : unknown);
    this.value("Memory", size(hop.memory_bytes));
    this.value("Lost, 10 min", percent(lost));
    this.value("Fades, 10 min", fades === 0 ? "none" : `${fades}, ${faded.toFixed(1)} s`);
    this.value("Fades in all", hop.fades === 0 ? "none" : `${hop.fades}, ${age(hop.faded_s)}`);
  }

  value(name, text, className) {
    if (!this.values[name]) {
      const entry = element("div");
      entry.append(element("dt", name, className), element("dd"));
      this.list.append(entry);
      this.values[name] = entry.lastElementChild;
    }
    setText(this.values[name], text);
    this.values[name].toggleAttribute("data-unknown", text === unknown);
  }

  showRows() {
    if (!this.details.open || !this.samples.length) return;
    const table = element("table");
    const head = element("tr");
    for (const name of ["Minutes ago", "to it", "from it", "lost", "in a fade"]) {
      const cell = element("th", name);
      cell.scope = "col";
      head.append(cell);
    }
    const body = element("tbody");
    for (let minute = 0; minute < 10; minute += 1) body.append(this.row(minute));
    table.append(element("thead"), body);
    table.firstElementChild.append(head);
    this.rows.replaceChildren(table);
  }

  // One minute as a row: 0 is the last one.
  row(minute) {
    const now = times.at(-1);
    let count = 0, to = 0, from = 0, lost = 0, faded = 0;
    this.samples.forEach((sample, place) => {
      const before = now - this.at(place);
      if (!sample || before < minute * 60 || before >= (minute + 1) * 60) return;
      count += 1;
      to += sample[0];
      from += sample[1];
      lost += sample[2] / 10000 * (sample[0] + sample[1]);
      faded += sample[3] / 100 * (place > 0 ? this.at(place) - this.at(place - 1) : 1);
    });
    const row = element("tr");
    const name = element("th", `${minute} to ${minute + 1}`);
    name.scope = "row";
    const cells = count === 0 ? ["–", "–", "–", "–"] : [
      rate(to / count), rate(from / count), percent(to + from > 0 ? lost / (to + from) : 0), `${faded.toFixed(1)} s`];
    row.append(name, ...cells.map((text) => element("td", text)));
    return row;
  }

  point(event) {
    const box = this.svg.getBoundingClientRect();
    const time = times.at(-1) - span + (event.clientX - box.left) / box.width * span;
    let best = -1;
    this.samples.forEach((sample, place) => {
      if (sample && (best < 0 || Math.abs(this.at(place) - time) < Math.abs(this.at(best) - time))) best = place;
    });
    if (best < 0) return;
    const [to, from, lost, fading] = this.samples[best];
    const before = times.at(-1) - this.at(best);
    const place = Math.round((span - before) / span * SVG.width);
    setPath(this.paths.cursor, `M${place} 0V${SVG.lossBottom}`);
    const extra = (lost > 0 ? `, ${percent(lost / 10000)} lost` : "") + (fading > 0 ? ", in a fade" : "");
    setText(this.probe, `${age(before)} ago: ↓ ${rate(to)}, ↑ ${rate(from)}${extra}`);
  }

  unpoint() {
    setPath(this.paths.cursor, "");
    setText(this.probe, "");
  }
}

// ---- The whole page ---------------------------------------------------------------------------------------------

function showDaemon(daemon, counts) {
  const isMobile = daemon.role === "mobile";
  setText($("role"), daemon.role ? (isMobile ? "mobile host" : daemon.role) : "");
  setText($("legend-to"), isMobile ? "to the gateway" : "to the host");
  setText($("legend-from"), isMobile ? "from the gateway" : "from the host");
  const problem = $("problem");
  problem.hidden = daemon.reason === null;
  const since = daemon.age_s === null ? "" : ` Its last answer came ${age(daemon.age_s)} ago.`;
  setText(problem, daemon.reason === null ? "" : `No status: ${daemon.reason}.${since}`);
  const facts = [];
  if (daemon.uptime_s !== null) {
    if (!isMobile) facts.push([`${counts.connected} of ${counts.all}`, "mobile hosts connected"]);
    if (counts.fading > 0) facts.push([counts.fading, "in a fade"]);
    facts.push([age(daemon.uptime_s), "up"]);
    facts.push([size(daemon.memory_bytes), `held for peers, at most ${size(daemon.memory_limit_bytes)} in all`]);
    facts.push([daemon.version, "version"]);
  }
  $("facts").replaceChildren(...facts.map(([value, what]) => {
    const fact = element("li");
    fact.append(element("b", String(value)), ` ${what}`);
    return fact;
  }));
  document.title = isMobile || daemon.uptime_s === null
    ? "lasthop" : `${counts.connected} of ${counts.all} connected – lasthop`;
}

function showVerdicts(counts) {
  const group = $("verdicts");
  const words = Object.keys(counts.verdicts);
  if (chosen.verdict && !words.includes(chosen.verdict)) words.push(chosen.verdict);
  $("choice").hidden = counts.all < 2;
  const buttons = new Map([...group.querySelectorAll("button")].map((button) => [button.value, button]));
  for (const word of words) {
    let button = buttons.get(word);
    buttons.delete(word);
    if (!button) {
      button = element("button");
      button.type = "button";
      button.value = word;
      button.addEventListener("click", () => choose({ verdict: chosen.verdict === word ? "" : word, from: 0 }));
      group.append(button);
    }
    setText(button, `${VERDICTS[word] || word} · ${counts.verdicts[word] || 0}`);
    button.setAttribute("aria-pressed", String(chosen.verdict === word));
  }
  for (const button of buttons.values()) button.remove();
}

function showParts(counts, shown) {
  $("parts").hidden = counts.matching <= counts.most;
  $("back").disabled = counts.from === 0;
  $("on").disabled = counts.from + shown >= counts.matching;
  $("back").onclick = () => choose({ from: Math.max(0, counts.from - counts.most) });
  $("on").onclick = () => choose({ from: counts.from + counts.most });
  setText($("part"), `${counts.from + 1} to ${counts.from + shown} of ${counts.matching}`);
  const none = $("none");
  none.hidden = shown > 0;
  if (shown === 0) setText(none, counts.all === 0 ? "No hosts are known." : "No host matches.");
}

function receive(event) {
  if (event.is_first) { times = []; cards.forEach((card) => { card.samples = []; }); }
  span = event.span_s;
  times.push(...event.times_s);
  const old = times.findIndex((time) => time >= times.at(-1) - span);
  times.splice(0, Math.max(old, 0));
  const isNew = event.peers.some((peer) => !cards.has(peer.name));
  const names = new Set(event.peers.map((peer) => peer.name));
  for (const [name, card] of cards) if (!names.has(name)) { card.root.remove(); cards.delete(name); }
  for (const [place, peer] of event.peers.entries()) {
    let card = cards.get(peer.name);
    if (!card) { card = new Card(peer.name); cards.set(peer.name, card); }
    card.take(peer, event.times_s.length);
    if ($("hosts").children[place] !== card.root) $("hosts").insertBefore(card.root, $("hosts").children[place] || null);
    card.draw();
  }
  document.body.toggleAttribute("data-stale", event.daemon.reason !== null);
  showDaemon(event.daemon, event.counts);
  showVerdicts(event.counts);
  showParts(event.counts, event.peers.length);
  // A host that came into this part of the list has a past that was not sent.
  if (isNew && !event.is_first && Date.now() - reopened > 5000) open();
}

function live(text, tone) {
  setText($("live"), text);
  $("live").dataset.tone = tone;
}

function open() {
  if (source) source.close();
  reopened = Date.now();
  const query = new URLSearchParams(Object.entries(chosen).filter(([, value]) => value));
  source = new EventSource(`/events?${query}`);
  source.onmessage = (message) => {
    receive(JSON.parse(message.data));
    live("live", "good");
  };
  source.onerror = () => {
    live("no connection; trying again", "bad");
    document.body.setAttribute("data-stale", "");
  };
}

function choose(change) {
  Object.assign(chosen, change);
  open();
}

let typing = 0;
$("find").addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(() => choose({ find: $("find").value.trim(), from: 0 }), 250);
});
$("choice").addEventListener("submit", (event) => event.preventDefault());
open();
