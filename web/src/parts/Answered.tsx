import { MessageCircleQuestionMark } from "lucide-react";
import { Json } from "@/content/Json";
import { fieldsOf, isFields } from "@/json";
import type { Answered as Answer, RequestBlock } from "@/parts/blocks";
import { outcomeOf } from "@/parts/decided";
import { formOf } from "@/parts/form";
import { strings } from "@/strings";

const words = strings.parts;

/** An answered input request. */
export function Answered({ block: { about, prompt, options, answer } }: { block: RequestBlock }) {
  const [first, ...others] = formOf({ options }).fields.map((field) => field.label);
  const unsaid = about === "approval" ? words.approvalTitle : words.question;
  const title = prompt ?? ((others.length === 0 && first) || unsaid);
  return (
    <div className="rounded-block border bg-ground px-3 py-2.5 text-block">
      <p className="flex items-start gap-2">
        <MessageCircleQuestionMark aria-hidden className="mt-[3px] size-4 shrink-0 text-ink-2" />
        <span className="min-w-0 break-words whitespace-pre-wrap">{title}</span>
      </p>
      <div className="mt-1 ps-6 text-ink-2">
        {answer ? <Outcome answer={answer} prompt={title} /> : words.unanswered}
      </div>
    </div>
  );
}

/** The decision, with the changed input, or the answer. */
export function Outcome({ answer, prompt = "" }: { answer: Answer; prompt?: string }) {
  const outcome = outcomeOf(answer);
  if (outcome === undefined) return <GivenAnswer value={answer.value} prompt={prompt} />;
  if (answer.decision !== "edited") return outcome;
  return (
    <>
      <p className="mb-1">{outcome}</p>
      <Json value={answer.value} label={words.changedInput} />
    </>
  );
}

function GivenAnswer({ value, prompt }: { value: unknown; prompt: string }) {
  const answers = fieldsOf(value).answers ?? value;
  if (answers === undefined || answers === null) return words.answered;
  if (!isFields(answers))
    return typeof answers === "object" ? (
      <Json value={answers} />
    ) : (
      <Words text={String(answers)} />
    );
  const known = answers[prompt];
  if (typeof known === "string") return <Words text={known} />;
  return (
    <dl>
      {Object.entries(answers).map(([question, given]) => (
        <div key={question} className="flex flex-wrap gap-x-2">
          <dt>{question}</dt>
          <dd className="font-medium text-ink">
            {typeof given === "object" ? JSON.stringify(given) : String(given)}
          </dd>
        </div>
      ))}
    </dl>
  );
}

function Words({ text }: { text: string }) {
  return (
    <p className="break-words whitespace-pre-wrap">
      {words.answeredWith}: <span className="font-medium text-ink">{text}</span>
    </p>
  );
}
