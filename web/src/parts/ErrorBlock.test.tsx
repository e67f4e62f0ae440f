import { render, screen } from "@testing-library/react";
import { expect, onTestFinished, test } from "vitest";
import { ErrorBlock } from "@/parts/ErrorBlock";
import { access } from "@/state/access";

const stderr = () => screen.queryByRole("button", { name: "Show stderr" });

test("the stderr of one's own run can be shown", () => {
  render(<ErrorBlock text="RuntimeError: no" code="crashed" run="r1" />);
  expect(stderr()).toBeTruthy();
});

test("the stderr of somebody else's run, or of a recording, cannot", () => {
  access.set({ readOnly: true });
  onTestFinished(() => access.set({ readOnly: false }));
  render(<ErrorBlock text="RuntimeError: no" code="crashed" run="r1" />);
  expect(stderr()).toBeNull();
});
