import { Gauge } from "lucide-react";
import { useState } from "react";
import type { ChatFacts } from "@/chat/facts";
import { ContextMeter, UsageTable } from "@/chat/UsageTable";
import { contextOf, countRows } from "@/chat/usageRows";
import { locale } from "@/language";
import { money } from "@/parts/usage";
import { useStore } from "@/store";
import { strings } from "@/strings";
import { Button } from "@/ui/Button";
import { Dialog } from "@/ui/Dialog";

const words = strings.answers;

/** The tokens and cost of the whole chat in the header; a click shows the rest. */
export function ChatUsage({ facts }: { facts: ChatFacts }) {
  const { totals } = useStore(facts.state);
  const [isOpen, setOpen] = useState(false);
  const total = (totals?.inputTokens ?? 0) + (totals?.outputTokens ?? 0);
  if (!totals || total === 0) return null;
  const text = [words.tokens(total), money(totals.costUsd ?? undefined)]
    .filter(Boolean)
    .join(" · ");
  return (
    <>
      <div className="hidden shrink-0 @3xl:block">
        <Button
          kind="quiet"
          aria-label={words.chatUsageButton(text)}
          title={words.chatUsage}
          onClick={() => setOpen(true)}
          className="px-2 font-normal text-ink-2 tabular-nums"
        >
          <Gauge aria-hidden className="size-4" />
          {text}
        </Button>
      </div>
      <ChatUsageDialog facts={facts} open={isOpen} onClose={() => setOpen(false)} />
    </>
  );
}

interface ChatUsageDialogProps {
  facts: ChatFacts;
  open: boolean;
  onClose: () => void;
}

/** What the chat has used: all branches, as all of them were paid. */
export function ChatUsageDialog({ facts, open, onClose }: ChatUsageDialogProps) {
  const { totals, runs } = useStore(facts.state);
  const rows = totals ? countRows(totals) : [];
  const last = [...runs.values()].findLast((run) => run.isChosen && contextOf(run));
  const context = contextOf(last);
  const count = { name: words.count, value: runs.size.toLocaleString(locale) };
  return (
    <Dialog open={open} onClose={onClose} title={words.chatUsage} line={words.chatUsageLine}>
      <div className="mt-4">
        {rows.length > 0 ? (
          <UsageTable rows={[count, ...rows]} />
        ) : (
          <p className="text-block">{words.nothingKnown}</p>
        )}
        {context && <ContextMeter name={words.lastContext} {...context} />}
      </div>
    </Dialog>
  );
}
