// Live texts: elements that name a text get it when it changes; every value goes in as text, never as markup.
"use strict";
(() => {
  const trouble = document.getElementById("trouble");
  const say = (line) => {
    if (!trouble) return;
    trouble.textContent = line;
    trouble.hidden = !line;
  };

  const show = (texts) => {
    for (const element of document.querySelectorAll("[data-live]")) {
      const text = texts[element.dataset.live];
      if (text === undefined || element.textContent === text) continue;
      element.textContent = text;
      if (element.dataset.state !== undefined) element.dataset.state = text;
    }
    for (const bar of document.querySelectorAll("[data-live-value]")) {
      const value = texts[bar.dataset.liveValue];
      if (value !== undefined) bar.value = Number(value);
      bar.dataset.level = texts[bar.dataset.liveLevel] ?? bar.dataset.level;
    }
  };

  const live = document.getElementById("live");
  if (live) {
    const source = new EventSource(live.dataset.source);
    window.deeprotectEvents = source;
    source.addEventListener("state", (event) => {
      const { shape, texts } = JSON.parse(event.data);
      if (shape !== live.dataset.shape) return location.reload();
      say("");
      show(texts);
    });
    source.addEventListener("trouble", (event) => say(JSON.parse(event.data).line));
    source.addEventListener("end", () => location.reload());
    source.addEventListener("error", () => {
      // Closed for good: signed out, or revoked. Otherwise the browser tries again by itself.
      if (source.readyState === EventSource.CLOSED) location.reload();
      else say("The gateway does not answer; trying again …");
    });
    addEventListener("pagehide", () => source.close());
  }

  for (const button of document.querySelectorAll("button.copy")) {
    if (!navigator.clipboard) continue;
    button.hidden = false;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(button.parentElement.querySelector("code").textContent);
      button.textContent = "Copied";
    });
  }
})();
