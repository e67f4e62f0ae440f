import { render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, test, vi } from "vitest";
import type { Permission } from "@/api";
import { PermissionsDialog } from "@/shell/Permissions";

const LISTED: Permission[] = [
  { id: "perm_1", agent: "demo", tool: "delete_file", createdAt: 1 },
  { id: "perm_2", agent: "demo", tool: "send_mail", input: { to: "Ann" }, createdAt: 2 },
];

/** A server with these permissions; it refuses what it does not know. */
function serve(permissions: Permission[]): string[] {
  const asked: string[] = [];
  let left = permissions;
  vi.stubGlobal("fetch", async (input: string | URL, init?: RequestInit) => {
    const { pathname } = new URL(input);
    asked.push(`${init?.method} ${pathname}`);
    if (init?.method !== "DELETE") return Response.json({ permissions: left });
    const id = pathname.split("/").at(-1);
    if (!left.some((each) => each.id === id))
      return Response.json(
        { error: { code: "not_found", message: "This chat has no such permission." } },
        { status: 404 },
      );
    left = left.filter((each) => each.id !== id);
    return new Response(null, { status: 204 });
  });
  return asked;
}

const open = () => render(<PermissionsDialog chat={{ id: "c/1", title: "" }} onClose={() => {}} />);

afterEach(() => vi.unstubAllGlobals());

test("the permissions of a chat are listed with their inputs", async () => {
  serve(LISTED);
  open();
  await screen.findByText("delete_file");
  expect(screen.getByText("demo, with any input")).toBeDefined();
  expect(screen.getByText("demo, with this input only")).toBeDefined();
  expect(screen.getByLabelText("Parameters").textContent).toContain("Ann");
});

test("a revoked permission disappears", async () => {
  const asked = serve(LISTED);
  open();
  await userEvent.click(await screen.findByRole("button", { name: "Revoke send_mail" }));
  await waitFor(() => expect(screen.queryByText("send_mail")).toBeNull());
  expect(screen.getByText("delete_file")).toBeDefined();
  expect(asked.at(-1)).toBe("DELETE /api/chats/c%2F1/permissions/perm_2");
});

test("a chat without permissions says so", async () => {
  serve([]);
  open();
  expect(await screen.findByText(/^Nothing\./)).toBeDefined();
});

test("a permission that was revoked elsewhere disappears too", async () => {
  serve(LISTED);
  open();
  await screen.findByText("delete_file");
  serve([]);
  await userEvent.click(screen.getByRole("button", { name: "Revoke delete_file" }));
  await waitFor(() => expect(screen.queryByText("delete_file")).toBeNull());
  expect(screen.queryByRole("alert")).toBeNull();
});

test("what the server refuses is shown, and the permission stays", async () => {
  serve(LISTED);
  open();
  await screen.findByText("delete_file");
  const error = { code: "forbidden", message: "This key may only read." };
  vi.stubGlobal("fetch", async () => Response.json({ error }, { status: 403 }));
  await userEvent.click(screen.getByRole("button", { name: "Revoke delete_file" }));
  expect((await screen.findByRole("alert")).textContent).toBe(error.message);
  expect(screen.getByText("delete_file")).toBeDefined();
});
