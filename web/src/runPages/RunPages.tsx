import { useEffect, useMemo } from "react";
import { brand } from "@/brand";
import { RunInspector } from "@/inspector/Inspector";
import { storedRun } from "@/inspector/source";
import { ComparePage } from "@/runPages/ComparePage";
import { Page } from "@/runPages/Page";
import { RunsPage } from "@/runPages/RunsPage";
import type { Route } from "@/state/route";
import { strings } from "@/strings";

const words = strings.inspecting;

interface RunPagesProps {
  route: Route;
  onOpenChats: () => void;
}

/** The pages about runs: all of them, one, or two side by side. */
export default function RunPages({ route, onOpenChats }: RunPagesProps) {
  const title = TITLES[route.page] ?? words.runs.title;
  useEffect(() => {
    document.title = `${title} · ${brand.name}`;
  }, [title]);
  const page = { title, onOpenChats };
  if (route.page === "run")
    return (
      <Page {...page} hasBack>
        <OneRun key={route.id} id={route.id} />
      </Page>
    );
  if (route.page === "compare")
    return (
      <Page {...page} hasBack>
        <ComparePage
          key={`${route.first} ${route.second}`}
          first={route.first}
          second={route.second}
        />
      </Page>
    );
  return (
    <Page {...page}>
      <RunsPage />
    </Page>
  );
}

const TITLES: Partial<Record<Route["page"], string>> = {
  run: words.runs.run,
  compare: words.compare.title,
};

function OneRun({ id }: { id: string }) {
  const source = useMemo(() => storedRun(id), [id]);
  return <RunInspector source={source} alone />;
}
