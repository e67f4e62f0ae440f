import {
  Check,
  ChevronDown,
  Equal,
  type LucideIcon,
  MessageSquareReply,
  Pencil,
  Wrench,
  X,
} from "lucide-react";
import { type ComponentProps, type ReactNode, useState } from "react";
import { type Allowed, allowedOf, type Reply } from "@/parts/allowed";
import { Editing } from "@/parts/Editing";
import { Row } from "@/parts/RequestFrame";
import { focus, Written } from "@/parts/Written";
import { useSending } from "@/state/useSending";
import { strings } from "@/strings";
import { Button } from "@/ui/Button";
import { Menu, MenuItem } from "@/ui/Menu";

const words = strings.parts;

interface ChoiceProps {
  /** The decisions that the agent allows. */
  allowed?: readonly Allowed[];
  /** The input of the tool call, if there is one. */
  input?: unknown;
  /** It is about a tool call, which can be allowed for the whole chat. */
  isCall?: boolean;
  onDecide: (reply: Reply) => unknown;
  /** The subject of the decision; replaced by the editor while editing. */
  children?: ReactNode;
}

/** Decisions that open a form. */
type Opened = "edit" | "respond" | "reason";

interface Control {
  label: string;
  icon?: LucideIcon;
  kind?: ComponentProps<typeof Button>["kind"];
  className?: string;
  does: { opens: Opened } | { decides: "approved" | "denied" };
}

const CONTROLS: Record<Allowed, Control[]> = {
  approve: [{ label: words.approve, icon: Check, kind: "solid", does: { decides: "approved" } }],
  edit: [{ label: words.edit, icon: Pencil, does: { opens: "edit" } }],
  respond: [{ label: words.respond, icon: MessageSquareReply, does: { opens: "respond" } }],
  reject: [
    { label: words.deny, icon: X, does: { decides: "denied" } },
    { label: words.denyBecause, kind: "quiet", className: "text-ink-2", does: { opens: "reason" } },
  ],
};

/** One control per decision: Approve and Deny are sent on click, the others open a form. */
export function Choice({
  allowed = allowedOf(undefined),
  input,
  isCall = false,
  onDecide,
  children,
}: ChoiceProps) {
  const [opened, open] = useState<Opened>();
  const [closed, setClosed] = useState<Opened>();
  const { busy, problem, send } = useSending();
  const decide = (reply: Reply) => send(() => onDecide(reply));
  const state = { busy, failed: problem !== undefined };
  const onCancel = () => {
    setClosed(opened);
    open(undefined);
  };
  const edit = (value: unknown, isChanged: boolean) => {
    const isAsItWas = !isChanged && allowed.includes("approve");
    decide(isAsItWas ? { decision: "approved" } : { decision: "edited", value });
  };
  if (opened === "edit")
    return <Editing {...state} input={input} onCancel={onCancel} onSend={edit} />;
  return (
    <>
      {children}
      {opened && <Written {...state} {...WRITTEN[opened](decide)} onCancel={onCancel} />}
      {!opened && (
        <Row {...state}>
          {allowed
            .filter((word) => word !== "edit" || input !== undefined)
            .map((word) => (
              <span key={word} className="flex flex-wrap gap-2">
                {CONTROLS[word].map(({ label, icon: Icon, does, ...look }) => (
                  <Button
                    {...look}
                    key={label}
                    disabled={busy}
                    ref={"opens" in does && does.opens === closed ? focus : undefined}
                    onClick={() =>
                      "opens" in does ? open(does.opens) : decide({ decision: does.decides })
                    }
                  >
                    {Icon && <Icon aria-hidden className="size-4" />}
                    {label}
                  </Button>
                ))}
                {word === "approve" && isCall && <ForChat busy={busy} onDecide={decide} />}
              </span>
            ))}
        </Row>
      )}
    </>
  );
}

/** Approves the call, and later ones in this chat. */
function ForChat({ busy, onDecide }: { busy: boolean; onDecide: (reply: Reply) => void }) {
  const allow = (scope: Reply["scope"]) => () => onDecide({ decision: "approved", scope });
  return (
    <Menu
      align="start"
      trigger={
        <Button disabled={busy}>
          {words.allowForChat}
          <ChevronDown aria-hidden className="size-4" />
        </Button>
      }
    >
      <MenuItem icon={<Wrench aria-hidden />} onSelect={allow("chat")}>
        {words.allowTool}
      </MenuItem>
      <MenuItem icon={<Equal aria-hidden />} onSelect={allow("chat_input")}>
        {words.allowInput}
      </MenuItem>
    </Menu>
  );
}

const WRITTEN = {
  respond: (decide: (reply: Reply) => void) => ({
    label: words.response,
    action: words.sendResponse,
    rows: 3,
    onSend: (value: string) => decide({ decision: "answered", value }),
  }),
  reason: (decide: (reply: Reply) => void) => ({
    label: words.denyReason,
    action: words.denyWithReason,
    danger: true,
    onSend: (reason: string) => decide({ decision: "denied", reason }),
  }),
};
