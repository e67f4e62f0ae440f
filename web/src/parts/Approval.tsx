import { Json, visible } from "@/content/Json";
import { Asking, Choice } from "@/parts/Asking";
import type { ToolBlock } from "@/parts/blocks";
import { strings } from "@/strings";

const words = strings.parts;

export type Decide = (approvalId: string, approved: boolean, reason?: string) => unknown;

/** A call that waits for a person: what it would do, and whether it may. */
export function Approval({ block, onDecide }: { block: ToolBlock; onDecide?: Decide }) {
  const { decision, name, input } = block;
  return (
    <Asking title={decision?.asked ?? words.approvalTitle}>
      <p className="mb-1 font-mono text-mono font-medium break-words">{visible(name)}</p>
      {input !== undefined && <Json exact value={input} label={words.parameters} />}
      <Choice onDecide={(approved, reason) => onDecide?.(decision?.id ?? "", approved, reason)} />
    </Asking>
  );
}
