/**
 * How a call is shown, by kind of tool. A view gets a call and returns what it shows, and which members
 * of the input that covers; the card shows the rest of the call as data, so that nothing is lost.
 * Undefined: this call does not look like one of its kind.
 *
 * Output of tools is hostile: texts are rendered as text, links and pictures pass `content/urls.ts`.
 */
import type { ReactNode } from "react";
import { Code } from "@/content/Code";
import { linkTarget } from "@/content/urls";
import { fieldsOf, listOf, numberOf, textOf } from "@/json";
import type { ToolBlock } from "@/parts/blocks";
import { Picture } from "@/parts/Picture";
import { picturesIn } from "@/parts/pictures";
import { diffOf } from "@/parts/tools/diff";
import { FileLines } from "@/parts/tools/FileLines";
import { Grid } from "@/parts/tools/Grid";
import type { ToolKind } from "@/parts/tools/kinds";
import { Cut, Section } from "@/parts/tools/layout";
import { Pages } from "@/parts/tools/Pages";
import { dataIn, foundIn, gridIn, linesIn, proseIn, ranIn, textIn } from "@/parts/tools/reading";
import { strings } from "@/strings";

const words = strings.activity;

export interface Shown {
  body: ReactNode;
  /** The members of the input that the body shows. */
  covers: readonly string[];
  /** The body shows the output. */
  coversOutput?: boolean;
}

export type ToolView = (block: ToolBlock) => Shown | undefined;

const COMMANDS = ["command", "cmd"];

/** `$ ls`, what it printed, and its exit code. */
const shell: ToolView = ({ input, output }) => {
  const fields = fieldsOf(input);
  const name = COMMANDS.find((each) => fields[each] !== undefined);
  const given = name === undefined ? undefined : fields[name];
  const command = textOf(given) ?? (listOf(given).map(String).join(" ") || undefined);
  const ran = output === undefined ? undefined : ranIn(output);
  if (command === undefined && ran === undefined) return undefined;
  const exit = ran?.exitCode;
  return {
    covers: name === undefined ? [] : [name],
    coversOutput: ran !== undefined,
    body: (
      <>
        {command !== undefined && (
          <Section label={words.command}>
            <Code
              bare
              wrap
              code={`$ ${command}`}
              language="bash"
              label={words.command}
              maxHeight={200}
              copied={() => command}
            />
          </Section>
        )}
        {ran && (
          <Section
            label={words.output}
            beside={exit === undefined ? undefined : words.exitCode(exit)}
          >
            <Cut text={ran.output} label={words.output} />
          </Section>
        )}
      </>
    ),
  };
};

const PATHS = ["file_path", "path", "absolute_path", "filename", "notebook_path"];
const pathIn = (input: unknown) =>
  PATHS.find((name) => textOf(fieldsOf(input)[name]) !== undefined);

const BEFORE = ["old_string", "old_str", "old_text", "oldText"];
const AFTER = ["new_string", "new_str", "new_text", "newText"];
const WHOLE = ["content", "file_text", "contents"];
const PATCH = ["patch", "diff", "input"];

/** A change of a file as a diff, or the file that was written. */
const edit: ToolView = ({ input }) => {
  const fields = fieldsOf(input);
  const path = pathIn(input);
  const edits = listOf(fields.edits).map(fieldsOf);
  const covers = path === undefined ? [] : [path];
  const file = path === undefined ? undefined : String(fields[path]);
  const changes = [fields, ...edits].flatMap((each) => {
    const [before, after] = [textIn(each, ...BEFORE), textIn(each, ...AFTER)];
    return before === undefined && after === undefined ? [] : [diffOf(before ?? "", after ?? "")];
  });
  const patch = textIn(fields, ...PATCH);
  const diff =
    changes.length > 0
      ? changes.join("\n\n")
      : patch && /^(?:@@|[-+*]{3} )/m.test(patch)
        ? patch
        : undefined;
  if (diff !== undefined)
    return {
      covers: [...covers, ...BEFORE, ...AFTER, ...(changes.length > 0 ? ["edits"] : PATCH)],
      body: (
        <Section label={words.changes} beside={file}>
          <Code bare wrap code={diff} language="diff" label={words.changes} maxHeight={320} />
        </Section>
      ),
    };
  const whole = textIn(fields, ...WHOLE);
  if (whole === undefined) return undefined;
  return {
    covers: [...covers, ...WHOLE],
    body: (
      <Section label={words.written} beside={file}>
        <FileLines lines={linesIn(whole)} label={words.written} />
      </Section>
    ),
  };
};

/** A file with the numbers of its lines. */
const read: ToolView = ({ input, output }) => {
  const path = pathIn(input);
  const text = proseIn(output);
  if (path === undefined || text === undefined) return undefined;
  const offset = numberOf(fieldsOf(input).offset);
  return {
    covers: [path],
    coversOutput: true,
    body: (
      <Section label={words.file} beside={String(fieldsOf(input)[path])}>
        <FileLines
          lines={linesIn(text, offset === undefined || offset < 1 ? 1 : offset)}
          label={words.file}
        />
      </Section>
    ),
  };
};

