// Bundles one page for a browser: node bundle.mjs '{"entry", "output", "documented", "alias"}'.
//
// `documented` is the folder with the code of a document: pages import it as "documented/…". `alias` lets
// a page use another version of a package. React runs in development mode, as it does when a guide is
// tried out: with StrictMode each effect runs twice.

import { readFile } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { rolldown } from "rolldown";

const { entry, output, documented, alias } = JSON.parse(process.argv[2]);

/** A style sheet becomes a script that adds it to the page. */
const styles = {
  name: "styles",
  load: {
    filter: { id: /\.css$/ },
    async handler(id) {
      const text = JSON.stringify(await readFile(id, "utf8"));
      const code = `const style = document.createElement("style");
        style.textContent = ${text};
        document.head.append(style);`;
      return { code, moduleType: "js" };
    },
  },
};

const bundle = await rolldown({
  input: entry,
  platform: "browser",
  plugins: [styles],
  resolve: { alias: { documented, ...alias } },
  transform: {
    define: {
      "process.env.NODE_ENV": '"development"',
      "import.meta.env.VITE_MOBOX_URL": "globalThis.moboxUrl", // pages/settings.ts
    },
  },
  onLog(level, log, defaultHandler) {
    if (log.code === "UNRESOLVED_IMPORT") throw new Error(log.message);
    if (level === "warn" && log.id?.includes("node_modules")) return;
    if (log.code === "EVAL" || log.code === "MODULE_LEVEL_DIRECTIVE") return;
    defaultHandler(level, log);
  },
});
// What a page imports on demand stays in files of its own: most of CopilotKit is diagrams and highlighting.
await bundle.write({ dir: dirname(output), entryFileNames: basename(output), format: "esm" });
await bundle.close();
