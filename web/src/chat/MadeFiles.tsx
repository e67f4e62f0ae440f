import type { UIMessage } from "ai";
import { Files } from "lucide-react";
import { useFacts, useMadeIn } from "@/chat/facts";
import { readFile } from "@/parts/fileItems";
import { shownName } from "@/previews/kinds";
import { madeFile } from "@/previews/madeFile";
import { useHasPanel } from "@/state/access";
import { panel } from "@/state/panel";
import { preview } from "@/state/preview";
import { strings } from "@/strings";

/** How many files are named; the others are counted. */
const NAMED = 3;

const nameOf = (path: string) => path.slice(path.lastIndexOf("/") + 1);

/** A quiet line below an answer that made files, which opens them in the panel. */
export function MadeFiles({ message }: { message: UIMessage }) {
  const { chat } = useFacts();
  const hasPanel = useHasPanel();
  const made = useMadeIn(message.id);
  // In the order in which they were made. Those that the answer shows itself have a row there.
  const isShown = new Set(message.parts.filter(isFile).map((part) => readFile(part).name));
  const files = made.filter(({ path }) => !isShown.has(nameOf(path))).reverse();
  const [only, ...others] = files;
  if (!only || !hasPanel) return null;
  const open = () => {
    if (others.length === 0) return preview.open(madeFile(chat, only));
    preview.close();
    panel.openAt("files");
  };
  const names = files.slice(0, NAMED).map(({ path }) => shownName(nameOf(path)));
  return (
    <button
      type="button"
      onClick={open}
      className="quiet-row flex max-w-full items-center gap-2 self-start rounded-small text-start text-block"
    >
      <Files aria-hidden className="size-4 shrink-0" />
      <span className="min-w-0 break-words">
        {strings.answers.made(names, files.length - names.length)}
      </span>
    </button>
  );
}

const isFile = ({ type }: UIMessage["parts"][number]) => type === "file" || type === "data-file";
