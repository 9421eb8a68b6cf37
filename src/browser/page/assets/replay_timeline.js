// The time line below the picture: reward, return and the team's value by step, and a place to scrub.
(function () {
  "use strict";
  const Replay = (window.MusterReplay = window.MusterReplay || {});
  const LANES = [
    { key: "reward", name: "reward", colour: "#b45309", bars: true },
    { key: "return", name: "return", colour: "#0072b2" },
    { key: "q_tot", name: "Q_tot", colour: "#00794f" },
  ];
  const [INK, FAINT, LINE] = ["#1f2430", "#5b6570", "#d5d9de"];
  const [LEFT, RIGHT, INSET, AXIS, GAP, LANE] = [130, 4, 10, 20, 8, 46]; // pixels
  const FONT = "12px system-ui, sans-serif";

  class Timeline {
    constructor(canvas) {
      this.canvas = canvas;
      this._last = 0;
    }

    // look: {position, pointed, agent, ghost}: a step, perhaps between two, the step under the mouse or null, the
    // selected agent, and the replay that is drawn beside this one
    draw(file, look) {
      const lanes = [
        ...LANES.filter((lane) => file.steps.some((step) => Number.isFinite(step[lane.key]))),
        ...Replay.lanesOf(file, look),
      ];
      this.canvas.style.height = `${Math.max(lanes.length, 1) * (LANE + GAP) + AXIS}px`;
      const { context, width, height } = Replay.fitted(this.canvas);
      this.context = context;
      this._width = Math.max(width - LEFT - RIGHT - 2 * INSET, 1);
      this._last = Math.max(file.steps.length - 1, 1);
      context.font = FONT;
      lanes.forEach((lane, row) => this._lane(lane, file.steps, GAP / 2 + row * (LANE + GAP), look));
      this._axis(height);
      this._head(look.position, height, INK, 2);
      if (look.pointed !== null) this._head(look.pointed, height, FAINT, 1);
    }

    // The step at this place of the canvas.
    stepAt(x) {
      return Math.round(Math.min(Math.max((x - LEFT - INSET) / this._width, 0), 1) * this._last);
    }

    _x(step) {
      return LEFT + INSET + (this._width * step) / this._last;
    }

    _lane(lane, steps, top, look) {
      const context = this.context;
      if (lane.rows) {
        this._rows(lane, top, look);
        return;
      }
      const values = lane.values || steps.map((step) => (Number.isFinite(step[lane.key]) ? step[lane.key] : null));
      const known = values.filter((value) => value !== null);
      let [low, high] = [Math.min(...known), Math.max(...known)];
      if (lane.bars) [low, high] = [Math.min(low, 0), Math.max(high, 0)];
      if (low === high) [low, high] = [low - 1, high + 1];
      const y = (value) => top + 3 + (LANE - 6) * (1 - (value - low) / (high - low));
      context.fillStyle = "#ffffff";
      context.fillRect(LEFT, top, this._width + 2 * INSET, LANE);
      if (low < 0 && high > 0) this._rule(y(0));
      this._words(lane, values, low, high, top, look);
      context.fillStyle = context.strokeStyle = lane.colour;
      if (lane.bars) this._bars(values, y, look);
      else this._curve(values, y, look, lane.colour);
    }

    // A row for each input, filled where it was pressed.
    _rows(lane, top, look) {
      const context = this.context;
      const high = LANE / Math.max(lane.rows.length, 1);
      context.fillStyle = "#ffffff";
      context.fillRect(LEFT, top, this._width + 2 * INSET, LANE);
      context.textBaseline = "middle";
      lane.rows.forEach(([name, pressed], row) => {
        const y = top + row * high;
        context.font = FONT.replace("12px", "10.5px");
        context.textAlign = "right";
        context.fillStyle = FAINT;
        context.fillText(name, LEFT - 6, y + high / 2);
        context.fillStyle = lane.colour;
        pressed.forEach((on, t) => {
          if (!on) return;
          context.globalAlpha = t <= look.position ? 1 : 0.35;
          context.fillRect(this._x(t), y + 1, Math.max(this._x(t + 1) - this._x(t), 1), high - 2);
        });
        context.globalAlpha = 1;
      });
      context.font = FONT;
    }

    _rule(y) {
      const context = this.context;
      context.strokeStyle = LINE;
      context.lineWidth = 1;
      context.beginPath();
      context.moveTo(LEFT, Math.round(y) + 0.5);
      context.lineTo(LEFT + this._width + 2 * INSET, Math.round(y) + 0.5);
      context.stroke();
    }

    _words(lane, values, low, high, top, look) {
      const context = this.context;
      const t = look.pointed !== null ? look.pointed : Math.floor(look.position);
      context.textBaseline = "middle";
      context.textAlign = "left";
      context.fillStyle = lane.colour;
      context.font = `600 ${FONT}`;
      context.fillText(lane.name, 0, top + LANE / 2 - 8);
      context.fillStyle = INK;
      context.fillText(Replay.figure(values[t]), 0, top + LANE / 2 + 9);
      context.font = FONT.replace("12px", "10.5px");
      context.textAlign = "right";
      context.fillStyle = FAINT;
      context.fillText(Replay.figure(high), LEFT - 6, top + 7);
      context.fillText(Replay.figure(low), LEFT - 6, top + LANE - 6);
      context.font = FONT;
    }

    _bars(values, y, look) {
      const context = this.context;
      const width = Math.max(Math.min(this._width / this._last / 2, 2 * INSET - 6), 1);
      values.forEach((value, t) => {
        if (value === null) return;
        context.globalAlpha = t <= look.position ? 1 : 0.35;
        const [top, bottom] = [Math.min(y(0), y(value)), Math.max(y(0), y(value))];
        context.fillRect(this._x(t) - width / 2, top, width, Math.max(bottom - top, 1));
      });
      context.globalAlpha = 1;
    }

    _curve(values, y, look, colour) {
      const context = this.context;
      context.lineWidth = 2;
      context.lineJoin = "round";
      for (const [from, to, alpha] of [[look.position, Infinity, 0.35], [-Infinity, look.position, 1]]) {
        context.save();
        context.beginPath();
        context.rect(from === -Infinity ? 0 : this._x(from), 0, to === Infinity ? 1e5 : this._x(to), 1e4);
        context.clip();
        context.globalAlpha = alpha;
        context.strokeStyle = colour;
        context.beginPath();
        let drawing = false;
        values.forEach((value, t) => {
          if (value === null) drawing = false;
          else if (drawing) context.lineTo(this._x(t), y(value));
          else {
            context.moveTo(this._x(t), y(value));
            drawing = true;
          }
        });
        context.stroke();
        context.restore();
      }
      const t = Math.floor(look.position);
      if (values[t] === null || values[t] === undefined) return;
      context.beginPath();
      context.arc(this._x(t), y(values[t]), 4, 0, 2 * Math.PI);
      context.fill();
    }

    _axis(height) {
      const context = this.context;
      const rough = (70 * this._last) / this._width;
      const power = 10 ** Math.floor(Math.log10(Math.max(rough, 1)));
      const every = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough) || power * 10;
      context.font = FONT.replace("12px", "11px");
      context.fillStyle = FAINT;
      context.textBaseline = "alphabetic";
      context.textAlign = "left";
      context.fillText("step", 0, height - 5);
      context.textAlign = "center";
      for (let t = 0; t <= this._last; t += every) context.fillText(String(t), this._x(t), height - 5);
    }

    _head(step, height, colour, width) {
      const context = this.context;
      context.fillStyle = colour;
      context.fillRect(this._x(step) - width / 2, 0, width, height - AXIS);
    }
  }

  Replay.Timeline = Timeline;
})();
