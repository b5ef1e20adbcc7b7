// Functions that examine the page; `cargo xtask browser` adds them to it.
"use strict";

var isLive = () => document.querySelector("#live").dataset.tone === "good";
var firstPaint = () => performance.getEntriesByName("first-paint")[0]?.startTime ?? null;

// Luminance and contrast as WCAG 2.2 defines them.
var channels = (colour) => colour.match(/[\d.]+/g).map(Number);
var luminance = (colour) => {
  const [red, green, blue] = channels(colour).map((value) => {
    const part = value / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
};
var background = (node) => {
  for (let place = node; place; place = place.parentElement) {
    const colour = getComputedStyle(place).backgroundColor;
    if (/^rgb\(/.test(colour)) return colour;
  }
  return "rgb(255, 255, 255)";
};
var contrast = (node) => {
  const [one, other] = [luminance(getComputedStyle(node).color), luminance(background(node))];
  return (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
};

var examine = () => {
  const shown = [...document.body.querySelectorAll("*")].filter((node) => node.checkVisibility());
  const hasText = (node) => [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim());
  const texts = shown.filter((node) => hasText(node) && !["SCRIPT", "STYLE", "NOSCRIPT"].includes(node.tagName));
  const faintest = texts.reduce((one, other) => contrast(other) < contrast(one) ? other : one);
  const isHidden = (node) => node.closest("[aria-hidden=true]") !== null;
  const name = (node) => node.getAttribute("aria-label") || node.getAttribute("alt") || node.textContent.trim() ||
    [...(node.labels ?? [])].map((label) => label.textContent).join("");
  const needy = shown.filter((node) => node.matches("svg, button, input, a, summary, figure svg") && !isHidden(node));
  const loads = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")];
  const files = loads.filter((load) => !load.name.includes("/events"));
  const drawn = (part) => document.querySelector(`article .plot > svg > .${part}`).getAttribute("d")?.length > 10;
  return {
    width: document.documentElement.scrollWidth,
    bytes: files.reduce((sum, load) => sum + load.transferSize, 0),
    foreign: loads.map((load) => load.name).filter((url) => new URL(url).host !== location.host),
    silent: needy.filter((node) => !name(node)).map((node) => node.outerHTML.slice(0, 100)),
    contrast: contrast(faintest),
    faintest: faintest.textContent.trim(),
    hosts: document.querySelectorAll("article").length,
    plots: { to: drawn("to"), from: drawn("from"), fade: drawn("fade") },
  };
};
