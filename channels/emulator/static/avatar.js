// Round pictures for people, groups and the bot.
import { h, s } from "./dom.js";
import { icon } from "./icons.js";

const HUES = ["#3370ff", "#14c0a0", "#f5894e", "#a45ee5", "#e0559f", "#2ea1d9", "#6b8e23"];

export function avatar(id, name, size = 36) {
  let sum = 0;
  for (const letter of id) sum = (sum * 31 + letter.charCodeAt(0)) % 997;
  const initials = /[\u4e00-\u9fff]/.test(name)
    ? name.replace(/[^\u4e00-\u9fff]/g, "").slice(-2)
    : name.slice(0, 1).toUpperCase();
  return h("span", {
    class: "avatar",
    text: initials,
    "aria-hidden": "true",
    style: {
      width: `${size}px`,
      height: `${size}px`,
      background: HUES[sum % HUES.length],
      fontSize: `${Math.round(size * (initials.length > 1 ? 0.34 : 0.44))}px`,
    },
  });
}

export function botAvatar(size = 36) {
  const drawn = s(
    "svg",
    { viewBox: "0 0 36 36", width: size, height: size },
    s("rect", { x: 8, y: 12, width: 20, height: 15, rx: 5, fill: "#fff" }),
    s("circle", { cx: 14.2, cy: 19, r: 2, fill: "#3370ff" }),
    s("circle", { cx: 21.8, cy: 19, r: 2, fill: "#3370ff" }),
    s("path", { d: "M14.5 23.5h7", stroke: "#3370ff", "stroke-width": 1.6, "stroke-linecap": "round" }),
    s("path", { d: "M18 12V8.5", stroke: "#fff", "stroke-width": 2, "stroke-linecap": "round" }),
    s("circle", { cx: 18, cy: 7.5, r: 2, fill: "#fff" }),
  );
  return h(
    "span",
    { class: "avatar bot", "aria-hidden": "true", style: { width: `${size}px`, height: `${size}px` } },
    drawn,
  );
}

export function chatAvatar(chat, size = 40) {
  if (chat.kind === "p2p") return botAvatar(size);
  return h(
    "span",
    { class: `avatar ${chat.kind}`, "aria-hidden": "true", style: { width: `${size}px`, height: `${size}px` } },
    icon(chat.kind === "topic" ? "hash" : "people", Math.round(size * 0.55)),
  );
}
