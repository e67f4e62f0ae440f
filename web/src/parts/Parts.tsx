import type { UIMessage } from "ai";
import { Button } from "@/ui/Button";

interface PartsProps {
  message: UIMessage;
  live: boolean;
  onDecide: (approvalId: string, approved: boolean, reason?: string) => void;
  onAnswer: (requestId: string, value: unknown) => void;
}

/** Stand-in: text as it is, a line for everything else. */
export function Parts({ message, onDecide }: PartsProps) {
  return (
    <>
      {message.parts.map((part, index) => {
        const key = `${index}`;
        if (part.type === "text")
          return (
            <p key={key} className="whitespace-pre-wrap">
              {part.text}
            </p>
          );
        if (part.type === "reasoning")
          return (
            <pre key={key} className="text-mono whitespace-pre-wrap text-processing">
              {part.text}
            </pre>
          );
        if (part.type === "dynamic-tool")
          return (
            <div key={key} className="rounded-block border p-3 text-mono">
              {part.toolName}: {part.state}
              {part.state === "approval-requested" && (
                <span className="ml-2 inline-flex gap-2">
                  <Button onClick={() => onDecide(part.approval.id, true)}>Approve</Button>
                  <Button onClick={() => onDecide(part.approval.id, false)}>Deny</Button>
                </span>
              )}
            </div>
          );
        return null;
      })}
    </>
  );
}
