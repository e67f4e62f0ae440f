import { describe, expect, it } from "vitest";
import { countUnread, type Entry, type Event, OURS, originsOf } from "@/inspector/entries";
import { phaseOf } from "@/inspector/feed";
import { ALL, filtered, typesOf } from "@/inspector/filtering";
import { fold, isMany, joinedText, pinnedRows, rowsOf } from "@/inspector/folding";
import { briefOf, briefOfLine, namesOf, oneLine } from "@/inspector/preview";
import { span, timesOf } from "@/inspector/times";

let next = 0;
const entry = (event: Event, more: Partial<Entry> = {}): Entry => {
  next += 1;
  const usual = { ts: null, lines: [], frames: {}, endings: {}, waits: event.type === "paused" };
  return { seq: next, id: next, event, ...usual, ...more };
};
const log = (...events: Event[]): Entry[] => {
  next = 0;
  return events.map((event) => entry(event));
};
const delta = (id: string, text: string, type = "text_delta"): Event => ({ type, id, delta: text });
const START = { type: "start" };
const seqs = (groups: { entries: Entry[] }[]) =>
  groups.map(({ entries }) => entries.map(({ seq }) => seq));
const none: ReadonlySet<string> = new Set();

describe("folding", () => {
  it("makes one row of pieces of one block that follow each other, and of nothing else", () => {
    const groups = fold(
      log(
        START,
        delta("a", "1"),
        delta("a", "2"),
        delta("b", "3"),
        delta("a", "4"),
        delta("a", "x", "thinking_delta"),
        { type: "status", message: "one" },
        { type: "status", message: "two" },
      ),
    );
    expect(seqs(groups)).toEqual([[1], [2, 3], [4], [5], [6], [7], [8]]);
    expect(groups.map(isMany)).toEqual([false, true, false, false, false, false, false]);
    expect(groups.map(joinedText)[1]).toBe("12");
  });

  it("keeps every entry of a long log, each once and in its order", () => {
    const entries = log(
      ...Array.from({ length: 10_000 }, (_, n) =>
        n % 500 === 0 ? START : delta(`t${n % 3 === 0 ? 0 : 1}`, `${n}`),
      ),
    );
    expect(fold(entries).flatMap((group) => group.entries)).toEqual(entries);
  });

  it("shows the entries of a row that is open, under it", () => {
    const groups = fold(log(START, delta("a", "1"), delta("a", "2")));
    const closed = rowsOf(groups, none);
    expect(closed.map(({ key, level }) => [key, level])).toEqual([
      ["1", 1],
      ["2+", 1],
    ]);
    const open = rowsOf(groups, new Set(["2+"]));
    expect(open.map(({ key, level }) => [key, level])).toEqual([
      ["1", 1],
      ["2+", 1],
      ["2", 2],
      ["3", 2],
    ]);
    expect(open.map((item) => item.entry?.seq)).toEqual([1, undefined, 2, 3]);
  });

  it("finds rows that are pinned, in folds or not, in their order", () => {
    const groups = fold(log(START, delta("a", "1"), delta("a", "2"), { type: "done" }));
    expect(pinnedRows(groups, none)).toEqual([]);
    expect(pinnedRows(groups, new Set(["4", "3", "2+"])).map(({ key }) => key)).toEqual([
      "2+",
      "3",
      "4",
    ]);
    expect(pinnedRows(groups, new Set(["3"])).map(({ key, level }) => [key, level])).toEqual([
      ["3", 1],
    ]);
  });
});

describe("a filter", () => {
  const entries = log(
    START,
    delta("a", "Hel"),
    delta("a", "lo World"),
    { type: "status", message: "Reading" },
    { type: "done", reason: "stop" },
  );
  const line = (at: number, text: string, frame: object) => {
    const found = entries[at] as Entry;
    found.lines.push({ n: at, firstSeq: at + 1, lastSeq: at + 1, line: text });
    found.frames.panes = [frame as Record<string, unknown>];
    found.frames[OURS] = [{ type: "hidden" }];
    found.endings.panes = [{ metadata: { component: "the end" } }];
  };
  line(3, '{"raw": "only here"}', { metadata: { component: "terminal" } });
  const groups = fold(entries);
  const found = (text: string, ...types: string[]) =>
    seqs(filtered(groups, { text, types }, "panes"));

  it("lets everything through while it is empty", () => {
    expect(filtered(groups, ALL, "panes")).toBe(groups);
  });

  it("knows types, one or several, and counts them", () => {
    expect(found("", "done")).toEqual([[5]]);
    expect(found("", "done", "text_delta")).toEqual([[2, 3], [5]]);
    expect(typesOf(entries)[1]).toEqual({ type: "text_delta", count: 2 });
  });

  it("knows words in the line, the event and the frame, in any case", () => {
    expect(found("ONLY HERE")).toEqual([[4]]);
    expect(found("reading")).toEqual([[4]]);
    expect(found("Terminal")).toEqual([[4]]);
    expect(found("the end")).toEqual([[4]]);
    expect(found("nowhere")).toEqual([]);
  });

  it("knows words that came in pieces, and shows all of their row", () => {
    expect(found("hello w")).toEqual([[2, 3]]);
  });

  it("looks at the frames that are shown, not at those that only the page reads", () => {
    expect(found("hidden")).toEqual([]);
    expect(seqs(filtered(groups, { text: "hidden", types: [] }, OURS))).toEqual([[4]]);
  });

  it("requires both, if both are given", () => {
    expect(found("hello", "done")).toEqual([]);
    expect(found("hello", "text_delta")).toEqual([[2, 3]]);
  });
});

