/** German: the same parts as in `strings.ts`, a file for each. */
import type { Strings } from "@/strings";
import { activity } from "@/strings/de/activity";
import { answers } from "@/strings/de/answers";
import { chat } from "@/strings/de/chat";
import { composer } from "@/strings/de/composer";
import { content } from "@/strings/de/content";
import { inspecting } from "@/strings/de/inspecting";
import { inspector } from "@/strings/de/inspector";
import { noticing } from "@/strings/de/noticing";
import { panel, panes } from "@/strings/de/panel";
import { parts } from "@/strings/de/parts";
import { previews } from "@/strings/de/previews";
import { rich } from "@/strings/de/rich";
import { sharing } from "@/strings/de/sharing";
import { shell } from "@/strings/de/shell";
import { sidebar } from "@/strings/de/sidebar";
import { viewing } from "@/strings/de/viewing";

export const german: Strings = {
  retry: "Noch einmal",
  rich,
  previews,
  models: { simulated: "simuliertes Modell", recorded: "aufgezeichnetes Modell" },
  content,
  parts,
  chat,
  answers,
  composer,
  noticing,
  panel,
  panes,
  inspector,
  inspecting,
  sharing,
  viewing,
  sidebar,
  activity,
  shell,
};
