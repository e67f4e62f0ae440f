import type { ReactNode } from "react";

interface EmptyProps {
  icon: ReactNode;
  title: string;
  line: string;
  children?: ReactNode;
}

/** The empty state of a pane. */
export function Empty({ icon, title, line, children }: EmptyProps) {
  return (
    <div className="flex min-h-0 flex-1 flex-col items-center justify-center gap-3 overflow-y-auto px-6 py-8 text-center">
      <span aria-hidden className="text-ink-2 [&_svg]:size-6">
        {icon}
      </span>
      <div>
        <p className="font-medium">{title}</p>
        <p className="mt-1 max-w-80 text-block text-balance text-ink-2">{line}</p>
      </div>
      {children}
    </div>
  );
}
