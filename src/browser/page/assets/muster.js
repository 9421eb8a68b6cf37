// The page's work in the browser alone: the address line, the bar, pausing, saving tables and images.
(function () {
  const muster = {};
  const skip = () => window.dash_clientside.no_update;

  function link(path, query) {
    const parts = Object.entries(query)
      .filter(([, value]) => value)
      .map(([key, value]) => key + "=" + encodeURIComponent(value).replace(/%2C/g, ",").replace(/%2F/g, "/").replace(/%3A/g, ":"));
    return parts.length ? path + "?" + parts.join("&") : path;
  }

  const gridOf = (id) => window.dash_ag_grid && document.getElementById(id) && window.dash_ag_grid.getApi(id);

  // the address line follows the view without a visit to the server, and the bar's links keep the choice of runs
  muster.address = function (address) {
    if (!address) return skip();
    const url = new URL(address, window.location.origin);
    if (url.pathname !== window.location.pathname) return skip();
    if (address !== window.location.pathname + window.location.search) {
      window.history.replaceState(window.history.state, "", address);
    }
    const [runs, where] = ["runs", "where"].map((name) => url.searchParams.get(name));
    document.querySelectorAll("a.nav").forEach(function (item) {
      item.setAttribute("href", link(new URL(item.href).pathname, { runs: runs, where: where }));
    });
    return address;
  };

  muster.same = (address) => address || skip();

  muster.here = function (path) {
    let title = path === "/run" ? "Run" : "Not found";
    document.querySelectorAll("a.nav").forEach(function (item) {
      const here = new URL(item.href).pathname === path;
      item.classList.toggle("here", here);
      if (here) title = item.textContent;
    });
    document.title = title + " · Muster";
    return path;
  };

  // report a server that does not answer: on every failed request, and by our requests where a view makes none
  let answered = Date.now();
  function heard(alive) {
    if (alive) answered = Date.now();
    const live = document.getElementById("live");
    const word = live && live.querySelector(".word");
    if (!word || alive === !word.dataset.gone) return;
    live.classList.toggle("gone", !alive);
    if (alive) delete word.dataset.gone;
    else word.dataset.gone = "no answer since " + new Date(answered).toLocaleTimeString("en-GB");
  }
  const fetched = window.fetch;
  window.fetch = async function (...request) {
    try {
      const answer = await fetched.apply(this, request);
      heard(true);
      return answer;
    } catch (error) {
      if (error.name !== "AbortError") heard(false);
      throw error;
    }
  };
  setInterval(function () {
    const live = document.getElementById("live");
    if (!live || live.classList.contains("paused") || Date.now() - answered < 6000) return;
    window.fetch("/replay/folder", { cache: "no-store", signal: AbortSignal.timeout(5000) }).catch(() => {});
  }, 2000);

  muster.pause = function (clicks) {
    const paused = (clicks || 0) % 2 === 1;
    return [paused, paused ? "live paused" : "live", paused ? "paused; click to resume" : "live; click to pause"];
  };

  // a console stays at its end, unless the user has scrolled up
  let end = null;
  muster.tail = function (text) {
    const console = document.getElementById("run-console");
    if (console && (console !== end || console.dataset.up !== "yes")) {
      console.scrollTop = console.scrollHeight;
      console.onscroll = function () {
        console.dataset.up = console.scrollHeight - console.scrollTop - console.clientHeight > 40 ? "yes" : "no";
      };
      end = console;
    }
    return text ? text.length : 0;
  };

  // the table of runs
  muster.search = (text, options) => Object.assign({}, options, { quickFilterText: text || "" });

  const idsOf = (rows) => (Array.isArray(rows) ? rows.map((row) => row.id) : (rows && rows.ids) || []);

  muster.runs = function (selected, filters, shown, search, columns, archived, where) {
    const grid = gridOf("runs-grid");
    if (!grid || !shown) return [skip(), skip(), skip()];
    const sorted = grid.getColumnState().find((column) => column.sort);
    const ticked = idsOf(selected);
    let total = 0;
    grid.forEachNode(() => total++);
    const address = link("/", {
      search: search,
      columns: (columns || []).join(","),
      filter: filters && Object.keys(filters).length ? JSON.stringify(filters) : "",
      sort: sorted ? sorted.colId + ":" + sorted.sort : "",
      archived: (archived || []).join(""),
      where: where,
      runs: ticked.join(","),
    });
    const count = (shown.length === total ? total : shown.length + " of " + total) + (total === 1 ? " run" : " runs");
    return [
      address,
      count + (ticked.length ? ", " + ticked.length + " ticked" : ""),
      ticked.length ? "Compare ticked (" + ticked.length + ")" : "Compare shown (" + shown.length + ")",
    ];
  };

  function open(path, clicks, selected, where) {
    const grid = gridOf("runs-grid");
    if (!clicks || !grid) return [skip(), skip()];
    let ids = idsOf(selected);
    if (!ids.length) {
      let total = 0;
      grid.forEachNode(() => total++);
      grid.forEachNodeAfterFilter((node) => ids.push(node.data.id));
      if (ids.length === total) ids = []; // all runs of the filter, also those that are still to come
    }
    return [path, link("", { runs: ids.join(","), where: where })];
  }
  muster.open_compare = (clicks, selected, where) => open("/compare", clicks, selected, where);
  muster.open_hyperparameters = (clicks, selected, where) => open("/hyperparameters", clicks, selected, where);
  muster.open_results = (clicks, selected, where) => open("/results", clicks, selected, where);

  window.dash_clientside = Object.assign({}, window.dash_clientside, { muster: muster });

  // cells of the tables
  const cells = (window.dashAgGridComponentFunctions = window.dashAgGridComponentFunctions || {});
  const element = (...parts) => window.React.createElement(...parts);

  cells.RunLink = function (props) {
    const search = link("", { run: props.value });
    function follow(event) {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      window.dash_clientside.set_props("url", { pathname: "/run", search: search });
    }
    return element("a", { href: "/run" + search, onClick: follow }, props.value);
  };

  cells.FileLink = function (props) {
    if (props.data.problem) return element("span", { title: props.data.problem }, props.value, element("span", { className: "problem" }, " ⚠ " + props.data.problem));
    return element("a", { href: props.data.href, download: "" }, props.value);
  };

  const colours = { RUNNING: "running", COMPLETED: "done", QUEUED: "quiet", UNKNOWN: "quiet" };
  cells.Status = function (props) {
    const text = String(props.value || "").toLowerCase().replace(/_/g, " ");
    const badge = element("span", { className: "badge " + (colours[props.value] || "bad") }, text);
    if (!props.data || !props.data.problems) return badge;
    return element("span", null, badge, element("span", { className: "problem", role: "img", "aria-label": props.data.problems }, " ⚠"));
  };

  const formats = (window.dashAgGridFunctions = window.dashAgGridFunctions || {});
  const isNumber = (value) => typeof value === "number" && isFinite(value);
  const other = (value) => (value === null || value === undefined ? "" : String(value));
  formats.plain = other;
  formats.whole = (value) => (isNumber(value) ? Math.round(value).toLocaleString("en") : other(value));
  formats.percent = (value) => (isNumber(value) ? (100 * value).toFixed(1) + " %" : other(value));
  formats.bytes = function (value) {
    if (!isNumber(value)) return other(value);
    const power = value < 1024 ? 0 : Math.min(5, Math.floor(Math.log2(value) / 10));
    return (value / 1024 ** power).toFixed(power ? 1 : 0) + " " + ["B", "KiB", "MiB", "GiB", "TiB", "PiB"][power];
  };
  // as many decimals in all cells of a column as its greatest value has when it is written with four digits
  const decimals = new Map();
  function decimalsOf(api, column) {
    const known = decimals.get(column);
    if (known && Date.now() - known.at < 500) return known.digits;
    let [greatest, whole] = [0, true];
    api.forEachNode(function (node) {
      const value = node.data && node.data[column];
      if (!isNumber(value)) return;
      greatest = Math.max(greatest, Math.abs(value));
      whole = whole && Number.isInteger(value);
    });
    const small = greatest >= 1e6 || (greatest && greatest < 0.001);
    const digits = small ? null : whole ? 0 : Math.min(Math.max(3 - Math.floor(Math.log10(greatest)), 0), 6);
    decimals.set(column, { digits: digits, at: Date.now() });
    if (known && known.digits !== digits) setTimeout(() => api.refreshCells({ columns: [column], force: true }));
    return digits;
  }
  formats.number = function (params) {
    if (!isNumber(params.value)) return other(params.value);
    const digits = decimalsOf(params.api, params.column.getColId());
    return digits === null ? params.value.toExponential(2) : params.value.toFixed(digits);
  };
  formats.age = function (started) {
    if (!started) return "";
    const minutes = Math.max(0, (Date.now() - Date.parse(started)) / 60000);
    if (minutes < 60) return Math.floor(minutes) + " min";
    return minutes < 48 * 60 ? Math.floor(minutes / 60) + " h" : Math.floor(minutes / 1440) + " d";
  };
  setInterval(function () {
    const grid = gridOf("runs-grid");
    if (grid) grid.refreshCells({ columns: ["started"], force: true });
  }, 30000);

  // figures of one card stand over the same axis: a zoom of one is a zoom of all, also when they are drawn again
  function follow(plot, group) {
    plot.on("plotly_relayout", function (change) {
      if (group.linking) return;
      const range = [change["xaxis.range[0]"], change["xaxis.range[1]"]];
      if (range[0] !== undefined && range[1] !== undefined) group.range = range;
      else if (change["xaxis.range"]) group.range = change["xaxis.range"];
      else if (change["xaxis.autorange"]) group.range = null;
      else return;
      link_all(group, plot);
    });
    plot.on("plotly_afterplot", () => group.range && !group.linking && link_one(group, plot));
  }
  function link_one(group, plot) {
    const now = plot.layout.xaxis && plot.layout.xaxis.range;
    if (group.range && now && now[0] === group.range[0] && now[1] === group.range[1]) return null;
    return window.Plotly.relayout(plot, group.range ? { "xaxis.range": group.range.slice() } : { "xaxis.autorange": true });
  }
  function link_all(group, source) {
    group.linking = true;
    const others = [...group.querySelectorAll(".js-plotly-plot")].filter((plot) => plot !== source);
    Promise.all(others.map((plot) => link_one(group, plot))).finally(() => (group.linking = false));
  }
  setInterval(function () {
    document.querySelectorAll(".linked .js-plotly-plot").forEach(function (plot) {
      if (!plot.on || plot.linked) return;
      plot.linked = true;
      follow(plot, plot.closest(".linked"));
    });
  }, 300);

  // saving: tables as they are filtered and sorted, figures as images
  function save(name, type, text) {
    const item = document.createElement("a");
    item.href = URL.createObjectURL(new Blob([text], { type: type }));
    item.download = name;
    item.click();
    setTimeout(() => URL.revokeObjectURL(item.href), 10000);
  }

  document.addEventListener("click", function (event) {
    const button = event.target.closest("button[data-png], button[data-table]");
    if (!button) return;
    const data = button.dataset;
    if (data.png) {
      const plot = document.querySelector('[id*="' + CSS.escape(data.png) + '"] .js-plotly-plot');
      if (!plot) return;
      const layout = Object.assign({}, plot.layout, data.legend ? { showlegend: true } : {});
      const size = { width: plot.clientWidth, height: plot.clientHeight, format: "png", scale: 2, filename: data.file };
      window.Plotly.downloadImage({ data: plot.data, layout: layout }, size);
      return;
    }
    const grid = gridOf(data.grid);
    if (!grid) return;
    if (data.table === "csv") {
      grid.exportDataAsCsv({ fileName: data.file + ".csv" });
    } else {
      const rows = [];
      grid.forEachNodeAfterFilterAndSort((node) => rows.push(node.data));
      save(data.file + ".json", "application/json", JSON.stringify(rows, null, 1));
    }
  });
})();
