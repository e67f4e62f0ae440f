import type { ReactNode } from "react";

interface NoticeProps {
  title: string;
  line: string;
  /** It appears by itself: screen readers announce it. */
  live?: boolean;
  children: ReactNode;
}

/** Shown instead of a chat: the reason, and a button. */
export function Notice({ title, line, live, children }: NoticeProps) {
  return (
    <div className="flex flex-1 flex-col items-center justify-center gap-4 px-6 pb-24 text-center">
      <div role={live ? "alert" : undefined}>
        <h2 className="text-lg font-semibold">{title}</h2>
        <p className="mt-1 text-ink-2 text-balance">{line}</p>
      </div>
      {children}
    </div>
  );
}
