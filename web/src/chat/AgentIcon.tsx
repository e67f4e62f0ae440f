import { Bot } from "lucide-react";

/** The sign of an agent: its own, else the same for all. Both take the same room. */
export const AgentIcon = ({ icon }: { icon?: string }) =>
  icon ? (
    <span aria-hidden className="w-5 shrink-0 text-center text-base leading-none">
      {icon}
    </span>
  ) : (
    <Bot aria-hidden className="mx-0.5 size-4 shrink-0" />
  );
