import { readRun } from "@/api";
import type { Entry } from "@/inspector/entries";
import { EventReader } from "@/runs/sse";
import { save } from "@/ui/save";

/** The log of a run as JSON Lines. */
export async function saveEvents(runId: string): Promise<void> {
  const response = await readRun(runId, "canonical");
  const frames = new EventReader().feed(new Uint8Array(await response.arrayBuffer()));
  saveLines(
    `${runId}.events.jsonl`,
    frames.map(({ data }) => data),
  );
}

/** The raw agent output, as far as it is stored. */
export function saveRaw(runId: string, entries: readonly Entry[]): void {
  const lines = entries.flatMap((entry) => entry.lines).map(({ line }) => line);
  saveLines(`${runId}.stdout.jsonl`, lines);
}

const saveLines = (name: string, lines: string[]) =>
  save(name, "application/jsonl", lines.map((line) => `${line}\n`).join(""));
