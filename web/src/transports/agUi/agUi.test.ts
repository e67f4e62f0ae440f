import type { UIMessage, UIMessageChunk } from "ai";
import { beforeEach, describe, expect, it } from "vitest";
import { failureOf } from "@/failure";
import {
  agent,
  later,
  Network,
  type RecordedRequest,
  refusal,
  Stream,
  user,
} from "@/testing/server";
import { until } from "@/testing/waiting";
import { AgUiTransport } from "@/transports/agUi/agUi";
import type { Chunks } from "@/transports/transport";

let network: Network;
beforeEach(() => {
  network = new Network();
});

const RUN = { threadId: "c1", runId: "asked" };
const STARTED = { type: "RUN_STARTED", ...RUN, protocolVersion: "1.0" };
const FINISHED = { type: "RUN_FINISHED", ...RUN, outcome: { type: "success" } };
const WAITING = {
  ...FINISHED,
  outcome: { type: "interrupt", interrupts: [{ id: "run_1:may", reason: "tool_call" }] },
  metadata: { mobox: { waiting: true } },
};
const text = (delta: string, id = "run_1:t") => [
  { type: "TEXT_MESSAGE_START", messageId: id, role: "assistant" },
  { type: "TEXT_MESSAGE_CONTENT", messageId: id, delta },
  { type: "TEXT_MESSAGE_END", messageId: id },
];
const CALL = [
  { type: "TOOL_CALL_START", toolCallId: "run_1:c", toolCallName: "rm" },
  { type: "TOOL_CALL_ARGS", toolCallId: "run_1:c", delta: "{}" },
  { type: "TOOL_CALL_END", toolCallId: "run_1:c" },
];
const request = { id: "run_1:may", kind: "approval", toolCallId: "run_1:c", prompt: "Sure?" };
const REQUESTS = { type: "CUSTOM", name: "mobox.input_request", value: request };

const textChunks = (...events: object[]) =>
  new Stream().send(STARTED as never, ...(events as never[]), FINISHED as never).cut();

const sending = (messages: UIMessage[], more: object = {}) => ({
  chatId: "c1",
  messages,
  trigger: "submit-message" as const,
  messageId: undefined,
  abortSignal: undefined,
  ...more,
});

async function read(stream: Chunks | null): Promise<UIMessageChunk[]> {
  const chunks: UIMessageChunk[] = [];
  for await (const chunk of stream ?? []) chunks.push(chunk);
  return chunks;
}
const types = (chunks: UIMessageChunk[]) => chunks.map(({ type }) => type);

async function posted(
  messages: UIMessage[],
  more: object = {},
): Promise<RecordedRequest | undefined> {
  network.on("POST api/agui/chat", () => textChunks(...text("Hi")));
  await read(await new AgUiTransport(() => {}).sendMessages(sending(messages, more)));
  return network.requests[0];
}

