import { Check, type LucideIcon, MessageSquareReply, Pencil, X } from "lucide-react";
import { type ReactNode, useState } from "react";
import { Row } from "@/parts/Asking";
import { type Allowed, allowedOf, type Reply } from "@/parts/allowed";
import { Editing } from "@/parts/Editing";
import { Written } from "@/parts/Written";
import { useSending } from "@/state/useSending";
import { strings } from "@/strings";
import { Button } from "@/ui/Button";

const words = strings.parts;

interface ChoiceProps {
  /** What the agent lets a person decide. */
  allowed?: readonly Allowed[];
  /** What the call would be carried out with, if there is a call. */
  input?: unknown;
  onDecide: (reply: Reply) => unknown;
  /** What is decided about; where it is changed, the field stands in its place. */
  children?: ReactNode;
}

/** What opens a field, in which the decision is written and from which it is sent. */
type Opened = "edit" | "respond" | "reason";

/** One control for each decision: yes and no at the first click, all else in a field of its own. */
export function Choice({ allowed = allowedOf(undefined), input, onDecide, children }: ChoiceProps) {
  const [opened, open] = useState<Opened>();
  const [closed, setClosed] = useState<Opened>();
  const { busy, problem, send } = useSending();
  const decide = (reply: Reply) => send(() => onDecide(reply));
  const writing = {
    busy,
    failed: problem !== undefined,
    onCancel: () => {
      setClosed(opened);
      open(undefined);
    },
  };
  const opener = (name: Opened) => ({
    disabled: busy,
    onClick: () => open(name),
    ref: name === closed ? focus : undefined,
  });
  if (opened === "edit")
    return (
      <Editing
        {...writing}
        input={input}
        onSend={(value, isChanged) =>
          decide(
            isChanged || !allowed.includes("approve")
              ? { decision: "edited", value }
              : { decision: "approved" },
          )
        }
      />
    );
  return (
    <>
      {children}
      {opened === "respond" && (
        <Written
          {...writing}
          rows={3}
          label={words.response}
          action={words.sendResponse}
          onSend={(value) => decide({ decision: "answered", value })}
        />
      )}
      {opened === "reason" && (
        <Written
          {...writing}
          danger
          label={words.denyReason}
          action={words.denyWithReason}
          onSend={(reason) => decide({ decision: "denied", reason })}
        />
      )}
      {opened === undefined && (
        <Row busy={busy} failed={problem !== undefined}>
          {allowed.includes("approve") && (
            <Button kind="solid" disabled={busy} onClick={() => decide({ decision: "approved" })}>
              <Icon of={Check} />
              {words.approve}
            </Button>
          )}
          {allowed.includes("edit") && input !== undefined && (
            <Button {...opener("edit")}>
              <Icon of={Pencil} />
              {words.edit}
            </Button>
          )}
          {allowed.includes("respond") && (
            <Button {...opener("respond")}>
              <Icon of={MessageSquareReply} />
              {words.respond}
            </Button>
          )}
          {allowed.includes("reject") && (
            <>
              <Button disabled={busy} onClick={() => decide({ decision: "denied" })}>
                <Icon of={X} />
                {words.deny}
              </Button>
              <Button kind="quiet" {...opener("reason")}>
                {words.denyBecause}
              </Button>
            </>
          )}
        </Row>
      )}
    </>
  );
}

const Icon = ({ of: Drawn }: { of: LucideIcon }) => <Drawn aria-hidden className="size-4" />;

/** Where the field was opened, when it is closed again. */
const focus = (control: HTMLElement | null) => control?.focus();
