import type { UIMessageChunk } from "ai";
import { type Fields, textOf } from "@/json";
import type { Calls } from "@/transports/agUi/calls";
import { idIn } from "@/transports/agUi/names";

/** Decisions that approve or deny a call; a cancelled request does neither. */
const APPROVED: Record<string, boolean> = { approved: true, edited: true, denied: false };

interface OpenRequest {
  about: Fields;
  /** Requests approval of a waiting tool call. */
  isApproval: boolean;
}

/** Approval chunks cannot carry the allowed decisions; if the agent limits them, a data part does. */
const hasData = ({ about, isApproval }: OpenRequest) => !isApproval || about.allowed !== undefined;

/** Input requests of a run. Approval requests are sent at the end of the response. */
export class Requests {
  #open = new Map<string, OpenRequest>();

  constructor(private readonly calls: Calls) {}

  /** The request was received and not answered. */
  isOpen(id: string): boolean {
    return this.#open.has(id);
  }

  ask(fields: Fields): UIMessageChunk[] {
    const request = this.#read(fields);
    this.#open.set(idIn(fields.id), request);
    return hasData(request) ? [this.#data(fields)] : [];
  }

  answer(fields: Fields): UIMessageChunk[] {
    const id = idIn(fields.id);
    const request = this.#open.get(id);
    this.#open.delete(id);
    if (!request || (request.isApproval && !this.#waits(request))) return [];
    const { decision, value, reason, automatic } = fields;
    const answered = {
      decision,
      ...(value !== undefined && { value }),
      ...(reason !== undefined && { reason }),
      ...(automatic !== undefined && { automatic }),
    };
    const data = hasData(request) ? [this.#data(request.about, answered)] : [];
    if (!request.isApproval) return data;
    // Logs of older versions have the reason as the value; the value of an edit is the input.
    const words = textOf(reason) ?? (decision === "edited" ? undefined : textOf(value));
    const approved = APPROVED[textOf(decision) ?? ""];
    if (approved === undefined) return data;
    if (!approved) this.calls.deny(idIn(request.about.toolCallId));
    const why = words === undefined ? {} : { reason: words };
    return [
      ...data,
      this.#approval(request.about, automatic === true),
      { type: "tool-approval-response", approvalId: id, approved, ...why },
    ];
  }

  /** The approval requests still open at the end of a response. */
  open(): UIMessageChunk[] {
    const held = [...this.#open.values()].filter(
      (request) => request.isApproval && this.#waits(request),
    );
    return held.map(({ about }) => this.#approval(about));
  }

  #read(about: Fields): OpenRequest {
    const call = about.toolCallId === undefined ? undefined : idIn(about.toolCallId);
    return { about, isApproval: about.kind === "approval" && this.calls.waits(call) };
  }

  #waits({ about }: OpenRequest): boolean {
    return this.calls.waits(idIn(about.toolCallId));
  }

  #approval({ id, toolCallId, prompt }: Fields, isAutomatic = false): UIMessageChunk {
    const reason = textOf(prompt);
    return {
      type: "tool-approval-request",
      approvalId: idIn(id),
      toolCallId: idIn(toolCallId),
      ...(reason !== undefined && { reason }),
      ...(isAutomatic && { isAutomatic }),
    };
  }

  #data({ id, toolCallId, ...about }: Fields, answered?: Fields): UIMessageChunk {
    const call = toolCallId === undefined ? {} : { toolCallId: idIn(toolCallId) };
    const data = { ...about, ...call, ...(answered && { answered }) };
    return { type: "data-input", id: idIn(id), data };
  }
}
