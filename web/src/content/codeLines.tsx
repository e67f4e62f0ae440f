import { Fragment, memo } from "react";
import type { Token } from "@/content/highlight";

const paint = ({ text, colour }: Token, key: number) =>
  colour ? (
    <span key={key} className={`code-${colour}`}>
      {text}
    </span>
  ) : (
    <Fragment key={key}>{text}</Fragment>
  );

export const Tokens = memo(({ tokens }: { tokens: Token[] }) => tokens.map(paint));

/** Each line in an element of its own; their numbers are drawn by the styles, and not copied. */
export const NumberedLines = memo(({ tokens }: { tokens: Token[] }) =>
  splitAtLines(tokens).map((line, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: a line is what is at its index
    <span key={index} className="code-line">
      {line.map(paint)}
      {"\n"}
    </span>
  )),
);

function splitAtLines(tokens: readonly Token[]): Token[][] {
  const lines: Token[][] = [[]];
  for (const token of tokens) {
    token.text.split("\n").forEach((text, index) => {
      if (index) lines.push([]);
      if (text) lines.at(-1)?.push({ ...token, text });
    });
  }
  return lines;
}
