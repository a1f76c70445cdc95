// The page of a stream: windows into plots.
"use strict";
(() => {
  const plots = new Map();
  const box = document.getElementById("plots");
  for (const canvas of box.querySelectorAll("canvas"))
    plots.set(canvas.dataset.channel, new Plot(canvas, Number(box.dataset.seconds)));
  for (const plot of plots.values()) plot.draw();
  const last = document.getElementById("last");

  const take = (kind) => (event) => {
    const window = JSON.parse(event.data);
    window.channels.forEach((name, i) => plots.get(name)?.add(kind, window.times, window.values[i], window.placeholder));
    if (kind === "released")
      last.textContent = `Window ${window.number + 1} of this session: ${window.times.length} samples of ${window.channels.length} channels` +
        (window.placeholder ? ", a public placeholder: no data was looked at." : ".");
  };

  const source = window.deeprotectEvents;
  for (const kind of ["released", "raw"]) source.addEventListener(kind, take(kind));
})();
