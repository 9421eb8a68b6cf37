// The scene at a moment of a replay, also between two steps, and the part of the world to show.
(function () {
  "use strict";
  const Replay = (window.MusterReplay = window.MusterReplay || {});
  const METERS = ["health", "shield", "energy"];
  const MARGIN = 0.6; // world units, where a scene has no bounds
  const CLOSE_MARGIN = 1.5;
  const TURN = 0.02; // world units that count as a move

  // Units, links and texts at `position`: 3.25 is a quarter of the way from snapshot 3 to snapshot 4.
  Replay.momentAt = function (steps, position) {
    const t = Math.min(Math.floor(position), steps.length - 1);
    const share = t + 1 < steps.length ? position - t : 0;
    const now = steps[t].snapshot;
    const next = share > 0 ? steps[t + 1].snapshot : now;
    const before = share > 0 ? now : t > 0 ? steps[t - 1].snapshot : now;
    const units = share > 0 ? between(now.units, next.units, share) : now.units.map((unit) => ({ ...unit, alpha: 1 }));
    face(units, before, next);
    return { units, links: next.links, texts: now.texts, share: share || 1, t };
  };

  function between(now, next, share) {
    const later = new Map(next.map((unit) => [unit.id, unit]));
    const units = now.map((unit) => {
      const then = later.get(unit.id);
      later.delete(unit.id);
      return then ? blended(unit, then, share) : { ...unit, alpha: 1 - share };
    });
    return units.concat([...later.values()].map((unit) => ({ ...unit, alpha: share })));
  }

  function blended(unit, then, share) {
    if (!unit.alive) return { ...then, alpha: 1 };
    const mixed = { ...unit, alpha: then.alive ? 1 : 1 - 0.7 * share };
    for (const name of ["x", "y", ...METERS]) {
      if (Number.isFinite(unit[name]) && Number.isFinite(then[name])) mixed[name] += share * (then[name] - unit[name]);
    }
    if (Number.isFinite(unit.heading) && Number.isFinite(then.heading)) {
      const turn = then.heading - unit.heading;
      mixed.heading += share * Math.atan2(Math.sin(turn), Math.cos(turn));
    }
    return mixed;
  }

  // Towards whom a unit acts, else where it goes.
  function face(units, before, next) {
    const places = new Map(units.map((unit) => [unit.id, unit]));
    const from = new Map(before.units.map((unit) => [unit.id, unit]));
    const to = new Map(next.units.map((unit) => [unit.id, unit]));
    for (const unit of units) {
      const [start, end] = [from.get(unit.id), to.get(unit.id)];
      if (!start || !end) continue;
      const [dx, dy] = [end.x - start.x, end.y - start.y];
      if (Math.hypot(dx, dy) > TURN) unit.facing = Math.atan2(dy, dx);
    }
    for (const link of next.links) {
      const [actor, target] = [places.get(link.from), places.get(link.to)];
      if (link.kind === "attack" || link.kind === "heal") {
        actor.facing = Math.atan2(target.y - actor.y, target.x - actor.x);
      }
    }
  }

  // [x0, y0, x1, y1]: the scene; of a scene with ground only the part in which units are, and a margin.
  Replay.shownBounds = function (scene, steps) {
    const own = isBounds(scene.bounds) ? scene.bounds : null;
    const margin = own ? 0 : MARGIN;
    const whole = own ? [...own] : [Infinity, Infinity, -Infinity, -Infinity];
    const used = [Infinity, Infinity, -Infinity, -Infinity];
    for (const step of steps) {
      for (const unit of step.snapshot.units) {
        widen(whole, unit, unit.radius + margin);
        widen(used, unit, unit.radius);
      }
    }
    if (!(whole[0] < whole[2] && whole[1] < whole[3])) return [0, 0, 1, 1];
    if (!scene.ground || !(used[0] < used[2])) return whole;
    const [wide, high] = [used[2] - used[0], used[3] - used[1]];
    const [moreX, moreY] = [Math.max(CLOSE_MARGIN, (high / 2 - wide) / 2), Math.max(CLOSE_MARGIN, (wide / 2 - high) / 2)];
    return [
      Math.max(used[0] - moreX, whole[0]),
      Math.max(used[1] - moreY, whole[1]),
      Math.min(used[2] + moreX, whole[2]),
      Math.min(used[3] + moreY, whole[3]),
    ];
  };

  function isBounds(bounds) {
    return Array.isArray(bounds) && bounds.length === 4 && bounds.every(Number.isFinite);
  }

  function widen(bounds, unit, reach) {
    bounds[0] = Math.min(bounds[0], unit.x - reach);
    bounds[1] = Math.min(bounds[1], unit.y - reach);
    bounds[2] = Math.max(bounds[2], unit.x + reach);
    bounds[3] = Math.max(bounds[3], unit.y + reach);
  }
})();
