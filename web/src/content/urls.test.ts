import { expect, test } from "vitest";
import { imageSource, linkTarget } from "@/content/urls";

test.each([
  ["https://a.example/x", "https://a.example/x"],
  ["HTTP://A.example", "http://a.example/"],
  ["mailto:a@b.example", "mailto:a@b.example"],
  ["/api/x", `${location.origin}/api/x`],
  ["javascript:alert(1)", undefined],
  ["java\tscript:alert(1)", undefined],
  [" \u0001javascript:alert(1)", undefined],
  ["data:text/html,x", undefined],
  ["blob:https://a.example/1", undefined],
  ["src/main.py", undefined],
  ["#top", undefined],
  ["", undefined],
])("a link to %j goes to %j", (address, target) => {
  expect(linkTarget(address)).toBe(target);
});

const FILE = `/api/files/file_${"0a".repeat(20)}`;

test.each([
  ["/x.png", undefined],
  [FILE, `${location.origin}${FILE}`],
  [`${FILE}?signature=1.2`, `${location.origin}${FILE}?signature=1.2`],
  [`${FILE}/../../chats`, undefined],
  [`/other${FILE}`, undefined],
  ["/api/files/file_1", undefined],
  [`https://evil.example${FILE}`, undefined],
  [`${location.origin}/x.png`, undefined],
  ["data:image/png;base64,AA==", "data:image/png;base64,AA=="],
  [`blob:${location.origin}/1`, `blob:${location.origin}/1`],
  ["https://evil.example/x.png", undefined],
  ["//evil.example/x.png", undefined],
  ["\\\\evil.example/x.png", undefined],
  ["data:text/html,x", undefined],
  ["blob:https://evil.example/1", undefined],
  ["http://", undefined],
])("an image of %j loads %j", (address, source) => {
  expect(imageSource(address)).toBe(source);
});
