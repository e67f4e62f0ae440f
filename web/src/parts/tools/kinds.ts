/**
 * The kind of a tool: by its name where that is well known, else as the server declares it, else by the
 * shape of its input. A wrong guess only changes the look: every view has the raw call, too.
 */
import { fieldsOf } from "@/json";
import type { ToolBlock } from "@/parts/blocks";

export const KINDS = [
  "search",
  "shell",
  "python",
  "read",
  "edit",
  "http",
  "table",
  "image",
  "handoff",
  "other",
] as const;
export type ToolKind = (typeof KINDS)[number];

/** Names without case, separators and MCP server: Claude Code, DeepAgents, OpenAI, Gemini, smolagents. */
const NAMES: Partial<Record<ToolKind, string>> = {
  shell:
    "bash shell localshell bashcodeexecution bashoutput killshell execute exec terminal runcommand executecommand " +
    "runshellcommand runterminalcmd shelltool",
  python: "python runpython pythonrepl pythoninterpreter codeinterpreter codeexecution executecode",
  read: "read readfile openfile viewfile view cat readmanyfiles notebookread",
  edit:
    "edit editfile multiedit strreplace strreplaceeditor strreplacebasededittool applypatch replace write " +
    "writefile createfile savefile updatefile notebookedit texteditorcodeexecution",
  search:
    "search websearch internetsearch googlesearch googlesearchweb tavilysearch duckduckgosearch filesearch toolsearch " +
    "grep glob ls listfiles listdirectory searchfilecontent findfiles",
  http: "webfetch fetch fetchurl httprequest request requestsget visitwebpage curl openurl",
  table: "sql runsql executesql querysql sqlquery querydatabase",
  image: "imagegeneration generateimage imagegenerationcall createimage",
};

const KIND_OF = new Map(
  Object.entries(NAMES).flatMap(([kind, names]) =>
    names.split(" ").map((name) => [name, kind as ToolKind] as const),
  ),
);

const DECLARED: Record<string, ToolKind> = {
  shell: "shell",
  code: "python",
  search: "search",
  image: "image",
  handoff: "handoff",
};

/** Members of an input that only one kind of tool has. */
const SHAPES: [kind: ToolKind, members: string[]][] = [
  ["edit", ["old_string", "new_string"]],
  ["edit", ["old_str", "new_str"]],
  ["edit", ["file_path", "content"]],
  ["shell", ["command"]],
  ["shell", ["cmd"]],
  ["python", ["code"]],
  ["table", ["sql"]],
];

const MCP = /^mcp(?:__|\.)(?:.*?(?:__|\.))?/;

/** The name that a tool has on its server. */
export const withoutServer = (name: string): string => name.replace(MCP, "");

const HAND_OFF = /^(?:transfer|hand_?off)_to_./i;

export function kindOf({ name, declared, input }: ToolBlock): ToolKind {
  const plain = withoutServer(name).replace(/^server:/, "");
  const named = KIND_OF.get(plain.replace(/[\W_]+/g, "").toLowerCase());
  if (named) return named;
  if (HAND_OFF.test(plain)) return "handoff";
  const given = DECLARED[declared ?? ""];
  if (given) return given;
  const members = fieldsOf(input);
  return (
    SHAPES.find(([, names]) => names.every((each) => typeof members[each] === "string"))?.[0] ??
    "other"
  );
}
