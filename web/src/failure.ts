import { APICallError } from "ai";
import { Refused } from "@/api";
import { strings } from "@/strings";

/**
 * Kinds of failed requests, by how they are handled: `lost` and `busy` recover automatically, `refused`
 * is shown to the user, `run` is shown in the message.
 */
export type Failure =
  | { kind: "lost" }
  | { kind: "busy" }
  | { kind: "gone" }
  | { kind: "refused"; message: string; code: string }
  | { kind: "run"; message: string };

/** Error codes that the page handles itself. Others are shown to the user. */
const BY_CODE: Record<string, Failure> = {
  run_active: { kind: "busy" },
  not_waiting: { kind: "busy" },
  fenced: { kind: "busy" },
  not_found: { kind: "gone" },
  log_deleted: { kind: "gone" },
};

/** Browsers' messages for network errors; other TypeErrors are bugs. */
const LOST = /fetch|network|load failed/i;

export function failureOf(error: unknown): Failure {
  const refused = APICallError.isInstance(error)
    ? Refused.from(error.statusCode ?? 0, error.responseBody ?? "")
    : error;
  if (refused instanceof Refused) return ofRefusal(refused);
  if (error instanceof TypeError && LOST.test(error.message)) return { kind: "lost" };
  return { kind: "run", message: error instanceof Error ? error.message : String(error) };
}

/** The error message to show: the server's if there is one, else ours, never the browser's. */
export function failureMessage(error: unknown): string {
  const failure = failureOf(error);
  return "message" in failure ? failure.message : strings.chat.failures[failure.kind];
}

function ofRefusal({ status, code, message }: Refused): Failure {
  const known = BY_CODE[code];
  if (known) return known;
  // A proxy in front of a server that is restarting.
  if (code === "unknown" && status >= 500) return { kind: "lost" };
  return { kind: "refused", message, code };
}
