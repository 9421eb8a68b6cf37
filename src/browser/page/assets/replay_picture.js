// Draws a moment of a replay on a canvas, seen from above, the world's y axis up.
(function () {
  "use strict";
  const Replay = (window.MusterReplay = window.MusterReplay || {});
  const TRAIL = 6; // steps
  const ZOOMED = 9; // world units that are seen at least
  const AROUND = 1; // world units around all units that live
  const PADDING = 18; // pixels around what is shown
  const FONT = "system-ui, sans-serif";

  // of the element that the server makes (utils/colours.py): GIFs have the same
  Replay.colours = {};

  Replay.colourOf = function (unit) {
    const { teams, neutral } = Replay.colours;
    const own = unit.colour;
    if (Array.isArray(own) && own.length === 3 && own.every(Number.isFinite)) return `rgb(${own.join(",")})`;
    return Number.isInteger(unit.team) ? teams[((unit.team % teams.length) + teams.length) % teams.length] : neutral;
  };

  class Picture {
    constructor(canvas) {
      this.canvas = canvas;
      this._units = [];
    }

    // look: {position, agent, hovered, trails, actions, fit, zoom, ghost}
    draw(file, look) {
      const { context, width, height } = Replay.fitted(this.canvas);
      this.context = context;
      const scene = file.header.scene;
      const moment = Replay.momentAt(file.steps, look.position);
      this._fit(scene, file.steps, width, height);
      const centre = moment.units.find((unit) => unit.agent === look.agent);
      if (look.zoom && centre) this._zoom(centre, width, height);
      // a board is shown whole, and so is a road
      else if (look.fit && !scene.road && !scene.grid) this._zoomTo(moment.units.filter((unit) => unit.alive), width, height);
      context.fillStyle = scene.ground ? Replay.colours.ground["#"] : Replay.colours.empty;
      context.fillRect(0, 0, width, height);
      this._ground(scene);
      if (scene.road) Replay.drawRoad(this, scene.road);
      this._units = moment.units;
      const places = new Map(moment.units.map((unit) => [unit.id, unit]));
      const speeds = isSpeeds(scene.speeds) ? scene.speeds : null;
      if (look.trails && speeds) {
        if (look.ghost) Replay.drawWays(this, look.ghost.steps, look.position, speeds, true);
        Replay.drawWays(this, file.steps, look.position, speeds, false);
        Replay.drawLegend(this, speeds, width, height);
      } else if (look.trails) this._trails(file.steps, look.position, places);
      Replay.drawGhost(this, look.ghost, look.position);
      const living = moment.units.filter((unit) => unit.alive).sort((one, other) => other.radius - one.radius);
      moment.units.filter((unit) => !unit.alive).forEach((unit) => this._cross(unit));
      this._links(moment, places, false);
      living.forEach((unit) => this._body(unit, look));
      this._links(moment, places, true);
      living.forEach((unit) => this._meters(unit));
      if (look.actions) this._actions(file, moment.t, living, look);
      this._texts(moment.texts);
    }

    // The agent drawn at these pixels, or null.
    agentAt(x, y) {
      let [found, nearest] = [null, Infinity];
      for (const unit of this._units) {
        if (unit.agent === null) continue;
        const distance = Math.hypot(this._x(unit.x) - x, this._y(unit.y) - y);
        if (distance <= this._radius(unit) + 6 && distance < nearest) [found, nearest] = [unit.agent, distance];
      }
      return found;
    }

    _fit(scene, steps, width, height) {
      if (this._steps !== steps || this._count !== steps.length) {
        [this._steps, this._count] = [steps, steps.length];
        this._bounds = Replay.shownBounds(scene, steps);
      }
      this._scene = scene;
      const [x0, y0, x1, y1] = this._bounds;
      const room = [Math.max(width - 2 * PADDING, 1), Math.max(height - 2 * PADDING, 1)];
      this.scale = Math.min(room[0] / (x1 - x0), room[1] / (y1 - y0));
      this._left = (width - this.scale * (x1 - x0)) / 2 - this.scale * x0;
      this._top = (height - this.scale * (y1 - y0)) / 2 + this.scale * y1;
    }

    // Closer, around the selected agent.
    _zoom(centre, width, height) {
      const near = this._scene.near > 0 ? this._scene.near : ZOOMED;
      this.scale = Math.max(this.scale, Math.min(width, height) / near);
      this._left = width / 2 - this.scale * centre.x;
      this._top = height / 2 + this.scale * centre.y;
    }

    // Closer, around all units that live.
    _zoomTo(units, width, height) {
      if (!units.length) return;
      const reach = (of, way) => units.map((unit) => unit[of] + way * (unit.radius + AROUND));
      const [x0, y0] = [Math.min(...reach("x", -1)), Math.min(...reach("y", -1))];
      const [x1, y1] = [Math.max(...reach("x", 1)), Math.max(...reach("y", 1))];
      const fits = Math.min((width - 2 * PADDING) / (x1 - x0), (height - 2 * PADDING) / (y1 - y0));
      const scale = Math.min(fits, Math.min(width, height) / ZOOMED);
      if (scale <= this.scale) return;
      this.scale = scale;
      this._left = width / 2 - (this.scale * (x0 + x1)) / 2;
      this._top = height / 2 + (this.scale * (y0 + y1)) / 2;
    }

    _x(x) {
      return this._left + this.scale * x;
    }

    _y(y) {
      return this._top - this.scale * y;
    }

    _radius(unit) {
      return Math.max(this.scale * unit.radius, 3);
    }

    _ground(scene) {
      const [x0, y0, x1, y1] = Array.isArray(scene.bounds) ? scene.bounds : this._bounds;
      const ground = scene.ground;
      const kinds = Replay.colours.ground;
      const context = this.context;
      if (ground && Array.isArray(ground.rows)) {
        const cell = ground.cell || 1;
        ground.rows.forEach((row, r) => {
          for (let c = 0; c < row.length; c++) {
            const [left, top] = [Math.floor(this._x(x0 + c * cell)), Math.floor(this._y(y1 - r * cell))];
            const [right, bottom] = [this._x(x0 + (c + 1) * cell), this._y(y1 - (r + 1) * cell)];
            context.fillStyle = kinds[row[c]] || kinds["."];
            context.fillRect(left, top, Math.ceil(right) - left, Math.ceil(bottom) - top);
          }
        });
      }
      if (!(scene.grid > 0) || (x1 - x0) / scene.grid > 500 || (y1 - y0) / scene.grid > 500) return;
      context.strokeStyle = Replay.colours.grid;
      context.lineWidth = 1;
      context.beginPath();
      for (let x = x0; x <= x1 + scene.grid / 2; x += scene.grid) this._segment(x, y0, x, y1);
      for (let y = y0; y <= y1 + scene.grid / 2; y += scene.grid) this._segment(x0, y, x1, y);
      context.stroke();
    }

    _segment(x0, y0, x1, y1) {
      this.context.moveTo(Math.round(this._x(x0)) + 0.5, Math.round(this._y(y0)) + 0.5);
      this.context.lineTo(Math.round(this._x(x1)) + 0.5, Math.round(this._y(y1)) + 0.5);
    }

    _trails(steps, position, places) {
      const last = Math.floor(position);
      const context = this.context;
      context.lineCap = "round";
      for (const unit of places.values()) {
        if (!unit.alive) continue;
        let [x, y] = [unit.x, unit.y];
        for (let t = last; t >= Math.max(0, last - TRAIL + 1); t--) {
          const earlier = steps[t].snapshot.units.find((other) => other.id === unit.id);
          if (!earlier) break;
          context.globalAlpha = 0.5 * (1 - (last - t) / TRAIL);
          this._line(this._x(x), this._y(y), this._x(earlier.x), this._y(earlier.y), Replay.colourOf(unit), 3);
          [x, y] = [earlier.x, earlier.y];
        }
      }
      context.globalAlpha = 1;
    }

    _line(x0, y0, x1, y1, colour, width) {
      const context = this.context;
      context.strokeStyle = colour;
      context.lineWidth = width;
      context.beginPath();
      context.moveTo(x0, y0);
      context.lineTo(x1, y1);
      context.stroke();
    }

    _shape(shape, x, y, radius, heading) {
      const context = this.context;
      context.beginPath();
      if (shape === "car") this._car(x, y, radius, -(heading || 0));
      else if (shape === "square") context.rect(x - radius, y - radius, 2 * radius, 2 * radius);
      else if (shape === "diamond") {
        context.moveTo(x, y - radius);
        [[radius, 0], [0, radius], [-radius, 0]].forEach(([dx, dy]) => context.lineTo(x + dx, y + dy));
        context.closePath();
      } else context.arc(x, y, radius, 0, 2 * Math.PI);
    }

    // A wedge, twice as long as wide, that points where it heads.
    _car(x, y, radius, angle) {
      const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
      const corners = [[2, 0], [0.9, 1], [-2, 1], [-2, -1], [0.9, -1]];
      corners.forEach(([along, aside], k) => {
        const place = [x + radius * (along * cos - aside * sin), y + radius * (along * sin + aside * cos)];
        if (k) this.context.lineTo(...place);
        else this.context.moveTo(...place);
      });
      this.context.closePath();
    }

    _body(unit, look) {
      const context = this.context;
      const [x, y, radius] = [this._x(unit.x), this._y(unit.y), this._radius(unit)];
      context.globalAlpha = unit.alpha;
      if (unit.agent !== null && (unit.agent === look.agent || unit.agent === look.hovered)) {
        this._shape(unit.shape === "car" ? "disc" : unit.shape, x, y, radius + (unit.shape === "car" ? 9 : 5));
        context.strokeStyle = Replay.colours.ink;
        context.lineWidth = unit.agent === look.agent ? 3 : 1.5;
        context.setLineDash(unit.agent === look.agent ? [] : [4, 3]);
        context.stroke();
        context.setLineDash([]);
      }
      if (unit.facing !== undefined && unit.shape !== "ring" && unit.shape !== "car") this._nose(x, y, radius, unit);
      this._shape(unit.shape, x, y, radius, unit.heading);
      if (unit.shape === "ring") {
        context.strokeStyle = Replay.colourOf(unit);
        context.lineWidth = Math.max(radius / 8, 2);
        context.stroke();
      } else {
        context.fillStyle = Replay.colourOf(unit);
        context.fill();
        context.strokeStyle = "rgba(0, 0, 0, 0.55)";
        context.lineWidth = 1.5;
        context.stroke();
      }
      if (unit.label && unit.shape !== "ring") this._label(unit.label, x, y, radius);
      context.globalAlpha = 1;
    }

    _nose(x, y, radius, unit) {
      const context = this.context;
      const angle = -unit.facing;
      context.fillStyle = Replay.colours.ink;
      context.beginPath();
      context.moveTo(x + (radius + 6) * Math.cos(angle), y + (radius + 6) * Math.sin(angle));
      for (const turn of [0.45, -0.45]) {
        context.lineTo(x + radius * Math.cos(angle + turn), y + radius * Math.sin(angle + turn));
      }
      context.fill();
    }

    _label(label, x, y, radius) {
      const context = this.context;
      const size = Math.min(1.1 * radius, (2.6 * radius) / Math.max(label.length, 1), 20);
      if (size < 6) return;
      context.font = `600 ${size}px ${FONT}`;
      this._written(label, x, y + size * 0.04, Replay.colours.pale, "rgba(0, 0, 0, 0.75)", 2.5);
    }

    // Text with a rim, readable on any ground.
    _written(text, x, y, colour, rim, width) {
      const context = this.context;
      context.textAlign = "center";
      context.textBaseline = "middle";
      context.lineJoin = "round";
      context.lineWidth = width;
      context.strokeStyle = rim;
      context.strokeText(text, x, y);
      context.fillStyle = colour;
      context.fillText(text, x, y);
    }

    _cross(unit) {
      const [x, y, arm] = [this._x(unit.x), this._y(unit.y), Math.max(this._radius(unit) * 0.6, 4)];
      for (const [colour, width] of [[Replay.colours.pale, 5], [Replay.colours.dead, 2.5]]) {
        this._line(x - arm, y - arm, x + arm, y + arm, colour, width);
        this._line(x - arm, y + arm, x + arm, y - arm, colour, width);
      }
    }

    _links(moment, places, acts) {
      for (const link of moment.links) {
        const { links, otherLink } = Replay.colours;
        const colour = Object.hasOwn(links, link.kind) ? links[link.kind] : undefined;
        const [from, to] = [places.get(link.from), places.get(link.to)];
        if (acts !== Boolean(colour) || !from || !to) continue;
        const points = [this._x(from.x), this._y(from.y), this._x(to.x), this._y(to.y)];
        if (!colour) this._line(...points, otherLink, 2);
        else this._act(link.kind, points, this._radius(from), this._radius(to), colour, moment.share);
      }
    }

    // An attack is a dashed arrow, healing a solid line with a plus: they differ without colour, too.
    _act(kind, [x0, y0, x1, y1], start, end, colour, share) {
      const context = this.context;
      const length = Math.hypot(x1 - x0, y1 - y0) || 1;
      const [ux, uy] = [(x1 - x0) / length, (y1 - y0) / length];
      if (length > start + end) [x0, y0, x1, y1] = [x0 + ux * start, y0 + uy * start, x1 - ux * end, y1 - uy * end];
      context.setLineDash(kind === "attack" ? [7, 4] : []);
      this._line(x0, y0, x1, y1, Replay.colours.pale, 4.5);
      this._line(x0, y0, x1, y1, colour, 2.2);
      context.setLineDash([]);
      const [px, py] = [x0 + (x1 - x0) * share, y0 + (y1 - y0) * share];
      if (kind === "heal") {
        this._line(px - 5, py, px + 5, py, colour, 3.5);
        this._line(px, py - 5, px, py + 5, colour, 3.5);
        return;
      }
      context.fillStyle = colour;
      context.beginPath();
      context.moveTo(px + ux, py + uy);
      context.lineTo(px - ux * 9 - uy * 5, py - uy * 9 + ux * 5);
      context.lineTo(px - ux * 9 + uy * 5, py - uy * 9 - ux * 5);
      context.fill();
    }

    _meters(unit) {
      const context = this.context;
      const [x, radius] = [this._x(unit.x), this._radius(unit)];
      const width = Math.max(2 * radius, 16);
      let top = this._y(unit.y) - radius - 8;
      for (const [name, colour] of Object.entries(Replay.colours.meters)) {
        const full = unit[`max_${name}`];
        if (!(full > 0)) continue;
        const share = Math.min(Math.max((unit[name] || 0) / full, 0), 1);
        context.globalAlpha = unit.alpha;
        context.fillStyle = Replay.colours.pale;
        context.fillRect(x - width / 2 - 1, top - 1, width + 2, 6);
        context.fillStyle = Replay.colours.lost;
        context.fillRect(x - width / 2, top, width, 4);
        context.fillStyle = colour;
        context.fillRect(x - width / 2, top, width * share, 4);
        top -= 5;
      }
      context.globalAlpha = 1;
    }

    // The agents' actions, the selected one first; a text that would cover a body or another text is omitted.
    _actions(file, t, living, look) {
      const actions = file.steps[t].actions;
      if (!Array.isArray(actions)) return;
      const context = this.context;
      const taken = living.filter((unit) => unit.shape !== "square").map((unit) => this._core(unit));
      const agents = living.filter((unit) => unit.agent !== null && actions[unit.agent] !== undefined);
      agents.sort((one, other) => (other.agent === look.agent) - (one.agent === look.agent));
      for (const unit of agents) {
        const chosen = unit.agent === look.agent;
        context.font = `${chosen ? 700 : 500} 12px ${FONT}`;
        const name = Replay.actionName(file.header, unit.agent, actions[unit.agent]);
        const text = unit.label === String(unit.agent) ? name : `${unit.agent}: ${name}`;
        const half = context.measureText(text).width / 2;
        const [x, y] = [this._x(unit.x), this._y(unit.y) + this._radius(unit) + 13];
        const box = [x - half, y - 7, x + half, y + 7];
        if (!chosen && taken.some((other) => overlaps(box, other))) continue;
        taken.push(box);
        this._written(text, x, y, Replay.colours.ink, "rgba(255, 255, 255, 0.9)", 4);
      }
    }

    // The part of a body that no text may cover.
    _core(unit) {
      const [x, y, half] = [this._x(unit.x), this._y(unit.y), this._radius(unit) * 0.7];
      return [x - half, y - half, x + half, y + half];
    }

    _texts(texts) {
      this.context.font = `13px ${FONT}`;
      texts.forEach((text, row) => {
        const half = this.context.measureText(text).width / 2;
        this._written(text, 10 + half, 14 + 18 * row, Replay.colours.ink, "rgba(255, 255, 255, 0.9)", 4);
      });
    }
  }

  function isSpeeds(speeds) {
    return Array.isArray(speeds) && speeds.length === 2 && speeds.every(Number.isFinite);
  }

  function overlaps(one, other) {
    return one[0] < other[2] && other[0] < one[2] && one[1] < other[3] && other[1] < one[3];
  }

  Replay.Picture = Picture;
})();
