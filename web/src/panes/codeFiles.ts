import type { PaneMessage } from "@/panes/wire";

/** One piece of code, with its return values and files. */
export interface CodeFile {
  id: string;
  code: string;
  language: string | undefined;
  /** The tool that ran it; none for code quoted in the answer. */
  toolName: string | undefined;
  step: number | undefined;
  isCopy: boolean;
  /** Still streaming. */
  isPending: boolean;
  /** Its return values. */
  returned: string[];
  files: { name: string; mediaType: string; url?: string }[];
}

const isCode = ({ event, language, copyOf }: PaneMessage) =>
  copyOf !== undefined ||
  language !== undefined ||
  event === "tool_call" ||
  event === "tool_invocation";

/** Groups the code pane's messages: a result belongs to the code of its call, or to the last code. */
export function codeFiles(messages: PaneMessage[]): CodeFile[] {
  const files: CodeFile[] = [];
  const byCall = new Map<string | undefined, CodeFile>();
  for (const message of messages) {
    if (isCode(message)) {
      const file = fileOf(message);
      files.push(file);
      if (!file.isCopy) byCall.set(message.toolId, file);
      continue;
    }
    const code = byCall.get(message.toolId) ?? files.findLast(({ isCopy }) => !isCopy);
    if (code) attach(code, message);
  }
  return files;
}

function fileOf(message: PaneMessage): CodeFile {
  return {
    id: message.id,
    code: message.content,
    language: message.language,
    toolName: message.toolName,
    step: message.step,
    isCopy: message.copyOf !== undefined,
    isPending: message.isPending,
    returned: [],
    files: [],
  };
}

function attach(code: CodeFile, { content, mediaType, url }: PaneMessage): void {
  if (mediaType === undefined) code.returned.push(content);
  else code.files.push({ name: content, mediaType, ...(url && { url }) });
}
