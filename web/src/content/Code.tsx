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
  /** In pixels; then it scrolls. */
  maxHeight?: number;
  /** What this is, for those who do not see it. */
  label?: string;
  /** Long lines go on in the next one. */
  wrap?: boolean;
  /** Without a head: the copy button stands in the corner. */
  bare?: boolean;
  /** What is copied, if that is more than what is shown. */
  copied?: () => string;
}

/** Code as it was written, with colours as soon as they are there. */
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
      // biome-ignore lint/suspicious/noArrayIndexKey: tokens have no name but their place
      <span key={index} className={`code-${colour}`}>
        {text}
      </span>
    ) : (
      text
    ),
  ),
);
