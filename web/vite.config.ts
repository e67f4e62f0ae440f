/// <reference types="vitest/config" />

import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

const here = (path: string) => decodeURIComponent(new URL(path, import.meta.url).pathname);

// Tests of what knows no page: one that is made for each file takes longer than most of them.
const PAGELESS = [
  "src/{failure,ids,layers}.test.ts",
  "src/chat/{history,steady}.test.ts",
  "src/content/{chartData,citations,pieces,placeholders}.test.ts",
  "src/inspector/{replaying,rows}.test.ts",
  "src/panes/{escapes,fold,terminalText}.test.ts",
  "src/parts/*.test.ts",
  "src/{runs/backoff,runs/sse,shell/groups}.test.ts",
  "src/transports/*/{law,session,translation}.test.ts",
];
const TESTS = "src/**/*.test.{ts,tsx}";

// Addresses are relative to the page's <base>, so that it works below any path. No source maps and
// no absolute path in the output: the same sources give the same bytes in any folder.
export default defineConfig({
  root: here("."),
  base: "./",
  plugins: [react(), tailwindcss()],
  resolve: {
    alias: {
      "@": here("./src"),
      // What of streamdown is never used: see there.
      "rehype-harden": here("./src/content/noHtml.ts"),
      "rehype-raw": here("./src/content/noHtml.ts"),
      "rehype-sanitize": here("./src/content/noHtml.ts"),
    },
  },
  build: {
    outDir: here("../src/mobox/server/web"),
    emptyOutDir: true,
    target: "es2023",
    sourcemap: false,
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
