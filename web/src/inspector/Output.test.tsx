import { render, screen } from "@testing-library/react";
import { expect, it } from "vitest";
import { Stderr } from "@/inspector/Output";
import { json, Network } from "@/testing/server";

it("shows what would turn the text of stderr around as what it is", async () => {
  new Network().on("GET api/runs/r/stderr", () =>
    json({ legs: [{ leg: 1, text: "safe\u202egnp\nnext" }] }),
  );
  render(<Stderr runId="r" over />);
  const text = (await screen.findByText(/safe/)).textContent ?? "";
  expect(text).toBe("safe\\u202egnp\nnext");
});
