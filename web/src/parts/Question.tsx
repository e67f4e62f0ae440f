import { ExternalLink, MessageCircleQuestionMark, Send } from "lucide-react";
import { type FormEvent, useMemo, useState } from "react";
import type { Decision } from "@/api";
import { linkTarget } from "@/content/urls";
import { fieldsOf, textOf } from "@/json";
import { Answered } from "@/parts/Answered";
import type { Decide } from "@/parts/Approval";
import type { RequestBlock } from "@/parts/blocks";
import { Choice } from "@/parts/Choice";
import { FieldInput } from "@/parts/FieldInput";
import { answerOf, type Draft, type Form, formOf, isComplete } from "@/parts/form";
import { RequestFrame, Row } from "@/parts/RequestFrame";
import { useSending } from "@/state/useSending";
import { strings } from "@/strings";
import { Button } from "@/ui/Button";

const words = strings.parts;

export type Answer = (requestId: string, value: unknown, decision?: Decision) => unknown;

interface QuestionProps {
  block: RequestBlock;
  onAnswer?: Answer;
  /** Called for approvals without a tool call. */
  onDecide?: Decide;
}

/** A question of the agent, with a form to answer it. */
export function Question({ block, onAnswer, onDecide }: QuestionProps) {
  if (!block.open) return <Answered block={block} />;
  const answer = (value: unknown) => onAnswer?.(block.id, value, "answered");
  const title = block.prompt ?? words.question;
  if (block.about === "approval")
    return (
      <RequestFrame title={block.prompt ?? words.approvalTitle}>
        <Choice allowed={block.allowed} onDecide={(reply) => onDecide?.(block.id, reply)} />
      </RequestFrame>
    );
  return (
    <RequestFrame title={title} icon={MessageCircleQuestionMark}>
      {block.about === "auth" && <Link block={block} />}
      {block.about === "auth" && !block.schema ? (
        <Finished onAnswer={() => answer(true)} />
      ) : (
        <Fields block={block} onAnswer={answer} />
      )}
    </RequestFrame>
  );
}

interface FieldsProps {
  block: RequestBlock;
  onAnswer: (value: unknown) => unknown;
}

function Fields({ block, onAnswer }: FieldsProps) {
  const form = useMemo(() => formOf(block), [block]);
  return isOneClick(form) ? (
    <Buttons form={form} onAnswer={onAnswer} />
  ) : (
    <FormFields form={form} onAnswer={onAnswer} />
  );
}

interface FormProps {
  form: Form;
  onAnswer: (value: unknown) => unknown;
}

const FEW = 6;

/** A single choice is sent on click. */
const isOneClick = ({ fields: [field, ...others], shape }: Form): boolean =>
  shape === "single" &&
  others.length === 0 &&
  field?.kind === "choice" &&
  field.options.length <= FEW;

function Buttons({ form, onAnswer }: FormProps) {
  const { busy, problem, send } = useSending();
  return (
    <Row busy={busy} failed={problem !== undefined}>
      {form.fields[0]?.options.map((option) => (
        <Button
          key={option.label}
          disabled={busy}
          title={option.hint}
          onClick={() => send(() => onAnswer(option.value))}
        >
          {option.label}
        </Button>
      ))}
    </Row>
  );
}

function FormFields({ form, onAnswer }: FormProps) {
  const [draft, setDraft] = useState<Draft>({});
  const { busy, problem, send } = useSending();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (isComplete(form, draft)) send(() => onAnswer(answerOf(form, draft)));
  };
  return (
    <form onSubmit={submit} className="space-y-4">
      {form.fields.map((field) => (
        <FieldInput
          key={field.name}
          field={field}
          disabled={busy}
          value={draft[field.name] ?? { chosen: [], text: "" }}
          onChange={(value) => setDraft({ ...draft, [field.name]: value })}
        />
      ))}
      <Row busy={busy} failed={problem !== undefined}>
        <Button type="submit" kind="solid" disabled={busy || !isComplete(form, draft)}>
          <Send aria-hidden className="size-4" />
          {words.send}
        </Button>
      </Row>
    </form>
  );
}

/** A link to follow, such as a sign-in page. */
function Link({ block: { options, schema } }: { block: RequestBlock }) {
  const url = textOf(fieldsOf(options).url) ?? textOf(fieldsOf(schema).url);
  const href = url && linkTarget(url);
  if (!href) return null;
  return (
    <p className="mb-3">
      <a
        href={href}
        target="_blank"
        rel="noopener noreferrer"
        className="inline-flex min-h-9 items-center gap-2 break-all text-accent underline"
      >
        {words.openLink(new URL(href).host)}
        <ExternalLink aria-hidden className="size-4 shrink-0" />
      </a>
    </p>
  );
}

function Finished({ onAnswer }: { onAnswer: () => unknown }) {
  const { busy, problem, send } = useSending();
  return (
    <Row busy={busy} failed={problem !== undefined}>
      <Button kind="solid" disabled={busy} onClick={() => send(onAnswer)}>
        {words.finishedLink}
      </Button>
    </Row>
  );
}
