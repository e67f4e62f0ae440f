import { act, fireEvent, render, screen, within } from "@testing-library/react";
import { beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { credentials } from "@/key";
import FilesPane from "@/previews/FilesPane";
import { preview } from "@/state/preview";
import { Network } from "@/testing/server";

const file = (path: string, mediaType: string, size = 10) => ({
  path,
  mediaType,
  size,
  modifiedAt: 1_700_000_000_000,
});
const listed = (...files: object[]) => Response.json({ files, complete: true, available: true });

beforeEach(() => {
  preview.close();
  Object.assign(URL, { createObjectURL: vi.fn(() => "blob:x"), revokeObjectURL: vi.fn() });
});

const serve = (body: string, ...files: object[]) =>
  new Network()
    .on("GET api/chats/c1/files", () => listed(...files))
    .on("GET api/chats/c1/file", () => new Response(body));

const show = (isWorking = false) => render(<FilesPane chatId="c1" isWorking={isWorking} />);

test("files are listed, shown and left again", async () => {
  const network = serve("# Title\n\nSome *text*", file("docs/report.md", "text/markdown"));
  show();
  fireEvent.click(await screen.findByRole("button", { name: /^docs\/report\.md/ }));
  expect(await screen.findByRole("heading", { name: "Title" })).toBeTruthy();
  expect(network.to("GET api/chats/c1/file")[0]?.query.get("path")).toBe("docs/report.md");
  expect(document.activeElement?.textContent).toBe("docs/report.md");
  fireEvent.click(screen.getByRole("button", { name: "Show source" }));
  expect(screen.getByRole("group", { name: "docs/report.md" }).textContent).toContain("# Title");
  fireEvent.click(screen.getByRole("button", { name: "All files" }));
  const row = await screen.findByRole("button", { name: /^docs\/report\.md/ });
  expect(document.activeElement).toBe(row);
});

test("after a file of a message the focus is at the list", async () => {
  serve("", file("a.txt", "text/plain"));
  act(() => preview.open({ name: "b.csv", mediaType: "text/csv", url: "data:text/csv,a" }));
  show();
  fireEvent.click(await screen.findByRole("button", { name: "All files" }));
  const heading = await screen.findByRole("heading", { name: "1 file" });
  expect(document.activeElement).toBe(heading);
});

test("a download that fails is said", async () => {
  const network = serve("", file("a.bin", "application/octet-stream"));
  credentials.unlock("key");
  onTestFinished(() => credentials.forget());
  network.on("GET api/chats/c1/file", () => new Response("", { status: 500 }));
  show();
  fireEvent.click(await screen.findByRole("button", { name: "Download a.bin" }));
  expect((await screen.findByRole("alert")).textContent).toBe("Couldn't download it. Try again.");
});

test("a table is a table", async () => {
  serve('name,p95,\n"gate, way",312,x\n', file("a.csv", "text/csv"));
  show();
  fireEvent.click(await screen.findByRole("button", { name: /^a\.csv/ }));
  const table = await screen.findByRole("table");
  expect(within(table).getAllByRole("columnheader")).toHaveLength(2);
  expect(within(table).getByRole("cell", { name: "gate, way" })).toBeTruthy();
});

test("a page of an agent is in a frame without scripts, an origin and a network", async () => {
  serve("<script>alert(1)</script>hi", file("a.html", "text/html"));
  show();
  fireEvent.click(await screen.findByRole("button", { name: /^a\.html/ }));
  const frame = await screen.findByTitle("Content of a.html");
  expect(frame.getAttribute("sandbox")).toBe("");
  expect(frame.getAttribute("src")).toBeNull();
  expect(frame.getAttribute("srcdoc")).toMatch(
    /^<!doctype html><meta http-equiv="Content-Security-Policy" content="default-src 'none';/,
  );
});

test.each([
  ["odd.bin", "application/octet-stream", "\0\x01", "No preview for this kind of file."],
  ["fake.pdf", "application/pdf", "no pdf", "No preview for this kind of file."],
])("of %s only the facts are shown", async (name, type, body, line) => {
  serve(body, file(name, type, 1234));
  show();
  fireEvent.click(await screen.findByRole("button", { name: new RegExp(`^${name}`) }));
  expect(await screen.findByText(line)).toBeTruthy();
  expect(screen.getByText("1.2 kB")).toBeTruthy();
  expect(screen.getByRole("button", { name: "Download" })).toBeTruthy();
});

test("a text without a type is shown as text", async () => {
  serve("just words", file("NOTES", "application/octet-stream"));
  show();
  fireEvent.click(await screen.findByRole("button", { name: /^NOTES/ }));
  expect((await screen.findByRole("group", { name: "NOTES" })).textContent).toBe("just words");
});

test("files of other machines are not here", async () => {
  new Network().on("GET api/chats/c1/files", () =>
    Response.json({ files: [], complete: true, available: false }),
  );
  show();
  expect(await screen.findByText("Files are not available here")).toBeTruthy();
});

test("no files, and more files than are listed, are said", async () => {
  const network = new Network().on("GET api/chats/c1/files", () => listed());
  show();
  expect(await screen.findByText("No files yet")).toBeTruthy();
  network.on("GET api/chats/c1/files", () =>
    Response.json({ files: [file("a.txt", "text/plain")], complete: false, available: true }),
  );
  const { container } = show(true);
  expect(await within(container).findByText("Showing the 1 newest files.")).toBeTruthy();
});

test("a list that cannot be loaded can be tried again", async () => {
  const network = new Network();
  show();
  expect(await screen.findByText("Couldn't load the files")).toBeTruthy();
  network.on("GET api/chats/c1/files", () => listed(file("a.txt", "text/plain")));
  fireEvent.click(screen.getByRole("button", { name: "Retry" }));
  expect(await screen.findByRole("button", { name: /^a\.txt/ })).toBeTruthy();
});

test("a file of a message is shown from its bytes, and never from another host", async () => {
  const network = new Network().on("GET api/chats/c1/files", () => listed());
  show();
  const url = `data:text/csv;base64,${btoa("a,b\n1,2")}`;
  act(() => preview.open({ name: "a.csv", mediaType: "text/csv", url }));
  expect(await screen.findByRole("cell", { name: "2" })).toBeTruthy();
  act(() =>
    preview.open({ name: "b.csv", mediaType: "text/csv", url: "https://evil.example/b.csv" }),
  );
  expect(await screen.findByText("Couldn't load the file.")).toBeTruthy();
  expect(network.requests.every(({ path }) => path.startsWith("api/"))).toBe(true);
});
