// Pages work without this: it adds keys, loads slow parts, and refreshes live ones.
const one = (selector) => document.querySelector(selector);
const all = (selector) => [...document.querySelectorAll(selector)];
const rows = () => all("[data-row]").filter((row) => row.offsetParent);
const row = () => document.activeElement.closest("[data-row]");
const review = one("form[data-review]");
let before = "";

const move = (step) => {
  const some = rows();
  some[Math.min(Math.max(some.indexOf(row()) + step, 0), some.length - 1)]?.focus();
};
// Tab leads to one row: the first, or the last used.
const rove = (to) => rows().forEach((each) => (each.tabIndex = each === to ? 0 : -1));
rove(rows()[0]);
document.addEventListener("focusin", () => row() && rove(row()));

const inRow = (selector) => row()?.querySelector(selector)?.click();
const say = (word) => {
  inRow(`[data-say=${word}]`);
  if (review) move(1);
};
const keys = {
  j: () => move(1),
  k: () => move(-1),
  h: () => say("ham"),
  s: () => say("spam"),
  l: () => say("later"),
  f: () => say("forget"),
  n: () => say("never"),
  u: () => one("[data-undo-last]")?.click(),
  g: () => (before = "g"),
  "/": () => one("input[type=search]")?.focus(),
  "?": () => one("#keys")?.showModal(),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey && event.key === "Enter") one("[data-save]")?.click();
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (one("dialog[open], select:focus, textarea:focus, input:focus:not([type=radio])")) return;
  const key = event.key;
  if (before === "g") {
    before = "";
    one(`nav [data-key="${CSS.escape(key)}"]`)?.click();
  } else if (key === "Enter" && event.target.matches("[data-row]")) {
    inRow("a[href]");
  } else if (Object.hasOwn(keys, key)) {
    event.preventDefault();
    keys[key]();
  }
});

const page = async (address) => {
  const answer = await fetch(address);
  if (!answer.ok) throw answer;
  return new DOMParser().parseFromString(await answer.text(), "text/html");
};
const fill = (place, part) => place.replaceChildren(...(part?.childNodes ?? []));
all("[data-load]").forEach((place) => {
  const load = () => page(place.dataset.load).then((part) => fill(place, part.body), () => {});
  const fold = place.closest("details");
  if (fold) fold.addEventListener("toggle", load, { once: true });
  else load();
});

// Live parts, the heading first, show the present.
const live = all("[data-live]");
let due = one("[data-unfinished]") ? 0 : 30000;
const refresh = async () => {
  const last = due;
  if (document.hidden || performance.now() < due) return;
  due = performance.now() + 30000;
  try {
    const now = await page("");
    const parts = now.querySelectorAll("[data-live]");
    if (now.querySelector("[data-unfinished]")) due = 0;
    if (last && !due) return; // not told: it takes a second
    live.forEach((each, n) => each.contains(document.activeElement) || fill(each, parts[n]));
    document.title = now.title;
  } catch {
    live[0].textContent = document.title = "No answer";
  }
};
if (live[0]) setInterval(refresh, 1000);
if (one("[data-again]")) setTimeout(() => location.reload(), 2000);
const dated = one("[data-dated]");
if (dated) setTimeout(() => (document.title = one("h1").textContent = dated.textContent), 60000);

review?.addEventListener("change", () => {
  const said = review.querySelectorAll("input:checked:not([value=later])").length;
  one("[data-save]").textContent = `Save ${said} answer${said === 1 ? "" : "s"}`;
});

const file = one("input[data-most]");
file?.addEventListener("change", () => {
  const isTooLong = file.files[0]?.size > file.dataset.most - 2000; // the form around it
  file.setCustomValidity(isTooLong ? file.dataset.tooLong : "");
  file.reportValidity();
});

const slider = one("[data-cutoffs]");
const field = one("#cut");
const told = slider && JSON.parse(one("#cutoffs").textContent);
slider?.removeAttribute("name"); // the field has its cutoff
const show = () => {
  const cut = +field.value;
  if (!field.checkValidity()) return;
  slider.value = told.filter((each) => +each.cut <= cut).length - 1;
  slider.setAttribute("aria-valuetext", cut);
  const near = told[slider.value];
  one("#said").textContent = +near.cut === cut ? near.said : "…";
  one("[data-line]").setAttribute("transform", `translate(${near.x})`);
  all("[data-chance]").forEach((dot) => dot.classList.toggle("beyond", +dot.dataset.chance >= cut));
};
slider?.addEventListener("input", () => {
  field.value = told[slider.value].cut;
  show();
});
field?.addEventListener("input", show);
// The rest follows when the line is let go.
field?.form.addEventListener("change", async () => {
  const now = await page(`?cut=${field.value}`);
  ["#said", ".use", "#moved"].forEach((part) => fill(one(part), now.querySelector(part)));
});

document.addEventListener("click", async ({ target }) => {
  const button = target.closest("[data-copy]");
  if (!button) return;
  await navigator.clipboard.writeText(button.dataset.copy);
  button.textContent = "Copied";
});
