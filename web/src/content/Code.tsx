import { useState } from "react";
import { type CodeLook, CodeTools } from "@/content/CodeTools";
import { CopyButton } from "@/content/CopyButton";
import "@/content/code.css";
import { NumberedLines, Tokens } from "@/content/codeLines";
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
  /** With buttons to wrap its lines, to number and to download them. */
  tools?: boolean;
  /** Numbered from the start. */
  numbered?: boolean;
  /** The text to copy, if longer than the text shown. */
  copied?: () => string;
}

/** Code, highlighted as soon as the highlighter has loaded. */
export function Code(props: CodeProps) {
  const { code, language, maxHeight, label, wrap, bare, tools, numbered, copied } = props;
  const { tokens, rest } = useTokens(code, language);
  const [chosen, setLook] = useState<CodeLook>();
  const look = chosen ?? { wraps: Boolean(wrap), hasNumbers: Boolean(numbered) };
  const name = label ?? strings.content.codeIn(language);
  return (
    <div className={classes("code font-mono text-mono", bare && "code-bare")}>
      <div className="code-head">
        {!bare && <span className="me-auto truncate">{language || strings.content.plainText}</span>}
        {tools && <CodeTools {...look} code={code} language={language} onChange={setLook} />}
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
        className={classes("code-body", look.wraps && "code-wrap")}
      >
        {look.hasNumbers ? (
          <code className="code-numbered">
            <NumberedLines tokens={[...(tokens ?? []), { text: rest }]} />
          </code>
        ) : (
          <code>
            {tokens && <Tokens tokens={tokens} />}
            {rest}
          </code>
        )}
      </ScrollBox>
    </div>
  );
}
