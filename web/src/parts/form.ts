/**
 * The fields of a question, and the answer's value for the agent.
 *
 * | request | value of the answer |
 * | --- | --- |
 * | `options: {questions}`, as in Claude | `{answers: {question: label}}`, several labels as `a, b` |
 * | `options: [...]` | the option's `value`, else its label |
 * | `schema` of an object | an object with its properties |
 * | any other `schema` | a value of its type |
 * | nothing | text |
 */

import { type Fields, fieldsOf, isFields, listOf, textOf } from "@/json";
import type { RequestBlock } from "@/parts/blocks";
import { strings } from "@/strings";

export interface Option {
  label: string;
  value: unknown;
  hint?: string;
}

export interface Field {
  name: string;
  label: string;
  hint?: string;
  kind: "choice" | "text" | "number";
  options: Option[];
  /** Multiple choice. */
  several: boolean;
  /** Free text is allowed too. */
  other: boolean;
  required: boolean;
}

export interface Form {
  fields: Field[];
  /** How the fields make the answer's value. */
  shape: "single" | "object" | "answers";
}

/** The input of each field as strings; for choices the indices of the options. */
export type Draft = Record<string, { chosen: number[]; text: string }>;

const PLAIN: Field = {
  name: "value",
  label: "",
  kind: "text",
  options: [],
  several: false,
  other: false,
  required: true,
};

export function formOf({ options, schema }: Pick<RequestBlock, "options" | "schema">): Form {
  const questions = listOf(fieldsOf(options).questions).filter(isFields);
  if (questions.length > 0) return { shape: "answers", fields: questions.map(questionField) };
  const choices = optionsOf(options);
  if (choices.length > 0)
    return { shape: "single", fields: [{ ...PLAIN, kind: "choice", options: choices }] };
  const properties = Object.entries(fieldsOf(fieldsOf(schema).properties));
  if (properties.length === 0)
    return { shape: "single", fields: [{ ...schemaField("value", fieldsOf(schema)), label: "" }] };
  const required = listOf(fieldsOf(schema).required);
  const fields = properties.map(([name, property]) => ({
    ...schemaField(name, fieldsOf(property)),
    required: required.includes(name),
  }));
  return { shape: "object", fields };
}

function questionField(question: Fields): Field {
  const name = textOf(question.question) ?? textOf(question.header) ?? "";
  const options = optionsOf(question.options);
  return {
    ...PLAIN,
    name,
    label: name,
    kind: options.length > 0 ? "choice" : "text",
    options,
    several: question.multiSelect === true,
    other: true,
  };
}

function schemaField(name: string, schema: Fields): Field {
  const hint = textOf(schema.description);
  const field = { ...PLAIN, name, label: textOf(schema.title) ?? name, ...(hint && { hint }) };
  const values = listOf(schema.enum);
  if (values.length > 0) return { ...field, kind: "choice", options: optionsOf(values) };
  if (schema.type === "boolean") return { ...field, kind: "choice", options: YES_OR_NO };
  if (schema.type === "number" || schema.type === "integer") return { ...field, kind: "number" };
  return field;
}

const YES_OR_NO: Option[] = [
  { label: strings.parts.yes, value: true },
  { label: strings.parts.no, value: false },
];

function optionsOf(listed: unknown): Option[] {
  return listOf(listed).flatMap((option): Option[] => {
    if (typeof option === "string" || typeof option === "number")
      return [{ label: String(option), value: option }];
    const { label, name, title, value, description } = fieldsOf(option);
    const words = textOf(label) ?? textOf(name) ?? textOf(title) ?? textOf(value);
    if (words === undefined) return [];
    const hint = textOf(description);
    return [{ label: words, value: value ?? words, ...(hint && { hint }) }];
  });
}

/** Whether all required fields are filled. */
export const isComplete = (form: Form, draft: Draft): boolean =>
  form.fields.every((field) => !field.required || answerTo(field, draft) !== undefined);

/** The value sent to the agent. */
export function answerOf(form: Form, draft: Draft): unknown {
  const given = form.fields.map((field) => [field.name, answerTo(field, draft)] as const);
  const filled = given.filter(([, value]) => value !== undefined);
  if (form.shape === "single") return filled[0]?.[1];
  if (form.shape === "object") return Object.fromEntries(filled);
  const labels = filled.map(([name, value]) => [name, listOf(value).join(", ") || value]);
  return { answers: Object.fromEntries(labels) };
}

function answerTo(field: Field, draft: Draft): unknown {
  const { chosen = [], text = "" } = draft[field.name] ?? {};
  const words = text.trim();
  if (field.kind === "number") return numberIn(words);
  if (field.kind === "text") return words || undefined;
  const values = chosen.map((place) => field.options[place]?.value);
  if (field.other && words) values.push(words);
  if (field.several) return values.length > 0 ? values : undefined;
  return values.at(-1);
}

function numberIn(words: string): number | undefined {
  const number = Number(words.replace(",", "."));
  return words !== "" && Number.isFinite(number) ? number : undefined;
}
