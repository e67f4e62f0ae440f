import { beforeEach, expect, it } from "vitest";
import { protocol } from "@/state/protocol";
import { Network, Stream, user } from "@/testing/server";
import "@/transports/agUi/agUi"; // loaded here, outside of the tests' timeouts
import { SwitchedTransport } from "@/transports/switched";

let network: Network;
beforeEach(() => {
  network = new Network();
});

const send = (transport: SwitchedTransport) =>
  transport.sendMessages({
    chatId: "c1",
    messages: [user("m1", "Hi")],
    trigger: "submit-message",
    messageId: undefined,
    abortSignal: undefined,
  });

it("uses the selected protocol from the next request on", async () => {
  const runs: (string | undefined)[] = [];
  const transport = new SwitchedTransport((run) => runs.push(run));
  network.on("POST api/chat", () => new Stream(undefined, "run_1").response);
  network.on("POST api/agui/chat", () => new Stream(undefined, "run_2").response);
  await send(transport);
  protocol.set("ag-ui");
  await send(transport);
  protocol.set("ai-sdk");
  await send(transport);
  expect(network.requests.map(({ path }) => path)).toEqual([
    "api/chat",
    "api/agui/chat",
    "api/chat",
  ]);
  expect(runs).toEqual(["run_1", "run_2", "run_1"]);
});

it("uses the AI SDK's protocol where nothing valid is selected", () => {
  expect(protocol.get()).toBe("ai-sdk");
  localStorage.setItem("mobox:protocol", '"smoke signals"');
  expect(protocol.get()).toBe("ai-sdk");
});
