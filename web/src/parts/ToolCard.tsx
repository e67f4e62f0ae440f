import { Wrench } from "lucide-react";
import { Json } from "@/content/Json";
import { isFields } from "@/json";
import { Outcome } from "@/parts/Answered";
import type { Answered, ToolBlock } from "@/parts/blocks";
import { FINISHED } from "@/parts/calls";
import { Pill } from "@/parts/Pill";
import { useChoice } from "@/state/folds";
import { strings } from "@/strings";
import { Caption } from "@/ui/Caption";
import { Fold } from "@/ui/Fold";

const words = strings.parts;

/** A tool call: one row, with its input and result below. */
export function ToolCard({ block }: { block: ToolBlock }) {
  const [choice, choose] = useChoice(block.key);
  const open = choice ?? false;
  return (
    <div className="rounded-block border bg-ground">
      <Fold open={open} onToggle={choose} head={<Head block={block} />}>
        <Body block={block} />
      </Fold>
      {!open && block.state === "failed" && <ErrorLine text={block.error ?? ""} />}
      {block.decision?.answer && <Decided answer={block.decision.answer} />}
    </div>
  );
}

function Head({ block: { name, input, state } }: { block: ToolBlock }) {
  return (
    <>
      <Wrench aria-hidden className="size-4 shrink-0 text-ink-2" />
      <span className="max-w-[55%] shrink-0 truncate font-mono text-mono font-medium">{name}</span>
      <span className="min-w-0 flex-1 truncate font-mono text-mono text-ink-2">
        {firstArgument(input)}
      </span>
      <Pill state={state} />
    </>
  );
}

function Body({ block: { input, output, error, state } }: { block: ToolBlock }) {
  const isEmpty = input === undefined || (isFields(input) && Object.keys(input).length === 0);
  return (
    <div className="space-y-3 px-3 pb-3">
      {!isEmpty && <Value label={words.parameters} value={input} />}
      {error !== undefined && <Value label={words.error} value={error} />}
      {output !== undefined && <Value label={words.result} value={output} />}
      {isEmpty && error === undefined && output === undefined && (
        <p className="text-block text-ink-2">
          {FINISHED.has(state) ? words.noResult : words.noResultYet}
        </p>
      )}
    </div>
  );
}

function Value({ label, value }: { label: string; value: unknown }) {
  return (
    <div>
      <Caption>{label}</Caption>
      <Json value={value} label={label} />
    </div>
  );
}

/** The error of a failed call is visible without opening the card. */
export function ErrorLine({ text, name }: { text: string; name?: string }) {
  return (
    <p className="mx-3 mb-2 line-clamp-2 font-mono text-mono break-words whitespace-pre-wrap text-bad">
      {name && <span className="font-medium">{name}: </span>}
      {text}
    </p>
  );
}

function Decided({ answer }: { answer: Answered }) {
  return (
    <div className="px-3 pb-2 text-block break-words whitespace-pre-wrap text-ink-2">
      <Outcome answer={answer} />
    </div>
  );
}

/** The input members that best summarize a call. */
export function firstArgument(input: unknown): string {
  const first = isFields(input) ? Object.values(input)[0] : input;
  if (first === undefined || first === null) return "";
  const text = typeof first === "string" ? first : JSON.stringify(first);
  return text.slice(0, 200).replace(/\s+/g, " ").trim();
}
