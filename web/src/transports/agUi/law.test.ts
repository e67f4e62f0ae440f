/**
 * What the page shows of a run is the same in both protocols: for every recording of the server's own
 * tests, read by the real clients.
 */
import { readUIMessageStream, type UIMessage, type UIMessageChunk } from "ai";
import { describe, expect, test } from "vitest";
import { usageOfAnswer } from "@/parts/usage";
import { view } from "@/parts/view";
import { ask } from "@/transports/agUi/readingAgent";
import { Translation } from "@/transports/agUi/translation";

const agUi = import.meta.glob<string>("../../../../tests/golden/**/*.ag-ui-1.0.jsonl", {
  query: "?raw",
  import: "default",
  eager: true,
});
const aiSdk = import.meta.glob<string>("../../../../tests/golden/**/*.ai-sdk-*.jsonl", {
  query: "?raw",
  import: "default",
  eager: true,
});

const documents = (lines: string) => lines.split("\n").filter((line) => line.startsWith("{"));
const nameOf = (path: string) => path.replace(/^.*golden\/|\.ag-ui-1\.0\.jsonl$/g, "");
/** As the page reads it; where that is not kept, as other clients do: without the marks for the page. */
const aiSdkRecording = (path: string) =>
  ["page", "v7", "v6"]
    .map((profile) => aiSdk[path.replace("ag-ui-1.0", `ai-sdk-${profile}`)])
    .find((recording) => recording !== undefined);
const recordings = Object.entries(agUi).map(
  ([path, events]) => [nameOf(path), events, aiSdkRecording(path) ?? "", isOfPage(path)] as const,
);

function isOfPage(path: string): boolean {
  return aiSdk[path.replace("ag-ui-1.0", "ai-sdk-page")] !== undefined;
}

const MARKS: ReadonlySet<string> = new Set(["said", "workedMs"]);
const withoutMarks = <T>(value: T): T =>
  JSON.parse(JSON.stringify(value, (name, each) => (MARKS.has(name) ? undefined : each)));

async function messageOf(chunks: UIMessageChunk[]): Promise<UIMessage> {
  const stream = new ReadableStream<UIMessageChunk>({
    start(out) {
      for (const chunk of chunks) out.enqueue(chunk);
      out.close();
    },
  });
  let last: UIMessage | undefined;
  for await (const state of readUIMessageStream({ stream, onError: () => {} })) last = state;
  return last as UIMessage;
}

async function translated(lines: string, run: string): Promise<UIMessageChunk[]> {
  const body = documents(lines).map((line) => `data: ${line}\n\n`);
  const translation = new Translation(run);
  const chunks: UIMessageChunk[] = [];
  await ask(
    {
      url: "http://localhost/",
      threadId: "thread_1",
      runId: "asked",
      fetch: async () =>
        new Response(body.join(""), { headers: { "content-type": "text/event-stream" } }),
      abort: new AbortController(),
    },
    (event) => chunks.push(...translation.read(event)),
  );
  return chunks;
}

/** What is shown, without the names by which it is folded. */
const shown = (message: UIMessage) => {
  const all = {
    blocks: view(message, false),
    usage: usageOfAnswer(message),
    metadata: message.metadata,
  };
  return JSON.parse(JSON.stringify(all, (name, value) => (name === "key" ? "" : value)));
};

describe.each(recordings)("the recording %s", (_name, events, chunks, ofPage) => {
  test("shows the same by AG-UI as by the AI SDK's protocol", async () => {
    const expected = documents(chunks).map((line) => JSON.parse(line) as UIMessageChunk);
    const run = (expected[0] as { messageId: string }).messageId;
    const [mine, other] = [
      await messageOf(
        ofPage ? await translated(events, run) : withoutMarks(await translated(events, run)),
      ),
      await messageOf(expected),
    ];
    expect(shown(mine)).toEqual(shown(other));
  });
});
