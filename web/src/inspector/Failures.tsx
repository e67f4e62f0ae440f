import { CircleAlert, LoaderCircle } from "lucide-react";
import type { ReactNode } from "react";
import type { InspectedRun } from "@/inspector/useRun";
import { ErrorBlock } from "@/parts/ErrorBlock";
import { strings } from "@/strings";
import { Button } from "@/ui/Button";
import { Empty } from "@/ui/Empty";

const words = strings.inspector;

export const Loading = () => (
  <p className="flex items-center justify-center gap-2 px-6 py-10 text-block text-ink-2">
    <LoaderCircle aria-hidden className="size-4 animate-spin" />
    {words.loading}
  </p>
);

interface FailedProps {
  run: InspectedRun;
  /** Other formats. */
  children: ReactNode;
}

/** Nothing of the run could be read. */
export const Failed = ({ run: { phase, problem, retry }, children }: FailedProps) => (
  <Empty
    icon={<CircleAlert aria-hidden />}
    title={words.failed}
    line={phase === "gone" ? words.gone : (problem ?? "")}
  >
    {phase === "failed" && (
      <div className="flex flex-wrap justify-center gap-2">
        <Button onClick={retry}>{strings.retry}</Button>
        {children}
      </div>
    )}
  </Empty>
);

/** The run could not be read in this format; what was read before stays. */
export const Misread = ({ run, format }: { run: InspectedRun; format: string }) => (
  <div className="p-3">
    <ErrorBlock
      network
      text={`${words.notRead(format)} ${run.problem ?? ""}`}
      onRetry={run.retry}
    />
  </div>
);
