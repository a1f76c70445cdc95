// A plot of one channel: the last seconds of samples as lines on a canvas, in the colours of the style sheet.
"use strict";
class Plot {
  constructor(canvas, seconds) {
    this.canvas = canvas;
    this.span = seconds * 1000;
    this.lines = { released: [], raw: [] };
    new ResizeObserver(() => this.draw()).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }

  // Segments, so that a gap stays a gap.
  add(kind, times, values, placeholder) {
    this.lines[kind].push({ times, values, placeholder });
    const end = this.end();
    for (const name of Object.keys(this.lines))
      this.lines[name] = this.lines[name].filter((each) => each.times[each.times.length - 1] > end - this.span);
    this.draw();
  }

  end() {
    const last = (line) => (line.length ? line[line.length - 1].times.at(-1) : -Infinity);
    return Math.max(last(this.lines.released), last(this.lines.raw));
  }

  range() {
    let low = Infinity, high = -Infinity;
    for (const line of Object.values(this.lines))
      for (const segment of line)
        for (const value of segment.values) {
          if (value < low) low = value;
          if (value > high) high = value;
        }
    if (!(low < high)) [low, high] = Number.isFinite(low) ? [low - 1, low + 1] : [-1, 1];
    const margin = 0.08 * (high - low);
    return [low - margin, high + margin];
  }

  draw() {
    const scale = devicePixelRatio || 1;
    const width = this.canvas.clientWidth, height = this.canvas.clientHeight;
    if (!width) return;
    this.canvas.width = Math.round(width * scale);
    this.canvas.height = Math.round(height * scale);
    const pen = this.canvas.getContext("2d");
    pen.scale(scale, scale);
    const style = getComputedStyle(this.canvas);
    const colour = (name) => style.getPropertyValue(name).trim();
    const [low, high] = this.range(), end = this.end();
    const x = (time) => ((time - end + this.span) / this.span) * width;
    const y = (value) => height - ((value - low) / (high - low)) * height;
    this.axes(pen, { low, high, y, width, height, soft: colour("--soft"), line: colour("--line") });
    for (const segment of this.lines.raw) this.line(pen, segment, x, y, colour("--raw"), 1.25, []);
    this.canvas.dataset.points = this.lines.released.reduce((sum, each) => sum + each.times.length, 0);
    for (const segment of this.lines.released) {
      const held = segment.placeholder;
      this.line(pen, segment, x, y, colour(held ? "--held" : "--released"), held ? 1.25 : 1.75, held ? [4, 4] : []);
    }
  }

  line(pen, segment, x, y, colour, width, dashes) {
    pen.strokeStyle = colour;
    pen.lineWidth = width;
    pen.lineJoin = "round";
    pen.setLineDash(dashes);
    pen.beginPath();
    segment.times.forEach((time, i) => pen[i ? "lineTo" : "moveTo"](x(time), y(segment.values[i])));
    pen.stroke();
    pen.setLineDash([]);
  }

  axes(pen, { low, high, y, width, height, soft, line }) {
    pen.font = "11px system-ui, sans-serif";
    pen.fillStyle = soft;
    pen.strokeStyle = line;
    pen.lineWidth = 1;
    if (low < 0 && high > 0) {
      pen.beginPath();
      pen.moveTo(0, Math.round(y(0)) + 0.5);
      pen.lineTo(width, Math.round(y(0)) + 0.5);
      pen.stroke();
    }
    const text = (value) => String(Number(value.toPrecision(2))).replace("-", "−");
    pen.fillText(text(high), 6, 14);
    pen.fillText(text(low), 6, height - 6);
  }
}
