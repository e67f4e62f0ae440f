import type { UIMessage, UIMessageChunk } from "ai";
import { describe, expect, it } from "vitest";
import { type Entry, type Frame, OURS } from "@/inspector/entries";
import { madeBy } from "@/inspector/made";
import { chunksOf, messageOf } from "@/inspector/replaying";
import type { Block } from "@/parts/blocks";
import { recordings, statesOf } from "@/parts/fixtures/messages";
import { view } from "@/parts/view";

/** A log of which each entry is one chunk. */
const logOf = (chunks: UIMessageChunk[]): Entry[] =>
  chunks.map((chunk, at) => ({
    seq: at + 1,
    id: at + 1,
    ts: null,
    event: { type: "any" },
    lines: [],
    frames: { [OURS]: [chunk as unknown as Frame] },
    endings: {},
    waits: false,
  }));

const every = (blocks: Block[]): Block[] =>
  blocks.flatMap((block) => [block, ...(block.kind === "subagent" ? every(block.blocks) : [])]);

/** A sample of positions of a recording, its end included. */
const places = (count: number) =>
  [0.25, 0.5, 0.75, 1].map((share) => Math.max(1, Math.round(count * share)));

describe.each(recordings)("the recording %s", (_name, chunks) => {
  const log = logOf(chunks);

  it("is replayed up to any place as the client showed it there", async () => {
    for (const place of places(chunks.length)) {
      const shown = (await statesOf(chunks.slice(0, place))).at(-1);
      const replayed = await messageOf("run_1", log.slice(0, place));
      expect(replayed.parts).toEqual(shown?.parts ?? []);
      expect(replayed.metadata).toEqual(shown?.metadata);
      expect(replayed.id).toBe("run_1");
    }
  });

  it("has rows that lead to each block of its message", async () => {
    const last = (await statesOf(chunks)).at(-1) as UIMessage;
    const made = new Set(log.flatMap((entry) => madeBy("msg_1", entry)));
    for (const block of every(view(last, false))) {
      const found = (block.made ?? []).filter((name) => made.has(name));
      expect(found, `${block.kind} ${block.key}`).not.toEqual([]);
    }
  });
});

describe("a run that waited", () => {
  const call = { toolCallId: "c", toolName: "remove" };
  const entries = logOf([
    { type: "start" },
    { type: "tool-input-available", ...call, input: {}, dynamic: true },
  ]);
  const [started, called] = entries as [Entry, Entry];
  const approval = { type: "tool-approval-request", toolCallId: "c", approvalId: "a" };
  const ending: Frame[] = [approval, { type: "finish" }, "[DONE]"];
  const quiet = { ...started, frames: {} };
  const waited = { ...quiet, endings: { [OURS]: ending }, waits: true };
  const usage = { ...quiet, waits: true };
  const result = { type: "tool-output-available", toolCallId: "c", output: 1, dynamic: true };
  const output = { ...quiet, frames: { [OURS]: [result] } };
  const stateAt = async (...entries: Entry[]) => {
    const [part] = (await messageOf("run_1", [started, called, ...entries])).parts;
    return (part as { state: string }).state;
  };

  it("is replayed with its question as long as it waits", async () => {
    expect(await stateAt()).toBe("input-available");
    expect(await stateAt(waited)).toBe("approval-requested");
    expect(await stateAt(waited, usage)).toBe("approval-requested");
  });

  it("is replayed as one response where it went on", async () => {
    expect(await stateAt(waited, quiet)).toBe("input-available");
    expect(await stateAt(waited, quiet, output)).toBe("output-available");
    expect(chunksOf([started, called, waited, output])).not.toContainEqual(approval);
  });

  it("leads from its pause to the call that needed approval", () => {
    expect(madeBy("run_1", waited)).toContain("c");
  });
});

describe("chunks for a replay", () => {
  const text = (id: string, delta: string) =>
    ({ type: "text-delta", id, delta }) as unknown as UIMessageChunk;

  it("are few, however many pieces there were", () => {
    const pieces = Array.from({ length: 10_000 }, (_, n) => text("a", `${n},`));
    const [joined, ...others] = chunksOf(logOf(pieces));
    expect(others).toEqual([]);
    expect(joined?.delta).toBe(pieces.map((_, n) => `${n},`).join(""));
  });

  it("are few, however many transient chunks there were", () => {
    const data = { type: "data-status", transient: true, data: {} } as unknown as UIMessageChunk;
    const entries = Array.from({ length: 1_000 }, (_, n) => [text("a", `${n},`), data]).flat();
    expect(chunksOf(logOf(entries))).toHaveLength(1);
  });

  it("are those of each part by itself", () => {
    const log = logOf([text("a", "1"), text("b", "2"), text("a", "3")]);
    expect(chunksOf(log).map(({ delta }) => delta)).toEqual(["1", "2", "3"]);
  });

  it("leave out what ends a stream, and change nothing of the log", () => {
    const log = logOf([text("a", "1"), text("a", "2")]);
    log.push({ ...(log[0] as Entry), frames: { [OURS]: ["[DONE]"] } });
    const before = structuredClone(log);
    expect(chunksOf(log)).toHaveLength(1);
    expect(log).toEqual(before);
  });
});
