import { describe, expect, it } from "vitest";
import { EscapeFilter } from "@/panes/escapes";

const ESC = "\u001b";
const filtered = (text: string) => new EscapeFilter().feed(text);

/** What a program can print that does more than be read, and what is left of it. */
const HARMFUL: [string, string, string][] = [
  ["a link", `${ESC}]8;;https://evil.example${ESC}\\click${ESC}]8;;${ESC}\\`, "click"],
  ["the clipboard", `a${ESC}]52;c;ZXZpbA==\u0007b`, "ab"],
  ["the title", `a${ESC}]0;owned\u0007${ESC}]2;owned${ESC}\\b`, "ab"],
  ["the title, pushed and reported", `a${ESC}[22;0t${ESC}[21tb`, "ab"],
  ["bracketed paste", `a${ESC}[?2004hb${ESC}[200~rm -rf${ESC}[201~`, "abrm -rf"],
  ["where the cursor is", `a${ESC}[6n${ESC}[?6n${ESC}[5nb`, "ab"],
  ["what the terminal is", `a${ESC}[c${ESC}[>c${ESC}[=c${ESC}Zb`, "ab"],
  ["settings of the terminal", `a${ESC}P$qm${ESC}\\${ESC}P+q544e${ESC}\\b`, "ab"],
  ["colours of the terminal", `a${ESC}]10;?\u0007${ESC}]4;1;?\u0007b`, "ab"],
  ["the other screen", `a${ESC}[?1049h${ESC}[?47hb${ESC}[?1049l`, "ab"],
  ["the mouse", `a${ESC}[?1000h${ESC}[?1003h${ESC}[?1006hb`, "ab"],
  ["all that was shown", `a${ESC}c${ESC}[2J${ESC}[3J${ESC}[1J${ESC}[!pb`, "ab"],
  ["absolute positions and scrolling", `a${ESC}[H${ESC}[1;1f${ESC}[5d${ESC}[2S${ESC}[2Tb`, "ab"],
  ["a region", `a${ESC}[1;5r${ESC}7${ESC}8${ESC}[s${ESC}[ub`, "ab"],
  ["other character sets", `a${ESC}(0${ESC})0\u000eqqq\u000fb`, "aqqqb"],
  ["a bell", "a\u0007b", "ab"],
  ["eight bits", "a\u009d0;owned\u009c\u009b6n\u0090x\u009cb", "ab"],
  ["other commands", `a${ESC}_Gpicture${ESC}\\${ESC}^pm${ESC}\\${ESC}Xsos${ESC}\\b`, "ab"],
  ["hidden text", `a${ESC}[8msecret${ESC}[5;6m`, "asecret"],
  ["text hidden behind a broken colour", `a${ESC}[38;2;1:2;8;8msecret`, "asecret"],
  ["text hidden behind a broken number", `a${ESC}[58;5;1:2;8msecret${ESC}[48;5;:8m`, "asecret"],
  ["a turned direction", "a\u202eb\u2066c", "abc"],
  ["nothing", `a\u0000\u007f${ESC}`, "a"],
];

describe.each(HARMFUL)("%s", (_, printed, left) => {
  it("is left out", () => expect(filtered(printed)).toBe(left));

  it("is left out wherever it is cut", () => {
    for (let at = 0; at <= printed.length; at++) {
      const filter = new EscapeFilter();
      expect(filter.feed(printed.slice(0, at)) + filter.feed(printed.slice(at))).toBe(left);
    }
  });
});

it.each([
  `${ESC}[31mred${ESC}[0m`,
  `${ESC}[38;5;8m${ESC}[48;2;5;6;8m${ESC}[4:3m${ESC}[m`,
  "10%\r20%\b\b\t",
  `${ESC}[2K\r${ESC}[K${ESC}[J${ESC}[5C${ESC}[2D${ESC}[1G`,
  "one\r\ntwo\n日本 🎉",
])("colours, and writing over one's own line, go through: %j", (printed) => {
  expect(filtered(printed)).toBe(printed);
});

it("goes up no further than this program has come, and is at its end for the next one", () => {
  const filter = new EscapeFilter();
  expect(filter.feed(`${ESC}[9Aone\ntwo\n${ESC}[9Athree`)).toBe(`one\ntwo\n${ESC}[2Athree`);
  expect(filter.feed(`${ESC}[F${ESC}[E`)).toBe(`\r${ESC}[1B\r`);
  expect(filter.close()).toBe(`${ESC}[0m${ESC}[1B`);
  expect(filter.feed(`${ESC}[7B`)).toBe(`${ESC}[1B`);
  expect(filter.close()).toBe(`${ESC}[0m`);
});

describe("after our own label", () => {
  const behind = (text: string) => new EscapeFilter(true).feed(text);

  it.each([
    ["ok\n", "ok\n"],
    ["one\r\ntwo\r\n", "one\ntwo\r\n"],
    [`\r${ESC}[2Kgone`, `\n${ESC}[2Kgone`],
    ["10%\r20%\r30%", "10%\n20%\r30%"],
    [`${ESC}[2K${ESC}[1K${ESC}[9D${ESC}[1G\b\b\bgone`, "gone"],
    [`${ESC}[F${ESC}[E${ESC}[Agone`, "gone"],
    [`a\nb${ESC}[5A\r${ESC}[2Kgone`, `a\nb\r${ESC}[2Kgone`],
    [`a${ESC}[K${ESC}[2C${ESC}[Jb\tc`, `a${ESC}[K${ESC}[2C${ESC}[Jb\tc`],
    [`a\r${ESC}[31m\r\nb`, `a${ESC}[31m\nb`],
  ])("%j is %j, wherever it is cut", (printed, left) => {
    for (let at = 0; at <= printed.length; at++) {
      const filter = new EscapeFilter(true);
      expect(filter.feed(printed.slice(0, at)) + filter.feed(printed.slice(at))).toBe(left);
    }
  });

  it("is at its end for the next one", () => {
    const filter = new EscapeFilter(true);
    expect(filter.feed(`a\rb\nc${ESC}[9A`)).toBe(`a\nb\nc${ESC}[1A`);
    expect(filter.close()).toBe(`${ESC}[0m${ESC}[1B`);
    expect(behind("\r")).toBe("");
  });
});

it("keeps the colours beside what is left out", () => {
  expect(filtered(`${ESC}[1;8;31m`)).toBe(`${ESC}[1;31m`);
  expect(filtered(`${ESC}[08;5:1m`)).toBe("");
});

it("leaves out what is longer than anything that means something", () => {
  expect(filtered(`a${ESC}[${"1;".repeat(500)}mb`)).toBe("ab");
});
