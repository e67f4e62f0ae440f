import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "@/App";
import { brand } from "@/brand";
import { listenToSite } from "@/frame";
import { loadModules } from "@/pageModules";

/** Shows the page. */
export function start(): void {
  listenToSite();
  void loadModules(brand.modules);
  const root = document.getElementById("root");
  if (!root) return;
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
}
