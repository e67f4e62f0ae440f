import { fireEvent, render, screen } from "@testing-library/react";
import type { UIMessage } from "ai";
import { describe, expect, test, vi } from "vitest";
import type { ToolBlock } from "@/parts/blocks";
import { ToolCard } from "@/parts/ToolCard";
import { type AppToolView, type Call, registerToolView } from "@/parts/tools/appViews";
import { diffOf } from "@/parts/tools/diff";
import { kindOf } from "@/parts/tools/kinds";
import { readable, summaryOf, titleOf } from "@/parts/tools/names";
import { foundIn, gridIn, linesIn, ranIn } from "@/parts/tools/reading";
import { view } from "@/parts/view";

const tool = (name: string, more: Partial<ToolBlock> = {}): ToolBlock => ({
  kind: "tool",
  key: "m1/tool:a",
  callId: "a",
  name,
  state: "done",
  input: {},
  ...more,
});
function open(block: ToolBlock): HTMLElement {
  const { container } = render(<ToolCard block={block} quiet />);
  fireEvent.click(screen.getByRole("button", { expanded: false }));
  return container;
}

test.each([
  ["Bash", {}, "shell"],
  ["local_shell", {}, "shell"],
  ["run_shell_command", {}, "shell"],
  ["execute", {}, "shell"],
  ["Edit", {}, "edit"],
  ["write_file", {}, "edit"],
  ["apply_patch", {}, "edit"],
  ["read_file", {}, "read"],
  ["mcp__files__read_file", {}, "read"],
  ["internet_search", {}, "search"],
  ["server:GOOGLE_SEARCH_WEB", {}, "search"],
  ["visit_webpage", {}, "http"],
  ["python_interpreter", {}, "python"],
  ["my_runner", { declared: "code" }, "python"],
  ["my_shell", { declared: "shell" }, "shell"],
  ["transfer_to_specialist", {}, "handoff"],
  ["run", { input: { command: "ls" } }, "shell"],
  ["change", { input: { old_string: "a", new_string: "b" } }, "edit"],
  ["sql", {}, "table"],
  ["get_weather", { input: { city: "Bern" } }, "other"],
] as const)("%s with %j is of the kind %s", (name, more, kind) => {
  expect(kindOf(tool(name, more as Partial<ToolBlock>))).toBe(kind);
});

test.each([
  ["internet_search", "Internet search"],
  ["NotebookEdit", "Notebook edit"],
  ["mcp__demo__add", "Add"],
  ["server:GOOGLE_SEARCH_WEB", "Google search web"],
  ["compaction", "Compaction"],
  ["___", "___"],
])("%s reads %s", (name, words) => {
  expect(readable(name)).toBe(words);
});

test("a hand-off names who took over", () => {
  expect(titleOf(tool("transfer_to_refund_specialist"))).toBe("Refund specialist took over");
  const given = tool("transfer_to_agent", { declared: "handoff", input: { agent_name: "critic" } });
  expect(titleOf(given)).toBe("Critic took over");
});

test("the summary is what the kind is about", () => {
  expect(summaryOf(tool("Bash", { input: { timeout: 5, command: "ls\n -l" } }))).toBe("ls -l");
});

