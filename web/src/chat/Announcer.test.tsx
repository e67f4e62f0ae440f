import { render, screen } from "@testing-library/react";
import { expect, it } from "vitest";
import { Announcer } from "@/chat/Announcer";

it("announces the start and end of a run, and nothing when a chat is opened", () => {
  const { rerender } = render(<Announcer life="idle" ending={{ reason: "stop" }} />);
  const announced = () => screen.getByRole("status").textContent;
  expect(announced()).toBe("");
  rerender(<Announcer life="working" ending={undefined} />);
  expect(announced()).toBe("The agent is working.");
  rerender(<Announcer life="waiting" ending={undefined} />);
  expect(announced()).toBe("The agent needs your answer.");
  rerender(<Announcer life="working" ending={undefined} />);
  rerender(<Announcer life="idle" ending={{ reason: "stop" }} />);
  expect(announced()).toBe("The agent finished.");
  rerender(<Announcer life="working" ending={undefined} />);
  rerender(<Announcer life="idle" ending={{ reason: "error", error: "It broke." }} />);
  expect(announced()).toBe("The agent failed.");
  rerender(<Announcer life="working" ending={undefined} />);
  rerender(<Announcer life="idle" ending={{ reason: "cancelled" }} />);
  expect(announced()).toBe("The agent was stopped.");
});
