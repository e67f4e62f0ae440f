import { strings } from "@/strings";
import type { RecordingFacts } from "@/view/recording";

const words = strings.viewing;

/** In place of a framework: the entries of a log are events already. */
const LOG = "log";

interface FrameworkChoiceProps {
  facts: RecordingFacts;
  onChoose: (framework: string) => void;
}

/** The framework that the recording is read as, and what the detector says about it. */
export function FrameworkChoice({ facts, onChoose }: FrameworkChoiceProps) {
  const { framework, frameworks, kind, detected } = facts;
  const options = kind === "log" ? [LOG, ...frameworks] : frameworks;
  const found = kind === "log" ? LOG : detected?.framework;
  const nameOf = (each: string) => (each === LOG ? words.log : each);
  return (
    <div className="flex w-full flex-wrap items-center gap-x-3 gap-y-1 text-block text-ink-2">
      <label className="flex items-center gap-2">
        {words.framework}
        <select
          value={framework}
          onChange={(event) => onChoose(event.target.value)}
          className="min-h-9 max-w-52 rounded-lg border bg-ground px-2 text-ink max-md:min-h-11 max-md:text-[16px]"
        >
          {options.map((each) => (
            <option key={each} value={each}>
              {each === found ? words.detected(nameOf(each)) : nameOf(each)}
            </option>
          ))}
        </select>
      </label>
      <p className="min-w-0">{sentenceOn(facts)}</p>
    </div>
  );
}

function sentenceOn({ kind, detected }: RecordingFacts): string {
  if (kind === "log") return "";
  if (!detected) return words.unknown;
  return detected.framework === null
    ? words.unsupported(detected.name)
    : words.looksLike(detected.name);
}
