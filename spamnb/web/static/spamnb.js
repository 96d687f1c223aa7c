// Everything works without this file. It adds keys, and loads parts of a page that take longer.
"use strict";
(() => {
  const rows = () => [...document.querySelectorAll("[data-row]")].filter((row) => row.offsetParent);
  const typing = (target) => target.closest("input:not([type=radio]), textarea, select, [contenteditable]");
  let before = "";

  const move = (step) => {
    const all = rows();
    const here = all.indexOf(document.activeElement.closest("[data-row]"));
    const next = all[Math.min(Math.max(here + step, 0), all.length - 1)];
    if (next) next.focus();
  };
  const inRow = (selector) => {
    const row = document.activeElement.closest("[data-row]");
    const found = row && row.querySelector(selector);
    if (found) found.click();
  };
  const review = document.querySelector("form[data-review]");
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
    u: () => (document.querySelector("[data-undo-last]") || { click() {} }).click(),
    "/": () => (document.querySelector("input[type=search]") || { focus() {} }).focus(),
    "?": () => (document.getElementById("keys") || { showModal() {} }).showModal(),
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
    if (document.querySelector("dialog[open]")) return;
    const key = event.key;
    if (before === "g") {
      before = "";
      const page = document.querySelector(`nav [data-key="${CSS.escape(key)}"]`);
      if (page) page.click();
      return;
    }
    if (key === "g") {
      before = "g";
    } else if (key === "Enter" && event.target.matches("[data-row]")) {
      inRow("a[href]");
    } else if (Object.hasOwn(keys, key)) {
      event.preventDefault();
      keys[key]();
    }
  });

  const load = async (place) => {
    try {
      const answer = await fetch(place.dataset.load, { credentials: "same-origin" });
      if (!answer.ok) return;
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      place.replaceChildren(...page.body.childNodes);
    } catch {
      // The link in its place still leads there.
    }
  };
  document.querySelectorAll("[data-load]").forEach(load);

  if (review) {
    const save = review.querySelector("[data-save]");
    review.addEventListener("change", () => {
      const said = review.querySelectorAll("input:checked:not([value=later])").length;
      save.textContent = said === 1 ? "Save 1 answer" : `Save ${said} answers`;
    });
  }

  const slider = document.querySelector("input[data-cutoffs]");
  if (slider) {
    const all = JSON.parse(document.getElementById("cutoffs").textContent);
    const rows = document.querySelectorAll(".cutoffs tbody tr");
    slider.addEventListener("input", () => {
      const one = all[slider.value];
      slider.setAttribute("aria-valuetext", one.cut);
      document.getElementById("said").textContent = one.said;
      document.getElementById("yaml").textContent = one.yaml;
      rows.forEach((row, place) => row.classList.toggle("chosen", String(place) === slider.value));
    });
  }
  if (document.querySelector("[data-again]")) setTimeout(() => location.reload(), 2000);

  document.querySelectorAll("[data-copy]").forEach((button) => {
    button.hidden = false;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(button.dataset.copy);
      button.textContent = "Copied";
    });
  });
})();
