import { expect, it } from "vitest";
import { EventReader } from "@/runs/sse";

const BODY = ':\n\nid: 1.1\ndata: {"a":"é 🎉: x"}\n\n:\n\ndata: bare\n\nid: 2.1\ndata: [DONE]\n\n';
const EXPECTED = [
  { cursor: "1.1", data: '{"a":"é 🎉: x"}' },
  { cursor: undefined, data: "bare" },
  { cursor: "2.1", data: "[DONE]" },
];

it("reads the same wherever it is cut", () => {
  const bytes = new TextEncoder().encode(BODY);
  for (let at = 0; at <= bytes.length; at++) {
    const reader = new EventReader();
    const received = [...reader.feed(bytes.slice(0, at)), ...reader.feed(bytes.slice(at))];
    expect(received).toEqual(EXPECTED);
  }
});

it("returns no incomplete frames", () => {
  expect(new EventReader().feed(new TextEncoder().encode("id: 1.1\ndata: x\n"))).toEqual([]);
});
