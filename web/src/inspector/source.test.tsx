import { render, screen } from "@testing-library/react";
import { expect, it } from "vitest";
import { type Entry, OURS } from "@/inspector/entries";
import { RunInspector } from "@/inspector/Inspector";
import type { RunSource } from "@/inspector/source";
import type { ReadingState } from "@/runs/reader";
import { Store } from "@/store";
import { asInBrowser } from "@/testing/browser";
import { Network } from "@/testing/server";

const entry = (seq: number, type: string): Entry => ({
  seq,
  id: seq,
  ts: 1_000 * seq,
  event: { type },
  lines: [],
  frames: { [OURS]: [] },
  endings: {},
  waits: false,
});

it("inspects a run that is not stored, without a request", async () => {
  asInBrowser();
  const net = new Network();
  const entries = [entry(1, "start"), entry(2, "tool_use_start"), entry(3, "done")];
  const reading = {
    entries: new Store({ all: entries }),
    state: new Store<ReadingState>({ phase: "over" }),
    open: () => () => {},
  };
  const source: RunSource = {
    id: "dropped",
    formats: async () => [{ name: "ai-sdk", profiles: ["page"] }],
    read: () => reading,
  };
  render(<RunInspector source={source} alone />);
  expect(await screen.findByText(/2\.0 s · 1 tool call/)).toBeDefined();
  expect(screen.getByText("Finished")).toBeDefined();
  expect(screen.getAllByRole("tab").map(({ textContent }) => textContent)).toEqual([
    "Timeline",
    "Events",
    "stdout",
  ]);
  expect(net.requests).toEqual([]);
});
