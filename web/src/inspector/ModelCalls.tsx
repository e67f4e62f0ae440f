import { Cpu } from "lucide-react";
import { type ReactNode, useEffect, useState } from "react";
import { type ModelCall, type ModelCallBodies, Refused } from "@/api";
import { Cut } from "@/inspector/Cut";
import type { RunSource } from "@/inspector/source";
import { span } from "@/inspector/times";
import type { LoadedCalls } from "@/inspector/useModelCalls";
import { parsed } from "@/json";
import { strings } from "@/strings";
import { classes } from "@/ui/classes";
import { Empty } from "@/ui/Empty";

const words = strings.inspecting.calls;

interface ModelCallsProps {
  source: RunSource;
  loaded: LoadedCalls | undefined;
  open: number | undefined;
  onOpen: (n: number | undefined) => void;
}

/** The recorded calls of models; one of them is open. */
export function ModelCalls({ source, loaded, open, onOpen }: ModelCallsProps) {
  if (loaded === undefined) return <Line>{words.loading}</Line>;
  if (loaded === "failed") return <Line>{words.failed}</Line>;
  if (loaded.calls.length === 0)
    return (
      <Empty
        icon={<Cpu aria-hidden />}
        title={loaded.recording ? words.none : words.off}
        line={loaded.recording ? words.noneLine : words.offLine}
      />
    );
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <p className="border-b px-3 py-2 text-mono text-ink-2">
        {words.line} {loaded.more && words.more}
      </p>
      <ul aria-label={words.list} className="min-h-0 flex-1 overflow-y-auto">
        {loaded.calls.map((call) => (
          <li key={call.n} className="border-b">
            <Head
              call={call}
              isOpen={open === call.n}
              onToggle={() => onOpen(open === call.n ? undefined : call.n)}
            />
            {open === call.n && <Bodies source={source} n={call.n} />}
          </li>
        ))}
      </ul>
    </div>
  );
}

const Line = ({ children }: { children: ReactNode }) => (
  <p className="px-3 py-6 text-center text-block text-ink-2">{children}</p>
);

/** JSON on several lines; other text, such as a stream of events, as it is. */
function readable(text: string): string {
  const value = parsed(text);
  return typeof value === "object" && value !== null ? JSON.stringify(value, null, 2) : text;
}

interface HeadProps {
  call: ModelCall;
  isOpen: boolean;
  onToggle: () => void;
}

function Head({ call, isOpen, onToggle }: HeadProps) {
  const isBad = call.cut || call.status >= 400;
  return (
    <button
      type="button"
      aria-expanded={isOpen}
      onClick={onToggle}
      className="flex min-h-11 w-full flex-wrap items-center gap-x-3 px-3 py-1.5 text-start text-mono hover:bg-ground-2 focus-visible:outline-offset-[-2px]"
    >
      <span className="font-medium">{words.number(call.n)}</span>
      <span className="min-w-0 truncate">{call.model || call.provider}</span>
      <span className={classes("tabular-nums", isBad ? "text-bad" : "text-ink-2")}>
        {call.status}
        {call.cut && ` · ${words.cut}`}
      </span>
      <span className="text-ink-2 tabular-nums">
        {call.startedAt > 0 ? span(call.durationMs) : ""}
      </span>
      <span className="ms-auto text-ink-2 tabular-nums">
        {words.sizes(words.size(call.requestSize), words.size(call.responseSize))}
      </span>
    </button>
  );
}

function Bodies({ source, n }: { source: RunSource; n: number }) {
  const [bodies, setBodies] = useState<ModelCallBodies | "failed" | "forbidden">();
  useEffect(() => {
    let wanted = true;
    source
      .modelCall?.(n)
      .then((found) => wanted && setBodies(found))
      .catch((problem: unknown) => wanted && setBodies(failureOf(problem)));
    return () => {
      wanted = false;
    };
  }, [source, n]);
  if (bodies === undefined) return <Line>{words.loading}</Line>;
  if (bodies === "forbidden") return <Line>{words.forbidden}</Line>;
  if (bodies === "failed") return <Line>{words.failed}</Line>;
  return (
    <div className="grid gap-3 px-3 pb-3 @2xl:grid-cols-2">
      <Body name={words.request} text={bodies.request} />
      <Body name={words.response} text={bodies.response} />
      {bodies.shortened && <p className="text-mono text-ink-2">{words.shortened}</p>}
    </div>
  );
}

const failureOf = (problem: unknown) =>
  problem instanceof Refused && problem.status === 403 ? "forbidden" : "failed";

const Body = ({ name, text }: { name: string; text: string }) => (
  <section aria-label={name} className="min-w-0">
    <p className="mb-1 text-label font-medium text-ink-2">{name}</p>
    <Cut text={readable(text)} label={name} maxHeight={480} />
  </section>
);
