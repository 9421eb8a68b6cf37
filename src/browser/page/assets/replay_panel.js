// Beside the picture: who is who, and what the selected agent thinks of its actions.
(function () {
  "use strict";
  const Replay = (window.MusterReplay = window.MusterReplay || {});
  const { make, figure, actionName } = Replay;

  const DRAWN = new Set(["id", "x", "y", "radius", "team", "agent"]); // seen in the picture

  const unitsOf = (step) => new Map(step.snapshot.units.map((unit) => [unit.agent, unit]));

  // One button for each agent.
  class AgentList {
    constructor(element, select) {
      this.element = element;
      this._select = select;
      this._rows = [];
    }

    update(file, t, agent) {
      const step = file.steps[t];
      const units = unitsOf(step);
      // at the end nobody acts any more; who was who is known from the step before
      const named = step.actions || t === 0 ? units : unitsOf(file.steps[t - 1]);
      for (let i = this._rows.length; i < file.header.n_agents; i++) this._rows.push(this._row(i));
      this._rows.forEach((row, i) => {
        const unit = units.get(i);
        const dead = Boolean(unit && !unit.alive);
        const name = isNamed(unit) ? unit : named.get(i);
        row.kind.textContent = isNamed(name) ? `${i} ${name.kind}` : `agent ${i}`;
        row.action.textContent = dead
          ? "dead"
          : (step.acts || [])[i] === 0
            ? "–"
            : step.actions
              ? actionName(file.header, i, step.actions[i])
              : "";
        row.button.classList.toggle("dead", dead);
        row.button.setAttribute("aria-pressed", String(i === agent));
        row.mark.style.backgroundColor = dead ? "transparent" : Replay.colourOf(unit || name || { team: 0 });
        const full = unit && unit.max_health > 0;
        row.health.hidden = !full;
        if (full) row.level.style.width = `${(100 * Math.min(Math.max(unit.health / unit.max_health, 0), 1)).toFixed(1)}%`;
      });
    }

    _row(i) {
      const [mark, kind, action] = ["mark", "kind", "action"].map((name) => make("span", { class: name }));
      const level = make("span", { class: "level" });
      const health = make("span", { class: "health", "aria-hidden": "true" }, [level]);
      const button = make("button", { type: "button", class: "replay-agent" }, [mark, kind, health, action]);
      button.addEventListener("click", () => this._select(i));
      this.element.append(button);
      return { button, mark, kind, action, health, level };
    }
  }

  // A bar for each action of one agent: its Q-value or probability.
  class Choices {
    constructor(element) {
      this.element = element;
      this._title = make("h2");
      this._note = make("p", { class: "note" });
      this._list = make("ol", { class: "bars" });
      this._rows = [];
      element.append(this._title, this._note, this._list);
    }

    update(file, t, agent) {
      const step = file.steps[t];
      const unit = step.snapshot.units.find((other) => other.agent === agent);
      this._title.textContent = `Agent ${agent}${isNamed(unit) ? `, ${unit.kind}` : ""}`;
      const outputs = (step.q_values || step.policy || [])[agent] || null;
      const legal = (step.avail_actions || [])[agent] || null;
      this._note.textContent = this._caption(file, step, unit, outputs);
      this._list.hidden = !step.actions;
      if (step.actions) this._bars(file, agent, step.actions[agent], outputs, legal, Boolean(step.policy));
    }

    _caption(file, step, unit, outputs) {
      if (!step.actions && !step.decisions) return file.footer ? "The end of the episode." : "Waiting for the next step.";
      const details = Object.keys(unit || {})
        .filter((name) => !DRAWN.has(name) && !name.startsWith("max_") && Number.isFinite(unit[name]))
        .map((name) => `${name} ${figure(unit[name])}${unit[`max_${name}`] ? ` of ${figure(unit[`max_${name}`])}` : ""}`);
      const what = !step.actions ? "" : !outputs ? "Legal actions" : step.policy ? "Probabilities of its actions" : "Q-values of its actions";
      return [...details, what].filter(Boolean).join(" · ");
    }

    _bars(file, agent, chosen, outputs, legal, isPolicy) {
      const all = outputs ? outputs.length : legal ? legal.length : file.header.n_actions || 0;
      const count = Math.min(all, Replay.actionCount(file.header, agent));
      const scale = scaleOf(outputs, legal, isPolicy);
      this._list.classList.toggle("narrow", scale.narrow);
      for (let i = this._rows.length; i < count; i++) this._rows.push(this._row());
      this._rows.forEach((row, i) => {
        row.item.hidden = i >= count;
        if (i >= count) return;
        const value = outputs && Number.isFinite(outputs[i]) ? outputs[i] : null;
        const allowed = !legal || Boolean(legal[i]);
        row.item.className = (i === chosen ? "chosen" : "") + (allowed ? "" : " illegal");
        row.name.textContent = row.name.title = actionName(file.header, agent, i);
        row.mark.textContent = i === chosen ? "▶" : "";
        row.value.textContent = value === null ? "" : isPolicy ? percent(value) : figure(value);
        row.words.textContent = (i === chosen ? " chosen" : "") + (allowed ? "" : " illegal");
        this._place(row, value, scale);
      });
    }

    // From 0 to the value; values that lie close together are dots on a separate scale.
    _place(row, value, { low, high, narrow }) {
      const share = (at) => (100 * (Math.min(Math.max(at, low), high) - low)) / (high - low || 1);
      const [zero, end] = [share(0), share(value === null ? 0 : value)];
      row.bar.hidden = value === null;
      row.bar.style.left = `${(narrow ? end : Math.min(zero, end)).toFixed(2)}%`;
      row.bar.style.width = narrow ? "8px" : `${Math.max(Math.abs(end - zero), 0.6).toFixed(2)}%`;
      row.zero.style.left = `${zero.toFixed(2)}%`;
    }

    _row() {
      const parts = ["mark", "name", "track", "value", "words"].map((name) => make("span", { class: name }));
      const [mark, name, track, value, words] = parts;
      const [bar, zero] = [make("span", { class: "bar" }), make("span", { class: "zero" })];
      track.append(zero, bar);
      const item = make("li", {}, parts);
      this._list.append(item);
      return { item, mark, name, bar, zero, value, words };
    }
  }

  // By the legal outputs; those of illegal actions may be far off.
  function scaleOf(outputs, legal, isPolicy) {
    if (isPolicy) return { low: 0, high: 1, narrow: false };
    const values = (outputs || []).filter((value, i) => Number.isFinite(value) && (!legal || legal[i]));
    const [least, most] = [Math.min(...values), Math.max(...values)];
    const spread = most - least;
    if (values.length > 1 && spread > 0 && least * most > 0 && spread < Math.max(Math.abs(least), Math.abs(most)) / 2) {
      return { low: least - spread / 8, high: most + spread / 8, narrow: true };
    }
    return { low: Math.min(0, ...values), high: Math.max(0, ...values), narrow: false };
  }

  function isNamed(unit) {
    return Boolean(unit && unit.kind && unit.kind !== "agent");
  }

  function percent(value) {
    return `${(100 * value).toFixed(1)} %`;
  }

  Replay.AgentList = AgentList;
  Replay.Choices = Choices;
})();
