// Lanes of the time line that a scene asks for: figures of the selected agent, its Q-value, its inputs, the way ahead.
(function () {
  "use strict";
  const Replay = (window.MusterReplay = window.MusterReplay || {});
  const COLOURS = ["#7b3fa0", "#00794f", "#a3195b", "#5b6570"];
  const AHEAD = "#b3261e";
  const INPUT = "#0072b2";

  // look: {agent, ghost}
  Replay.lanesOf = function (file, look) {
    const scene = file.header.scene;
    const asked = Array.isArray(scene.lanes) ? scene.lanes.filter((name) => typeof name === "string") : [];
    const lanes = asked.map((name, k) => ({
      name: name === "q" ? "Q" : name,
      colour: COLOURS[k % COLOURS.length],
      values: file.steps.map((step) => (name === "q" ? chosenValue(step, look.agent) : figureOf(step, look.agent, name))),
    }));
    if (look.ghost && look.ghost.steps.length) lanes.push(ahead(file.steps, look.ghost.steps, look.agent));
    const shown = lanes.filter((lane) => lane.values.some((value) => value !== null));
    const inputs = scene.inputs;
    if (inputs && Array.isArray(inputs.names) && Array.isArray(inputs.actions)) {
      shown.push({ name: "inputs", colour: INPUT, rows: pressed(file.steps, look.agent, inputs) });
    }
    return shown;
  };

  function figureOf(step, agent, name) {
    const unit = step.snapshot.units.find((other) => other.agent === agent);
    return unit && Number.isFinite(unit[name]) ? unit[name] : null;
  }

  function chosenValue(step, agent) {
    const value = ((step.q_values || [])[agent] || [])[(step.actions || [])[agent]];
    return Number.isFinite(value) ? value : null;
  }

  // Metres before the first agent of the ghost, at the same time.
  function ahead(steps, others, agent) {
    const values = steps.map((step, t) => {
      const [own, other] = [figureOf(step, agent, "metres"), t < others.length ? figureOf(others[t], 0, "metres") : null];
      return own === null || other === null ? null : own - other;
    });
    return { name: "ahead, m", colour: AHEAD, values };
  }

  // [[name, [whether it was pressed in each step]]]
  function pressed(steps, agent, inputs) {
    return inputs.names.map((name, k) => [
      String(name),
      steps.map((step) => Boolean(((inputs.actions || [])[(step.actions || [])[agent]] || [])[k])),
    ]);
  }
})();
