import { memo } from "react";
import { CopyButton } from "@/content/CopyButton";
import "@/content/code.css";
import type { Token } from "@/content/highlight";
import { ScrollBox } from "@/content/ScrollBox";
import { useTokens } from "@/content/useTokens";
import { strings } from "@/strings";
import { classes } from "@/ui/classes";

interface CodeProps {
  code: string;
  language?: string;
  /** Maximum height in pixels; taller code scrolls. */
  maxHeight?: number;
  /** The accessible name. */
  label?: string;
  /** Wrap long lines. */
  wrap?: boolean;
  /** Without a header: the copy button is in the corner. */
  bare?: boolean;
  /** The text to copy, if longer than the text shown. */
  copied?: () => string;
}

/** Code, highlighted as soon as the highlighter has loaded. */
export function Code({ code, language, maxHeight, label, wrap, bare, copied }: CodeProps) {
  const { tokens, rest } = useTokens(code, language);
  const name = label ?? strings.content.codeIn(language);
  return (
    <div className={classes("code font-mono text-mono", bare && "code-bare")}>
      <div className="code-head">
        {!bare && <span className="truncate">{language || strings.content.plainText}</span>}
        <CopyButton
          text={copied ?? (() => code)}
          label={strings.content.copyOf(name)}
          className={classes(bare && "code-corner")}
        />
      </div>
      <ScrollBox
        as="pre"
        label={name}
        maxHeight={maxHeight}
        className={classes("code-body", wrap && "code-wrap")}
      >
        <code>
          {tokens && <Tokens tokens={tokens} />}
          {rest}
        </code>
      </ScrollBox>
    </div>
  );
}

const Tokens = memo(({ tokens }: { tokens: Token[] }) =>
  tokens.map(({ text, colour }, index) =>
    colour ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: tokens have no id but their index
      <span key={index} className={`code-${colour}`}>
        {text}
      </span>
    ) : (
      text
    ),
  ),
);
