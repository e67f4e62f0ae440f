import {
  ClipboardCopy,
  Ellipsis,
  FileJson,
  FileText,
  Menu as MenuIcon,
  Pencil,
  Trash2,
} from "lucide-react";
import { useState } from "react";
import { allMessages } from "@/api";
import { copy, fileName, save } from "@/chat/clipboard";
import { TitleField } from "@/chat/TitleField";
import { chatMarkdown } from "@/parts/exportText";
import { strings } from "@/strings";
import { IconButton } from "@/ui/Button";
import { Menu, MenuItem, MenuLine } from "@/ui/Menu";

interface HeaderProps {
  chat: string;
  title: string;
  /** There is something to rename, export and delete. */
  isStored: boolean;
  agent?: string;
  isDemo: boolean;
  onRename: (title: string) => void;
  onDelete: () => void;
  onOpenChats: () => void;
  onProblem: (message: string) => void;
}

/** What the chat is called, who answers, and what can be done with the whole of it. */
export function Header(props: HeaderProps) {
  const [renaming, setRenaming] = useState(false);
  return (
    <header className="flex h-12 shrink-0 items-center gap-2 border-b px-2 md:px-4">
      <IconButton label={strings.shell.openChats} className="md:hidden" onClick={props.onOpenChats}>
        <MenuIcon aria-hidden />
      </IconButton>
      <TitleField
        title={props.title}
        editable={props.isStored}
        editing={renaming}
        onEdit={setRenaming}
        onSave={props.onRename}
      />
      <span className="min-w-0 flex-1 truncate text-block text-ink-2 max-md:hidden">
        {props.agent}
      </span>
      {props.isDemo && (
        <span
          title={strings.chat.demoHint}
          className="shrink-0 rounded-full border border-thinking-line bg-thinking-ground px-2 text-label leading-5 font-medium text-thinking"
        >
          {strings.chat.demo}
        </span>
      )}
      {props.isStored && <ChatMenu {...props} onRenaming={() => setRenaming(true)} />}
    </header>
  );
}

function ChatMenu(props: HeaderProps & { onRenaming: () => void }) {
  const { chat, title, onProblem } = props;
  const withAll = (use: (messages: Awaited<ReturnType<typeof allMessages>>) => void) => () => {
    allMessages(chat).then(use, () => onProblem(strings.chat.exportFailed));
  };
  return (
    <Menu
      trigger={
        <IconButton label={strings.chat.menu}>
          <Ellipsis aria-hidden />
        </IconButton>
      }
    >
      <MenuItem icon={<Pencil aria-hidden />} onSelect={props.onRenaming}>
        {strings.chat.rename}
      </MenuItem>
      <MenuItem
        icon={<ClipboardCopy aria-hidden />}
        onSelect={withAll((messages) => void copy(chatMarkdown(title, messages)))}
      >
        {strings.chat.copyAll}
      </MenuItem>
      <MenuItem
        icon={<FileText aria-hidden />}
        onSelect={withAll((messages) =>
          save(fileName(title, "md"), "text/markdown", chatMarkdown(title, messages)),
        )}
      >
        {strings.chat.exportMarkdown}
      </MenuItem>
      <MenuItem
        icon={<FileJson aria-hidden />}
        onSelect={withAll((messages) =>
          save(
            fileName(title, "json"),
            "application/json",
            JSON.stringify({ id: chat, title, messages }, null, 2),
          ),
        )}
      >
        {strings.chat.exportJson}
      </MenuItem>
      <MenuLine />
      <MenuItem kind="danger" icon={<Trash2 aria-hidden />} onSelect={props.onDelete}>
        {strings.chat.delete}
      </MenuItem>
    </Menu>
  );
}
