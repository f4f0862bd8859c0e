// The page's side of the emulator's `/_page` calls and its stream of changes.

export class Refusal extends Error {}

async function call(path, options) {
  const answer = await fetch(`/_page/${path}`, options);
  const body = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Refusal(body.error ?? answer.statusText);
  return body;
}

function post(path, body) {
  return call(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
}

export const snapshot = (user) => call(`snapshot?user=${encodeURIComponent(user ?? "")}`);
export const gallery = () => call("gallery");
export const say = (body) => post("say", body);
export const click = (body) => post("click", body);
export const recall = (body) => post("recall", body);
export const react = (body) => post("react", body);
export const enter = (body) => post("enter", body);
export const mediaAddress = (key) => `/_page/media/${encodeURIComponent(key)}`;

export function sendFile(user, place, file) {
  const form = new FormData();
  for (const [name, value] of Object.entries({ user, ...place })) if (value) form.append(name, value);
  form.append("file", file, file.name);
  return call("file", { method: "POST", body: form });
}

/**
 * Follow the emulator: `onChange(change)` for each change, `onOpen()` after every (re)connection, when the page must read a
 * snapshot again, `onLost()` when the stream broke (the browser reconnects by itself).
 */
export function follow({ onChange, onOpen, onLost }) {
  const source = new EventSource("/_page/events");
  source.addEventListener("open", onOpen);
  source.addEventListener("error", onLost);
  source.addEventListener("message", (event) => onChange(JSON.parse(event.data)));
  return () => source.close();
}
