// The replay view: plays, steps, scrubs and selects; its state stands in the address.
(function () {
  "use strict";
  const Replay = (window.MusterReplay = window.MusterReplay || {});
  const { make, button } = Replay;
  const SPEEDS = [0.25, 0.5, 1, 2, 4, 8, 16]; // times STEPS_A_SECOND
  const STEPS_A_SECOND = 3; // unless the scene has a pace
  const POLL = 2000; // milliseconds between questions for more of a file that is being written
  const SLOW_POLL = 10000; // after PATIENCE without any
  const PATIENCE = 60000;
  const ADDRESS_DELAY = 200;
  // [keys, what they do]
  const HELP = [
    ["Space", "play, pause"],
    ["← →", "one step back or forward (Shift: ten)"],
    ["Home End", "the first, the last step"],
    ["↑ ↓ or + −", "faster, slower"],
    ["0 … 9", "select an agent by its number"],
    ["Tab", "in the picture: the next agent (Shift: the previous one)"],
    ["T A S", "trails, actions, smooth movement"],
    ["F Z", "fit the picture to the living units, zoom to the selected agent"],
    ["?", "this help"],
    ["Esc", "close the help"],
  ];

  class Player {
    constructor(element, source) {
      this.element = element;
      this.source = source;
      const query = new URLSearchParams(window.location.search);
      this.file = new Replay.ReplayFile(source);
      this.position = this.wanted = whole(query.get("step"), 0);
      this.agent = whole(query.get("agent"), 0);
      this.speed = SPEEDS.includes(Number(query.get("speed"))) ? Number(query.get("speed")) : 1;
      const still = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
      this.options = { trails: true, actions: true, smooth: !still, fit: true, zoom: false };
      this._usual = { ...this.options };
      for (const name of Object.keys(this.options)) {
        if (query.has(name)) this.options[name] = query.get(name) === "1";
      }
      this.playing = false;
      this.hovered = this.pointed = null;
      this._stop = new AbortController();
      Replay.colours = dataOf(element, "colours", {});
      this._ghosts = dataOf(element, "ghosts", []); // [{key, label, source}]
      this._setGhost(query.get("ghost") || "");
      this._timers = {};
      this._shown = {};
      this._grown = performance.now();
      this._build();
      this._listen();
      this._read();
    }

    get last() {
      return this.file.steps.length - 1;
    }

    get step() {
      return Math.floor(this.position);
    }

    close() {
      this._stop.abort();
      this._sizes.disconnect();
      Object.values(this._timers).forEach(clearTimeout);
      cancelAnimationFrame(this._frame);
      this.element.replaceChildren();
    }

    _build() {
      this.title = make("p", { class: "replay-title" });
      this.status = make("p", { class: "replay-status", role: "status" });
      this.canvas = make("canvas", { class: "replay-picture", tabindex: "0", role: "img", "aria-label": "" });
      this.list = make("div", { class: "replay-agents", role: "group", "aria-label": "Agents" });
      this.side = make("section", { class: "replay-choices", "aria-label": "The selected agent" });
      this.line = make("canvas", { class: "replay-line", tabindex: "0", role: "slider", "aria-label": "Step" });
      this.count = make("output", { class: "replay-count" });
      this.help = this._helpBox();
      this.element.append(
        make("div", { class: "replay-head" }, [this.title, this.status]),
        make("div", { class: "replay-body" }, [
          make("div", { class: "replay-main" }, [this.canvas, this._controls(), this.line]),
          make("aside", { class: "replay-aside" }, [this.list, this.side]),
        ]),
        this.help,
      );
      this.picture = new Replay.Picture(this.canvas);
      this.timeline = new Replay.Timeline(this.line);
      this.agents = new Replay.AgentList(this.list, (agent) => this.select(agent));
      this.choices = new Replay.Choices(this.side);
      this._sizes = new ResizeObserver(() => this._ask());
      this._sizes.observe(this.canvas);
      this._sizes.observe(this.line);
    }

    _controls() {
      this.play = button("play", "", "Play (Space)", () => this.toggle());
      this.pace = make("select", { class: "replay-speed", "aria-label": "Speed", title: "Speed (↑ ↓)" });
      SPEEDS.forEach((speed) => this.pace.append(make("option", { value: speed, text: `${speed}×` })));
      this.pace.addEventListener("change", () => this.setSpeed(Number(this.pace.value)));
      this.against = make("select", { class: "replay-speed", "aria-label": "Against", title: "Another replay as a ghost" });
      this.against.append(make("option", { value: "", text: "no ghost" }));
      this._ghosts.forEach(({ key, label }) => this.against.append(make("option", { value: key, text: label })));
      this.against.hidden = !this._ghosts.length;
      this.against.value = this._ghostKey;
      this.against.addEventListener("change", () => {
        this._setGhost(this.against.value);
        this._changed();
      });
      this.switches = Object.keys(this.options).map((name) => {
        const key = name[0].toUpperCase();
        const one = button("switch", name, `${name} (${key})`, () => this.flip(name));
        one.removeAttribute("aria-label");
        one.dataset.option = name;
        return one;
      });
      return make("div", { class: "replay-controls", role: "toolbar", "aria-label": "Playing" }, [
        button("first", "", "First step (Home)", () => this.go(0)),
        button("back", "", "Step back (←)", () => this.go(Math.ceil(this.position) - 1)),
        this.play,
        button("on", "", "Step forward (→)", () => this.go(this.step + 1)),
        button("last", "", "Last step (End)", () => this.go(this.last)),
        this.count,
        this.pace,
        this.against,
        ...this.switches,
        button("help", "?", "Keys (?)", () => this._toggleHelp()),
      ]);
    }

    _helpBox() {
      const rows = HELP.map(([keys, what]) => [make("dt", { text: keys }), make("dd", { text: what })]);
      const done = button("done", "Close", "Close (Esc)", () => this.help.close());
      return make("dialog", { class: "replay-keys", "aria-label": "Keys" }, [
        make("h2", { text: "Keys" }),
        make("dl", {}, rows.flat()),
        done,
      ]);
    }

    _toggleHelp() {
      if (this.help.open) this.help.close();
      else this.help.showModal();
    }

    _listen() {
      const on = (target, name, act) => target.addEventListener(name, act, { signal: this._stop.signal });
      on(document, "keydown", (event) => this._key(event));
      on(this.canvas, "pointermove", (event) => this._hover(this.picture.agentAt(event.offsetX, event.offsetY)));
      on(this.canvas, "pointerleave", () => this._hover(null));
      on(this.canvas, "click", (event) => {
        const agent = this.picture.agentAt(event.offsetX, event.offsetY);
        if (agent !== null) this.select(agent);
      });
      on(this.line, "pointerdown", (event) => {
        if (!this.file.steps.length) return;
        this.line.setPointerCapture(event.pointerId);
        this.go(this.timeline.stepAt(event.offsetX));
      });
      on(this.line, "pointermove", (event) => {
        if (!this.file.steps.length) return;
        this.pointed = this.timeline.stepAt(event.offsetX);
        if (this.line.hasPointerCapture(event.pointerId)) this.go(this.pointed);
        this._ask();
      });
      on(this.line, "pointerleave", () => {
        this.pointed = null;
        this._ask();
      });
      // the next space bar is for playing, not for the button that the mouse has pressed
      on(this.element, "click", (event) => {
        if (event.detail > 0 && event.target.closest("button") && !this.help.open) this.canvas.focus();
      });
    }

    _key(event) {
      if (event.ctrlKey || event.altKey || event.metaKey || event.target.closest("input, textarea, select")) return;
      if (event.key === "?") {
        event.preventDefault();
        this._toggleHelp();
      }
      if (this.help.open || (event.target.closest("button, a") && [" ", "Enter"].includes(event.key))) return;
      const act = event.key === "Tab" ? this._tabbed(event) : this._action(event.key, event.shiftKey ? 10 : 1);
      if (!act || !this.file.steps.length) return;
      event.preventDefault();
      act();
    }

    _action(key, steps) {
      const acts = {
        " ": () => this.toggle(),
        ArrowLeft: () => this.go(Math.ceil(this.position) - steps),
        ArrowRight: () => this.go(this.step + steps),
        Home: () => this.go(0),
        End: () => this.go(this.last),
        ArrowUp: () => this.setSpeed(this._neighbour(1)),
        ArrowDown: () => this.setSpeed(this._neighbour(-1)),
        t: () => this.flip("trails"),
        a: () => this.flip("actions"),
        s: () => this.flip("smooth"),
        f: () => this.flip("fit"),
        z: () => this.flip("zoom"),
      };
      acts["+"] = acts["="] = acts.ArrowUp;
      acts["-"] = acts.ArrowDown;
      if (/^[0-9]$/.test(key) && Number(key) < this.file.header?.n_agents) return () => this.select(Number(key));
      return acts[key.length === 1 ? key.toLowerCase() : key];
    }

    // On the picture Tab goes from agent to agent, and after the last one on to the buttons.
    _tabbed(event) {
      const next = this.agent + (event.shiftKey ? -1 : 1);
      const inside = next >= 0 && next < (this.file.header?.n_agents || 0);
      return event.target === this.canvas && inside ? () => this.select(next) : null;
    }

    _neighbour(way) {
      const place = SPEEDS.indexOf(this.speed) + way;
      return SPEEDS[Math.min(Math.max(place, 0), SPEEDS.length - 1)];
    }

    toggle() {
      const atEnd = this.position >= this.last && this.file.footer;
      if (!this.playing && atEnd) this.position = 0;
      this._setPlaying(!this.playing);
    }

    go(step) {
      this.position = Math.min(Math.max(step, 0), Math.max(this.last, 0));
      this._setPlaying(false);
    }

    select(agent) {
      this.agent = agent;
      this._changed();
    }

    setSpeed(speed) {
      this.speed = speed;
      this._changed();
    }

    flip(option) {
      this.options[option] = !this.options[option];
      this._changed();
    }

    // Another replay of the same track is drawn beside this one.
    _setGhost(key) {
      const chosen = this._ghosts.find((one) => one.key === key);
      this._ghostKey = chosen ? key : "";
      this.ghost = null;
      if (!chosen) return;
      const ghost = new Replay.ReplayFile(chosen.source);
      ghost.read(this._stop.signal).then(
        () => {
          if (this._ghostKey !== key || ghost.problem || !ghost.header) return;
          this.ghost = ghost;
          this._ask();
        },
        (error) => {
          if (!this._stop.signal.aborted) this._say(`The ghost cannot be read: ${error.message || error}`, "problem");
        },
      );
    }

    _hover(agent) {
      if (agent === this.hovered) return;
      this.hovered = agent;
      this.canvas.classList.toggle("pointing", agent !== null);
      this._ask();
    }

    _setPlaying(playing) {
      this.playing = playing;
      this._before = null;
      if (!playing) this.position = this.step;
      this._changed();
    }

    _changed() {
      this.wanted = null;
      clearTimeout(this._timers.address);
      if (!this.playing) this._timers.address = setTimeout(() => this._writeAddress(), ADDRESS_DELAY);
      this._ask();
    }

    _writeAddress() {
      const address = new URL(window.location.href);
      const values = { step: this.step || "", agent: this.agent || "", speed: this.speed === 1 ? "" : this.speed };
      values.ghost = this._ghostKey;
      for (const [name, on] of Object.entries(this.options)) values[name] = on === this._usual[name] ? "" : Number(on);
      for (const [name, value] of Object.entries(values)) {
        if (value === "") address.searchParams.delete(name);
        else address.searchParams.set(name, value);
      }
      const shown = address.href.replace(/%2F/g, "/").replace(/%3A/g, ":");
      if (shown !== window.location.href) window.history.replaceState(window.history.state, "", shown);
    }

    _ask() {
      if (!this._frame) this._frame = requestAnimationFrame((now) => this._draw(now));
    }

    _advance(now) {
      if (!this.playing) return;
      const seconds = this._before === null ? 0 : Math.min((now - this._before) / 1000, 0.25);
      this._before = now;
      const { pace } = this.file.header.scene;
      const steps = seconds * this.speed * (pace > 0 ? pace : STEPS_A_SECOND);
      this.position = Math.min(this.position + steps, this.last);
      if (this.position >= this.last && this.file.footer) this._setPlaying(false);
    }

    _draw(now) {
      this._frame = null;
      if (this._stop.signal.aborted || !this.file.steps.length) return;
      this._advance(now);
      const position = this.options.smooth ? this.position : this.step;
      const { agent, hovered, pointed, options, ghost } = this;
      this.picture.draw(this.file, { position, agent, hovered, ghost, ...options });
      this.timeline.draw(this.file, { position, pointed, agent, ghost });
      this._drawWords();
      if (this.playing) this._ask();
    }

    // The parts outside the canvases, only when they change.
    _drawWords() {
      const { step, last, agent, playing, speed } = this;
      const now = { step, last, agent, playing, speed, ended: Boolean(this.file.footer), ...this.options };
      if (Object.keys(now).every((name) => now[name] === this._shown[name])) return;
      this._shown = now;
      this.agents.update(this.file, step, agent);
      this.choices.update(this.file, step, agent);
      this.play.replaceChildren(Replay.icon(playing ? "pause" : "play"));
      this.play.setAttribute("aria-label", playing ? "Pause (Space)" : "Play (Space)");
      this.play.title = this.play.getAttribute("aria-label");
      this.count.textContent = `step ${step} of ${last}`;
      this.pace.value = String(speed);
      this.switches.forEach((one) => one.setAttribute("aria-pressed", String(this.options[one.dataset.option])));
      const values = { valuemin: 0, valuemax: last, valuenow: step, valuetext: `step ${step} of ${last}` };
      for (const [name, value] of Object.entries(values)) this.line.setAttribute(`aria-${name}`, value);
      this.canvas.setAttribute("aria-label", `Step ${step}: ${this._aloud(step)}`);
      this.element.dataset.step = step;
      this.element.dataset.playing = playing;
    }

    // The picture's text for screen readers.
    _aloud(step) {
      const units = this.file.steps[step].snapshot.units;
      const teams = [...new Set(units.map((unit) => unit.team).filter(Number.isInteger))].sort();
      const counts = teams.map((team) => {
        const own = units.filter((unit) => unit.team === team);
        return `team ${team}: ${own.filter((unit) => unit.alive).length} of ${own.length} alive`;
      });
      return counts.join(", ") || `${units.length} units`;
    }

    async _read() {
      try {
        const grown = await this.file.read(this._stop.signal);
        if (grown) this._grown = performance.now();
        this._took();
      } catch (error) {
        if (this._stop.signal.aborted) return;
        this._say(String(error.message || error), "problem");
      }
      if (this._stop.signal.aborted || this.file.problem || this.file.footer) return;
      const waiting = performance.now() - this._grown > PATIENCE;
      this._timers.poll = setTimeout(() => this._poll(), waiting ? SLOW_POLL : POLL);
    }

    _poll() {
      if (!document.hidden) this._read();
      else this._timers.poll = setTimeout(() => this._poll(), POLL);
    }

    _took() {
      const { file } = this;
      if (file.header) {
        this.title.textContent = titleOf(file.header);
        this.agent = Math.min(this.agent, Math.max(file.header.n_agents - 1, 0));
      }
      if (file.steps.length && this.wanted !== null) this.position = Math.min(this.wanted, this.last);
      this._say(...statusOf(file));
      this._shown = {};
      this._ask();
    }

    _say(text, kind) {
      this.status.textContent = text;
      this.status.className = `replay-status ${kind}`;
    }
  }

  // What the server has written into the view's element.
  function dataOf(element, name, fallback) {
    try {
      return JSON.parse(element.dataset[name]);
    } catch {
      return fallback;
    }
  }

  function whole(text, fallback) {
    return /^\d{1,9}$/.test(text || "") ? Number(text) : fallback;
  }

  function titleOf(header) {
    const algorithm = header.algorithm || {};
    const parts = [algorithm.name, header.map || header.scene.title || header.env];
    if (Number.isFinite(header.t_env)) parts.push(`${header.t_env.toLocaleString("en")} steps of training`);
    if (header.seed !== undefined && header.seed !== null) parts.push(`seed ${header.seed}`);
    parts.push(`episode ${header.episode ?? 0}`);
    return parts.filter(Boolean).join(" · ");
  }

  function statusOf(file) {
    if (file.problem) return [file.problem, "problem"];
    if (!file.footer) return ["In progress or truncated: new steps appear here.", "open"];
    const { won, length } = file.footer;
    const end = won === true ? "Won" : won === false ? "Not won" : file.footer.truncated ? "Time was up" : "Ended";
    const kind = won === true ? "won" : won === false ? "lost" : "ended";
    return [`${end} · return ${Replay.figure(file.footer.return)} · ${length} ${length === 1 ? "step" : "steps"}`, kind];
  }

  // Dash puts the view's element into the page, and takes it away, whenever the address changes.
  let player = null;
  function follow() {
    const element = document.getElementById("replay");
    const source = element && element.dataset.source;
    if (player && (player.element !== element || player.source !== source)) {
      player.close();
      player = null;
    }
    if (!player && source) player = new Player(element, source);
  }
  const observer = new MutationObserver(follow);
  observer.observe(document.documentElement, {
    childList: true,
    subtree: true,
    attributes: true,
    attributeFilter: ["data-source"],
  });
})();
