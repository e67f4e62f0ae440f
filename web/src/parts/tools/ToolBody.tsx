import { useState } from "react";
import { isFields } from "@/json";
import type { ToolBlock } from "@/parts/blocks";
import { FINISHED } from "@/parts/calls";
import { type AppToolView, AppView, useAppView } from "@/parts/tools/appViews";
import { Data } from "@/parts/tools/JsonTree";
import { kindOf } from "@/parts/tools/kinds";
import { type Shown, VIEWS } from "@/parts/tools/views";
import { strings } from "@/strings";
import { Caption } from "@/ui/Caption";

const words = strings.parts;
const NOTHING: Shown = { body: null, covers: [] };

/** An open call: its view by kind, and the rest of it as data. */
export function ToolBody({ block, named }: { block: ToolBlock; named: boolean }) {
  const { input, output, error, state } = block;
  const given = useAppView(block);
  const [failed, setFailed] = useState<AppToolView>();
  const app = given === failed ? undefined : given;
  const view = VIEWS[kindOf(block)](block);
  const { body, covers, coversOutput } = view ?? NOTHING;
  const rest = app ? undefined : without(input, covers);
  const result = app || coversOutput ? undefined : output;
  const isEmpty = !app && !view && isNothing(rest) && error === undefined && output === undefined;
  return (
    <div className="space-y-3 px-3 pb-3">
      {named && <p className="font-mono text-mono break-all text-ink-2">{block.name}</p>}
      {app ? <AppView view={app} block={block} onFailed={setFailed} /> : body}
      {!isNothing(rest) && (
        <Value label={covers.length > 0 ? strings.activity.more : words.parameters} value={rest} />
      )}
      {error !== undefined && <Value label={words.error} value={error} />}
      {result !== undefined && <Value label={words.result} value={result} />}
      {isEmpty && (
        <p className="text-block text-ink-2">
          {FINISHED.has(state) ? words.noResult : words.noResultYet}
        </p>
      )}
      {(view || app) && <Raw block={block} />}
    </div>
  );
}

function without(input: unknown, covers: readonly string[]): unknown {
  if (covers.length === 0) return input;
  if (!isFields(input)) return undefined; // the code itself
  return Object.fromEntries(Object.entries(input).filter(([name]) => !covers.includes(name)));
}

const isNothing = (value: unknown) =>
  value === undefined || (isFields(value) && Object.keys(value).length === 0);

function Value({ label, value }: { label: string; value: unknown }) {
  return (
    <div>
      <Caption>{label}</Caption>
      <Data value={value} label={label} />
    </div>
  );
}

/** The call as it was received: a view may leave out what it does not know. */
function Raw({ block: { input, output } }: { block: ToolBlock }) {
  const [open, setOpen] = useState(false);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="flex min-h-6 w-fit cursor-pointer items-center text-label text-ink-2 max-md:min-h-11">
        {strings.activity.raw}
      </summary>
      {open && (
        <div className="mt-2 space-y-3">
          {!isNothing(input) && <Value label={strings.activity.rawInput} value={input} />}
          {output !== undefined && <Value label={strings.activity.rawResult} value={output} />}
        </div>
      )}
    </details>
  );
}
