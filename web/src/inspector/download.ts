import type { Entry } from "@/inspector/entries";
import type { RunSource } from "@/inspector/source";
import { save } from "@/ui/save";

/** The log of a run as JSON Lines. */
export async function saveEvents(source: RunSource): Promise<void> {
  saveLines(`${source.id}.events.jsonl`, (await source.events?.()) ?? []);
}

/** The raw agent output, as far as it is stored. */
export function saveRaw(runId: string, entries: readonly Entry[]): void {
  const lines = entries.flatMap((entry) => entry.lines).map(({ line }) => line);
  saveLines(`${runId}.stdout.jsonl`, lines);
}

const saveLines = (name: string, lines: string[]) =>
  save(name, "application/jsonl", lines.map((line) => `${line}\n`).join(""));
