import { render, screen } from "@testing-library/react";
import { expect, it } from "vitest";
import { Announcer } from "@/chat/Announcer";

it("says when the agent begins and how it ends, and nothing when a chat is opened", () => {
  const { rerender } = render(<Announcer life="idle" ending={{ reason: "stop" }} />);
  const said = () => screen.getByRole("status").textContent;
  expect(said()).toBe("");
  rerender(<Announcer life="working" ending={undefined} />);
  expect(said()).toBe("The agent is working.");
  rerender(<Announcer life="waiting" ending={undefined} />);
  expect(said()).toBe("The agent needs your answer.");
  rerender(<Announcer life="working" ending={undefined} />);
  rerender(<Announcer life="idle" ending={{ reason: "stop" }} />);
  expect(said()).toBe("The agent finished.");
  rerender(<Announcer life="working" ending={undefined} />);
  rerender(<Announcer life="idle" ending={{ reason: "error", error: "It broke." }} />);
  expect(said()).toBe("The agent failed.");
  rerender(<Announcer life="working" ending={undefined} />);
  rerender(<Announcer life="idle" ending={{ reason: "cancelled" }} />);
  expect(said()).toBe("The agent was stopped.");
});
