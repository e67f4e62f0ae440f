import { FileSearch } from "lucide-react";
import { ErrorBlock } from "@/parts/ErrorBlock";
import { navigate } from "@/state/route";
import { strings } from "@/strings";
import { Button } from "@/ui/Button";

const words = strings.viewing;

interface WelcomeProps {
  problem: string | undefined;
  /** The page belongs to a server with chats. */
  hasChats: boolean;
  onChoose: () => void;
}

/** Before a recording is opened. */
export const Welcome = ({ problem, hasChats, onChoose }: WelcomeProps) => (
  <div className="flex flex-1 flex-col items-center justify-center gap-4 overflow-y-auto px-6 py-10 text-center">
    <FileSearch aria-hidden className="size-10 text-accent" />
    <div className="max-w-xl">
      <h1 className="text-lg font-semibold text-balance">{words.heading}</h1>
      <p className="mt-2 text-balance text-ink-2">{words.line}</p>
    </div>
    {problem && (
      <div className="w-full max-w-xl text-start">
        <ErrorBlock network text={problem} />
      </div>
    )}
    <div className="flex flex-wrap justify-center gap-2">
      <Button kind="solid" onClick={onChoose}>
        {words.choose}
      </Button>
      {hasChats && <Button onClick={() => navigate({ page: "new" })}>{words.back}</Button>}
    </div>
  </div>
);
