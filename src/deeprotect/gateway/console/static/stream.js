// The page of a stream: windows into plots, guesses into the table.
"use strict";
(() => {
  const plots = new Map();
  const box = document.getElementById("plots");
  for (const canvas of box.querySelectorAll("canvas"))
    plots.set(canvas.dataset.channel, new Plot(canvas, Number(box.dataset.seconds)));
  for (const plot of plots.values()) plot.draw();
  const last = document.getElementById("last");

  const guesses = (kind, { said, agreement }) => {
    for (const [reader, guess] of Object.entries(said))
      for (const cell of document.querySelectorAll("[data-guess]"))
        if (cell.dataset.guess === `${reader} ${kind}`) cell.textContent = guess;
    for (const [reader, [same, both]] of Object.entries(agreement))
      for (const cell of document.querySelectorAll("[data-agreement]"))
        if (cell.dataset.agreement === reader)
          cell.textContent = `as from raw: ${same} of ${both} (${Math.round((100 * same) / both)} %)`;
  };

  const take = (kind) => (event) => {
    const window = JSON.parse(event.data);
    window.channels.forEach((name, i) => plots.get(name)?.add(kind, window.times, window.values[i], window.placeholder));
    if (kind === "released")
      last.textContent = `Window ${window.number + 1} of this session: ${window.times.length} samples of ${window.channels.length} channels` +
        (window.placeholder ? ", a public placeholder: no data was looked at." : ".");
    guesses(kind, window.guesses);
  };

  const source = window.deeprotectEvents;
  for (const kind of ["released", "raw"]) source.addEventListener(kind, take(kind));

  // The observers have learnt: the table is there to be seen.
  source.addEventListener("state", (event) => {
    if (document.getElementById("learning") && JSON.parse(event.data).learnt) location.reload();
  });
})();
