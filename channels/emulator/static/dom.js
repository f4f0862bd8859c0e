// Building DOM without innerHTML: whatever a message or card contains becomes text, never markup.

const SVG = "http://www.w3.org/2000/svg";

/** Make an HTML element; props: class, text, dataset, on{event: handler}, style{…}; anything else is an attribute. */
export function h(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "class") node.className = value;
    else if (name === "text") node.textContent = value;
    else if (name === "dataset") Object.assign(node.dataset, value);
    else if (name === "style") Object.assign(node.style, value);
    else if (name === "on") for (const [event, handler] of Object.entries(value)) node.addEventListener(event, handler);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

/** Make an SVG element with plain attributes. */
export function s(tag, attributes = {}, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, String(value));
  node.append(...children.filter(Boolean));
  return node;
}

export function replaceChildren(node, ...children) {
  node.replaceChildren(
    ...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false),
  );
}

/**
 * Make `nodes` the children of `parent` while touching only what differs: a node that stays is never taken out of the
 * page, so that a click, a selection or a video on it survives.
 */
export function placeChildren(parent, nodes) {
  const wanted = new Set(nodes);
  for (const child of [...parent.childNodes]) if (!wanted.has(child)) child.remove();
  nodes.forEach((node, index) => {
    if (parent.childNodes[index] !== node) parent.insertBefore(node, parent.childNodes[index] ?? null);
  });
}

/** Draw `parent` anew only when `key` differs from the last time. */
export function drawKeyed(parent, key, build) {
  const text = JSON.stringify(key);
  if (drawnKeys.get(parent) === text) return;
  drawnKeys.set(parent, text);
  replaceChildren(parent, build());
}

const drawnKeys = new WeakMap();

/** An address people may follow from a message: http and https only, as Feishu allows; else null. */
export function webAddress(text) {
  if (typeof text !== "string" || !/^https?:\/\//i.test(text.trim())) return null;
  try {
    return new URL(text.trim()).href;
  } catch {
    return null;
  }
}

export function link(address, ...children) {
  return h("a", { href: address, target: "_blank", rel: "noopener noreferrer", class: "link" }, ...children);
}

/** Plain text with bare web addresses made clickable (what the client does in text messages). */
export function linkified(text) {
  const pieces = [];
  let last = 0;
  for (const match of text.matchAll(/https?:\/\/[^\s<>"'，。；、）】》]+/g)) {
    const address = webAddress(match[0]);
    if (!address) continue;
    pieces.push(text.slice(last, match.index), link(address, match[0]));
    last = match.index + match[0].length;
  }
  pieces.push(text.slice(last));
  return pieces;
}
