import { APICallError } from "ai";
import { Refused } from "@/api";
import { strings } from "@/strings";

/**
 * What went wrong with a request, by what can be done about it: `lost` and `busy` heal by
 * themselves, `refused` is for the person, `run` is told by the message itself.
 */
export type Failure =
  | { kind: "lost" }
  | { kind: "busy" }
  | { kind: "gone" }
  | { kind: "refused"; message: string; code: string }
  | { kind: "run"; message: string };

/** Refusals that the page can answer itself. A code that is not here is told to the person. */
const BY_CODE: Record<string, Failure> = {
  run_active: { kind: "busy" },
  not_waiting: { kind: "busy" },
  fenced: { kind: "busy" },
  not_found: { kind: "gone" },
  log_deleted: { kind: "gone" },
};

/** What browsers say when nobody answers; other TypeErrors are mistakes of ours. */
const LOST = /fetch|network|load failed/i;

export function failureOf(error: unknown): Failure {
  const refused = APICallError.isInstance(error)
    ? Refused.from(error.statusCode ?? 0, error.responseBody ?? "")
    : error;
  if (refused instanceof Refused) return ofRefusal(refused);
  if (error instanceof TypeError && LOST.test(error.message)) return { kind: "lost" };
  return { kind: "run", message: error instanceof Error ? error.message : String(error) };
}

/** The same in words for the person: the server's where it spoke, else ours, never the browser's. */
export function tellFailure(error: unknown): string {
  const failure = failureOf(error);
  return "message" in failure ? failure.message : strings.chat.failures[failure.kind];
}

function ofRefusal({ status, code, message }: Refused): Failure {
  const known = BY_CODE[code];
  if (known) return known;
  // What stands in front of a server that is not there: it will be.
  if (code === "unknown" && status >= 500) return { kind: "lost" };
  return { kind: "refused", message, code };
}
