"""The page of `outrider clones play`: what it is made of, how it looks, what it does."""

from __future__ import annotations

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Play a clone</title>
<link rel="stylesheet" href="page.css">
<script src="page.js" defer></script>
</head>
<body>
<main>
<section class="phone" aria-label="Phone">
  <div id="screen" tabindex="0" role="application"
    aria-label="The phone's screen: tap, hold, swipe, type">
    <img id="picture" alt="" draggable="false">
    <div id="mark" hidden></div>
    <div id="finger" hidden></div>
  </div>
  <div class="keys">
    <button data-key="back" title="Escape">Back</button>
    <button data-key="home">Home</button>
    <button data-key="recents">Recents</button>
    <button data-key="enter" title="Enter">Enter</button>
  </div>
  <form id="typing" autocomplete="off">
    <input id="text" placeholder="Type into the focused field" aria-label="Text to type" dir="auto">
    <button>Type</button>
  </form>
</section>
<section class="panel">
  <header>
    <p id="task"></p>
    <h1 id="goal" dir="auto"></h1>
    <p id="facts"></p>
    <div class="buttons">
      <button id="finish" class="strong">Finish</button>
      <button id="infeasible">Cannot be done</button>
      <button id="restart">Restart</button>
      <button id="next">Next task</button>
    </div>
    <form id="answering" autocomplete="off">
      <input id="answer" placeholder="Answer, where the goal asks" aria-label="Answer" dir="auto">
      <button>Answer</button>
    </form>
  </header>
  <article aria-live="polite">
    <h2>Verdict <span id="verdict" class="pill"></span></h2>
    <ul id="checks"></ul>
  </article>
  <article>
    <div class="tabs" role="tablist">
      <button role="tab" id="tab-state" aria-controls="state" aria-selected="true">State</button>
      <button role="tab" id="tab-tree" aria-controls="tree" aria-selected="false">Elements</button>
    </div>
    <div id="state" role="tabpanel" aria-labelledby="tab-state"></div>
    <div id="tree" role="tabpanel" aria-labelledby="tab-tree" hidden></div>
  </article>
</section>
</main>
<p id="error" role="alert" hidden></p>
</body>
</html>
"""

STYLE = """
:root { color-scheme: light dark; --paper: #f3f4f8; --card: #fff; --ink: #1b1b20;
  --faint: #60616d; --line: #dcdde6; --accent: #1f5fbf; --on-accent: #fff; --pale: #dfe9fc;
  --good: #1a6b3c; --good-pale: #d8f0df; --bad: #b3261e; --bad-pale: #fbe2df;
  --new: #7a5200; --new-pale: #fdebc8; }
@media (prefers-color-scheme: dark) { :root { --paper: #121317; --card: #1c1d22; --ink: #e7e5eb;
  --faint: #a6a4ae; --line: #34353d; --accent: #aac7ff; --on-accent: #0a305f; --pale: #27406b;
  --good: #93d7a9; --good-pale: #17402a; --bad: #ffb4ab; --bad-pale: #5a1f1b;
  --new: #f2c879; --new-pale: #47350f; } }
* { box-sizing: border-box; }
[hidden] { display: none !important; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 15px/1.45 system-ui, -apple-system, "Segoe UI", sans-serif; }
main { display: grid; grid-template-columns: minmax(280px, 400px) minmax(0, 1fr); gap: 1.5rem;
  max-width: 1280px; margin: 0 auto; padding: 1.2rem; align-items: start; }
.phone { position: sticky; top: 1.2rem; display: grid; gap: 0.7rem; justify-items: center; }
#screen { position: relative; width: fit-content; border: 6px solid #24252b; border-radius: 26px;
  overflow: hidden; cursor: pointer; touch-action: none; user-select: none; line-height: 0;
  box-shadow: 0 8px 30px rgb(0 0 0 / 18%); background: #24252b; }
#screen:focus-visible { outline: 3px solid var(--accent); outline-offset: 3px; }
#picture { display: block; width: auto; height: auto; max-width: 100%;
  max-height: calc(100vh - 9.5rem); min-height: 320px; border-radius: 20px; }
#mark { position: absolute; border: 2px solid var(--accent); border-radius: 4px;
  background: rgb(70 130 255 / 22%); pointer-events: none; }
#finger { position: absolute; width: 30px; height: 30px; margin: -15px; border-radius: 50%;
  background: rgb(120 140 180 / 55%); pointer-events: none; }
.keys, .buttons, form { display: flex; gap: 0.5rem; width: 100%; flex-wrap: wrap; }
.keys button { flex: 1; }
form { flex-wrap: nowrap; }
button { font: inherit; padding: 0.5rem 0.9rem; border: 1px solid var(--line); color: var(--ink);
  border-radius: 10px; background: var(--card); cursor: pointer; white-space: nowrap; }
