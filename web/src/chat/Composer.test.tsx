import { fireEvent, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { type ComponentProps, useState } from "react";
import { flushSync } from "react-dom";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { Composer } from "@/chat/Composer";
import { drafts } from "@/state/drafts";
import { asInBrowser } from "@/testing/browser";

beforeEach(() => asInBrowser());

type Props = ComponentProps<typeof Composer>;

function show(more: Partial<Props> = {}) {
  const props: Props = {
    draft: "c1",
    life: "idle",
    onSend: vi.fn(),
    onQueue: vi.fn(),
    onStop: vi.fn(),
    onEditLast: vi.fn(),
    ...more,
  };
  const shown = render(<Composer {...props} />);
  const again = (next: Partial<Props>) => shown.rerender(<Composer {...props} {...next} />);
  return { ...props, again, ...shown };
}

const QUEUE = "Send when the agent is done";
const field = () => screen.getByRole<HTMLTextAreaElement>("textbox");

describe("the composer", () => {
  it("sends by Enter what was written, without the spaces around it, and is empty then", async () => {
    const { onSend } = show({ onSend: vi.fn((text: string) => drafts.send("c1", text)) });
    await userEvent.type(field(), "  Hello {Enter}");
    expect(onSend).toHaveBeenCalledExactlyOnceWith("Hello", []);
    expect(field().value).toBe("");
  });

  it("begins a new line by Shift and Enter", async () => {
    const { onSend } = show();
    await userEvent.type(field(), "one{Shift>}{Enter}{/Shift}two");
    expect(field().value).toBe("one\ntwo");
    expect(onSend).not.toHaveBeenCalled();
  });

  it("leaves Enter to input methods", () => {
    const { onSend } = show();
    fireEvent.change(field(), { target: { value: "にほ" } });
    fireEvent.keyDown(field(), { key: "Enter", isComposing: true });
    fireEvent.keyDown(field(), { key: "Enter", keyCode: 229 });
    expect(onSend).not.toHaveBeenCalled();
    fireEvent.keyDown(field(), { key: "Enter" });
    expect(onSend).toHaveBeenCalledOnce();
  });

  it("sends nothing where nothing was written", async () => {
    const { onSend } = show();
    await userEvent.type(field(), "   {Enter}");
    expect(onSend).not.toHaveBeenCalled();
    expect(screen.getByRole("button", { name: "Send" })).toHaveProperty("disabled", true);
  });

  it.each([
    "working",
    "waiting",
  ] as const)("has Stop in the place of Send while %s", async (life) => {
    const { onSend, onQueue, onStop } = show({ life });
    expect(screen.queryByRole("button", { name: QUEUE })).toBeNull();
    await userEvent.type(field(), "next{Enter}");
    expect(onSend).not.toHaveBeenCalled();
    expect(onQueue).toHaveBeenCalledExactlyOnceWith("next", []);
    await userEvent.click(screen.getByRole("button", { name: QUEUE }));
    expect(onQueue).toHaveBeenCalledTimes(2);
    expect(screen.queryByRole("button", { name: "Send" })).toBeNull();
    await userEvent.click(screen.getByRole("button", { name: "Stop" }));
    expect(onStop).toHaveBeenCalledOnce();
  });

  it.each([
    "a click",
    "Enter",
  ])("sends nothing by %s on Stop that gives back what was written", async (by) => {
    const onSend = vi.fn();
    const Stopped = () => {
      const [life, setLife] = useState<Props["life"]>("working");
      const onStop = () => flushSync(() => setLife("idle")); // before the browser acts on the click
      const others = { onQueue: vi.fn(), onEditLast: vi.fn() };
      return <Composer {...{ life, onSend, onStop }} {...others} draft="c1" />;
    };
    render(<Stopped />);
    await userEvent.type(field(), "Hello");
    const stop = screen.getByRole("button", { name: "Stop" });
    if (by === "Enter") stop.focus();
    await (by === "Enter" ? userEvent.keyboard("{Enter}") : userEvent.click(stop));
    expect(screen.getByRole("button", { name: "Send" })).toHaveProperty("disabled", false);
    expect(onSend).not.toHaveBeenCalled();
    expect(field().value).toBe("Hello");
  });

  it("shows that the agent is stopping, and requests it once", () => {
    show({ life: "working", stopping: true });
    expect(screen.getByRole("button", { name: "Stopping…" })).toHaveProperty("disabled", true);
  });

  it("edits the last message by the arrow up, only where it is empty", async () => {
    const { onEditLast } = show();
    await userEvent.type(field(), "{ArrowUp}");
    expect(onEditLast).toHaveBeenCalledOnce();
    await userEvent.type(field(), "text{ArrowUp}");
    expect(onEditLast).toHaveBeenCalledOnce();
  });

  it("keeps what was not sent for its chat, and for no other", async () => {
    const { unmount } = show();
    await userEvent.type(field(), "half a thought");
    unmount();
    show({ draft: "c2" }).unmount();
    show();
    expect(field().value).toBe("half a thought");
  });
});