describe("a row", () => {
  it("shows where its line is", () => {
    const entries = log(START, delta("a", "1"), delta("a", "2"), { type: "done" });
    entries[1]?.lines.push({ n: 1, firstSeq: 2, lastSeq: 3, line: "both" });
    entries[3]?.lines.push({ n: 2, firstSeq: 4, lastSeq: 3, line: "made nothing" });
    expect(originsOf(entries)).toEqual(["mobox", "own", "above", "mobox"]);
  });

  it("shows its time: since the start, and since the previous entry", () => {
    const entries = log(START, START, START).map((each, n) => ({
      ...each,
      ts: [7, 1_257, null][n] ?? null,
    }));
    const [first, second, third] = entries as [Entry, Entry, Entry];
    const together = { ...second, seq: 3 };
    expect(timesOf([first, second, together], together)).toEqual({ since: "1.250 s", step: "" });
    expect(timesOf(entries, first)).toEqual({ since: "0.000 s", step: "" });
    expect(timesOf(entries, second)).toEqual({ since: "1.250 s", step: "+1.3 s" });
    expect(timesOf(entries, third)).toEqual({ since: "–", step: "" });
    expect([0, 999, 1_000, 59_999, 61_000].map(span)).toEqual([
      "0 ms",
      "999 ms",
      "1.0 s",
      "60.0 s",
      "1 min 1 s",
    ]);
  });

  it("has a preview on one line, however long it is", () => {
    expect(briefOf({ type: "status", message: "a\n  b" })).toBe("a b");
    expect(briefOf({ type: "usage", id: "u", input: 0, output: 1 })).toBe("1");
    expect(briefOf({ type: "done" })).toBe("");
    expect(briefOfLine('{"type": "status", "data": {"message": "Hi"}}')).toBe(
      'status {"message": "Hi"}}',
    );
    expect(briefOfLine('{"type":"delta","index":0}')).toBe('delta {"index":0}');
    expect(briefOfLine('{"type":"done"}')).toBe('{"type":"done"}');
    expect(briefOfLine("no JSON")).toBe("no JSON");
    expect(oneLine("x".repeat(1_000_000)).length).toBeLessThan(1_000);
    expect(namesOf(["[DONE]", { type: "a" }, { type: "a" }])).toEqual([
      { name: "[DONE]", count: 1 },
      { name: "a", count: 2 },
    ]);
    expect(namesOf([{ message_id: "1", metadata: { component: "chat" } }])[0]?.name).toBe("chat");
  });
});

it("knows how a run stands", () => {
  const done = log(START, { type: "done" });
  expect(phaseOf("reading", [])).toBe("loading");
  expect(phaseOf("reading", log(START))).toBe("live");
  expect(phaseOf("reading", log(START, { type: "paused" }))).toBe("waiting");
  expect(phaseOf("reading", done)).toBe("over");
  expect(phaseOf("lost", done)).toBe("over");
  expect(phaseOf("lost", log(START))).toBe("lost");
  expect(phaseOf("gone", [])).toBe("gone");
  const usage = entry({ type: "usage" }, { waits: true });
  expect(phaseOf("reading", [...log(START, { type: "paused" }), usage])).toBe("waiting");
});

it("knows that it reads anew what it has read before", () => {
  const done = log(START, { type: "done" });
  expect(phaseOf("reading", [], done)).toBe("over");
  expect(phaseOf("reading", log(START), log(START, START))).toBe("live");
  for (const stuck of ["lost", "failed", "gone"] as const) {
    expect(phaseOf(stuck, log(START), done)).toBe(stuck);
  }
});

it("counts what was not understood, not every line that is kept", () => {
  const raw = { type: "raw", raw: {} };
  const entries = [entry(START), entry(raw, { unread: true }), entry(raw, { unread: false })];
  expect(countUnread(entries)).toBe(1);
  expect(countUnread(log(START))).toBe(0);
});
