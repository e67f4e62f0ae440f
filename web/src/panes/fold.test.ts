import { expect, it } from "vitest";
import { fold, inPane, type Messages } from "@/panes/fold";
import { readMessage } from "@/panes/wire";

const NONE: Messages = new Map();

const update = (id: string, content: string, metadata: object = {}) => {
  const about = { component: "terminal", streaming: false, status: "done", ...metadata };
  const message = readMessage(JSON.stringify({ message_id: id, content, metadata: about }));
  if (!message) throw new Error("no message");
  return message;
};
const contents = (messages: Messages) => [...messages.values()].map(({ content }) => content);

it("puts what streams behind what there is, and anything else in its place", () => {
  const some = fold(NONE, [update("a", "1"), update("b", "x", { streaming: true })]);
  const more = fold(some, [
    update("a", "2", { streaming: true }),
    update("b", "y", { streaming: true }),
  ]);
  expect(contents(more)).toEqual(["12", "xy"]);
  expect(contents(fold(more, [update("a", "all")]))).toEqual(["all", "xy"]);
});

it("takes away what was taken back", () => {
  const some = fold(NONE, [update("a", "1"), update("b", "2")]);
  expect(contents(fold(some, [update("a", "", { retracted: true })]))).toEqual(["2"]);
});

it("leaves a message in the pane that it began in, and the others alone", () => {
  const some = fold(NONE, [update("a", "1"), update("b", "2")]);
  const more = fold(some, [update("a", "3", { component: "webide" })]);
  expect(inPane(more, "terminal").map(({ id }) => id)).toEqual(["a", "b"]);
  expect(more.get("b")).toBe(some.get("b"));
  expect(contents(some)).toEqual(["1", "2"]);
});

it.each([
  "",
  "[DONE]",
  "null",
  "[]",
  '{"message_id":1}',
  '{"message_id":"a","metadata":null}',
])("knows what is no message: %s", (data) => expect(readMessage(data)).toBeUndefined());
