// Reads a replay (docs/replays.md) as far as it is written, and what is added to it later.
(function () {
  "use strict";
  const Replay = (window.MusterReplay = window.MusterReplay || {});
  const FORMAT = "muster-replay";
  const VERSION = 1;
  const NEW_LINE = 10;

  class ReplayFile {
    // `source` is an address that takes the parameter `from`, the first byte that is wanted.
    constructor(source) {
      this.source = source;
      this.header = null;
      this.steps = [];
      this.footer = null;
      this.problem = "";
      this._offset = 0;
      this._lines = 0;
    }

    // Fetches what is new; the answer is whether there was anything. Throws an Error whose message can be shown.
    async read(signal) {
      const response = await fetch(`${this.source}&from=${this._offset}`, { signal, cache: "no-store" });
      if (!response.ok) throw new Error((await response.text()).slice(0, 500) || `The server says ${response.status}.`);
      return this.add(new Uint8Array(await response.arrayBuffer()));
    }

    // Takes in the bytes that follow those taken so far. A torn last line waits for its rest.
    add(bytes) {
      const before = this._lines;
      const decoder = new TextDecoder();
      let start = 0;
      while (start < bytes.length && !this.problem) {
        let end = bytes.indexOf(NEW_LINE, start);
        const last = end < 0 || end === bytes.length - 1;
        end = end < 0 ? bytes.length : end;
        const line = decoder.decode(bytes.subarray(start, end));
        if (line.trim()) {
          const entry = parsed(line);
          if (entry === null && last) break;
          this._lines += 1;
          this._take(entry);
        }
        start = Math.min(end + 1, bytes.length);
      }
      this._offset += start;
      return this._lines > before;
    }

    _take(entry) {
      if (this.header === null) {
        this.problem = headerProblem(entry);
        if (!this.problem) this.header = { ...entry, scene: entry.scene || {} };
      } else if (entry && entry.type === "step" && entry.snapshot && typeof entry.snapshot === "object") {
        this.steps.push({ ...entry, snapshot: cleaned(entry.snapshot) });
      } else if (entry && entry.type === "footer") {
        this.footer = entry;
      } else {
        this.problem = `Line ${this._lines} is broken: the file was damaged after it was written.`;
      }
    }
  }

  function parsed(line) {
    try {
      const entry = JSON.parse(line);
      return entry && typeof entry === "object" && !Array.isArray(entry) ? entry : null;
    } catch {
      return null;
    }
  }

  function headerProblem(entry) {
    if (!entry || entry.format !== FORMAT) return "This file is not a replay: its first line is not a replay's header.";
    if (!Number.isInteger(entry.version) || entry.version > VERSION) {
      return `This replay has version ${entry.version}; this page reads versions up to ${VERSION}.`;
    }
    return "";
  }

  // Units that can be drawn, with the default fields, and links between them.
  function cleaned(snapshot) {
    const units = (Array.isArray(snapshot.units) ? snapshot.units : [])
      .filter((unit) => unit && Number.isFinite(unit.x) && Number.isFinite(unit.y))
      .map((unit) => ({
        ...unit,
        radius: Number.isFinite(unit.radius) ? unit.radius : 0.5,
        alive: unit.alive !== false,
        agent: Number.isInteger(unit.agent) ? unit.agent : null,
        label: unit.label === undefined || unit.label === null ? "" : String(unit.label),
      }));
    const ids = new Set(units.map((unit) => unit.id));
    const links = (Array.isArray(snapshot.links) ? snapshot.links : []).filter(
      (link) => link && ids.has(link.from) && ids.has(link.to),
    );
    return { units, links, texts: Array.isArray(snapshot.texts) ? snapshot.texts.map(String) : [] };
  }

  Replay.ReplayFile = ReplayFile;
})();
