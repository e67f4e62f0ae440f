import { ChevronRight } from "lucide-react";
import { type ReactNode, useState } from "react";
import { CopyButton } from "@/content/CopyButton";
import { Json, visible } from "@/content/Json";
import { isFields } from "@/json";
import { dataIn } from "@/parts/tools/reading";
import { strings } from "@/strings";
import { Button } from "@/ui/Button";
import { classes } from "@/ui/classes";

const words = strings.activity;

/** Shorter data is read faster as a text. */
const SHORT = 600;
const AT_ONCE = 50;
const DEEPEST = 40;

interface DataProps {
  value: unknown;
  label: string;
}

/** Data: short or plain values as text, others as a tree. */
export function Data({ value, label }: DataProps) {
  const data = dataIn(value);
  if (typeof data !== "object" || data === null || isBrief(data))
    return <Json value={value} label={label} />;
  return (
    <section
      aria-label={label}
      className="relative max-h-80 overflow-auto rounded-lg border bg-ground-2 p-2 pe-10 font-mono text-mono"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: scroll containers must be reachable by keyboard
      tabIndex={0}
    >
      <CopyButton
        text={() => JSON.stringify(data, null, 2)}
        label={strings.content.copyOf(label)}
        className="absolute end-1 top-1"
      />
      <Members value={data} depth={0} />
    </section>
  );
}

/** Lines of a text can be read in the tree; in JSON they are escaped. */
function isBrief(data: object): boolean {
  const text = JSON.stringify(data);
  return text.length < SHORT && !text.includes("\\n");
}

function Members({ value, depth }: { value: object; depth: number }) {
  const [most, setMost] = useState(AT_ONCE);
  const entries = Object.entries(value);
  return (
    <ul className={classes(depth > 0 && "ms-2 border-s ps-3")}>
      {entries.slice(0, most).map(([name, member]) => (
        <li key={name}>
          <Member name={name} value={member} depth={depth} />
        </li>
      ))}
      {entries.length > most && (
        <li>
          <Button kind="quiet" onClick={() => setMost(most + 10 * AT_ONCE)}>
            {words.moreItems(Math.min(10 * AT_ONCE, entries.length - most))}
          </Button>
        </li>
      )}
    </ul>
  );
}

interface MemberProps {
  name: string;
  value: unknown;
  depth: number;
}

function Member({ name, value, depth }: MemberProps) {
  if (typeof value !== "object" || value === null || isEmpty(value) || depth >= DEEPEST)
    return (
      <p className="py-0.5 break-words whitespace-pre-wrap">
        <Name>{name}</Name> {leaf(value)}
      </p>
    );
  return <Branch name={name} value={value} depth={depth} />;
}

const isEmpty = (value: object) => Object.keys(value).length === 0;
const leaf = (value: unknown) =>
  visible(typeof value === "string" ? value : (JSON.stringify(value) ?? ""));
const Name = ({ children }: { children: string }) => (
  <span className="text-ink-2">{`${children}:`}</span>
);

function Branch({ name, value, depth }: MemberProps & { value: object }) {
  const count = Object.keys(value).length;
  const [open, setOpen] = useState(depth < 2 && count <= 20);
  const size: ReactNode = isFields(value) ? words.members(count) : words.items(count);
  return (
    <>
      <button
        type="button"
        aria-expanded={open}
        onClick={() => setOpen(!open)}
        className="inline-flex min-h-6 items-center gap-1 rounded-small text-start max-md:min-h-11"
      >
        <ChevronRight
          aria-hidden
          className={classes("size-3 shrink-0 text-ink-2", open ? "rotate-90" : "rtl:rotate-180")}
        />
        <Name>{name}</Name>
        {!open && <span className="text-ink-2">{size}</span>}
      </button>
      {open && <Members value={value} depth={depth + 1} />}
    </>
  );
}
