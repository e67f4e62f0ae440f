/** Facts about the whole message that are needed to read its parts. */
import type { UIMessage } from "ai";
import { type Fields, fieldsOf, listOf, textOf } from "@/json";
import { callOf, isTool } from "@/parts/calls";
import { dataOf, endingOf, type Part, scopeOf } from "@/parts/wire";

export interface Facts {
  live: boolean;
  /** The run has ended. */
  over: boolean;
  /** The run failed or was stopped. */
  broken: boolean;
  /** The run waits for an answer. */
  waiting: boolean;
  /** Ids of retracted parts. */
  retracted: Set<string>;
  /** Calls with a separate input request. */
  requested: Set<string>;
  /** The separate approval request of a call, by call id: the open one, else the last. */
  approvals: Map<string, Part>;
  /** Open requests. */
  open: Set<Part>;
  calls: Map<string, Part>;
  /** The agents in the scopes of parts, and the announced ones. */
  subagents: Map<string, Fields>;
  /** Calls that started a subagent. */
  senders: Set<string>;
  /** The scopes whose plan is shown. */
  plans: Set<string>;
  /** The texts of all plans' items. */
  planned: string[];
}

/** Endings after which nothing is marked as done well. */
const BROKEN: ReadonlySet<string> = new Set(["cancelled", "interrupted", "truncated", "lost"]);

export const nameOfScope = (scope: readonly string[]): string => scope.join("\u0000");

export function factsOf(message: UIMessage, live: boolean): Facts {
  const { parts } = message;
  const ending = live ? undefined : endingOf(message);
  const over = ending !== undefined;
  const calls = new Map(parts.filter(isTool).map((part) => [callOf(part), part]));
  const open = new Set(over ? [] : parts.filter((part) => isOpen(part, calls)));
  const waitsForApproval = parts.some((part) => stateOf(part) === "approval-requested");
  return {
    live,
    over,
    broken: over && (ending.error !== undefined || BROKEN.has(ending.reason)),
    waiting: !over && (open.size > 0 || waitsForApproval),
    retracted: new Set(parts.flatMap(retractedBy)),
    requested: new Set([...open].map((part) => textOf(dataOf(part).toolCallId) ?? "")),
    approvals: approvalsOf(parts, calls, open),
    open,
    calls,
    subagents: new Map(parts.filter(isSubagent).map((part) => [idOfData(part), dataOf(part)])),
    senders: new Set(parts.flatMap((part) => [...scopeOf(part), ...announced(part)])),
    plans: new Set(
      parts.filter((part) => part.type === "data-todos").map((part) => nameOfScope(scopeOf(part))),
    ),
    planned: parts.filter((part) => part.type === "data-todos").flatMap(itemsOf),
  };
}

const itemsOf = (part: Part): string[] =>
  listOf(dataOf(part).items)
    .flatMap((item) => [textOf(fieldsOf(item).content), textOf(fieldsOf(item).activeForm)])
    .filter((text) => text !== undefined && text !== "") as string[];

const isSubagent = (part: Part) => part.type === "data-subagent";
const announced = (part: Part) => (isSubagent(part) ? [idOfData(part)] : []);
const idOfData = (part: Part) => textOf((part as { id?: unknown }).id) ?? "";
const stateOf = (part: Part) => textOf((part as unknown as Fields).state) ?? "";

function isOpen(part: Part, calls: Map<string, Part>): boolean {
  if (part.type !== "data-input" || "answered" in dataOf(part)) return false;
  const call = calls.get(textOf(dataOf(part).toolCallId) ?? "");
  return call === undefined || !SETTLED.test(stateOf(call));
}

/** A call without an open request. */
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
