import {
  CircleCheck,
  CircleX,
  Hand,
  LoaderCircle,
  type LucideIcon,
  MessageSquare,
  Square,
} from "lucide-react";
import type { ReactNode } from "react";
import type { RunOutcome, RunRow } from "@/api";
import { costText } from "@/inspector/timeline/words";
import { span } from "@/inspector/times";
import { locale } from "@/language";
import { agents } from "@/state/agents";
import { panel } from "@/state/panel";
import { navigate } from "@/state/route";
import { strings } from "@/strings";
import { classes } from "@/ui/classes";
import { RouteLink } from "@/ui/RouteLink";

const words = strings.inspecting.runs;
const { shortTokens, tokenCount } = strings.inspecting.timeline;

const COLUMNS =
  "@3xl:grid @3xl:grid-cols-[2.25rem_minmax(0,1fr)_8rem_7rem_9rem_5rem_4.5rem_5rem_2.25rem] @3xl:items-center @3xl:gap-x-3";

const LOOKS: Record<RunOutcome, { icon: LucideIcon; ink: string }> = {
  running: { icon: LoaderCircle, ink: "text-running" },
  waiting: { icon: Hand, ink: "text-running" },
  done: { icon: CircleCheck, ink: "text-ok" },
  failed: { icon: CircleX, ink: "text-bad" },
  stopped: { icon: Square, ink: "text-ink-2" },
};

/** The names of the columns; each fact of a row has its name for screen readers. */
export const Heads = () => (
  <div
    aria-hidden
    className={classes(
      "sticky top-0 z-10 border-b bg-ground-2 px-4 py-1.5 text-label font-medium text-ink-2 @max-3xl:hidden",
      COLUMNS,
    )}
  >
    <span />
    <span>{words.columns.chat}</span>
    <span>{words.columns.agent}</span>
    <span>{words.columns.status}</span>
    <span>{words.columns.started}</span>
    <span className="text-end">{words.columns.duration}</span>
    <span className="text-end">{words.columns.tokens}</span>
    <span className="text-end">{words.columns.cost}</span>
    <span />
  </div>
);

interface RunItemProps {
  row: RunRow;
  isPicked: boolean;
  onPick: (row: RunRow) => void;
}

export function RunItem({ row, isPicked, onPick }: RunItemProps) {
  const name = agents.use().find(({ id }) => id === row.agent)?.name ?? row.agent;
  const started = new Date(row.startedAt).toLocaleString(locale, SHORT);
  const { icon: Icon, ink } = LOOKS[row.outcome];
  const tokens = (row.inputTokens ?? 0) + (row.outputTokens ?? 0);
  return (
    <li
      className={classes(
        "relative border-b px-3 py-1.5 @max-3xl:flex @max-3xl:flex-wrap @max-3xl:items-center @max-3xl:gap-x-3 @3xl:px-4",
        COLUMNS,
        isPicked ? "bg-ground-3" : "hover:bg-ground-2",
      )}
    >
      <label className="flex size-9 cursor-pointer items-center justify-center max-md:size-11">
        <input
          type="checkbox"
          checked={isPicked}
          onChange={() => onPick(row)}
          aria-label={words.pick(row.title, started)}
          className="size-4 accent-accent"
        />
      </label>
      <span className="min-w-0 @max-3xl:flex-1">
        <RouteLink
          to={{ page: "run", id: row.id }}
          className="block truncate text-block font-medium hover:underline max-md:leading-11"
        >
          {row.title}
        </RouteLink>
        {row.superseded && <span className="text-label text-ink-2">{words.superseded}</span>}
      </span>
      <RouteLink
        to={{ page: "chat", id: row.chatId }}
        onOpen={() => {
          panel.choose(row.id);
          navigate({ page: "chat", id: row.chatId });
        }}
        aria-label={words.openChat}
        title={words.openChat}
        className="flex size-9 items-center justify-center rounded-lg text-ink-2 hover:bg-ground-3 hover:text-ink max-md:size-11 @3xl:order-last"
      >
        <MessageSquare aria-hidden className="size-4" />
      </RouteLink>
      <span className="hidden w-full @max-3xl:block" />
      <Fact name={words.columns.agent}>{name}</Fact>
      <Fact name={words.columns.status}>
        <Icon aria-hidden className={classes("me-1.5 inline size-3.5", ink)} />
        <span className={row.outcome === "failed" ? "text-bad" : ""}>
          {words.states[row.outcome]}
        </span>
      </Fact>
      <Fact name={words.columns.started}>{started}</Fact>
      <Fact name={words.columns.duration} isNumber>
        {row.endedAt === null ? words.unknown : span(row.endedAt - row.startedAt)}
      </Fact>
      <Fact name={words.columns.tokens} isNumber>
        <span className="@max-3xl:hidden">{tokens ? shortTokens(tokens) : words.unknown}</span>
        <span className="@3xl:hidden">{tokens > 0 && tokenCount(tokens)}</span>
      </Fact>
      <Fact name={words.columns.cost} isNumber>
        {costText(row.costUsd ?? undefined) || words.unknown}
      </Fact>
    </li>
  );
}

const SHORT = { dateStyle: "short", timeStyle: "short" } as const;

interface FactProps {
  name: string;
  isNumber?: boolean;
  children: ReactNode;
}

const Fact = ({ name, isNumber, children }: FactProps) => (
  <span
    className={classes(
      "text-mono text-ink-2 @3xl:truncate",
      isNumber && "tabular-nums @3xl:text-end",
    )}
  >
    <span className="sr-only">{name} </span>
    {children}
  </span>
);