button:hover { border-color: var(--accent); }
button:focus-visible, input:focus-visible, summary:focus-visible {
  outline: 2px solid var(--accent); outline-offset: 1px; }
button.strong { background: var(--accent); border-color: var(--accent); color: var(--on-accent); }
input { flex: 1; min-width: 0; font: inherit; padding: 0.5rem 0.8rem; color: var(--ink);
  border: 1px solid var(--line); border-radius: 10px; background: var(--card); }
.panel { display: grid; gap: 1rem; min-width: 0; }
.panel > header, .panel > article { padding: 1.1rem 1.2rem; border: 1px solid var(--line);
  border-radius: 16px; background: var(--card); display: grid; gap: 0.7rem; min-width: 0; }
h1 { margin: 0; font-size: 1.35rem; line-height: 1.3; overflow-wrap: anywhere; }
h2 { margin: 0; font-size: 1.05rem; display: flex; align-items: center; gap: 0.6rem; }
p { margin: 0; }
#task, #facts { color: var(--faint); font-size: 0.86rem; overflow-wrap: anywhere; }
.pill { font-size: 0.82rem; font-weight: 600; padding: 0.1rem 0.6rem; border-radius: 99px;
  background: var(--pale); color: var(--accent); }
.pill.good { background: var(--good-pale); color: var(--good); }
.pill.bad { background: var(--bad-pale); color: var(--bad); }
ul { list-style: none; margin: 0; padding: 0; }
#checks { display: grid; gap: 0.35rem; }
#checks li { display: grid; grid-template-columns: 1.3rem 1fr; gap: 0.3rem; }
#checks li::before { content: "✗"; color: var(--bad); font-weight: 700; }
#checks li.passed::before { content: "✓"; color: var(--good); }
#checks small { display: block; color: var(--faint); overflow-wrap: anywhere; }
.tabs { display: flex; gap: 0.4rem; border-bottom: 1px solid var(--line); margin: 0 -0.3rem; }
.tabs button { border: 0; border-radius: 8px 8px 0 0; background: none; color: var(--faint);
  border-bottom: 3px solid transparent; }
.tabs button[aria-selected="true"] { color: var(--accent); border-bottom-color: var(--accent); }
#state, #tree { font-size: 0.88rem; overflow-x: auto; }
details { border-left: 1px solid var(--line); padding-left: 0.7rem; margin: 0.15rem 0; }
#state > details, #tree > details { border-left: 0; padding-left: 0; }
summary { cursor: pointer; padding: 0.15rem 0.3rem; border-radius: 6px; }
summary:hover, .leaf:hover, .lit { background: var(--pale); }
.leaf { padding: 0.15rem 0.3rem 0.15rem 1.35rem; border-radius: 6px; }
.name { color: var(--faint); }
.name::after { content: " "; }
.changed { background: var(--new-pale); color: var(--new); border-radius: 6px; padding: 0 0.3rem; }
.tag { margin-left: 0.4rem; font-size: 0.75rem; padding: 0 0.4rem; border-radius: 99px;
  background: var(--new-pale); color: var(--new); }
.was { text-decoration: line-through; opacity: 0.75; margin-right: 0.35rem; }
.field { padding-left: 1.35rem; overflow-wrap: anywhere; }
.flags { color: var(--faint); font-size: 0.78rem; }
#error { position: fixed; left: 50%; bottom: 1rem; transform: translateX(-50%); z-index: 2;
  max-width: calc(100vw - 2rem); padding: 0.7rem 1.1rem; border-radius: 12px;
  background: var(--bad-pale); color: var(--bad); box-shadow: 0 4px 20px rgb(0 0 0 / 25%); }
@media (max-width: 760px) {
  main { grid-template-columns: minmax(0, 1fr); padding: 0.8rem; gap: 1rem; }
  .panel { display: contents; }
  .panel > article { order: 1; }
  .phone { position: static; order: 1; }
  .panel > header { order: 0; }
  #picture { max-height: calc(100vh - 11rem); }
}
"""

SCRIPT = """
"use strict";
const by = (id) => document.getElementById(id);
const LONG_MS = 500, MOVED_PX = 16, ERROR_MS = 6000;
let shown = null, queue = Promise.resolve(), errorTimer = 0;
const open = new Map();

function make(tag, className, text) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
}

function fail(text) {
  by("error").textContent = text;
  by("error").hidden = false;
  clearTimeout(errorTimer);
  errorTimer = setTimeout(() => { by("error").hidden = true; }, ERROR_MS);
}

