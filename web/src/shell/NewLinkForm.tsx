import { type ReactNode, useState } from "react";
import { createLink, type ShareLink, type Shows } from "@/api";
import { CopyButton } from "@/content/CopyButton";
import { failureMessage } from "@/failure";
import { linkAddress } from "@/link";
import { strings } from "@/strings";
import { Button } from "@/ui/Button";

const words = strings.sharing;

const LEVELS: readonly Shows[] = ["answer", "tools", "everything"];
/** Days until a link expires; 0 stands for never. */
const DAYS = [1, 7, 30, 90, 0] as const;
const USUAL = 30;

interface NewLinkFormProps {
  chatId: string;
  /** The run of the last answer, if there is one. */
  lastRun: string | undefined;
  onCreated: (link: ShareLink) => void;
}

/** Chooses what a link shows, creates it, and shows its address once. */
export function NewLinkForm({ chatId, lastRun, onCreated }: NewLinkFormProps) {
  const [shows, setShows] = useState<Shows>("answer");
  const [part, setPart] = useState<"chat" | "run">("chat");
  const [days, setDays] = useState<number>(USUAL);
  const [secret, setSecret] = useState<string>();
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string>();
  const create = async () => {
    const runId = part === "run" ? lastRun : undefined;
    setBusy(true);
    setProblem(undefined);
    try {
      const made = await createLink(chatId, { shows, days: days || null, ...(runId && { runId }) });
      setSecret(made.secret);
      onCreated(made);
    } catch (error) {
      setProblem(failureMessage(error));
    }
    setBusy(false);
  };
  return (
    <form
      className="mt-4 flex flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        void create();
      }}
    >
      <fieldset>
        <legend className="text-block font-semibold">{words.what}</legend>
        {LEVELS.map((each) => (
          <Level key={each} level={each} chosen={shows} onChoose={setShows} />
        ))}
      </fieldset>
      <div className="flex flex-wrap gap-3">
        {lastRun && (
          <Choice label={words.which} value={part} onChoose={(to) => setPart(to as typeof part)}>
            <option value="chat">{words.parts.chat}</option>
            <option value="run">{words.parts.run}</option>
          </Choice>
        )}
        <Choice label={words.expires} value={days} onChoose={(to) => setDays(Number(to))}>
          {DAYS.map((each) => (
            <option key={each} value={each}>
              {each ? words.days(each) : words.never}
            </option>
          ))}
        </Choice>
      </div>
      {problem && (
        <p role="alert" className="text-block text-bad">
          {problem}
        </p>
      )}
      <Button kind="solid" type="submit" disabled={busy} className="self-start">
        {busy ? words.creating : words.create}
      </Button>
      <div role="status">{secret && <Address address={linkAddress(secret)} />}</div>
    </form>
  );
}

interface LevelProps {
  level: Shows;
  chosen: Shows;
  onChoose: (level: Shows) => void;
}

const Level = ({ level, chosen, onChoose }: LevelProps) => (
  <label className="-mx-2 flex min-h-11 cursor-pointer items-start gap-3 rounded-lg px-2 py-1.5 hover:bg-ground-3">
    <input
      type="radio"
      name="shows"
      checked={level === chosen}
      onChange={() => onChoose(level)}
      className="mt-1 size-4 shrink-0 accent-accent"
    />
    <span>
      <span className="block text-block font-medium">{words.shows[level].name}</span>
      <span className="block text-mono text-ink-2">{words.shows[level].line}</span>
    </span>
  </label>
);

interface ChoiceProps {
  label: string;
  value: string | number;
  onChoose: (value: string) => void;
  children: ReactNode;
}

const Choice = ({ label, value, onChoose, children }: ChoiceProps) => (
  <label className="flex min-w-32 flex-1 flex-col gap-1 text-block font-semibold">
    {label}
    <select
      value={value}
      onChange={(event) => onChoose(event.target.value)}
      className="min-h-9 w-full rounded-lg border bg-ground px-2 font-normal max-md:min-h-11 max-md:text-[16px]"
    >
      {children}
    </select>
  </label>
);

/** The address of the new link. */
const Address = ({ address }: { address: string }) => (
  <div className="rounded-lg border bg-ground-2 p-3">
    <p className="text-block">{words.created}</p>
    <div className="mt-2 flex items-center gap-1">
      <input
        readOnly
        aria-label={words.address}
        value={address}
        onFocus={(event) => event.target.select()}
        className="min-h-9 min-w-0 flex-1 rounded-small border bg-ground px-2 font-mono text-mono max-md:min-h-11"
      />
      <CopyButton text={() => address} label={words.copy} className="size-9 [&_svg]:size-4" />
    </div>
  </div>
);
