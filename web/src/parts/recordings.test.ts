import type { UIMessage } from "ai";
import { describe, expect, test } from "vitest";
import type { Block, ToolBlock } from "@/parts/blocks";
import { demo, recordings, statesOf } from "@/parts/fixtures/messages";
import { view } from "@/parts/view";

const every = (blocks: Block[]): Block[] =>
  blocks.flatMap((block) => [block, ...(block.kind === "subagent" ? every(block.blocks) : [])]);

const NOTE = /^(\S+) (?:started|finished|failed|was \w+|ended)(?:: (.+))?$/s;
const onCards = (blocks: Block[]): string =>
  every(blocks)
    .flatMap((block) => (block.kind === "subagent" ? [block.trail, block.task, block.summary] : []))
    .flat()
    .join("\n");

const sent = (message: UIMessage) =>
  message.parts.flatMap((part) => (part.type === "data-subagent" ? [part.id] : []));

describe.each(recordings)("the recording %s", (_name, chunks) => {
  const wordsIn = (blocks: Block[]) =>
    every(blocks).flatMap((block) =>
      block.kind === "text" || block.kind === "reasoning" ? [block.text] : [],
    );

  test("has blocks with names of their own after every chunk", async () => {
    const states = await statesOf(chunks);
    expect(states.length).toBeGreaterThan(0);
    for (const state of states) {
      const keys = every(view(state, true)).map((block) => block.key);
      expect(new Set(keys).size).toBe(keys.length);
    }
  });

  test("loses no text, thought or call that was not taken back", async () => {
    const last = (await statesOf(chunks)).at(-1) as UIMessage;
    const blocks = view(last, false);
    const retracted = last.parts.flatMap((part) =>
      part.type === "data-retract" ? (part.data as { ids: string[] }).ids : [],
    );
    const words = wordsIn(blocks).join("\n");
    const all = `${onCards(blocks)}\n${words}`;
    for (const part of last.parts) {
      if (part.type !== "text" && part.type !== "reasoning") continue;
      const id = (part.providerMetadata?.mobox as { id?: string } | undefined)?.id;
      if (retracted.includes(id ?? "") || words.includes(part.text.trim())) continue;
      // A note on a subagent, whose task may have paragraphs of its own, or several such notes.
      const isShown = (note: string) => {
        const [, agent, more] = NOTE.exec(note) ?? [];
        return onCards(blocks).includes(agent ?? note) && all.includes(more ?? "");
      };
      const text = part.text.trim();
      expect(isShown(text) || text.split("\n\n").every(isShown), text).toBe(true);
    }
    const calls = every(blocks).flatMap((block) =>
      block.kind === "tools" ? block.tools : [block],
    );
    const shown = calls.filter((block): block is ToolBlock => block.kind === "tool");
    for (const part of last.parts) {
      if (part.type !== "dynamic-tool") continue;
      const display = (part.callProviderMetadata?.mobox as { display?: string } | undefined)
        ?.display;
      if (display !== undefined || shown.some((call) => call.callId === part.toolCallId)) continue;
      // The call that sent a subagent is the head of its card; what came of it is on the card too.
      expect(sent(last)).toContain(part.toolCallId);
      expect(all).toContain(part.output);
    }
  });

  test("leaves nothing running once its run has ended", async () => {
    const last = (await statesOf(chunks)).at(-1) as UIMessage;
    for (const block of every(view(last, false))) {
      if ("active" in block) expect(block.active).toBe(false);
      if (block.kind === "tool" || block.kind === "subagent")
        expect(["preparing", "running"]).not.toContain(block.state);
    }
  });
});

test.each(Object.entries(demo))("the demo's answer to %j has blocks", (_name, message) => {
  expect(view(message, false).length).toBeGreaterThan(1);
});
