import type { UIMessage } from "ai";
import { Popover } from "radix-ui";
import { useRunFacts } from "@/chat/facts";
import { ContextMeter, UsageTable } from "@/chat/UsageTable";
import { answerRows, contextOf } from "@/chat/usageRows";
import { usageLine, usageOfAnswer } from "@/parts/usage";
import { strings } from "@/strings";

const words = strings.answers;

/** Tokens, cost and duration of an answer in a line; a click shows all that is known. */
export function AnswerUsage({ message }: { message: UIMessage }) {
  const run = useRunFacts(message.id);
  const usage = usageOfAnswer(message);
  const line = usageLine(usage);
  const context = contextOf(run);
  if (!line) return null;
  return (
    <Popover.Root>
      <Popover.Trigger className="min-h-9 rounded-small px-2 text-label text-ink-2 tabular-nums hover:bg-ground-3 hover:text-ink max-md:min-h-11">
        {line}
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Content
          align="end"
          sideOffset={4}
          collisionPadding={8}
          aria-label={words.usage}
          className="z-50 w-[min(20rem,calc(100vw-1rem))] rounded-block border bg-ground p-3 shadow-lg outline-none"
        >
          <UsageTable rows={answerRows(usage, run)} />
          {context && <ContextMeter name={words.context} {...context} />}
        </Popover.Content>
      </Popover.Portal>
    </Popover.Root>
  );
}