describe("what is sent", () => {
  const before = [user("m1", "one"), agent("run_1", "first"), user("m2", "two")];

  it("is the last message alone, to who was chosen, under a name that it keeps", async () => {
    const headers = { "idempotency-key": "key" };
    const sent = await posted(before, { headers, body: { agent: "writer" } });
    expect(sent?.body).toMatchObject({
      threadId: "c1",
      runId: "key",
      protocolVersion: "1.0",
      messages: [{ id: "m2", role: "user", content: "two" }],
      forwardedProps: { agent: "writer" },
    });
    expect(sent?.headers.get("idempotency-key")).toBe("key");
  });

  it("has files beside words", async () => {
    const url = "data:image/png;base64,aGk=";
    const file = { type: "file" as const, mediaType: "image/png", url };
    const { parts } = user("m1", "look");
    const sent = await posted([{ id: "m1", role: "user", parts: [...parts, file] }]);
    const source = { type: "data", value: "aGk=", mimeType: "image/png" };
    expect(sent?.body.messages[0].content).toEqual([
      { type: "text", text: "look" },
      { type: "image", source },
    ]);
  });

  it("is accepted as soon as the response starts, with the run's id", async () => {
    const runs: (string | undefined)[] = [];
    network.on("POST api/agui/chat", () => new Stream(undefined, "run_9").send().response);
    await new AgUiTransport((run) => runs.push(run)).sendMessages(sending(before));
    expect(runs).toEqual(["run_9"]);
  });

  it("may be refused, in the server's words", async () => {
    const runs: unknown[] = [];
    network.on("POST api/agui/chat", () => refusal(409, "run_active", "busy"));
    const transport = new AgUiTransport((run) => runs.push(run));
    const error = await transport.sendMessages(sending(before)).catch((error: unknown) => error);
    expect(failureOf(error)).toEqual({ kind: "busy" });
    expect(runs).toEqual([]);
  });

  it("may not arrive", async () => {
    network.isDown = true;
    const transport = new AgUiTransport(() => {});
    const error = await transport.sendMessages(sending(before)).catch((error: unknown) => error);
    expect(failureOf(error)).toEqual({ kind: "lost" });
  });

  it.each(["before it was sent", "before it was taken"])("is given up %s", async (when) => {
    const leaving = new AbortController();
    const { response } = later();
    network.on("POST api/agui/chat", () => response);
    if (when === "before it was sent") leaving.abort();
    const transport = new AgUiTransport(() => {});
    const sent = transport.sendMessages(sending(before, { abortSignal: leaving.signal }));
    if (when === "before it was taken") {
      await until(() => expect(network.requests).toHaveLength(1));
      leaving.abort();
    }
    await expect(sent).rejects.toHaveProperty("name", "AbortError");
  });

  it("stops the run by its name", async () => {
    network.on("POST api/agui/chat/stop", () => Response.json({ runId: "run_1" }));
    expect(await new AgUiTransport(() => {}).stop("c1", "run_1")).toEqual({ runId: "run_1" });
    expect(network.requests[0]?.body).toEqual({ threadId: "c1", runId: "run_1" });
  });

  it("is an answer, as what it is", async () => {
    network.on(
      "POST api/agui/chat",
      (request) => new Stream(request).send(STARTED as never).response,
    );
    const answer = { requestId: "run_1:a:b", decision: "answered" as const, value: true };
    await new AgUiTransport(() => {}).answer("c1", answer);
    expect(network.requests[0]?.body.resume).toEqual([
      {
        interruptId: "run_1:a:b",
        status: "resolved",
        payload: true,
        metadata: { mobox: { decision: "answered" } },
      },
    ]);
  });
});

describe("a response", () => {
  const connected = async (response: Response) => {
    network.on("POST api/agui/chat/connect", () => response);
    const stream = await new AgUiTransport(() => {}).reconnectToStream({ chatId: "c1" });
    return stream && read(stream);
  };

  it("is sent from its start on reconnect", async () => {
    const chunks = await connected(textChunks(...text("Hi")));
    expect(network.requests[0]?.query.get("replay")).toBe("1");
    expect(chunks?.[0]).toEqual({ type: "start", messageId: "run_1" });
    expect(types(chunks ?? [])).toEqual([
      ...["start", "text-start", "text-delta", "text-end", "finish"],
    ]);
  });

  it("is none in a chat without messages", async () => {
    const headers = { "content-type": "text/event-stream" };
    expect(await connected(new Response("", { headers }))).toBeNull();
  });

  it.each([
    ["between two events", ""],
    ["amid an event", 'data: {"type":"TEXT_MES'],
  ])("that breaks off %s is broken, as a lost connection is", async (_, rest) => {
    const whole = new Stream().send(STARTED as never, ...(text("Hi") as never[]));
    const body = `${await whole.cut().text()}${rest}`;
    const headers = { "content-type": "text/event-stream", "x-mobox-run": "run_1" };
    const error = await connected(new Response(body, { headers })).catch((error: unknown) => error);
    expect(failureOf(error)).toEqual({ kind: "lost" });
  });

  it("that the client does not understand is an error", async () => {
    const error = await connected(
      textChunks({ type: "TEXT_MESSAGE_END", messageId: "none" }),
    ).catch((error: unknown) => error);
    expect(failureOf(error).kind).toBe("run");
  });

  it("is closed when its reader cancels", async () => {
    let left: AbortSignal | null = null;
    network.on("POST api/agui/chat/connect", (request) => {
      left = request.signal;
      return new Stream(request).send(STARTED as never).response;
    });
    const stream = await new AgUiTransport(() => {}).reconnectToStream({ chatId: "c1" });
    await stream?.cancel();
    expect((left as unknown as AbortSignal).aborted).toBe(true);
  });
});

