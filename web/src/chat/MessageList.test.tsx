import { render, screen } from "@testing-library/react";
import type { UIMessage } from "ai";
import { beforeEach, describe, expect, it } from "vitest";
import type { ConversationState, Life } from "@/chat/conversationState";
import { MessageList } from "@/chat/MessageList";
import { asInBrowser } from "@/testing/browser";
import { open } from "@/testing/conversation";
import { agent, chat, json, Network, user } from "@/testing/server";

const FAILED: UIMessage = {
  ...agent("r1", "This goes wrong."),
  metadata: { reason: "error", error: "No more milk." },
};

beforeEach(() => {
  asInBrowser();
  new Network().on("GET api/chats/c1", () => json(chat([])));
});

function list() {
  const conversation = open();
  return (life: Life, ...messages: UIMessage[]) => {
    const state: ConversationState = { ...conversation.state.get(), phase: "ready", life };
    return (
      <MessageList
        {...{ messages, conversation, state }}
        agent={undefined}
        editing={undefined}
        onEditing={() => {}}
      />
    );
  };
}

describe("a run that has failed", () => {
  it("is read out, even if it was over before anything of it was shown", () => {
    const shown = list();
    const { rerender } = render(shown("working", user("m1", "one")));
    rerender(shown("idle", user("m1", "one"), FAILED));
    expect(screen.getByRole("alert").textContent).toContain("No more milk.");
  });

  it("is not read out long after", () => {
    const shown = list();
    const { rerender } = render(shown("idle", user("m1", "one"), FAILED));
    expect(screen.getByText("No more milk.")).toBeTruthy();
    expect(screen.queryByRole("alert")).toBeNull();
    rerender(shown("working", user("m1", "one"), FAILED, user("m2", "two")));
    expect(screen.queryByRole("alert")).toBeNull();
  });
});
