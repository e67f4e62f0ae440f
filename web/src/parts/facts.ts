/** What must be known of the whole message before one of its parts can be read. */
import type { UIMessage } from "ai";
import { type Fields, listOf, textOf } from "@/json";
import { callOf, isTool } from "@/parts/calls";
import { dataOf, endingOf, type Part, scopeOf } from "@/parts/wire";

export interface Facts {
  live: boolean;
  /** The run has ended. */
  over: boolean;
  /** The run waits for somebody. */
  waiting: boolean;
  /** Ids of parts that were taken back. */
  retracted: Set<string>;
  /** Calls about which somebody is asked by a request of its own. */
  asking: Set<string>;
  /** What is known of an approval beside its call, by that call: one that is open, else the last. */
  approvals: Map<string, Part>;
  /** Requests that somebody may still answer. */
  open: Set<Part>;
  calls: Map<string, Part>;
  /** The agents that parts name as theirs, and those that were told of. */
  subagents: Map<string, Fields>;
  /** Calls that sent an agent. */
  senders: Set<string>;
  /** Whose plan is shown, as scopes. */
  plans: Set<string>;
}

export const nameOfScope = (scope: readonly string[]): string => scope.join("\u0000");

export function factsOf(message: UIMessage, live: boolean): Facts {
  const { parts } = message;
  const over = endingOf(message) !== undefined && !live;
  const calls = new Map(parts.filter(isTool).map((part) => [callOf(part), part]));
  const open = new Set(over ? [] : parts.filter((part) => isOpen(part, calls)));
  const waitsForApproval = parts.some((part) => stateOf(part) === "approval-requested");
  return {
    live,
    over,
    waiting: !over && (open.size > 0 || waitsForApproval),
    retracted: new Set(parts.flatMap(retractedBy)),
    asking: new Set([...open].map((part) => textOf(dataOf(part).toolCallId) ?? "")),
    approvals: approvalsOf(parts, calls, open),
    open,
    calls,
    subagents: new Map(parts.filter(isSubagent).map((part) => [idOfData(part), dataOf(part)])),
    senders: new Set(parts.flatMap((part) => [...scopeOf(part), ...toldOf(part)])),
    plans: new Set(
      parts.filter((part) => part.type === "data-todos").map((part) => nameOfScope(scopeOf(part))),
    ),
  };
}

const isSubagent = (part: Part) => part.type === "data-subagent";
const toldOf = (part: Part) => (isSubagent(part) ? [idOfData(part)] : []);
const idOfData = (part: Part) => textOf((part as { id?: unknown }).id) ?? "";
const stateOf = (part: Part) => textOf((part as unknown as Fields).state) ?? "";

function isOpen(part: Part, calls: Map<string, Part>): boolean {
  if (part.type !== "data-input" || "answered" in dataOf(part)) return false;
  const call = calls.get(textOf(dataOf(part).toolCallId) ?? "");
  return call === undefined || !SETTLED.test(stateOf(call));
}

/** A call of which nothing is asked any more. */
const SETTLED = /^output-|^approval-responded$/;

function approvalsOf(parts: Part[], calls: Map<string, Part>, open: Set<Part>): Map<string, Part> {
  const about = parts.filter((part) => part.type === "data-input" && isAboutCall(part, calls));
  const ordered = [...about.filter((part) => !open.has(part)), ...about.filter((p) => open.has(p))];
  return new Map(ordered.map((part) => [textOf(dataOf(part).toolCallId) ?? "", part]));
}

function isAboutCall(part: Part, calls: Map<string, Part>): boolean {
  const { kind, toolCallId } = dataOf(part);
  return kind === "approval" && calls.has(textOf(toolCallId) ?? "");
}

function retractedBy(part: Part): string[] {
  const ids = part.type === "data-retract" ? listOf(dataOf(part).ids) : [];
  return ids.filter((id) => typeof id === "string");
}
