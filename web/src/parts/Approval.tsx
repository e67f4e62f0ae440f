import { Json, visible } from "@/content/Json";
import type { Reply } from "@/parts/allowed";
import type { ToolBlock } from "@/parts/blocks";
import { Choice } from "@/parts/Choice";
import { RequestFrame } from "@/parts/RequestFrame";
import { strings } from "@/strings";

const words = strings.parts;

export type Decide = (approvalId: string, reply: Reply) => unknown;

/** A tool call that waits for approval: its input and the decisions. */
export function Approval({ block, onDecide }: { block: ToolBlock; onDecide?: Decide }) {
  const { decision, name, input } = block;
  return (
    <RequestFrame title={decision?.question ?? words.approvalTitle}>
      <p className="mb-1 font-mono text-mono font-medium break-words">{visible(name)}</p>
      <Choice
        allowed={decision?.allowed}
        input={input}
        isCall
        onDecide={(reply) => onDecide?.(decision?.id ?? "", reply)}
      >
        {input !== undefined && <Json exact value={input} label={words.parameters} />}
      </Choice>
    </RequestFrame>
  );
}
