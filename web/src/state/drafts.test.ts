import { renderHook } from "@testing-library/react";
import { act } from "react";
import { describe, expect, it } from "vitest";
import type { Attachment } from "@/state/attachments";
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

describe("files", () => {
  const file = (id: string, url?: string): Attachment => {
    const about = { id, name: `${id}.txt`, mediaType: "text/plain", size: 1 };
    return url ? { ...about, part: { type: "file", url, mediaType: "text/plain" } } : about;
  };
  const names = (chat: string) => drafts.files(chat).map(({ id }) => id);

  it("are out of the draft while they are sent, and in it again where they did not go", () => {
    drafts.attach("c1", [file("a", "/a"), file("b", "/b")]);
    drafts.send("c1", "", undefined, drafts.files("c1"));
    expect(names("c1")).toEqual([]);
    drafts.attach("c1", [file("c")]);
    drafts.takeBack("c1");
    expect(names("c1")).toEqual(["a", "b", "c"]);
  });

  it("that arrived after all are in no draft, those added since in the chat's", () => {
    const attempt = { chat: "c1", text: "Hello", files: ["/a"], message: "m", idempotencyKey: "k" };
    drafts.attach(NEW_CHAT, [file("a", "/a")]);
    drafts.send(NEW_CHAT, "Hello", attempt, drafts.files(NEW_CHAT));
    drafts.takeBack(NEW_CHAT);
    drafts.attach(NEW_CHAT, [file("b")]);
    drafts.drop(NEW_CHAT, "Hello", "c1");
    expect([names(NEW_CHAT), names("c1")]).toEqual([[], ["b"]]);
  });

  it("are found by their upload in whatever draft they are", () => {
    drafts.attach(NEW_CHAT, [file("a")]);
    drafts.send(NEW_CHAT, "Hello");
    drafts.drop(NEW_CHAT, "Hello", "c1");
    drafts.stored("a", { type: "file", url: "/a", mediaType: "text/plain" });
    expect(drafts.files("c1")[0]?.part?.url).toBe("/a");
  });

  it("of another version of the page are no draft", () => {
    sessionStorage.setItem("mobox:drafts", '{"c1":{"text":"Hello","files":[{"id":1}]}}');
    expect(drafts.files("c1")).toEqual([]);
  });
});
