import type { UIMessage } from "ai";
import { LoaderCircle, ShieldBan } from "lucide-react";
import { type ComponentType, memo, useMemo, useState } from "react";
import { type Given, Markdown } from "@/content/Markdown";
import { Activity } from "@/parts/Activity";
import { Approval, type Decide } from "@/parts/Approval";
import type {
  ActivityBlock,
  Block,
  EndingBlock,
  SubagentBlock,
  TextBlock,
  ToolBlock,
} from "@/parts/blocks";
import { toolName } from "@/parts/calls";
import { ChartRow, DataRow } from "@/parts/DataRow";
import { ErrorBlock } from "@/parts/ErrorBlock";
import { Files } from "@/parts/Files";
import { Linked } from "@/parts/Linked";
import { type Answer, Question } from "@/parts/Question";
import { Reasoning } from "@/parts/Reasoning";
import { Sources } from "@/parts/Sources";
import { Subagent } from "@/parts/Subagent";
import { same } from "@/parts/same";
import { Steps, Todos } from "@/parts/Todos";
import { ToolCard } from "@/parts/ToolCard";
import { ToolGroup } from "@/parts/ToolGroup";
import { view } from "@/parts/view";
import { ownId } from "@/parts/wire";
import { FEW } from "@/parts/work";
import { everyStep } from "@/state/folds";
import { strings } from "@/strings";
import { classes } from "@/ui/classes";
import "@/parts/parts.css";

const words = strings.parts;

/** Actions on the blocks of a message, and data that texts look up. */
interface Actions extends Handlers {
  /** The id of the message. */
  run: string;
  /** This page saw it stream: it is not from history. */
  wasLive: boolean;
  /** Work is shown as quiet lines, not as boxes. */
  quiet: boolean;
  lookUp: (toolCallId: string) => Given | undefined;
}

interface Handlers {
  /** Decides an approval request. If the promise rejects, the user can try again. */
  onDecide?: Decide;
  /** Answers a question; the default decision is "answered". */
  onAnswer?: Answer;
  /** Shown where the run failed. */
  onRetry?: () => void;
}

interface PartsProps extends Handlers {
  message: UIMessage;
  /** Streaming now. */
  live: boolean;
  /** What the server does before the agent starts. */
  doing?: string;
  /** It may have streamed before it was first rendered. */
  isNew?: boolean;
}

/** The blocks of a message, in order. */
export function Parts({ message, live, doing, isNew = false, ...handlers }: PartsProps) {
  const [every] = everyStep.use();
  const style = every ? "steps" : "answer";
  const blocks = useMemo(() => view(message, live, style), [message, live, style]);
  const actions = useActions(message, live || isNew, !every, handlers);
  return (
    <>
      <Blocks blocks={blocks} actions={actions} />
      {live && !blocks.some(isActive) && <Working empty={blocks.length === 0} doing={doing} />}
    </>
  );
}

/** A stable object while nothing changes that affects the blocks. */
function useActions(
  message: UIMessage,
  isOfNow: boolean,
  quiet: boolean,
  handlers: Handlers,
): Actions {
  const { onDecide, onAnswer, onRetry } = handlers;
  const run = message.id;
  const next = useMemo(() => givenBy(message), [message]);
  const [kept, keep] = useState(next);
  const given = same(kept, next) ? kept : next;
  if (given !== kept) keep(given);
  const [wasLive, setWasLive] = useState(isOfNow);
  if (isOfNow && !wasLive) setWasLive(true);
  return useMemo(
    () => ({ run, quiet, onDecide, onAnswer, onRetry, wasLive, lookUp: (id) => given[id] }),
    [run, quiet, onDecide, onAnswer, onRetry, wasLive, given],
  );
}

/** Tool results by the agent's own call id, which texts refer to. */
function givenBy(message: UIMessage): Record<string, Given> {
  const given: Record<string, Given> = Object.create(null);
  for (const part of message.parts)
    if ("toolCallId" in part && "output" in part)
      given[ownId(message.id, part.toolCallId)] = { value: part.output, title: toolName(part) };
  return given;
}

function Blocks({ blocks, actions }: { blocks: Block[]; actions: Actions }) {
  if (blocks.length === 0) return null;
  return (
    <div className={actions.quiet ? "space-y-1" : "space-y-2"}>
      {blocks.filter(isUnusual).map((block) => (
        <Shown key={block.key} block={block} actions={actions} />
      ))}
    </div>
  );
}

