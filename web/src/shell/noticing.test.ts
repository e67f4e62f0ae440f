import { expect, test, vi } from "vitest";
import type { ListedChat } from "@/api";
import { noticeOthers } from "@/shell/noticing";
import { chats } from "@/state/chats";
import { notifying } from "@/state/notices";

const row = (id: string, status: ListedChat["status"]) =>
  ({ id, title: id, status, updatedAt: 1 }) as ListedChat;

test("the end of a run is told once, also of a pinned chat that is on no loaded page", () => {
  const Shown = vi.fn();
  vi.stubGlobal("Notification", Object.assign(Shown, { permission: "granted" }));
  vi.stubGlobal("isSecureContext", true);
  vi.spyOn(document, "visibilityState", "get").mockReturnValue("hidden");
  notifying.set("on");
  chats.state.set({
    rows: [row("a", "running")],
    pinned: [row("a", "running"), row("b", "running")],
  });
  const end = noticeOthers(() => false);
  chats.state.set({ rows: [row("a", null)], pinned: [row("a", null), row("b", null)] });
  end();
  expect(Shown.mock.calls.map(([title]) => title)).toEqual(["a", "b"]);
});
