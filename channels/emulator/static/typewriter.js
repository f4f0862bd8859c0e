// The typewriter of a streaming card: text that grew is shown letter by letter at the card's own pace, as Feishu's client does.

const PACE_MS = 70;
const STEP = 1;

/** `changed(element_id)` is called whenever a component has more to show. */
export function createTypewriter(changed) {
  const texts = new Map();
  let running = false;
  let pace = { ms: PACE_MS, step: STEP, fast: true };
  let timer = null;
  let growing = null;

  /** Take over a card's new state: which texts grew while it streams, and how fast to print them. */
  function follow(config, elements, textOf) {
    running = config.streaming_mode === true;
    const stream = config.streaming_config ?? {};
    pace = {
      ms: Math.max(16, stream.print_frequency_ms?.pc ?? stream.print_frequency_ms?.default ?? PACE_MS),
      step: Math.max(1, stream.print_step?.pc ?? stream.print_step?.default ?? STEP),
      fast: stream.print_strategy !== "delay",
    };
    for (const part of walk(elements)) settle(part.element_id, textOf(part));
    if (running) tick();
  }

  function settle(id, full) {
    const known = texts.get(id);
    if (!known || !running || !full.startsWith(known.full)) texts.set(id, { full, shown: full.length });
    else if (full !== known.full) {
      texts.set(id, { full, shown: pace.fast ? known.full.length : known.shown });
      growing = id;
    }
  }

  function tick() {
    if (timer !== null) return;
    timer = setTimeout(() => {
      timer = null;
      let more = false;
      for (const [id, text] of texts) {
        if (text.shown >= text.full.length) continue;
        text.shown = running ? Math.min(text.full.length, text.shown + pace.step) : text.full.length;
        if (/[\ud800-\udbff]$/.test(text.full.slice(0, text.shown))) text.shown += 1;
        changed(id);
        more ||= text.shown < text.full.length;
      }
      if (more) tick();
    }, pace.ms);
  }

  return {
    follow,
    shown: (part, full) =>
      part.element_id && texts.has(part.element_id) ? full.slice(0, texts.get(part.element_id).shown) : full,
    isTyping: (part) => running && part.element_id !== undefined && part.element_id === growing,
    progress: (part) =>
      [...walk([part])].map(({ element_id: id }) => `${running && id === growing}:${texts.get(id)?.shown}`).join(),
    stop: () => clearTimeout(timer),
  };
}

function* walk(elements) {
  for (const part of elements ?? []) {
    if (part?.element_id && (part.tag === "markdown" || part.tag === "plain_text")) yield part;
    if (part?.text?.element_id && part.text.tag === "plain_text") yield part.text;
    yield* walk(part?.elements);
    for (const column of part?.columns ?? []) yield* walk(column?.elements);
  }
}
