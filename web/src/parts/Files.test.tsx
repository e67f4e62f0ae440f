import { fireEvent, render, screen } from "@testing-library/react";
import { expect, onTestFinished, test } from "vitest";
import type { FileItem } from "@/parts/blocks";
import { bytes, Files } from "@/parts/Files";
import { access } from "@/state/access";
import { panel } from "@/state/panel";
import { preview } from "@/state/preview";

const PIXEL = "data:image/gif;base64,R0lGODlhAQABAAAAACw=";
const show = (...files: FileItem[]) => render(<Files block={{ kind: "files", key: "f", files }} />);

test("a picture that is here is shown, and grows at a click", () => {
  show({ name: "house.gif", mediaType: "image/gif", url: PIXEL });
  expect(screen.getByRole("img", { name: "house.gif" }).getAttribute("src")).toBe(PIXEL);
  fireEvent.click(screen.getByRole("button", { name: "Enlarge house.gif" }));
  expect(screen.getByRole("dialog", { name: "house.gif" })).toBeTruthy();
});

test("a picture that this server stores is shown", () => {
  const url = `/api/files/file_${"0a".repeat(20)}?signature=1.2`;
  show({ name: "house.png", mediaType: "image/png", url });
  const shown = screen.getByRole("img", { name: "house.png" }).getAttribute("src");
  expect(shown).toBe(location.origin + url);
});

test("a picture of another host is a link, and is not loaded", () => {
  show({ name: "cat.png", mediaType: "image/png", url: "https://other.example/cat.png" });
  expect(screen.queryByRole("img")).toBeNull();
  const link = screen.getByRole("link");
  expect(link.getAttribute("target")).toBe("_blank");
  expect(link.getAttribute("rel")).toContain("noreferrer");
});

test("other files are saved under their name, and show their type and size", () => {
  show({ name: "a.html", mediaType: "text/html", url: "data:text/html,<b>hi", size: 1234 });
  const link = screen.getByRole("link", { name: "Download a.html" });
  expect(link.getAttribute("download")).toBe("a.html");
  expect(screen.getByRole("button", { name: "Preview a.html" })).toBeTruthy();
  expect(screen.getByText("text/html · 1.2 kB")).toBeTruthy();
});

test("a click on a file shows it in the panel", () => {
  show({ name: "a.csv", mediaType: "text/csv", url: "data:text/csv,a", size: 1 });
  fireEvent.click(screen.getByRole("button", { name: "Preview a.csv" }));
  expect(preview.store.get().file).toMatchObject({ name: "a.csv", url: "data:text/csv,a" });
  expect(panel.get()).toMatchObject({ open: true, pane: "files" });
});

test("where there is no panel for it, a file can only be downloaded", () => {
  access.set({ readOnly: true });
  onTestFinished(() => access.set({ readOnly: false }));
  show({ name: "a.csv", mediaType: "text/csv", url: "data:text/csv,a" });
  expect(screen.getByRole("link", { name: "Download a.csv" })).toBeTruthy();
  expect(screen.queryByRole("button")).toBeNull();
});

test.each(["javascript:alert(1)", "vbscript:x", undefined])("nothing leads to %j", (url) => {
  show({ name: "x", mediaType: "application/pdf", ...(url && { url }) });
  expect(screen.queryByRole("link")).toBeNull();
  expect(screen.getByText("x")).toBeTruthy();
});

test.each([
  [0, "0 B"],
  [999, "999 B"],
  [1000, "1.0 kB"],
  [123_456, "123 kB"],
  [5_600_000_000_000, "5600 GB"],
])("%d bytes are %s", (size, text) => {
  expect(bytes(size)).toBe(text);
});
