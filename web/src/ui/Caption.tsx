/** A small heading. */
export const Caption = ({ children }: { children: string }) => (
  <p className="mb-1 text-label font-medium tracking-wide text-ink-2 uppercase">{children}</p>
);