const QUERIES = ["query", "q", "search_query", "pattern"];

/** What was searched for, and the pages that were found. */
const search: ToolView = ({ input, output }) => {
  const found = foundIn(output);
  const text = proseIn(dataIn(output));
  const name = QUERIES.find((each) => textOf(fieldsOf(input)[each]) !== undefined);
  if (name === undefined && found === undefined) return undefined;
  return {
    covers: name === undefined ? [] : [name],
    coversOutput: found !== undefined || text !== undefined,
    body: (
      <>
        {name !== undefined && (
          <Section label={words.query}>
            <p className="text-block break-words whitespace-pre-wrap">
              {String(fieldsOf(input)[name])}
            </p>
          </Section>
        )}
        {found && (
          <Section label={words.found(found.length)}>
            <Pages pages={found} />
          </Section>
        )}
        {!found && text !== undefined && (
          <Section label={strings.parts.result}>
            <Cut text={text} label={strings.parts.result} />
          </Section>
        )}
      </>
    ),
  };
};

const SOURCES = ["code", "source", "script"];

/** Code, and what it printed. */
const python: ToolView = ({ input, output }) => {
  const fields = typeof input === "string" ? { code: input } : fieldsOf(input);
  const name = SOURCES.find((each) => textOf(fields[each as never]) !== undefined);
  if (name === undefined) return undefined;
  const ran = output === undefined ? undefined : ranIn(output);
  return {
    covers: [name],
    coversOutput: ran !== undefined,
    body: (
      <>
        <Section label={words.code}>
          <Code
            bare
            code={String(fields[name as never])}
            language="python"
            label={words.code}
            maxHeight={320}
          />
        </Section>
        {ran && (
          <Section
            label={words.output}
            beside={ran.exitCode === undefined ? undefined : words.exitCode(ran.exitCode)}
          >
            <Cut text={ran.output} label={words.output} />
          </Section>
        )}
      </>
    ),
  };
};

/** A request: its method and address, the status and the body of the response. */
const http: ToolView = ({ input, output }) => {
  const fields = fieldsOf(input);
  const name = ["url", "uri"].find((each) => textOf(fields[each]) !== undefined);
  if (name === undefined) return undefined;
  const url = String(fields[name]);
  const method = textOf(fields.method)?.toUpperCase();
  const answer = fieldsOf(dataIn(output));
  const status = numberOf(answer.status) ?? numberOf(answer.status_code);
  const body = proseIn(output) ?? textIn(answer, "body", "content", "text");
  return {
    covers: [name, ...(method === undefined ? [] : ["method"])],
    coversOutput: proseIn(output) !== undefined,
    body: (
      <>
        <Section label={method ?? "GET"} beside={status?.toString()}>
          <p className="text-block break-all">
            <Address url={url} />
          </p>
        </Section>
        {body !== undefined && (
          <Section label={words.response}>
            <Cut text={body} label={words.response} />
          </Section>
        )}
      </>
    ),
  };
};

function Address({ url }: { url: string }) {
  const href = linkTarget(url);
  if (!href) return url;
  return (
    <a
      href={href}
      target="_blank"
      rel="noopener noreferrer"
      className="text-accent underline underline-offset-2"
    >
      {url}
    </a>
  );
}

const image: ToolView = ({ output }) => {
  const pictures = picturesIn(output);
  if (pictures.length === 0) return undefined;
  return {
    covers: [],
    body: (
      <div className="flex flex-wrap gap-2">
        {pictures.map((src, place) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: pictures have no id but their place
          <Picture key={place} src={src} name={words.picture(place + 1)} />
        ))}
      </div>
    ),
  };
};

const SQL = ["sql", "query", "statement"];

/** A query, and its rows. */
const table: ToolView = ({ input, output }) => {
  const grid = gridIn(output);
  const name = SQL.find((each) => textOf(fieldsOf(input)[each]) !== undefined);
  if (!grid && name === undefined) return undefined;
  return {
    covers: name === undefined ? [] : [name],
    coversOutput: grid !== undefined,
    body: (
      <>
        {name !== undefined && (
          <Section label={words.query}>
            <Code
              bare
              wrap
              code={String(fieldsOf(input)[name])}
              language="sql"
              label={words.query}
              maxHeight={200}
            />
          </Section>
        )}
        {grid && <Grid grid={grid} />}
      </>
    ),
  };
};

/** A tool of no known kind: pictures and rows are recognised, all else is data. */
const other: ToolView = (block) => {
  const pictures = image(block);
  if (pictures) return pictures;
  const grid = gridIn(block.output);
  return grid && { covers: [], coversOutput: true, body: <Grid grid={grid} /> };
};

/** The views of the page. Apps add their own: `appViews.tsx`. */
export const VIEWS: Record<ToolKind, ToolView> = {
  shell,
  python,
  read,
  edit,
  search,
  http,
  table,
  image,
  handoff: () => undefined,
  other,
};
