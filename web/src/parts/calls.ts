/** The state of a tool call. */

import { type Fields, fieldsOf, textOf } from "@/json";
import { allowedOf } from "@/parts/allowed";
import type { Answered, CallState, ToolBlock, Verdict } from "@/parts/blocks";
import type { Facts } from "@/parts/facts";
import { dataOf, idOf, moboxOf, type Part } from "@/parts/wire";

const STATES: Record<string, CallState> = {
  "input-streaming": "preparing",
  "input-available": "running",
  "approval-requested": "waiting",
  "approval-responded": "answered",
  "output-available": "done",
  "output-error": "failed",
  "output-denied": "denied",
};

/** The server's texts of two outcomes that have one state in the client. */
const OUTCOMES: Record<string, CallState> = {
  "The call was interrupted.": "stopped",
  "The call was denied.": "denied",
};

export const FINISHED: ReadonlySet<CallState> = new Set(["done", "failed", "denied", "stopped"]);

export const isTool = (part: Part): boolean =>
  part.type === "dynamic-tool" || part.type.startsWith("tool-");

export const callOf = (part: Part): string => textOf((part as unknown as Fields).toolCallId) ?? "";

export function toolName(part: Part): string {
  const { title, toolName: name } = part as unknown as Fields;
  return textOf(title) ?? textOf(name) ?? part.type.replace(/^tool-/, "");
}

export function readTool(part: Part, key: string, facts: Facts): ToolBlock {
  const fields = part as unknown as Fields;
  const error = textOf(fields.errorText);
  const decision = decisionOf(fields.approval, facts.approvals.get(callOf(part)));
  const declared = textOf(moboxOf(part).kind);
  return {
    kind: "tool",
    key,
    callId: callOf(part),
    made: [callOf(part)],
    name: toolName(part),
    ...(declared && { declared }),
    state: stateOf(fields, facts),
    input: fields.input ?? fields.rawInput,
    ...("output" in fields && { output: fields.output }),
    ...(error !== undefined && { error }),
    ...(decision && { decision }),
  };
}

function stateOf(fields: Fields, facts: Facts): CallState {
  const received = STATES[textOf(fields.state) ?? ""] ?? "running";
  if (received === "failed") return OUTCOMES[textOf(fields.errorText) ?? ""] ?? "failed";
  if (received === "done") return fields.preliminary === true ? going("running", facts) : "done";
  if (received === "waiting" || received === "answered") return facts.over ? "stopped" : received;
  if (facts.requested.has(textOf(fields.toolCallId) ?? "")) return "waiting";
  return FINISHED.has(received) ? received : going(received, facts);
}

/** A call whose run has ended gets no result. */
export const going = (state: CallState, facts: Facts): CallState =>
  facts.live || facts.waiting ? state : "stopped";

/** The approval of a call and its answer, from the call's own part and the separate request. */
function decisionOf(received: unknown, request: Part | undefined): Verdict | undefined {
  if (received === undefined && request === undefined) return undefined;
  const approval = fieldsOf(received);
  const { prompt, allowed, answered } = request ? dataOf(request) : ({} as Fields);
  const question = textOf(approval.requestReason) ?? textOf(prompt);
  const answer = answered === undefined ? verdictOf(approval) : answerOf(fieldsOf(answered));
  const isDecided = answer !== undefined && answer.decision !== "cancelled";
  return {
    id: textOf(approval.id) ?? (request && idOf(request)) ?? "",
    ...(question && { question }),
    allowed: allowedOf(allowed),
    ...(isDecided && { answer }),
  };
}

function verdictOf({ approved, reason, isAutomatic }: Fields): Answered | undefined {
  if (typeof approved !== "boolean") return undefined;
  const why = textOf(reason);
  return {
    decision: approved ? "approved" : "denied",
    ...(why && { reason: why }),
    ...(isAutomatic === true && { automatic: true }),
  };
}

/** The answer to a request. The text of a decision is its reason, not an answer. */
export function answerOf(received: Fields): Answered {
  const { value } = received;
  const decision = textOf(received.decision) ?? "answered";
  const reason = textOf(received.reason) ?? (DECISIONS.has(decision) ? textOf(value) : undefined);
  const how = received.automatic === true ? { automatic: true } : {};
  return reason === undefined ? { decision, value, ...how } : { decision, reason, ...how };
}

const DECISIONS: ReadonlySet<string> = new Set(["approved", "denied"]);
