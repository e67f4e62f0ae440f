import { mostAtOnce, type Span, type Timeline, waitedIn } from "@/inspector/timeline/spans";
import { tokensOf } from "@/inspector/timeline/words";

/** What a run comes to. */
export interface Figures {
  duration: number;
  waited: number;
  turns: number;
  tools: number;
  subagents: number;
  failed: number;
  atOnce: number;
  tokens: number;
  cost?: number;
  events: number;
}

const isTool = ({ kind }: Span) => kind === "tool";

export function figuresOf({ root, spans }: Timeline): Figures {
  const count = (is: (span: Span) => boolean) => spans.filter(is).length;
  return {
    duration: root.to - root.from,
    waited: waitedIn(spans),
    turns: count(({ kind }) => kind === "turn"),
    tools: count(isTool),
    subagents: count(({ kind }) => kind === "subagent"),
    failed: count(({ status, parent }) => status === "error" && parent !== undefined),
    atOnce: mostAtOnce(spans),
    tokens: tokensOf(root.total),
    cost: root.total?.cost,
    events: root.last,
  };
}
