// Small line icons: the page's own, and stand-ins for Feishu's icon library (matched by words in the token).
import { s } from "./dom.js";

const PATHS = {
  send: "M4 12 20 4l-5 16-3-7z", attach: "M8 12.5 13.5 7a3 3 0 0 1 4.2 4.2l-7 7a5 5 0 0 1-7-7L10.5 4.5",
  at: "M15.5 12a3.5 3.5 0 1 1-7 0 3.5 3.5 0 0 1 7 0v1.2a2.3 2.3 0 0 0 4.6 0V12a8.1 8.1 0 1 0-3.3 6.5",
  reply: "M9 7 4 12l5 5M4.5 12H14a6 6 0 0 1 6 6", topic: "M4 5h16v11H11l-4 4v-4H4zM8 9.5h8M8 12.5h5",
  undo: "M8 6 4 10l4 4M4.5 10H15a5 5 0 0 1 0 10h-5", smile: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18M8.5 14.5a4.5 4.5 0 0 0 7 0M9 9.5v.5M15 9.5v.5",
  close: "M6 6 18 18M18 6 6 18", back: "M15 5 8 12l7 7", down: "M6 9l6 6 6-6", right: "M9 6l6 6-6 6", left: "M15 6l-6 6 6 6",
  check: "M5 12.5 10 17.5 19.5 7", stop: "M7 7h10v10H7z", clock: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18M12 7.5V12l3 2",
  warning: "M12 4 2.8 19.5h18.4zM12 10v4M12 16.8v.2", info: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18M12 11v5.5M12 7.8v.2",
  robot: "M5 9h14v10H5zM12 9V5M12 4.5v.3M9 13v1.5M15 13v1.5M2.5 12.5v3M21.5 12.5v3", tool: "M14.5 5.5a4.5 4.5 0 0 1 5.8 5.8L11 20.5 6.5 16z",
  code: "M8.5 7 3.5 12l5 5M15.5 7l5 5-5 5", list: "M9 6h11M9 12h11M9 18h11M4.5 6h.5M4.5 12h.5M4.5 18h.5", chat: "M4 5h16v11H11l-4 4v-4H4z",
  file: "M6 3h8l5 5v13H6zM14 3v5h5", search: "M10.5 4a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13M15.5 15.5 20.5 20.5", edit: "M4 20l1-4.5L16 4.5 19.5 8 8.5 19z",
  person: "M12 4a4 4 0 1 0 0 8 4 4 0 0 0 0-8M4.5 20.5c0-4 3.3-6 7.5-6s7.5 2 7.5 6", people: "M9 5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7M2.5 19.5c0-3.5 3-5.5 6.5-5.5s6.5 2 6.5 5.5M16 5.5a3.5 3.5 0 0 1 0 6.5M17.5 14.5c2.5.5 4 2.2 4 5",
  bulb: "M9 18h6M10 21h4M8.5 15c-1.8-1.2-3-3-3-5.5a6.5 6.5 0 0 1 13 0c0 2.5-1.2 4.3-3 5.5v.5h-7z", link: "M10 14a4 4 0 0 0 6 0l3-3a4.2 4.2 0 0 0-6-6l-1 1M14 10a4 4 0 0 0-6 0l-3 3a4.2 4.2 0 0 0 6 6l1-1",
  pause: "M8 6v12M16 6v12", play: "M7 5l12 7-12 7z", refresh: "M19.5 9A8 8 0 1 0 20 13.5M20 4.5V9h-4.5", image: "M4 5h16v14H4zM4 16l5-5 4 4 3-3 4 4M15.5 9v.3",
  key: "M14.5 4a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11M10.5 13 3.5 20M6 17.5l2.5 2.5", hash: "M9 4 7 20M17 4l-2 16M4.5 9H20M4 15h15.5", menu: "M6 12h.3M12 12h.3M18 12h.3",
  circle: "M12 5a7 7 0 1 0 0 14 7 7 0 0 0 0-14", copy: "M9 9h11v11H9zM15 9V4H4v11h5", globe: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18M3 12h18M12 3c3 3 3 15 0 18M12 3c-3 3-3 15 0 18", mute: "M5 10v4h3l5 4V6L8 10zM17 9.5l4 5M21 9.5l-4 5",
};

const TOKEN_WORDS = [
  ["down", "down"], ["up-", "down"], ["right", "right"], ["left", "left"], ["robot", "robot"], ["bot", "robot"], ["myai", "robot"], ["yes", "check"], ["done", "check"],
  ["check", "check"], ["succe", "check"], ["stop", "stop"], ["pause", "pause"], ["play", "play"], ["time", "clock"], ["clock", "clock"], ["history", "clock"], ["warn", "warning"],
  ["error", "warning"], ["info", "info"], ["maybe", "info"], ["setting", "tool"], ["tool", "tool"], ["wrench", "tool"], ["code", "code"], ["command", "code"], ["list", "list"], ["todo", "list"],
  ["task", "list"], ["plan", "list"], ["chat", "chat"], ["thread", "topic"], ["file", "file"], ["doc", "file"], ["folder", "file"], ["search", "search"], ["edit", "edit"], ["member", "person"],
  ["person", "person"], ["group", "people"], ["bulb", "bulb"], ["think", "bulb"], ["brain", "bulb"], ["idea", "bulb"], ["link", "link"], ["refresh", "refresh"], ["redo", "refresh"],
  ["image", "image"], ["key", "key"], ["lock", "key"], ["close", "close"], ["no_", "close"], ["forbid", "close"], ["language", "globe"], ["globe", "globe"], ["reply", "reply"], ["send", "send"],
];

export function icon(name, size = 18) {
  return s("svg", { viewBox: "0 0 24 24", width: size, height: size, class: `icon icon-${name}`, "aria-hidden": "true" },
    s("path", { d: PATHS[name] ?? PATHS.circle, fill: "none", stroke: "currentColor", "stroke-width": 1.8, "stroke-linecap": "round", "stroke-linejoin": "round" }));
}

/** A stand-in drawing for a token of Feishu's icon library. */
export function libraryIcon(token, size = 16) {
  const found = TOKEN_WORDS.find(([word]) => String(token).toLowerCase().includes(word));
  const drawn = icon(found ? found[1] : "circle", size);
  drawn.dataset.token = String(token);
  return drawn;
}
