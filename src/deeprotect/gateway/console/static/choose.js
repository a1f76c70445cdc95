// What follows from a choice, before it is made: the same arithmetic as the server's, which decides.
"use strict";
(() => {
  const form = document.getElementById("choose");
  const box = document.getElementById("epsilon");
  if (!form || !box) return;
  const slide = document.getElementById("slide");
  const limits = JSON.parse(form.dataset.limits);
  const most = Number(form.dataset.most);
  const number = (value) =>
    value >= 100 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(3)));

  const lasting = (seconds) => {
    if (seconds > 366 * 86400) return "more than a year";
    const units = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
    let rest = Math.floor(seconds);
    const place = Math.max(0, units.findIndex(([size]) => rest >= size));
    return units.slice(rest < 1 ? 3 : place).slice(0, 2).map(([size, unit]) => {
      const count = Math.floor(rest / size);
      rest -= count * size;
      return count || size === units[place][0] ? `${count} ${unit}` : "";
    }).filter(Boolean).join(" ");
  };

  const budget = (rate) => {
    if (!limits.length) return "no limit is set";
    const times = limits.filter(([, , span]) => span === null || rate * span > limitOf(span)).map(([, value]) => value / rate);
    return times.length ? lasting(Math.min(...times)) : "always";
  };
  const limitOf = (span) => limits.find((each) => each[2] === span)[1];

  const accuracy = (epsilon) => {
    const points = JSON.parse(document.getElementById("curve").dataset.accuracies);
    const next = points.findIndex(([e]) => e >= epsilon);
    if (next <= 0) return points.at(next)[1];
    const [[e0, a0], [e1, a1]] = [points[next - 1], points[next]];
    return a0 + ((a1 - a0) * (epsilon - e0)) / (e1 - e0);
  };

  const draw = (epsilon) => {
    const curve = document.getElementById("curve");
    if (curve) {
      const [left, right, top, bottom] = ["left", "right", "top", "bottom"].map((name) => Number(curve.dataset[name]));
      const share = accuracy(epsilon), x = left + ((right - left) * epsilon) / most;
      document.getElementById("dot").setAttribute("cx", x);
      document.getElementById("dot").setAttribute("cy", bottom - (bottom - top) * share);
      for (const end of ["x1", "x2"]) document.getElementById("at").setAttribute(end, x);
      document.getElementById("expected").textContent = `${Math.round(100 * share)} %`;
    }
    const factor = Math.exp(epsilon);
    document.getElementById("factor").textContent =
      factor < 10 ? (Math.ceil(factor * 10) / 10).toFixed(1) : Math.ceil(factor).toLocaleString("en");
    for (const row of document.querySelectorAll("tr[data-seconds]")) {
      const rate = epsilon / Number(row.dataset.seconds);
      for (const cell of row.querySelectorAll("[data-per]")) cell.textContent = number(rate * Number(cell.dataset.per));
      row.querySelector("[data-lasts]").textContent = budget(rate);
    }
  };

  const changed = (from, to) => () => {
    const epsilon = Number(from.value);
    if (!(epsilon > 0 && epsilon <= most)) return;
    to.value = from.value;
    draw(epsilon);
  };
  box.addEventListener("input", changed(box, slide));
  slide.addEventListener("input", changed(slide, box));
})();
