import { ArrowRight } from "lucide-react";
import { COLUMNS, Step } from "@/inspector/Row";
import { HEAD, ROW } from "@/inspector/roles";
import { strings } from "@/strings";
import { classes } from "@/ui/classes";

const words = strings.inspector;
const { raw, event, frames } = words.columns;

interface HeadProps {
  number: 1 | 2 | 3;
  name: string;
  line: string;
}

/** The column headers: raw line, event, frames. */
export const Heads = ({ format }: { format: string }) => (
  <div
    {...{ ...ROW, "aria-rowindex": 1 }}
    className={classes(
      "shrink-0 overflow-hidden border-b border-s-3 border-s-transparent bg-ground-2 py-1.5 pe-1 ps-2 text-label [scrollbar-gutter:stable]",
      "@max-2xl:flex @max-2xl:flex-wrap @max-2xl:gap-x-4",
      COLUMNS,
    )}
  >
    <span {...HEAD} className="leading-5 font-medium @max-2xl:sr-only" title={words.timeLine}>
      {words.time}
      <span className="sr-only"> {words.timeLine}</span>
    </span>
    <Head number={1} {...raw} />
    <Head number={2} {...event} />
    <Head number={3} name={frames.name} line={frames.line(format)} />
    <span {...HEAD} className="sr-only">
      {words.pinColumn}
    </span>
  </div>
);

const Head = ({ number, name, line }: HeadProps) => (
  <span {...HEAD} className="flex min-w-0 items-center gap-1.5 leading-5">
    {number > 1 && <ArrowRight aria-hidden className="size-3 shrink-0 text-ink-2" />}
    <Step of={number} />
    <span className="min-w-0 @2xl:leading-tight">
      <span className="block font-semibold @max-2xl:inline">{name}</span>{" "}
      <span className="block truncate text-ink-2 @max-2xl:inline @max-md:sr-only">{line}</span>
    </span>
  </span>
);
