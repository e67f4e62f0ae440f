import { afterEach, expect, test } from "vitest";
import { getChat, getFormats, getMessages, readRun, streamPath } from "@/api";
import { credentials } from "@/key";
import { LINK_HEADER, linkAddress, linkSecret, readLink, secretIn } from "@/link";
import { json, Network } from "@/testing/server";

function go(path: string): void {
  history.replaceState(null, "", path);
  readLink();
}

afterEach(() => go("/"));

test.each([
  ["/", "/shared", "#mbl_x", "mbl_x"],
  ["/app/", "/app/shared/", "#mbl_x", "mbl_x"],
  ["/", "/shared", "", "none"],
  ["/", "/chat/shared", "#mbl_x", undefined],
  ["/app/", "/shared", "#mbl_x", undefined],
  ["/", "/", "#mbl_x", undefined],
  ["/", "/view", "#local", undefined],
])("below %s: %s%s", (base, pathname, hash, expected) => {
  expect(secretIn({ pathname, hash }, `http://localhost${base}`)).toBe(expected);
});

test("an address has the secret where browsers do not send it", () => {
  const { pathname, hash, search } = new URL(linkAddress("mbl_x"));
  expect([pathname, search, hash]).toEqual(["/shared", "", "#mbl_x"]);
});

test("a shared page uses the routes of links only, with its secret and without the key", async () => {
  const network = new Network();
  credentials.unlock("mbx_mine");
  go("/shared#mbl_x");
  expect(linkSecret()).toBe("mbl_x");
  for (const path of ["", "/messages", "/formats", "/runs/r1/events"])
    network.on(`GET api/shared${path}`, () => json({ formats: [] }));
  await getChat("any", 30);
  await getMessages("any", "7", 30);
  await getFormats();
  await readRun("r1", "canonical");
  expect(streamPath("any")).toBe("api/shared/stream");
  expect(network.requests).toHaveLength(4);
  for (const { headers, path } of network.requests) {
    expect(path).toMatch(/^api\/shared/);
    expect(headers.get(LINK_HEADER)).toBe("mbl_x");
    expect(headers.get("authorization")).toBeNull();
  }
});

test("other pages send no secret", async () => {
  const network = new Network().on("GET api/chats/c1", () => json({}));
  await getChat("c1", 30);
  expect(network.requests[0]?.headers.get(LINK_HEADER)).toBeNull();
});
