import { render, screen } from "@testing-library/react";
import { expect, test } from "vitest";
import { KeyForm } from "@/shell/KeyForm";

test("a server's own page requests a key", () => {
  render(<KeyForm isRefused isOfApp={false} />);
  expect(document.activeElement).toBe(screen.getByLabelText("Key"));
  expect(screen.getByRole("alert").textContent).toContain("Invalid key");
});

test("in an app, people are sent to where it knows them", () => {
  render(<KeyForm isRefused={false} isOfApp />);
  expect(screen.getByText(/Sign in to this app and reload the page/)).toBeDefined();
  expect(document.activeElement).toBe(screen.getByLabelText("Token"));
  expect(screen.queryByText(/key/i)).toBeNull();
});
