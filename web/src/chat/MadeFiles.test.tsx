import { fireEvent, render, screen } from "@testing-library/react";
import type { UIMessage } from "ai";
import { beforeEach, expect, it } from "vitest";
import { ChatFacts, FactsProvider } from "@/chat/facts";
import { MadeFiles } from "@/chat/MadeFiles";
import { panel } from "@/state/panel";
import { preview } from "@/state/preview";
import { json, Network } from "@/testing/server";

const file = (path: string, modifiedAt: number) => ({
  path,
  modifiedAt,
  size: 1,
  mediaType: "text/plain",
});
const run = (id: string, startedAt: number, endedAt: number | null) => ({ id, startedAt, endedAt });

beforeEach(() => {
  preview.close();
  panel.close();
});

async function show(runId: string, files: object[], parts: UIMessage["parts"] = []) {
  const network = new Network();
  network.on("GET api/chats/c1/branches", () => json({ forks: [] }));
  network.on("GET api/chats/c1/feedback", () => json({ feedback: [] }));
  network.on("GET api/chats/c1/files", () => json({ files, complete: true, available: true }));
  network.on("GET api/chats/c1/runs", () =>
    json({
      runs: [run("r1", 1_000, 2_000), run("r2", 3_000, 4_000), run("r3", 9_000, null)],
      totals: {},
    }),
  );
  const facts = new ChatFacts("c1");
  await facts.load();
  render(
    <FactsProvider value={facts}>
      <MadeFiles message={{ id: runId, role: "assistant", parts }} />
    </FactsProvider>,
  );
}
const line = () => screen.queryByRole("button");

it("names the files of its run, also those that were written while it was ended", async () => {
  await show("r1", [file("a/one.md", 1_000), file("two.csv", 2_900), file("three.md", 3_500)]);
  expect(line()?.textContent).toBe("Made two.csv, one.md");
  fireEvent.click(line() as HTMLElement);
  expect(panel.get()).toMatchObject({ open: true, pane: "files" });
  expect(preview.store.get().file).toBeUndefined();
});

it("shows the only file at once", async () => {
  await show("r2", [file("one.md", 1_500), file("three.md", 3_500)]);
  fireEvent.click(line() as HTMLElement);
  expect(preview.store.get().file).toMatchObject({ name: "three.md" });
});

it("counts many", async () => {
  await show(
    "r1",
    ["a", "b", "c", "d", "e"].map((name) => file(name, 1_500)),
  );
  expect(line()?.textContent).toBe("Made e, d, c and 2 more");
});

it.each([
  ["made none", "r2", []],
  ["still goes on", "r3", []],
  [
    "shows its file itself",
    "r1",
    [{ type: "file", url: "data:,x", mediaType: "text/plain", filename: "one.md" }],
  ],
] as const)("is not there where the run %s", async (_, id, parts) => {
  await show(id, [file("one.md", 1_500), file("late.md", 9_500)], [...parts]);
  expect(line()).toBeNull();
});
