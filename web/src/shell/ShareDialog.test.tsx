import { render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";
import type { ShareLink } from "@/api";
import { ShareDialog } from "@/shell/ShareDialog";
import { json, Network, refusal } from "@/testing/server";

const OLD: ShareLink = {
  id: "link_1",
  shows: "everything",
  runId: "r1",
  createdAt: 1,
  expiresAt: 2,
};

function serve(links: ShareLink[]): Network {
  return new Network()
    .on("GET api/chats/c1/links", () => json({ links }))
    .on("GET api/chats/c1", () =>
      json({ messages: [{ id: "r9", role: "assistant", parts: [] }], activeRun: null }),
    )
    .on("POST api/chats/c1/links", ({ body }) =>
      json({ ...OLD, id: "link_2", ...body, secret: "mbl_new", expiresAt: null }, 201),
    )
    .on("DELETE api/chats/c1/links/link_1", () => new Response(null, { status: 204 }));
}

const open = () => render(<ShareDialog chat={{ id: "c1", title: "" }} onClose={() => {}} />);

test("a link is created as chosen, shown once and listed", async () => {
  const network = serve([]);
  open();
  await screen.findByText("This chat isn't shared.");
  await userEvent.click(screen.getByLabelText(/Answers and tools/));
  await userEvent.selectOptions(await screen.findByLabelText("Which part"), "Last answer");
  await userEvent.selectOptions(screen.getByLabelText("Expires"), "never");
  await userEvent.click(screen.getByRole("button", { name: "Create link" }));
  const address = await screen.findByLabelText<HTMLInputElement>("Link");
  expect(address.value).toBe("http://localhost:3000/shared#mbl_new");
  const [{ body } = {}] = network.to("POST api/chats/c1/links");
  expect(body).toEqual({ shows: "tools", days: null, runId: "r9" });
  expect(screen.getByText(/One answer · created .* · no expiry/)).toBeDefined();
  expect(screen.getByRole("button", { name: "Create link" })).toHaveProperty("disabled", false);
});

test("by default a link shows answers, for 30 days", async () => {
  const network = serve([]);
  open();
  await userEvent.click(await screen.findByRole("button", { name: "Create link" }));
  await screen.findByLabelText("Link");
  expect(network.to("POST api/chats/c1/links")[0]?.body).toEqual({ shows: "answer", days: 30 });
});

test("a link is revoked, also if another tab was first", async () => {
  const network = serve([OLD]);
  open();
  await screen.findByText(/expired/);
  network.on("DELETE api/chats/c1/links/link_1", () => refusal(404, "not_found", "gone"));
  await userEvent.click(screen.getByRole("button", { name: /Revoke the link/ }));
  await screen.findByText("This chat isn't shared.");
  expect(screen.queryByRole("alert")).toBeNull();
});

test("a refusal is shown", async () => {
  const network = serve([]);
  network.on("POST api/chats/c1/links", () => refusal(400, "invalid_request", "Too many links."));
  open();
  await userEvent.click(await screen.findByRole("button", { name: "Create link" }));
  await waitFor(() => expect(screen.getByRole("alert").textContent).toContain("Too many links."));
  expect(screen.queryByLabelText("Link")).toBeNull();
});
