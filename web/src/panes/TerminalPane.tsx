import { SquareTerminal } from "lucide-react";
import { lazy, Suspense, useMemo, useState } from "react";
import { CopyButton } from "@/content/CopyButton";
import { ScrollBox } from "@/content/ScrollBox";
import { endOf } from "@/panes/endOf";
import { plainText } from "@/panes/plainText";
import { TerminalText } from "@/panes/terminalText";
import type { PaneMessage } from "@/panes/wire";
import { terminalAsText } from "@/state/panel";
import { strings } from "@/strings";
import { Empty } from "@/ui/Empty";

const ScreenView = lazy(() => import("@/panes/ScreenView"));

interface TerminalPaneProps {
  messages: PaneMessage[];
  /** The run is active. */
  live: boolean;
}

/** Commands and their output. */
export function TerminalPane({ messages, live }: TerminalPaneProps) {
  const [terminal] = useState(() => new TerminalText());
  const [asText, setAsText] = terminalAsText.use();
  const text = useMemo(() => terminal.of(messages), [terminal, messages]);
  if (!text) {
    const words = strings.panes.noOutput[live ? "live" : "over"];
    return <Empty icon={<SquareTerminal />} {...words} />;
  }
  return (
    <>
      <div className="flex min-h-10 shrink-0 items-center gap-3 border-b px-3 text-block">
        <label className="flex min-h-9 items-center gap-2 max-md:min-h-11">
          <input
            type="checkbox"
            checked={asText}
            onChange={(event) => setAsText(event.target.checked)}
            className="size-4 accent-accent"
          />
          {strings.panes.asText}
        </label>
        <CopyButton
          text={() => plainText(text)}
          label={strings.panes.copyOutput}
          className="ms-auto"
        />
      </div>
      {asText ? (
        <PlainView text={text} />
      ) : (
        <Suspense>
          <ScreenView text={text} />
        </Suspense>
      )}
    </>
  );
}

/** Limits the text, since every addition causes a new layout of all of it. */
const ROOM = { most: 200_000, step: 50_000 };

/** The same as text, for screen readers and for searching. */
function PlainView({ text }: { text: string }) {
  const end = endOf(text, ROOM);
  const lines = useMemo(() => plainText(end), [end]);
  return (
    <>
      {end !== text && (
        <p className="border-b px-3 py-1.5 text-block text-ink-2">{strings.panes.onlyEnd}</p>
      )}
      <Printed>{lines}</Printed>
    </>
  );
}

const Printed = ({ children }: { children: string }) => (
  <ScrollBox
    as="pre"
    label={strings.panes.output}
    className="min-h-0 flex-1 overflow-auto p-3 font-mono text-mono break-words whitespace-pre-wrap focus-visible:outline-offset-[-2px]"
  >
    <code className="block">{children}</code>
  </ScrollBox>
);
