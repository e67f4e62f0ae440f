import { ArrowLeftRight, ListTree, MessageSquare, Play, X } from "lucide-react";
import { Cut } from "@/inspector/Cut";
import type { Span } from "@/inspector/timeline/spans";
import { costText, lengthText, nameOf, placeText, tokensOf } from "@/inspector/timeline/words";
import { strings } from "@/strings";
import { Button, IconButton } from "@/ui/Button";

const words = strings.inspecting.timeline;
const SMALL = "min-h-8! px-2! text-mono! max-md:min-h-11! [&_svg]:size-3.5";

interface SpanDetailProps {
  span: Span;
  timed: boolean;
  onClose: () => void;
  /** What does not apply is left out. */
  onEvents?: () => void;
  onChat?: () => void;
  onPlay?: () => void;
  onCall?: () => void;
}

const ACTS = [
  { act: "onEvents", icon: ListTree, label: words.showEvents },
  { act: "onCall", icon: ArrowLeftRight, label: words.openCall },
  { act: "onChat", icon: MessageSquare, label: words.showInChat },
  { act: "onPlay", icon: Play, label: words.playFrom },
] as const;

/** The selected step: its figures, its input and output, and ways to go on from it. */
export function SpanDetail({ span, timed, onClose, ...acts }: SpanDetailProps) {
  const name = nameOf(span);
  return (
    <div className="flex max-h-[45%] min-h-24 shrink-0 flex-col border-t-2">
      <div className="flex shrink-0 flex-wrap items-center gap-1.5 px-3 py-1.5">
        <h2 className="min-w-0 flex-1 truncate text-block font-semibold">{name}</h2>
        <div className="order-last flex w-full flex-wrap gap-1.5 @lg:order-none @lg:w-auto">
          {ACTS.map(({ act, icon: Icon, label }) => {
            const onClick = acts[act];
            return (
              onClick && (
                <Button key={act} className={SMALL} onClick={onClick}>
                  <Icon aria-hidden className="@max-lg:hidden" />
                  {label}
                </Button>
              )
            );
          })}
        </div>
        <IconButton label={words.close} className="size-8! max-md:size-11!" onClick={onClose}>
          <X aria-hidden />
        </IconButton>
      </div>
      <section
        // biome-ignore lint/a11y/noNoninteractiveTabindex: scroll containers must be reachable by keyboard
        tabIndex={0}
        aria-label={words.details(name)}
        className="min-h-0 flex-1 space-y-3 overflow-y-auto px-3 pb-3 focus-visible:outline-offset-[-2px]"
      >
        <Facts span={span} timed={timed} />
        <Value name={words.input} value={span.input} />
        <Value name={words.output} value={span.output} />
      </section>
    </div>
  );
}

function Facts({ span, timed }: { span: Span; timed: boolean }) {
  const tokens = span.total;
  const rows: [string, string][] = [
    [words.status, words.states[span.status] || words.done],
    [words.started, placeText(span.from, timed)],
    [words.duration, lengthText(span.to - span.from, timed)],
    [
      words.tokens,
      tokens && tokensOf(tokens) ? words.tokensInOut(tokens.input, tokens.output) : "",
    ],
    [words.cost, costText(tokens?.cost)],
  ];
  return (
    <dl className="flex flex-wrap gap-x-4 gap-y-0.5 text-mono">
      <div className="flex gap-1.5">
        <dt className="sr-only">{words.kind}</dt>
        <dd className="font-medium">{words.kinds[span.kind]}</dd>
      </div>
      {rows.map(
        ([name, value]) =>
          value && (
            <div key={name} className="flex gap-1.5">
              <dt className="text-ink-2">{name}</dt>
              <dd className="tabular-nums">{value}</dd>
            </div>
          ),
      )}
    </dl>
  );
}

function Value({ name, value }: { name: string; value: unknown }) {
  if (value === undefined || value === null || value === "") return null;
  const text = typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? "");
  return (
    <div>
      <p className="mb-1 text-label font-medium text-ink-2">{name}</p>
      <Cut text={text} label={name} />
    </div>
  );
}
