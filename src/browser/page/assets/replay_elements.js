// Elements of the replay view. Text from files only ever becomes text, never markup.
(function () {
  "use strict";
  const Replay = (window.MusterReplay = window.MusterReplay || {});

  Replay.make = function (tag, attributes, children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (name === "text") element.textContent = value;
      else if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : value);
    }
    element.append(...(children || []));
    return element;
  };

  Replay.button = function (name, text, title, act) {
    const element = Replay.make("button", { type: "button", class: `replay-${name}`, title, "aria-label": title });
    element.append(Object.hasOwn(ICONS, name) ? Replay.icon(name) : text);
    element.addEventListener("click", act);
    return element;
  };

  const ICONS = {
    first: "M3 2v12M14 2.5v11L5.5 8z",
    back: "M12 2.5v11L3.5 8z",
    on: "M4 2.5v11L12.5 8z",
    last: "M13 2v12M2 2.5v11L10.5 8z",
    play: "M4 2v12l10-6z",
    pause: "M5 2.5v11M11 2.5v11",
  };

  Replay.icon = function (name) {
    const space = "http://www.w3.org/2000/svg";
    const [icon, path] = ["svg", "path"].map((tag) => document.createElementNS(space, tag));
    icon.setAttribute("viewBox", "0 0 16 16");
    icon.setAttribute("aria-hidden", "true");
    icon.setAttribute("class", `replay-icon ${name}`);
    path.setAttribute("d", ICONS[name]);
    icon.append(path);
    return icon;
  };

  // Fits a canvas to its box in device pixels and returns its context, scaled to CSS pixels.
  Replay.fitted = function (canvas) {
    const ratio = window.devicePixelRatio || 1;
    const width = Math.max(canvas.clientWidth, 1);
    const height = Math.max(canvas.clientHeight, 1);
    const pixels = [Math.round(width * ratio), Math.round(height * ratio)];
    if (canvas.width !== pixels[0] || canvas.height !== pixels[1]) [canvas.width, canvas.height] = pixels;
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    return { context, width, height };
  };

  // 4 significant digits, without an exponent where that is readable.
  Replay.figure = function (value) {
    if (typeof value !== "number") return "–";
    const shown = Math.abs(value) >= 1e6 || (value !== 0 && Math.abs(value) < 1e-3);
    return (shown ? value.toExponential(2) : String(Number(value.toPrecision(4)))).replace("-", "−");
  };

  // An agent that never has the last of the environment's actions has fewer names.
  Replay.actionCount = function (header, agent) {
    const names = Array.isArray(header.action_names) ? header.action_names[agent] : null;
    return Array.isArray(names) && names.length ? names.length : Infinity;
  };

  Replay.actionName = function (header, agent, action) {
    const names = Array.isArray(header.action_names) ? header.action_names[agent] : null;
    return names && names[action] !== undefined ? String(names[action]) : `action ${action}`;
  };
})();
