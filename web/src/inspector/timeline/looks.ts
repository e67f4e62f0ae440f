import {
  Bot,
  Brain,
  CirclePlay,
  Cpu,
  Hand,
  ListTree,
  type LucideIcon,
  Repeat,
  Text,
  Wrench,
} from "lucide-react";
import type { SpanKind, SpanStatus } from "@/inspector/timeline/spans";

interface Look {
  icon: LucideIcon;
  /** The colour of the icon and of the bar; the name and the icon say the same. */
  ink: string;
  bar: string;
}

export const LOOKS: Readonly<Record<SpanKind, Look>> = {
  run: { icon: CirclePlay, ink: "text-ink", bar: "bg-ink-2" },
  turn: { icon: Repeat, ink: "text-ink-2", bar: "bg-ink-2/50" },
  step: { icon: ListTree, ink: "text-processing", bar: "bg-processing/60" },
  thought: { icon: Brain, ink: "text-thinking", bar: "bg-thinking" },
  answer: { icon: Text, ink: "text-accent", bar: "bg-accent" },
  tool: { icon: Wrench, ink: "text-processing", bar: "bg-processing" },
  subagent: { icon: Bot, ink: "text-ok", bar: "bg-ok" },
  wait: { icon: Hand, ink: "text-running", bar: "bg-running" },
  model: { icon: Cpu, ink: "text-ink-2", bar: "bg-ink-2" },
};

/** Bars of what went wrong are striped or outlined too: colour alone says nothing. */
export const BARS: Readonly<Record<SpanStatus, string>> = {
  running: "animate-shimmer motion-reduce:animate-none",
  ok: "",
  unknown: "",
  error: "bg-bad! outline-2 outline-offset-1 outline-bad",
  denied: "bg-bad! outline-2 outline-offset-1 outline-bad",
  interrupted: "opacity-60",
};