describe("a decision", () => {
  const answer = { ...request, decision: "denied", reason: "Too much." };
  const ANSWERED = [
    { type: "CUSTOM", name: "mobox.input_response", value: answer },
    {
      type: "TOOL_CALL_RESULT",
      messageId: "run_1:c@result",
      toolCallId: "run_1:c",
      content: "The call was denied.",
      metadata: { mobox: { status: "denied" } },
    },
  ];
  const SNAPSHOT = { type: "MESSAGES_SNAPSHOT", messages: [] as object[] };
  SNAPSHOT.messages.push({
    id: "run_1:c",
    role: "assistant",
    toolCalls: [{ id: "run_1:c", type: "function", function: { name: "rm", arguments: "{}" } }],
  });
  const message = {
    id: "run_1",
    role: "assistant",
    parts: [
      {
        type: "dynamic-tool",
        toolName: "rm",
        toolCallId: "run_1:c",
        state: "approval-responded",
        input: {},
        approval: { id: "run_1:may", approved: false, reason: "Too much." },
      },
    ],
  } as UIMessage;

  const waits = (...more: object[]) =>
    new Stream().send(...([STARTED, ...CALL, REQUESTS, ...more, WAITING] as never[])).cut();

  const decide = async (transport: AgUiTransport) => {
    network.on("POST api/agui/chat", () => textChunks(SNAPSHOT, ...ANSWERED));
    const stream = await transport.sendMessages(sending([user("m1", "go"), message]));
    return types(await read(stream));
  };

  it.each(["in this protocol", "in another"])("of a request %s is resumed", async (how) => {
    network.on("POST api/agui/chat/connect", () => waits());
    const transport = new AgUiTransport(() => {});
    if (how === "in this protocol") {
      const chunks = await read(await transport.reconnectToStream({ chatId: "c1" }));
      expect(types(chunks).slice(-2)).toEqual(["tool-approval-request", "finish"]);
    }
    expect(await decide(transport)).toEqual([
      ...["start", "tool-approval-request", "tool-approval-response", "start-step"],
      ...["tool-output-denied", "finish-step", "finish"],
    ]);
    expect(network.to("POST api/agui/chat/connect")).toHaveLength(1);
    expect(network.to("POST api/agui/chat")[0]?.body).toMatchObject({
      runId: "run_1/run_1:may",
      messages: [],
      resume: [{ interruptId: "run_1:may", payload: "Too much." }],
    });
  });

  it("of a second question goes on where the first was answered in another protocol", async () => {
    const transport = new AgUiTransport(() => {});
    network.on("POST api/agui/chat/connect", () => waits());
    await read(await transport.reconnectToStream({ chatId: "c1" }));
    network.on("POST api/agui/chat/connect", () =>
      waits(...ANSWERED, ...second([...CALL, REQUESTS])),
    );
    network.on("POST api/agui/chat", () => textChunks(...second(ANSWERED)));
    const chunks = await read(await transport.sendMessages(sending(second([message]))));
    expect(chunks).toContainEqual({ type: "tool-output-denied", toolCallId: "run_1:d" });
  });
});

/** The same of another call. */
const second = <T>(chunks: T): T =>
  JSON.parse(
    JSON.stringify(chunks)
      .replace(/"(run_1:)?c(?=["@])/g, '"$1d')
      .replace(/"(run_1:)?may"/g, '"$1must"'),
  );
