// Roads, the ways of units coloured by their speed, and the same race of another replay as a ghost.
(function () {
  "use strict";
  const Replay = (window.MusterReplay = window.MusterReplay || {});
  const [ROAD, EDGE, DASH, FINISH, START] = ["#d9d6cd", "#6d6a63", "#ffffff", "#1f2430", "#8f8a7c"];
  // from slow to fast: Viridis, which people with colour-blindness and greyscale prints keep apart
  const SPEEDS = ["#440154", "#414487", "#2a788e", "#22a884", "#7ad151", "#fde725"].map((one) =>
    [1, 3, 5].map((at) => parseInt(one.slice(at, at + 2), 16)),
  );
  const [WAY, TO_COME, GHOST] = [3, 0.25, 0.45]; // pixels; shares of opacity
  const LEGEND = 120; // pixels

  Replay.colourOfSpeed = function (share) {
    const at = Math.min(Math.max(share, 0), 1) * (SPEEDS.length - 1);
    const [low, part] = [Math.min(Math.floor(at), SPEEDS.length - 2), at - Math.min(Math.floor(at), SPEEDS.length - 2)];
    return `rgb(${SPEEDS[low].map((from, k) => Math.round(from + part * (SPEEDS[low + 1][k] - from))).join(",")})`;
  };

  // The road of a scene: its surface, edges, middle, start and finish.
  Replay.drawRoad = function (picture, road) {
    const context = picture.context;
    const [left, right, middle] = [road.left, road.right, road.middle].map(points);
    if (left.length < 2 || right.length < 2) return;
    follow(picture, [...left, ...[...right].reverse()]);
    context.closePath();
    context.fillStyle = ROAD;
    context.fill();
    stroke(picture, left, EDGE, 2, []);
    stroke(picture, right, EDGE, 2, []);
    stroke(picture, middle, DASH, 1.5, [8, 10]);
    stroke(picture, points(road.start), START, 2, []);
    stroke(picture, points(road.finish), FINISH, 5, [5, 4]);
  };

  // The ways of all units up to `position`, and fainter what follows; `speeds`: [the slowest, the fastest].
  Replay.drawWays = function (picture, steps, position, speeds, ghost) {
    const context = picture.context;
    const ids = steps.length ? steps[0].snapshot.units.map((unit) => unit.id) : [];
    context.lineCap = "round";
    for (const id of ids) {
      const way = wayOf(steps, id);
      for (let t = 0; t + 1 < way.length; t++) {
        const [from, to] = [way[t], way[t + 1]];
        if (!from || !to) continue;
        const past = t < Math.floor(position);
        context.globalAlpha = (past ? 1 : TO_COME) * (ghost ? GHOST : 1);
        const share = (to.speed - speeds[0]) / (speeds[1] - speeds[0] || 1);
        const colour = Number.isFinite(share) ? Replay.colourOfSpeed(share) : Replay.colourOf(to);
        const ends = [picture._x(from.x), picture._y(from.y), picture._x(to.x), picture._y(to.y)];
        picture._line(...ends, colour, ghost ? WAY - 1.5 : WAY);
      }
    }
    context.globalAlpha = 1;
  };

  Replay.drawLegend = function (picture, speeds, width, height) {
    const context = picture.context;
    const [x, y] = [width - LEGEND - 14, height - 22];
    for (let k = 0; k < LEGEND; k++) {
      context.fillStyle = Replay.colourOfSpeed(k / LEGEND);
      context.fillRect(x + k, y, 1, 8);
    }
    context.font = "11px system-ui, sans-serif";
    const words = [[`${speeds[0]}`, x], [`${speeds[1]} m/s`, x + LEGEND - 12]];
    for (const [text, at] of words) picture._written(text, at, y - 8, "#1f2430", "rgba(255, 255, 255, 0.9)", 3);
  };

  // The units of another replay at the same moment, pale.
  Replay.drawGhost = function (picture, ghost, position) {
    if (!ghost || !ghost.steps.length) return;
    const moment = Replay.momentAt(ghost.steps, Math.min(position, ghost.steps.length - 1));
    for (const unit of moment.units) {
      picture._body({ ...unit, agent: null, alpha: GHOST, colour: [90, 90, 90], label: "" }, {});
    }
  };

  function wayOf(steps, id) {
    return steps.map((step) => step.snapshot.units.find((unit) => unit.id === id));
  }

  function points(line) {
    const known = Array.isArray(line) ? line : [];
    return known.filter((point) => Array.isArray(point) && point.length === 2 && point.every(Number.isFinite));
  }

  function follow(picture, line) {
    picture.context.beginPath();
    line.forEach(([x, y], k) => {
      if (k) picture.context.lineTo(picture._x(x), picture._y(y));
      else picture.context.moveTo(picture._x(x), picture._y(y));
    });
  }

  function stroke(picture, line, colour, width, dashes) {
    if (line.length < 2) return;
    follow(picture, line);
    picture.context.strokeStyle = colour;
    picture.context.lineWidth = width;
    picture.context.setLineDash(dashes);
    picture.context.stroke();
    picture.context.setLineDash([]);
  }
})();
