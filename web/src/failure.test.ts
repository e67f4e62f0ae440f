import { APICallError } from "ai";
import { describe, expect, it } from "vitest";
import { Refused } from "@/api";
import { failureOf } from "@/failure";

describe("a failure", () => {
  const refused = (status: number, body: string) =>
    new APICallError({
      message: body,
      url: "/api/chat",
      requestBodyValues: undefined,
      statusCode: status,
      responseBody: body,
    });
  const errorBody = (code: string, message = "words") =>
    JSON.stringify({ error: { code, message } });

  it.each([
    ["fetch of Chromium", new TypeError("Failed to fetch"), "lost"],
    ["fetch of Firefox", new TypeError("NetworkError when attempting to fetch"), "lost"],
    ["fetch of Safari", new TypeError("Load failed"), "lost"],
    ["a proxy without a server", refused(502, "<html>Bad Gateway</html>"), "lost"],
    ["a run that goes on", refused(409, errorBody("run_active")), "busy"],
    ["an answer that came late", refused(409, errorBody("not_waiting")), "busy"],
    ["too many runs", refused(429, errorBody("too_many_runs")), "refused"],
    ["a server that ends", refused(503, errorBody("shutting_down")), "refused"],
    ["a route of ours", new Refused(404, "not_found", "no such chat"), "gone"],
    ["an agent", new Error("The agent exited with code 1."), "run"],
    ["a mistake of the page", new TypeError("x is undefined"), "run"],
  ])("of %s has its kind", (_, error, kind) => {
    expect(failureOf(error).kind).toBe(kind);
  });

  it("that is for the person has the words of the server", () => {
    const failure = failureOf(
      refused(429, errorBody("too_many_runs", "as many runs as allowed go on")),
    );
    expect(failure).toMatchObject({ message: "as many runs as allowed go on" });
  });
});
