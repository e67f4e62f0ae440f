import { useRunFacts } from "@/chat/facts";
import { locale } from "@/language";
import { access } from "@/state/access";
import { agents } from "@/state/agents";
import { useStore } from "@/store";
import { strings } from "@/strings";

/** One quiet line above an answer: agent, model, and on hover, focus and touch the time. */
export function AnswerHead({ runId }: { runId: string }) {
  const run = useRunFacts(runId);
  const { readOnly } = useStore(access);
  const agent = agents.use().find(({ id }) => id === run?.agent);
  const model = run?.simulated ? strings.models.simulated : run?.model;
  // Of somebody else's chat nothing is known; of one's own it comes a moment later, without a jump.
  if (readOnly && !run) return null;
  return (
    <div className="answer-head flex min-h-5 min-w-0 items-center gap-1.5 text-mono text-ink-2">
      {agent?.icon && (
        <span aria-hidden className="leading-none">
          {agent.icon}
        </span>
      )}
      {run && <span className="truncate font-medium">{agent?.name ?? run.agent}</span>}
      {model && (
        <>
          <span aria-hidden>·</span>
          <span className="truncate">{model}</span>
        </>
      )}
      {run && <Time at={run.startedAt} />}
    </div>
  );
}

const Time = ({ at }: { at: number }) => (
  <time
    dateTime={new Date(at).toISOString()}
    title={strings.answers.answeredAt(new Date(at).toLocaleString(locale))}
    className="ms-auto shrink-0 ps-2 opacity-0 transition-opacity group-focus-within/answer:opacity-100 group-hover/answer:opacity-100 pointer-coarse:opacity-100"
  >
    {timeOf(new Date(at))}
  </time>
);

/** The time of day; with the date, unless it is today. */
function timeOf(at: Date): string {
  const isToday = at.toDateString() === new Date().toDateString();
  const clock = { hour: "numeric", minute: "2-digit" } as const;
  const day = { day: "numeric", month: "short" } as const;
  return at.toLocaleString(locale, isToday ? clock : { ...day, ...clock });
}
