import { act, fireEvent, render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import type { ComponentProps } from "react";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { Composer } from "@/chat/Composer";
import { drafts } from "@/state/drafts";
import { limits } from "@/state/server";
import { uploads } from "@/state/uploads";
import { asInBrowser } from "@/testing/browser";
import { json, Network } from "@/testing/server";

/** The browser's request, with the moments that a test decides. */
class FakeRequest {
  static last: FakeRequest;
  upload: { onprogress?: (event: object) => void } = {};
  onload?: () => void;
  onerror?: () => void;
  onabort?: () => void;
  status = 0;
  responseText = "";
  url = "";
  headers: Record<string, string> = {};
  isAborted = false;
  constructor() {
    FakeRequest.last = this;
  }
  open(_method: string, url: string) {
    this.url = url;
  }
  setRequestHeader(name: string, value: string) {
    this.headers[name] = value;
  }
  send() {}
  abort() {
    this.isAborted = true;
    this.onabort?.();
  }
  answer(status: number, body: object) {
    this.status = status;
    this.responseText = JSON.stringify(body);
    act(() => this.onload?.());
  }
}

const STORED = { type: "file", id: "f", url: "/api/files/f", mediaType: "text/plain", size: 5 };
beforeEach(() => {
  asInBrowser();
  vi.stubGlobal("XMLHttpRequest", FakeRequest);
  URL.createObjectURL = vi.fn(() => "blob:http://localhost/1");
  URL.revokeObjectURL = vi.fn();
  new Network().on("GET api/server", () =>
    json({ sandbox: null, uploads: { maxFile: 1024, maxFilesPerOwner: 4096 } }),
  );
});

function show(more: Partial<ComponentProps<typeof Composer>> = {}) {
  const props = {
    draft: "c1",
    life: "idle" as const,
    onSend: vi.fn(),
    onQueue: vi.fn(),
    onStop: vi.fn(),
    onEditLast: vi.fn(),
    ...more,
  };
  return { ...props, ...render(<Composer {...props} />) };
}

const field = () => screen.getByRole<HTMLTextAreaElement>("textbox");
const input = () => document.querySelector<HTMLInputElement>("input[type=file]") as HTMLElement;
const note = (words = "Hello", type = "text/plain") => new File([words], "note.txt", { type });
const sent = async () => {
  await waitFor(() => expect(FakeRequest.last).toBeDefined());
  return FakeRequest.last;
};

async function attach(...files: File[]) {
  FakeRequest.last = undefined as unknown as FakeRequest;
  await userEvent.upload(input(), files);
}

describe("an attached file", () => {
  it("is uploaded with its progress, and sent with the text", async () => {
    const { onSend } = show();
    await attach(note());
    const request = await sent();
    expect(request.url).toContain("api/files?name=note.txt");
    expect(request.headers["content-type"]).toBe("text/plain");
    act(() => request.upload.onprogress?.({ loaded: 2, total: 5 }));
    expect(screen.getByRole("progressbar", { name: "note.txt" }).ariaValueNow).toBe("40");
    await userEvent.type(field(), "Look{Enter}");
    expect(onSend).not.toHaveBeenCalled();
    expect(screen.getByText(/^Still uploading/)).toBeTruthy();
    request.answer(201, { ...STORED, filename: "note.txt" });
    await waitFor(() => expect(screen.queryByRole("progressbar")).toBeNull());
    await userEvent.type(field(), "{Enter}");
    const part = { type: "file", url: STORED.url, mediaType: "text/plain", filename: "note.txt" };
    const [[text, files]] = vi.mocked(onSend).mock.calls as unknown as [
      [string, { part: object }[]],
    ];
    expect(text).toBe("Look");
    expect(files.map((file) => file.part)).toEqual([part]);
  });

  it("can be sent without a text", async () => {
    const { onSend } = show();
    await attach(note());
    (await sent()).answer(201, STORED);
    await waitFor(() => expect(screen.queryByRole("progressbar")).toBeNull());
    await userEvent.click(screen.getByRole("button", { name: "Send" }));
    expect(onSend).toHaveBeenCalledOnce();
  });

  it("that was removed at once is not uploaded", async () => {
    FakeRequest.last = undefined as unknown as FakeRequest;
    uploads.add("c1", [note()]);
    for (const { id } of drafts.files("c1")) uploads.remove("c1", id);
    await limits();
    expect(FakeRequest.last).toBeUndefined();
  });

  it("that is too large is not uploaded, and says what is allowed", async () => {
    show();
    await attach(note("x".repeat(1025)));
    expect((await screen.findByRole("alert")).textContent).toBe(
      "Too large. A file may have 1 KiB.",
    );
    expect(FakeRequest.last).toBeUndefined();
    await userEvent.type(field(), "Look{Enter}");
    expect(screen.getByText(/^A file wasn't uploaded/)).toBeTruthy();
    await userEvent.click(screen.getByRole("button", { name: "Remove note.txt" }));
    expect(screen.queryByRole("alert")).toBeNull();
    expect(drafts.files("c1")).toEqual([]);
  });

  it.each([
    [{ error: { code: "file_quota_exceeded", message: "x" } }, 413, /^Your files fill the 4 KiB/],
    [{ error: { code: "file_too_large", message: "x" } }, 413, /^Too large/],
    [{ error: { code: "forbidden", message: "no write" } }, 403, "Not uploaded: no write"],
  ])("says why the server refuses it: %j", async (body, status, words) => {
    show();
    await attach(note());
    (await sent()).answer(status, body);
    expect(await screen.findByText(words)).toBeTruthy();
  });

  it("is kept when the server cannot be reached, and uploaded again on request", async () => {
    show();
    await attach(note());
    const first = await sent();
    act(() => first.onerror?.());
    expect((await screen.findByRole("alert")).textContent).toContain("can't be reached");
    await userEvent.click(screen.getByRole("button", { name: "Upload note.txt again" }));
    await waitFor(() => expect(FakeRequest.last).not.toBe(first));
    FakeRequest.last.answer(201, STORED);
    await waitFor(() => expect(screen.queryByRole("progressbar")).toBeNull());
    expect(screen.queryByRole("alert")).toBeNull();
  });

  it("whose bytes are of another type says so", async () => {
    show();
    await attach(new File(["no picture"], "a.png", { type: "image/png" }));
    (await sent()).answer(201, { ...STORED, mediaType: "application/octet-stream" });
    expect(await screen.findByText(/^Not a valid image\/png file/)).toBeTruthy();
  });

  it("stops uploading when it is removed", async () => {
    show();
    await attach(note());
    const request = await sent();
    await userEvent.click(screen.getByRole("button", { name: "Remove note.txt" }));
    expect(request.isAborted).toBe(true);
    expect(screen.queryByRole("list", { name: "Attachments" })).toBeNull();
  });

  it("is in the draft of its chat, and of no other", async () => {
    const { unmount } = show();
    await attach(note());
    (await sent()).answer(201, STORED);
    await waitFor(() => expect(drafts.files("c1")[0]?.part).toBeDefined());
    unmount();
    show({ draft: "c2" }).unmount();
    expect(screen.queryByText("note.txt")).toBeNull();
    show();
    expect(screen.getByText("note.txt")).toBeTruthy();
  });

  it("that a reload cut off says that it has to be attached again", () => {
    drafts.attach("c1", [{ id: "1", name: "old.txt", mediaType: "text/plain", size: 1 }]);
    show();
    expect(screen.getByRole("alert").textContent).toContain("cut off by a reload");
  });
});

it("attaches a pasted picture, but pastes text where there is both", async () => {
  show();
  const picture = new File(["png"], "image.png", { type: "image/png" });
  const clipboard = (text: string) => ({
    clipboardData: { files: [picture], getData: () => text },
  });
  fireEvent.paste(field(), clipboard("A1\tB1"));
  expect(drafts.files("c1")).toEqual([]);
  fireEvent.paste(field(), clipboard(""));
  expect(drafts.files("c1").map(({ name }) => name)).toEqual(["image.png"]);
  expect(await screen.findByText("image.png")).toBeTruthy();
});
