// A scrolling list of rows that stays at its end while it grows, unless the reader scrolled up.
import { h, placeChildren } from "./dom.js";

const NEAR_PX = 80;

export function createScroller(attributes = {}) {
  const rows = h("div", { class: "rows" });
  const element = h("div", { class: "scroll", ...attributes }, rows);
  let atEnd = true;

  function follow() {
    if (atEnd) element.scrollTop = element.scrollHeight;
  }

  element.addEventListener("scroll", () => {
    atEnd = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR_PX;
  });
  new ResizeObserver(follow).observe(rows);
  new ResizeObserver(follow).observe(element);

  return {
    element,
    place: (nodes) => {
      placeChildren(rows, nodes);
      follow();
    },
    /** Show the newest row now and from now on. */
    toEnd: () => {
      atEnd = true;
      follow();
    },
  };
}