/** A normal end needs no note. */
const isUnusual = (block: Block): boolean =>
  block.kind !== "ending" || words.endings[block.reason] !== undefined;

interface ShownProps<B = Block> {
  block: B;
  actions: Actions;
}

/** Renders again only if its own block changed: in a streaming message, mostly the last. */
const Shown = memo(
  ({ block, actions }: ShownProps) => {
    const Row = ROWS[block.kind] as ComponentType<ShownProps>;
    return (
      <Linked run={actions.run} made={block.made} pinned={block.kind === "todos" && block.pinned}>
        <Row block={block} actions={actions} />
      </Linked>
    );
  },
  (before, now) => before.actions === now.actions && same(before.block, now.block),
);

const ROWS: { [K in Block["kind"]]: ComponentType<ShownProps<Extract<Block, { kind: K }>>> } = {
  text: Text,
  activity: Work,
  reasoning: ({ block, actions: { quiet } }) => <Reasoning block={block} quiet={quiet} />,
  tool: Tool,
  tools: ToolGroup,
  todos: ({ block, actions: { quiet } }) => <Todos block={block} quiet={quiet} />,
  steps: ({ block, actions: { quiet } }) => <Steps block={block} quiet={quiet} />,
  subagent: Nested,
  request: ({ block, actions: { onAnswer, onDecide } }) => (
    <Question block={block} onAnswer={onAnswer} onDecide={onDecide} />
  ),
  files: Files,
  chart: ChartRow,
  data: DataRow,
  sources: Sources,
  error: ({ block, actions: { run, wasLive, onRetry } }) => (
    <ErrorBlock text={block.text} code={block.code} run={run} live={wasLive} onRetry={onRetry} />
  ),
  ending: Ending,
};

function Text({ block, actions }: ShownProps<TextBlock>) {
  const { text, tone, active, citations } = block;
  return (
    <div className={classes("py-1", tone === "commentary" && "text-ink-2")}>
      {tone === "refusal" && (
        <p className="mb-1 flex items-center gap-1.5 text-block font-medium text-ink-2">
          <ShieldBan aria-hidden className="size-4" />
          {words.refused}
        </p>
      )}
      <Markdown text={text} streaming={active} sources={citations} lookUp={actions.lookUp} />
    </div>
  );
}

function Tool({ block, actions }: ShownProps<ToolBlock>) {
  const isRequested = block.state === "waiting" && block.decision !== undefined;
  if (isRequested) return <Approval block={block} onDecide={actions.onDecide} />;
  return <ToolCard block={block} quiet={actions.quiet} />;
}

function Work({ block, actions }: ShownProps<ActivityBlock>) {
  return (
    <Activity
      block={block}
      run={actions.run}
      show={(blocks) => <Blocks blocks={blocks} actions={actions} />}
    />
  );
}

function Nested({ block, actions }: ShownProps<SubagentBlock>) {
  return (
    <Subagent
      block={block}
      quiet={actions.quiet}
      show={(blocks) => <Blocks blocks={blocks} actions={actions} />}
    />
  );
}

/** Why an answer ended early. */
function Ending({ block: { reason } }: ShownProps<EndingBlock>) {
  return <p className="text-block text-ink-2 italic">{words.endings[reason]}</p>;
}

/** The agent is working and has no visible output yet. */
function Working({ empty, doing }: { empty: boolean; doing?: string }) {
  const text = (empty && doing) || words.working;
  return (
    <div
      role="progressbar"
      aria-label={text}
      className={classes(
        "flex min-h-10 items-center gap-2 text-block text-ink-2",
        !empty && "comes-late",
      )}
    >
      <LoaderCircle aria-hidden className="size-4 animate-spin" />
      {empty && <span aria-hidden>{text}</span>}
    </div>
  );
}

const BUSY: ReadonlySet<string> = new Set(["preparing", "running", "waiting"]);

/** Whether the block itself shows that the run is active. */
function isActive(block: Block): boolean {
  if (block.kind === "activity")
    return block.blocks.length > FEW ? block.active : block.blocks.some(isActive);
  return ("active" in block && block.active) || ("state" in block && BUSY.has(block.state));
}