async function ask(path, move) {
  const options = move && { method: "POST", body: JSON.stringify(move),
    headers: { "Content-Type": "application/json" } };
  try {
    const answer = await fetch(path, options);
    const value = await answer.json();
    if (!answer.ok) throw new Error(value.error);
    show(value);
  } catch (error) {
    const gone = error instanceof TypeError;
    fail(gone ? "The command no longer runs: start it again" : error.message);
  }
}

function act(move) { queue = queue.then(() => ask("act", move)); }

function show(view) {
  shown = view;
  by("picture").src = "screen.png?" + view.picture;
  by("picture").style.aspectRatio = view.width + " / " + view.height;
  by("picture").alt = "Screen of " + view.front;
  by("goal").textContent = view.goal;
  by("task").textContent = view.task + " · " + view.app + " · seed " + view.seed + " · look " +
    view.look;
  by("facts").textContent = view.steps + " of " + view.step_budget + " steps · " + view.front +
    (view.focus ? " · focus on " + view.focus : "") + " · state " + view.state_hash.slice(0, 12);
  document.title = view.goal;
  mark(null);
  showVerdict(view.verdict);
  showState(view.state);
  by("tree").replaceChildren(nodeView(view.tree, "tree"));
  if (view.crash) fail(view.crash);
}

function showVerdict(verdict) {
  const pill = by("verdict");
  pill.className = "pill";
  if (verdict.success) { pill.textContent = "success"; pill.classList.add("good"); }
  else if (verdict.claimed) { pill.textContent = "no success"; pill.classList.add("bad"); }
  else if (verdict.reached) pill.textContent = "goal state reached: finish it";
  else pill.textContent = Math.round(100 * verdict.progress) + " % of the checks";
  by("checks").replaceChildren(...verdict.checks.map((check) => {
    const item = make("li", check.passed ? "passed" : "");
    const words = make("span", "", check.name);
    words.append(make("small", "", check.reason));
    item.append(words);
    return item;
  }));
}

function fold(key, title, openAtFirst, children) {
  const box = make("details");
  box.open = open.has(key) ? open.get(key) : openAtFirst;
  box.addEventListener("toggle", () => open.set(key, box.open));
  const head = make("summary");
  head.append(...title);
  box.append(head, ...children);
  return box;
}

function fieldView(field) {
  const line = make("div", "field");
  line.append(make("span", "name", field.name));
  const value = make("span", "was" in field ? "changed" : "");
  value.dir = "auto";
  if ("was" in field) value.append(make("span", "was", field.was));
  value.append(field.value);
  line.append(value);
  return line;
}

function recordView(record, key) {
  const title = [make("span", "", record.id)];
  const first = record.fields[0];
  if (first) title.push(make("span", "flags", "  " + first.value));
  if (record.status !== "same") title.push(make("span", "tag", record.status));
  const fields = record.fields.map(fieldView);
  return fold(key + "/" + record.id, title, record.status !== "same", fields);
}

function appView(app) {
  const title = [make("span", "", app.label)];
  if (app.changed) title.push(make("span", "tag", "changed"));
  const pages = app.pages.map((page) => fieldView({ name: "page",
    value: [page.name, page.argument, ...page.drafts.map((draft) => draft.join(" = "))]
      .filter(Boolean).join(" · ") }));
  const tables = app.tables.map((table) => {
    const name = [make("span", "", table.name), make("span", "flags", "  " + table.records.length)];
    if (table.changed) name.push(make("span", "tag", "changed"));
    const key = app.name + "/" + table.name;
    return fold(key, name, table.changed, table.records.map((each) => recordView(each, key)));
  });
  return fold(app.name, title, app.changed || app.name === shown.app, [...pages, ...tables]);
}

function showState(state) {
  const phone = fold("phone", [make("span", "", "Phone")], true, state.phone.map(fieldView));
  const changed = state.apps.filter((app) => app.changed || app.name === shown.app);
  const others = state.apps.filter((app) => !changed.includes(app));
  by("state").replaceChildren(phone, ...[...changed, ...others].map(appView));
}

function nodeView(node, key) {
  const title = [make("span", "name", node.class)];
  const said = node.text || node.description;
  if (said) { const words = make("span", "", said); words.dir = "auto"; title.push(words); }
  const remarks = [node.id && "#" + node.id, ...node.flags].filter(Boolean).join(" ");
  if (remarks) title.push(make("span", "flags", "  " + remarks));
  let element, row;
  if (node.children.length) {
    const inner = node.children.map((child, index) => nodeView(child, key + "." + index));
    element = fold(key, title, true, inner);
    row = element.firstChild;
  } else {
    element = row = make("div", "leaf");
    row.append(...title);
  }
  row.addEventListener("mouseenter", () => mark(node));
  row.addEventListener("mouseleave", () => mark(null));
  node.row = row;
  return element;
}