describe("an open call", () => {
  test("has its identifier, and all of it in the raw call", () => {
    const container = open(
      tool("web_search", { input: { query: "milk", max: 3 }, output: "None" }),
    );
    expect(container.textContent).toContain("web_search");
    expect(screen.getByLabelText("More parameters").textContent).toContain("3");
    const raw = screen.getByText("Raw call").parentElement as HTMLDetailsElement;
    raw.open = true;
    fireEvent(raw, new Event("toggle"));
    expect(screen.getByLabelText("Raw input").textContent).toContain("milk");
  });

  test("of a shell has the command, its output and the exit code", () => {
    const output = { stdout: "\u001b[32mgreen\u001b[0m", stderr: "", exit_code: 2 };
    const container = open(tool("Bash", { input: { command: "ls" }, output }));
    expect(screen.getByLabelText("Command").textContent).toBe("$ ls");
    expect(screen.getByLabelText("Output").textContent).toBe("green");
    expect(container.textContent).toContain("exit code 2");
  });

  test("of an edit is a diff", () => {
    const input = { file_path: "a.py", old_string: "a\nb", new_string: "a\nc" };
    open(tool("Edit", { input, output: "ok" }));
    expect(screen.getByLabelText("Changes").textContent).toBe("  a\n- b\n+ c");
  });

  test("of a file has numbered lines", () => {
    open(tool("Read", { input: { file_path: "a.py" }, output: "     7→x = 1\n     8→y = 2" }));
    expect(screen.getByLabelText("File").textContent).toBe("7x = 1\n8y = 2\n");
  });

  test("of a search has links, and no link that is not one", () => {
    const output = [
      { title: "Milk", url: "https://example.org/milk", content: "White." },
      { title: "Bad", url: "javascript:alert(1)" },
    ];
    open(tool("web_search", { input: { query: "milk" }, output: JSON.stringify(output) }));
    expect(screen.getAllByRole("link").map((link) => link.getAttribute("href"))).toEqual([
      "https://example.org/milk",
    ]);
    expect(screen.getByText("White.")).toBeTruthy();
  });

  test("with rows has a table, and with large data a tree", () => {
    open(
      tool("sql", {
        input: { query: "select 1" },
        output: [
          { a: 1, b: "x" },
          { a: 2, b: null },
        ],
      }),
    );
    expect(screen.getAllByRole("row").map((row) => row.textContent)).toEqual(["ab", "1x", "2–"]);
  });

  test("of an unknown tool has its data as a tree that opens", () => {
    const output = { deep: { deeper: { deepest: { end: "here" } } }, long: "x".repeat(700) };
    open(tool("mystery", { output }));
    expect(screen.queryByText("here", { exact: false })).toBeNull();
    fireEvent.click(screen.getByRole("button", { name: /deepest/ }));
    expect(screen.getByText("here", { exact: false })).toBeTruthy();
  });

  test("with a picture shows it, and is not folded away", () => {
    const output = [{ type: "image", data: "AA==", mimeType: "image/png" }];
    open(tool("paint", { output }));
    expect(screen.getByRole("img").getAttribute("src")).toBe("data:image/png;base64,AA==");
    const part = { type: "dynamic-tool", toolCallId: "c", toolName: "paint", input: {}, output };
    const parts = [{ ...part, state: "output-available" }] as UIMessage["parts"];
    const blocks = view({ id: "m", role: "assistant", parts }, false, "answer");
    expect(blocks.map(({ kind }) => kind)).toEqual(["tool"]);
  });

  test("is drawn by the app's own view, if it has one", () => {
    const remove = vi.fn();
    const draw = (element: HTMLElement, call: Call) => {
      element.textContent = `To ${(call.input as { to: string }).to}: ${call.state}`;
    };
    const update = vi.fn(draw);
    registerToolView("book_flight", { render: draw, update, remove });
    const input = { to: "Bern" };
    const running = tool("mcp__travel__book_flight", { input, state: "running" });
    const { container, rerender } = render(<ToolCard block={running} quiet />);
    fireEvent.click(screen.getByRole("button", { expanded: false }));
    expect(container.textContent).toContain("To Bern: running");
    rerender(<ToolCard block={{ ...running, state: "done" }} quiet />);
    expect(container.textContent).toContain("To Bern: done");
    expect(update).toHaveBeenCalledOnce();
    fireEvent.click(screen.getByRole("button", { expanded: true }));
    expect(remove).toHaveBeenCalledOnce();
  });

  test("is drawn by an app's view of its kind, which gets a copy", () => {
    registerToolView("kind:http", {
      render: (element, call) => {
        (call.input as { url: string }).url = "changed";
        element.textContent = `A ${call.kind} call`;
      },
    });
    const input = { url: "https://a.example" };
    expect(open(tool("fetch", { input })).textContent).toContain("A http call");
    expect(input.url).toBe("https://a.example");
  });

  test("is drawn by the page where the app's view fails", () => {
    vi.spyOn(console, "error").mockImplementation(() => {});
    registerToolView("sort_mail", {
      render: () => {
        throw new Error("no");
      },
    });
    const output = '[{"from": "ann"}, {"from": "ben"}]';
    open(tool("sort_mail", { output }));
    expect(screen.getByRole("cell", { name: "ben" })).toBeTruthy();
  });

  test.each([
    ["", {}],
    ["a", {}],
    ["kind:spoon", { render: () => {} }],
  ])("has no view %j that cannot draw", (name, view) => {
    expect(() => registerToolView(name, view as AppToolView)).toThrow(TypeError);
  });
});

describe("reading", () => {
  test("programs' output", () => {
    expect(ranIn("x\n[Command failed with exit code 3]")).toEqual({ output: "x", exitCode: 3 });
    expect(ranIn("it said exit code 3")).toEqual({ output: "it said exit code 3" });
    expect(ranIn("Exit code: 1\n")).toEqual({ output: "", exitCode: 1 });
    expect(ranIn({ other: 1 })).toBeUndefined();
  });
  test("lists of pages, and nothing else", () => {
    expect(foundIn({ results: [{ link: "https://a.example", name: "A" }] })).toEqual([
      { url: "https://a.example", title: "A" },
    ]);
    expect(foundIn([{ title: "no address" }])).toBeUndefined();
    expect(foundIn([])).toBeUndefined();
  });
  test("rows, if they are flat and alike", () => {
    expect(gridIn([{ a: 1 }, { a: { b: 1 } }])).toBeUndefined();
    expect(gridIn({ columns: ["a"], rows: [[1]] })).toEqual({ columns: ["a"], rows: [[1]] });
  });
  test("lines that have no numbers yet", () => {
    expect(linesIn("a\nb\n", 5)).toEqual([
      { number: 5, text: "a" },
      { number: 6, text: "b" },
    ]);
  });
  test("a diff keeps every line of both texts", () => {
    const long = Array.from({ length: 500 }, (_, n) => `line ${n}`).join("\n");
    expect(diffOf(long, "x").split("\n")).toHaveLength(501);
    expect(diffOf("", "a")).toBe("+ a");
    expect(diffOf("a\nb\nc", "b\nd")).toBe("- a\n  b\n- c\n+ d");
  });
});
