// Pictures for Feishu's reaction and :NAME: emoji keys, drawn here so that they look the same on every machine.
import { s } from "./dom.js";

const face = (...more) => [["circle", { cx: 12, cy: 12, r: 10, fill: "#ffc93c" }], ...more];
const eye = (x, y = 10) => ["circle", { cx: x, cy: y, r: 1.4, fill: "#6b4200" }];
const line = (d, stroke = "#6b4200", width = 1.8) => [
  "path",
  { d, fill: "none", stroke, "stroke-width": width, "stroke-linecap": "round", "stroke-linejoin": "round" },
];
const stamp = (word, fill, size) => [
  ["rect", { x: 0.5, y: 2.5, width: 39, height: 19, rx: 6, fill, class: "stamp" }],
  [
    "text",
    {
      x: 20,
      y: 12.4,
      "text-anchor": "middle",
      "dominant-baseline": "central",
      "font-size": size,
      "font-weight": 800,
      fill: "#fff",
      "font-family": "Arial, sans-serif",
    },
    word,
  ],
];
const hand = [
  "path",
  {
    d: "M7 11v9H4v-9zM8 11l3-7.5c1.7 0 2.6 1.2 2.3 2.8L12.7 9.5h5.3c1.4 0 2.3 1.2 2 2.5l-1.4 6.2c-.3 1.1-1.1 1.8-2.2 1.8H8z",
    fill: "#ffc93c",
    stroke: "#e09a00",
    "stroke-width": 1,
    "stroke-linejoin": "round",
  },
];
const smile = line("M8 14.5a4.8 4.8 0 0 0 8 0");

const DRAWINGS = {
  Typing: [
    ["rect", { x: 1, y: 5, width: 22, height: 14, rx: 7, fill: "#3370ff" }],
    ...[7, 12, 17].map((x, i) => ["circle", { cx: x, cy: 12, r: 1.9, fill: "#fff", class: `typing-dot dot-${i}` }]),
  ],
  DONE: stamp("DONE", "#2ea121", 12),
  OnIt: stamp("ON IT", "#3370ff", 11),
  OneSecond: stamp("1 s …", "#8d55ed", 12),
  OK: stamp("OK", "#ff8800", 13.5),
  Get: stamp("GET", "#0f8575", 12.5),
  LGTM: stamp("LGTM", "#1456f0", 11.5),
  THUMBSUP: [hand],
  JIAYI: stamp("+1", "#f54a45", 14),
  CheckMark: [["circle", { cx: 12, cy: 12, r: 10, fill: "#2ea121" }], line("M7 12.3 10.8 16 17 8.5", "#fff", 2.4)],
  CrossMark: [["circle", { cx: 12, cy: 12, r: 10, fill: "#f54a45" }], line("M8 8l8 8M16 8l-8 8", "#fff", 2.4)],
  ERROR: [
    ["path", { d: "M12 2.5 22.5 21h-21z", fill: "#f54a45", "stroke-linejoin": "round" }],
    line("M12 9.5v5M12 17.7v.2", "#fff", 2.2),
  ],
  THINKING: face(
    eye(8.5, 9.5),
    eye(15.5, 9.5),
    line("M9 15.5h4.5"),
    line("M6.5 6.5 10 6M14.5 6.8 18 8", "#6b4200", 1.3),
  ),
  SMILE: face(eye(8.5), eye(15.5), smile),
  LAUGH: face(line("M7 10l1.5-1.5L10 10M14 10l1.5-1.5L17 10"), [
    "path",
    { d: "M7.5 13.5h9a4.6 4.6 0 0 1-9 0z", fill: "#6b4200" },
  ]),
  HEART: [
    ["path", { d: "M12 21S2.5 15 2.5 8.8A5 5 0 0 1 12 6.5a5 5 0 0 1 9.5 2.3C21.5 15 12 21 12 21z", fill: "#f54a45" }],
  ],
  APPLAUSE: [hand],
  MUSCLE: stamp("GO!", "#ff8800", 13),
  WAVE: face(eye(8.5), eye(15.5), smile),
  Fire: [
    [
      "path",
      {
        d: "M12 2c1 4 6 6 6 12a6 6 0 0 1-12 0c0-2.5 1.5-4 2.5-5.5.5 1.5 1 2 2 2.5C10 7.5 10.5 4.5 12 2z",
        fill: "#ff811a",
      },
    ],
  ],
  Alarm: [
    ["circle", { cx: 12, cy: 13, r: 8.5, fill: "#f54a45" }],
    line("M12 8.5V13l3 2", "#fff", 2),
    line("M3.5 6 7 3.5M20.5 6 17 3.5", "#f54a45", 2),
  ],
};

/** The names the page offers when a person adds a reaction. */
export const PICKABLE = [
  "THUMBSUP",
  "OK",
  "DONE",
  "HEART",
  "SMILE",
  "LAUGH",
  "THINKING",
  "LGTM",
  "CheckMark",
  "CrossMark",
  "OnIt",
  "OneSecond",
];

const BY_UPPER = new Map(Object.keys(DRAWINGS).map((name) => [name.toUpperCase(), name]));

export function knowsEmoji(name) {
  return BY_UPPER.has(String(name).toUpperCase());
}

/** The picture of an emoji key; a key without a drawing becomes a small grey word. */
export function emoji(name, size = 18) {
  const shapes = DRAWINGS[BY_UPPER.get(String(name).toUpperCase())] ?? stamp(String(name).slice(0, 5), "#8f959e", 10);
  const wide = shapes[0][1].class === "stamp";
  const drawn = s("svg", {
    viewBox: wide ? "0 0 40 24" : "0 0 24 24",
    width: wide ? Math.round(size * 1.67) : size,
    height: size,
    class: `emoji emoji-${String(name).replace(/[^A-Za-z0-9]/g, "")}`,
    role: "img",
    "aria-label": name,
  });
  for (const [tag, attributes, text] of shapes) {
    drawn.append(s(tag, attributes, text ? document.createTextNode(text) : null));
  }
  return drawn;
}