function mark(node) {
  const box = by("mark");
  box.hidden = !node;
  if (!node) return;
  const [left, top, right, bottom] = node.bounds;
  const scale = by("picture").clientWidth / shown.width;
  box.style.left = left * scale + "px";
  box.style.top = top * scale + "px";
  box.style.width = (right - left) * scale + "px";
  box.style.height = (bottom - top) * scale + "px";
}

function nodeAt(node, x, y) {
  for (const child of [...node.children].reverse()) {
    const found = nodeAt(child, x, y);
    if (found) return found;
  }
  const [left, top, right, bottom] = node.bounds;
  return x >= left && x < right && y >= top && y < bottom ? node : null;
}

function place(event) {
  const box = by("picture").getBoundingClientRect();
  const scale = shown.width / box.width;
  return [Math.round((event.clientX - box.left) * scale),
    Math.round((event.clientY - box.top) * scale)];
}

function finger(event) {
  const box = by("picture").getBoundingClientRect();
  by("finger").hidden = !event;
  if (!event) return;
  by("finger").style.left = event.clientX - box.left + "px";
  by("finger").style.top = event.clientY - box.top + "px";
}

const screen = by("screen");
let down = null, lit = null;
screen.addEventListener("pointerdown", (event) => {
  if (!shown || event.button !== 0) return;
  screen.setPointerCapture(event.pointerId);
  down = { at: place(event), time: performance.now() };
  finger(event);
});
screen.addEventListener("pointermove", (event) => {
  if (!shown) return;
  if (down) { finger(event); return; }
  const found = nodeAt(shown.tree, ...place(event));
  if (found === lit) return;
  if (lit) lit.row.classList.remove("lit");
  lit = found;
  if (lit && !by("tree").hidden) {
    lit.row.classList.add("lit");
    lit.row.scrollIntoView({ block: "nearest" });
  }
});
screen.addEventListener("pointerup", (event) => {
  if (!down) return;
  const [x, y] = down.at, [x2, y2] = place(event);
  const held = performance.now() - down.time;
  down = null;
  finger(null);
  if (Math.abs(x2 - x) < MOVED_PX && Math.abs(y2 - y) < MOVED_PX) {
    act({ kind: "tap", x, y, duration_ms: held >= LONG_MS ? Math.round(held) : 0 });
  } else {
    act({ kind: "swipe", x, y, x2, y2 });
  }
});
screen.addEventListener("pointercancel", () => { down = null; finger(null); });
screen.addEventListener("contextmenu", (event) => event.preventDefault());
let wheeled = 0;
screen.addEventListener("wheel", (event) => {
  event.preventDefault();
  if (!shown || performance.now() - wheeled < 120) return;
  wheeled = performance.now();
  const [x, y] = place(event);
  const by_px = Math.sign(event.deltaY) * shown.height * 0.2;
  act({ kind: "swipe", x, y, x2: x, y2: Math.round(y - by_px) });
}, { passive: false });

const KEYS = { Enter: "enter", Backspace: "delete", Escape: "back", Home: "home" };
document.addEventListener("keydown", (event) => {
  const elsewhere = event.target.closest("input, button, summary");
  if (elsewhere || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (KEYS[event.key]) act({ kind: "key", key: KEYS[event.key] });
  else if (event.key.length === 1) act({ kind: "text", text: event.key });
  else return;
  event.preventDefault();
});
document.addEventListener("paste", (event) => {
  if (event.target.closest("input")) return;
  const text = event.clipboardData.getData("text/plain");
  if (text) act({ kind: "text", text });
});

for (const button of document.querySelectorAll("[data-key]")) {
  button.addEventListener("click", () => act({ kind: "key", key: button.dataset.key }));
}
by("typing").addEventListener("submit", (event) => {
  event.preventDefault();
  if (by("text").value) act({ kind: "text", text: by("text").value });
  by("text").value = "";
});
by("answering").addEventListener("submit", (event) => {
  event.preventDefault();
  act({ kind: "answer", text: by("answer").value });
});
by("finish").addEventListener("click", () => act({ kind: "finish" }));
by("infeasible").addEventListener("click", () => act({ kind: "finish", status: "infeasible" }));
by("restart").addEventListener("click", () => act({ kind: "restart" }));
by("next").addEventListener("click", () => act({ kind: "next" }));
for (const name of ["state", "tree"]) {
  by("tab-" + name).addEventListener("click", () => {
    for (const other of ["state", "tree"]) {
      by(other).hidden = other !== name;
      by("tab-" + other).setAttribute("aria-selected", String(other === name));
    }
  });
}
ask("view");
"""
