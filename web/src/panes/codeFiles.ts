import type { PaneMessage } from "@/panes/wire";

/** One piece of code that was written, and what came of it that is not printed. */
export interface CodeFile {
  id: string;
  code: string;
  language: string | undefined;
  /** Who ran it; nobody ran a copy. */
  toolName: string | undefined;
  step: number | undefined;
  isCopy: boolean;
  /** More of it will come. */
  isPending: boolean;
  /** What it returned. */
  returned: string[];
  files: { name: string; mediaType: string; url?: string }[];
}

const isCode = ({ event, language, copyOf }: PaneMessage) =>
  copyOf !== undefined ||
  language !== undefined ||
  event === "tool_call" ||
  event === "tool_invocation";

/** The messages of the pane for code: what follows code belongs to its call, or to the last one. */
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
