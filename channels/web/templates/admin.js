"use strict";

// A login link carries its code behind the #, which the browser keeps to itself: put it into the form.
// Opening another link while the login page is there changes nothing but the part behind the #.
const code = document.getElementById("code");
const takeCode = () => {
  if (location.hash.length < 2) return;
  try {
    code.value = decodeURIComponent(location.hash.slice(1));
  } catch {
    return;  // not one of ours
  }
  history.replaceState(null, "", location.pathname);
};
if (code) {
  takeCode();
  addEventListener("hashchange", takeCode);
}

// Times come in UTC; people read them in their own.
const format = new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: "medium", timeStyle: "medium" });
for (const each of document.querySelectorAll("time")) each.textContent = format.format(new Date(each.dateTime));

// Live numbers: ask again every two seconds while somebody looks.
const live = document.querySelector("[data-live]");
if (live) {
  const show = (answer) => {
    for (const [key, figure] of Object.entries(answer.figures)) {
      const place = document.querySelector(`[data-figure="${key}"]`);
      if (place === null) return location.reload();
      if (place.textContent !== figure.value) place.textContent = figure.value;
      place.dataset.tone = figure.tone;
    }
    const reasons = document.getElementById("reasons");
    reasons.hidden = answer.reasons.length === 0;
    reasons.replaceChildren(...answer.reasons.map((reason) => {
      const item = document.createElement("li");
      item.textContent = reason;
      return item;
    }));
  };
  const say = (text, lost) => {
    if (live.textContent !== text) live.textContent = text;
    live.classList.toggle("lost", lost);
  };
  const ask = async () => {
    if (!document.hidden) {
      try {
        const response = await fetch(live.dataset.live, { headers: { Accept: "application/json" } });
        if (response.status === 401 || response.status === 403) return location.assign("/admin/login");
        if (!response.ok) throw new Error(String(response.status));
        show(await response.json());
        say(live.dataset.words, false);
      } catch {
        say(live.dataset.lost, true);
      }
    }
    setTimeout(ask, 2000);
  };
  ask();
}

document.body.dataset.ready = "yes";
