
"use strict";
(function () {
  var FIRST = 25;
  function make(name, className, text) {
    var element = document.createElement(name);
    if (className) { element.className = className; }
    if (text) { element.textContent = text; }
    return element;
  }
  function value(row, column, numbers) {
    var cell = row.cells[column];
    if (numbers) { return Number(cell.dataset.v); }
    return cell.dataset.v === undefined ? cell.textContent.toLowerCase() : cell.dataset.v;
  }
  function sortable(table, refresh) {
    var heads = Array.prototype.slice.call(table.tHead.rows[0].cells);
    heads.forEach(function (head, column) {
      if (head.classList.contains("x")) { return; }
      var button = make("button", "", head.textContent);
      button.type = "button";
      head.textContent = "";
      head.appendChild(button);
      button.addEventListener("click", function () {
        var numbers = head.classList.contains("n");
        var down = head.getAttribute("aria-sort") ? head.getAttribute("aria-sort") === "ascending" : numbers;
        heads.forEach(function (other) { other.removeAttribute("aria-sort"); });
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        var rows = Array.prototype.slice.call(table.tBodies[0].rows);
        rows.sort(function (a, b) {
          var one = value(a, column, numbers), other = value(b, column, numbers);
          var order = one < other ? -1 : one > other ? 1 : 0;
          return down ? -order : order;
        });
        rows.forEach(function (row) { table.tBodies[0].appendChild(row); });
        refresh();
      });
    });
  }
  function filterable(container, before, items, what) {
    var all = false, wanted = "";
    var tools = make("div", "tools"), input = make("input"), hits = make("span", "hits"), more = make("button", "more");
    input.type = "search";
    input.placeholder = "Filter " + what;
    input.setAttribute("aria-label", "Filter " + what);
    hits.setAttribute("role", "status");
    more.type = "button";
    function refresh() {
      var matches = 0, total = 0;
      items().forEach(function (item) {
        total += 1;
        var match = !wanted || item.textContent.toLowerCase().indexOf(wanted) >= 0;
        matches += match ? 1 : 0;
        item.hidden = !match || (!all && matches > FIRST);
      });
      hits.textContent = wanted ? matches + " of " + total : "";
      more.hidden = all || matches <= FIRST;
      more.textContent = "Show all " + matches;
    }
    input.addEventListener("input", function () { wanted = input.value.trim().toLowerCase(); refresh(); });
    more.addEventListener("click", function () { all = true; refresh(); });
    tools.appendChild(input);
    tools.appendChild(hits);
    if (items().length > 5) { container.insertBefore(tools, before); }
    container.appendChild(more);
    refresh();
    return { refresh: refresh, showAll: function () { all = true; refresh(); } };
  }
  var views = [];
  document.querySelectorAll("section").forEach(function (section) {
    var table = section.querySelector("table"), list = section.querySelector(".list");
    if (table) {
      var view = filterable(section, section.querySelector(".scroll"), function () {
        return Array.prototype.slice.call(table.tBodies[0].rows);
      }, section.querySelector("h2").textContent.toLowerCase());
      sortable(table, view.refresh);
      views.push(view);
    } else if (list) {
      views.push(filterable(section, list, function () {
        return Array.prototype.slice.call(list.children);
      }, "findings"));
    }
  });
  window.addEventListener("beforeprint", function () {
    views.forEach(function (view) { view.showAll(); });
    document.querySelectorAll("details.finding").forEach(function (details) { details.open = true; });
  });
})();
