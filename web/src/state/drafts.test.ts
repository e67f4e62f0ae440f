import { renderHook } from "@testing-library/react";
import { act } from "react";
import { expect, it } from "vitest";
import { drafts, NEW_CHAT, useDraft } from "@/state/drafts";

const write = (chat: string, text: string) => {
  const { result } = renderHook(() => useDraft(chat));
  act(() => result.current[1](text));
};
const draft = (chat: string) => renderHook(() => useDraft(chat)).result.current[0];

it("is out of the field while it is sent, and nowhere when the server has it", () => {
  write("c1", " Hello ");
  drafts.send("c1", "Hello");
  expect(draft("c1")).toBe("");
  drafts.drop("c1", "Hello", "c1");
  drafts.takeBack("c1");
  expect(draft("c1")).toBe("");
});

it("is in the field again where it did not go, before what was typed since", () => {
  drafts.send("c1", "Hello");
  drafts.takeBack("c1");
  expect(draft("c1")).toBe("Hello");
  drafts.send("c2", "Hello");
  write("c2", "something else");
  drafts.takeBack("c2");
  expect(draft("c2")).toBe("Hello\n\nsomething else");
  drafts.drop("c2", "Hello", "c2");
  expect(draft("c2")).toBe("something else");
});

it("goes where the server takes it after all", () => {
  drafts.send("c1", "Hello");
  drafts.takeBack("c1");
  drafts.drop("c1", "Hello", "c1");
  expect(draft("c1")).toBe("");
});

it("goes with a new chat that gets its name", () => {
  drafts.send(NEW_CHAT, "Hello");
  write(NEW_CHAT, "more to come");
  drafts.drop(NEW_CHAT, "Hello", "c1");
  expect(draft("c1")).toBe("more to come");
  expect(draft(NEW_CHAT)).toBe("");
});
