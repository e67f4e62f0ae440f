// Before the first paint, so that nothing flashes; a file of its own, so that no inline script is
// needed. The page sets the same class when the person chooses (src/state/theme.ts).
(() => {
  let chosen;
  try {
    chosen = JSON.parse(localStorage.getItem("mobox:theme") ?? "null");
  } catch {
    // storage is switched off: the system decides
  }
  const system = matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.classList.toggle("dark", chosen === "dark" || (chosen !== "light" && system));
})();
