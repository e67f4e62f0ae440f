/// <reference types="vitest/config" />

import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

const here = (path: string) => decodeURIComponent(new URL(path, import.meta.url).pathname);

// Tests of what knows no page: one that is made for each file takes longer than most of them.
const PAGELESS = [
  "src/{failure,ids,layers}.test.ts",
  "src/chat/{history,steady}.test.ts",
  "src/content/{chartData,citations,formulas,headings,pieces,placeholders}.test.ts",
  "src/content/diagrams/kinds.test.ts",
  "src/inspector/{replaying,rows}.test.ts",
  "src/panes/{escapes,fold,terminalText}.test.ts",
  "src/parts/*.test.ts",
  "src/previews/*.test.ts",
  "src/{runs/backoff,runs/sse,shell/groups}.test.ts",
  "src/transports/*/{law,session,translation}.test.ts",
];
const TESTS = "src/**/*.test.{ts,tsx}";

// Diagrams that `content/diagrams/kinds.ts` does not draw: with their code the build would be twice as large.
const NOT_DRAWN = new RegExp(
  "^\\./(?:chunks/mermaid\\.core/)?(?:diagram|c4Diagram|swimlanes|swimlanesDiagram|gitGraphDiagram|infoDiagram" +
    "|mindmap-definition|sankeyDiagram|blockDiagram|architectureDiagram|ishikawaDiagram|vennDiagram" +
    "|wardleyDiagram|cynefinDiagram|railroadDiagram|ebnfDiagram|abnfDiagram|pegDiagram|cose-bilkent)-\\w+\\.mjs$",
);

/** Every browser that this page runs in reads woff2. */
const woff2Only = (): Plugin => ({
  name: "woff2-only",
  enforce: "pre",
  transform: (code, id) =>
    id.includes("katex.css")
      ? code.replace(/, url\([^)]*\.(?:woff|ttf)\) format\("\w+"\)/g, "")
      : undefined,
});

/** The page's own chunk is loaded after the texts of its language, but fetched together with them. */
const preloadStart: Plugin = {
  name: "preload-start",
  transformIndexHtml: {
    order: "post",
    handler(_, { bundle }) {
      const chunks = Object.values(bundle ?? {}).filter((each) => each.type === "chunk");
      const start = chunks.find((chunk) => chunk.facadeModuleId?.endsWith("/src/start.tsx"));
      const entry = chunks.find((chunk) => chunk.isEntry);
      const known = new Set([entry?.fileName, ...(entry?.imports ?? [])]);
      const files = start
        ? [start.fileName, ...start.imports.filter((name) => !known.has(name))]
        : [];
      return files.map((name) => ({
        tag: "link",
        attrs: { rel: "modulepreload", crossorigin: true, href: `./${name}` },
        injectTo: "head" as const,
      }));
    },
  },
};

// Addresses are relative to the page's <base>, so that it works below any path. No source maps and
// no absolute path in the output: the same sources give the same bytes in any folder.
export default defineConfig({
  root: here("."),
  base: "./",
  plugins: [woff2Only(), react(), tailwindcss(), preloadStart],
  resolve: {
    // The order of modules in a chunk is that of their paths: the same, wherever the packages are.
    preserveSymlinks: true,
    alias: [
      { find: "@", replacement: here("./src") },
      // What of streamdown and of Mermaid is never used: see there.
      { find: /^rehype-(?:harden|raw|sanitize)$/, replacement: here("./src/content/noHtml.ts") },
      { find: /^@mermaid-js\/parser$/, replacement: here("./src/content/diagrams/pie.ts") },
      { find: NOT_DRAWN, replacement: here("./src/content/diagrams/notDrawn.ts") },
    ],
  },
  build: {
    outDir: here("../src/mobox/server/web"),
    emptyOutDir: true,
    target: "es2023",
    sourcemap: false,
    // A font in the styles would be refused by the page's policy.
    assetsInlineLimit: (file) => (file.endsWith(".woff2") ? false : undefined),
    reportCompressedSize: false,
    chunkSizeWarningLimit: 1600,
  },
  // The tests read the recordings of the server's tests.
  server: {
    fs: { allow: [here("..")] },
    proxy: {
      "/api": "http://127.0.0.1:8000",
      "/socket.io": { target: "http://127.0.0.1:8000", ws: true },
    },
  },
  test: {
    restoreMocks: true,
    // What hangs fails; what is slow, on a busy machine, does not.
    testTimeout: 60_000,
    projects: [
      { extends: true, test: { name: "pageless", include: PAGELESS } },
      {
        extends: true,
        test: {
          name: "page",
          environment: "jsdom",
          setupFiles: ["src/testing/setup.ts"],
          include: [TESTS],
          exclude: PAGELESS,
        },
      },
    ],
  },
});
