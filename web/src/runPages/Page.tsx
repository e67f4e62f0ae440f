import { ArrowLeft } from "lucide-react";
import type { ReactNode } from "react";
import { strings } from "@/strings";
import { RouteLink } from "@/ui/RouteLink";
import { TopBar } from "@/ui/TopBar";

interface PageProps {
  title: string;
  hasBack?: boolean;
  onOpenChats: () => void;
  children: ReactNode;
}

/** A page beside the chat list. */
export const Page = ({ title, hasBack = false, onOpenChats, children }: PageProps) => (
  <main className="flex h-full min-w-0 flex-1 flex-col">
    <TopBar onOpenChats={onOpenChats}>
      {hasBack && (
        <RouteLink
          to={{ page: "runs" }}
          className="inline-flex min-h-9 shrink-0 items-center gap-1.5 rounded-lg px-2 text-block text-ink-2 hover:bg-ground-3 hover:text-ink max-md:min-h-11"
        >
          <ArrowLeft aria-hidden className="size-4 rtl:rotate-180" />
          {strings.inspecting.runs.back}
        </RouteLink>
      )}
      <h1 className="min-w-0 truncate text-sm font-semibold">{title}</h1>
    </TopBar>
    {children}
  </main>
);
