import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "@/App";
import { listenToSite } from "@/frame";

/** Shows the page. */
export function start(): void {
  listenToSite();
  const root = document.getElementById("root");
  if (!root) return;
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
}
