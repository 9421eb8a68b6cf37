// What the page does in the browser alone: the address line, the bar, pausing.
(function () {
  const muster = {};

  // the address line follows the view without a visit to the server, and the bar's links keep the choice of runs
  muster.address = function (address) {
    if (!address) return window.dash_clientside.no_update;
    if (address !== window.location.pathname + window.location.search) {
      window.history.replaceState(window.history.state, "", address);
    }
    return address;
  };

  muster.here = function (path) {
    const titles = { "/": "Runs", "/compare": "Compare", "/matrix": "Matrix", "/run": "Run", "/replay": "Replay" };
    document.title = (titles[path] || "Not found") + " · Muster";
    document.querySelectorAll("a.nav").forEach(function (link) {
      link.classList.toggle("here", new URL(link.href).pathname === path);
    });
    return path;
  };

  muster.pause = function (clicks) {
    const paused = (clicks || 0) % 2 === 1;
    return [paused, paused ? "live paused" : "live", paused ? "paused; click to go on" : "live; click to pause"];
  };

  window.dash_clientside = Object.assign({}, window.dash_clientside, { muster: muster });
})();
